"""Where arms are started: what a systemd unit and a process of this machine have in common."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from typing import Protocol

from assay._masking import mask
from assay._value import Value
from assay.rollout import Change, Service

Plain = bool | int | float | str | None


def masked_settings(settings: Mapping[str, Plain], secrets: frozenset[str]) -> dict[str, Plain]:
    """What a server says of itself, fit to be kept."""
    return {
        name: mask(value, secrets) if isinstance(value, str) else value for name, value in settings.items()
    }


class Started(Value):
    """One start of the server, seen to give a token."""

    invocation: str
    """Its name: two starts have different ones."""
    downtime_s: float
    """Seconds from the stop of what ran before to its first token; 0 where nothing was stopped."""
    settings: Mapping[str, Plain]
    """What the server says of itself; empty where it does not."""
    log: tuple[str, ...]
    """Lines of its log since it was started. Masked."""


class Ended(Value):
    """How a ground was left."""

    serves: bool
    """Whether the service runs."""
    message: str
    """In a sentence, for people."""
    kept: bool = True
    """Whether it runs with the change that was to be kept."""
    command: tuple[str, ...] = ()
    """The words that a person starts to have what was shipped, where assay does not keep it running."""


class Ground(Protocol):
    """Where the arms of a study are started, one at a time."""

    ran: bool | None
    """Whether the service ran before the study; None until somebody looked."""

    @property
    def service(self) -> Service:
        """How its server is asked."""

    def reach(self) -> AbstractContextManager[str]:
        """The server's URL as it is to be had from here, for the length of a block."""

    def words(self, change: Change | None) -> tuple[str, ...]:
        """The command with a change in it; may hold secrets."""

    def begin(self) -> None:
        """Look whether arms can be started, and end what an earlier run of the study left.

        Raises:
            Refused, HostError: they cannot. Nothing that serves was changed.
        """

    def start(self, change: Change | None, number: int) -> AbstractContextManager[Started]:
        """A fresh start with the change (`None`: as the deployment says), for the length of a block.

        Raises:
            StartFailed: it came to nothing; that is a property of the arm.
            HostError, RolloutError: the ground itself is at fault.
        """

    def lives(self, started: Started) -> bool:
        """Whether that start still runs."""

    def leave(self, change: Change | None) -> Ended:
        """Bring back what ran before, with the change where that is to be kept.

        Raises:
            RestoreFailed: a person must look.
        """
