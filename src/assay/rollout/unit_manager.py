"""A systemd unit, of the machine's manager or of a user's own, as a rollout asks about it."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from assay.errors import CommandFailed, Refused
from assay.facts import read_process
from assay.hosts import StartCommand, UnitState, start_commands, unit_processes, unit_state
from assay.rollout import scripts
from assay.rollout.drop_in import drop_in
from assay.rollout.failure import parse_journal

if TYPE_CHECKING:
    from collections.abc import Sequence

    from assay.hosts import CommandResult
    from assay.rollout.manager import Asked

_T = TypeVar("_T")

_COUPLINGS = (
    "RequiredBy",
    "RequisiteOf",
    "BoundBy",
    "ConsistsOf",
    "UpheldBy",
    "TriggeredBy",
    "PropagatesStopTo",
)
_HINDRANCES = "CanStart,CanStop,FailureAction,SuccessAction,StartLimitAction,OnSuccess"
_VERIFY_S = 90.0


class UnitManager:
    """The manager of a unit."""

    def __init__(self, machine: Asked) -> None:
        self._machine = machine
        self.shell = scripts.USER if machine.layout.user else ""
        self._scope = ("--user",) if machine.layout.user else ()

    def _run(self, command: Sequence[str], *, sudo: bool = False, timeout_s: float = 60.0) -> CommandResult:
        machine = self._machine
        rights = sudo and machine.sudo
        return machine.patiently(lambda: machine.host.run(command, sudo=rights, timeout_s=timeout_s))

    def _said(self, *words: str) -> str:
        """What `systemctl` answers."""
        return self._run(["systemctl", *self._scope, *words]).checked().out.decode("utf-8", "replace")

    def check_written(self) -> None:
        """systemd says so itself, as `need_daemon_reload`."""

    def trial_text(self, before: StartCommand, after: Sequence[str], *, id: str) -> str:
        """A drop-in."""
        return drop_in(before, after, remark=f"assay rollout {id}: a trial; `assay status` says more")

    def reached(self, url: str | None) -> str | None:
        """As it says."""
        return url

    def _patiently(self, ask: Callable[..., _T]) -> _T:
        """One of the questions about a unit that `hosts` has."""
        machine, layout = self._machine, self._machine.layout
        return machine.patiently(lambda: ask(machine.host, layout.unit, user=layout.user))

    def state(self) -> UnitState:
        """The unit.

        Raises:
            Refused: it has another name, so rollouts by either would not see each other.
        """
        state, unit = self._patiently(unit_state), self._machine.layout.unit
        if state.unit != unit:
            raise Refused(
                f"{self._machine.host.name}: {unit} is another name of {state.unit}",
                hint=f"name it {state.unit}",
            )
        return state

    def starts(self) -> tuple[StartCommand, ...]:
        """Its commands as systemd holds them."""
        return self._patiently(start_commands)

    def processes(self) -> tuple[int, ...]:
        """All of its processes."""
        return self._patiently(unit_processes)

    def words(self, pid: int) -> tuple[str, ...] | None:
        """The words of a process; None if it has ended."""
        machine = self._machine
        sudo = machine.sudo
        try:
            return machine.patiently(lambda: read_process(machine.host, pid, sudo=sudo)).words
        except CommandFailed:
            return None

    def complaints(self, fragment: str) -> frozenset[str]:
        """Lines of `systemd-analyze verify`."""
        ask = ["systemd-analyze", *self._scope, "--man=no", "verify", fragment]
        result = self._run(ask, sudo=True, timeout_s=_VERIFY_S)
        lines = (result.out + result.err).decode("utf-8", "replace").splitlines()
        return frozenset(line for line in lines if line.strip())

    def coupled(self) -> tuple[str, ...]:
        """Active units that a stop would stop too, or that would start it while it is stopped."""
        unit = self._machine.layout.unit
        names = self._said("show", "-p", ",".join(_COUPLINGS), "--value", "--", unit).split()
        if not names:
            return ()
        out = self._said("show", "-p", "Id,ActiveState", "--", *names)
        blocks = [dict(line.split("=", 1) for line in block.splitlines()) for block in out.split("\n\n")]
        idle = ("inactive", "failed")
        return tuple(each["Id"] for each in blocks if each.get("ActiveState", "inactive") not in idle)

    def hindrances(self) -> tuple[str, ...]:
        """Settings that forbid a stop or a start, or that do more at one: `FailureAction=reboot`."""
        return parse_hindrances(self._said("show", "-p", _HINDRANCES, "--", self._machine.layout.unit))

    def on_failure(self) -> tuple[str, ...]:
        """Units that systemd starts when this one fails."""
        return tuple(
            self._said("show", "-p", "OnFailure", "--value", "--", self._machine.layout.unit).split()
        )

    def cursor(self) -> str:
        """Where the journal ends now; empty if it cannot be told."""
        ask = ["journalctl", "-q", "-n", "1", "-o", "json", "--output-fields=MESSAGE_ID", "--no-pager"]
        return _cursor_of(self._run(ask, sudo=True).out)

    def log(self, cursor: str) -> tuple[str, ...]:
        """The unit's lines since then, systemd's own among them."""
        layout = self._machine.layout
        which = f"{'--user-unit' if layout.user else '--unit'}={layout.unit}"
        after = [f"--after-cursor={cursor}"] if cursor else ["-b"]
        ask = ["journalctl", "-q", which, *after, "-n", "400", "-o", "json", "-a", "--no-pager"]
        return parse_journal(self._run(ask, sudo=True).out)


def parse_hindrances(out: str) -> tuple[str, ...]:
    """Those of the properties that `systemctl show` printed that stand in a restart's way.

    >>> parse_hindrances("CanStart=yes\\nCanStop=no\\nFailureAction=reboot\\nOnSuccess=\\n")
    ('CanStop=no', 'FailureAction=reboot')
    """
    pairs = (line.partition("=") for line in out.splitlines())
    return tuple(
        f"{name}={value}"
        for name, _, value in pairs
        if (name.startswith("Can") and value == "no")
        or (name.endswith("Action") and value not in ("", "none"))
        or (name == "OnSuccess" and value)
    )


def _cursor_of(out: bytes) -> str:
    try:
        cursor = json.loads(out)["__CURSOR"]
    except (ValueError, KeyError, TypeError):
        return ""
    return cursor if isinstance(cursor, str) else ""
