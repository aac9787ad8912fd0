"""What runs a service: systemd or docker compose, as far as a rollout must know one from the other."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol, TypeVar

if TYPE_CHECKING:
    from collections.abc import Sequence

    from assay.hosts import Host, StartCommand, UnitState
    from assay.rollout.drop_in import Layout

_T = TypeVar("_T")


class Asked(Protocol):
    """The machine on which a manager is asked."""

    host: Host
    """The machine."""
    layout: Layout
    """What is changed there, and where."""

    @property
    def sudo(self) -> bool:
        """Whether root's rights come by sudo."""

    def patiently(self, ask: Callable[[], _T]) -> _T:
        """What it gives; a lost link is waited out."""


class Manager(Protocol):
    """What runs the service. Each question is asked anew and changes nothing."""

    shell: str
    """Goes before each of `scripts`: what the steps do here."""

    def state(self) -> UnitState:
        """The service in systemd's words."""

    def check_written(self) -> None:
        """What runs is what the files say.

        Raises:
            Refused: a start would bring in more than the change.
        """

    def starts(self) -> tuple[StartCommand, ...]:
        """What would be started now."""

    def words(self, pid: int) -> tuple[str, ...] | None:
        """What its process was started with; None if it has ended."""

    def processes(self) -> tuple[int, ...]:
        """All of its processes."""

    def trial_text(self, before: StartCommand, after: Sequence[str], *, id: str) -> str:
        """The file that makes it start `after`.

        Raises:
            Refused: that cannot be written.
        """

    def complaints(self, fragment: str) -> frozenset[str]:
        """What its own check says of the files now."""

    def coupled(self) -> tuple[str, ...]:
        """What else a stop would stop, or what would start it meanwhile."""

    def hindrances(self) -> tuple[str, ...]:
        """What forbids a stop or a start, or does more at one."""

    def on_failure(self) -> tuple[str, ...]:
        """What is started when it fails."""

    def cursor(self) -> str:
        """Where its log ends now; empty if it cannot be told."""

    def log(self, cursor: str) -> tuple[str, ...]:
        """Its lines since then."""

    def reached(self, url: str | None) -> str | None:
        """Where the server that listens at `url` by its command is to be asked from the machine."""
