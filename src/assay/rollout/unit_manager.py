"""A systemd unit, of the machine's manager or of a user's own, as a rollout asks about it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from assay.errors import CommandFailed, Refused
from assay.facts import read_process
from assay.hosts import StartCommand, UnitState, start_commands, unit_processes, unit_state
from assay.rollout import scripts
from assay.rollout.drop_in import drop_in
from assay.rollout.failure import parse_journal

if TYPE_CHECKING:
    from collections.abc import Sequence

    from assay.rollout.manager import Asked

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

    def _systemctl(self, *words: str) -> list[str]:
        return ["systemctl", *self._scope(), *words]

    def _scope(self) -> list[str]:
        return ["--user"] if self._machine.layout.user else []

    def check_written(self) -> None:
        """systemd says so itself, as `need_daemon_reload`."""

    def trial_text(self, before: StartCommand, after: Sequence[str], *, id: str) -> str:
        """A drop-in."""
        return drop_in(before, after, remark=f"assay rollout {id}: a trial; `assay status` says more")

    def reached(self, url: str | None) -> str | None:
        """As it says."""
        return url

    def state(self) -> UnitState:
        """The unit.

        Raises:
            Refused: it has another name, so rollouts by either would not see each other.
        """
        state = self._machine.patiently(
            lambda: unit_state(self._machine.host, self._machine.layout.unit, user=self._machine.layout.user)
        )
        if state.unit != self._machine.layout.unit:
            raise Refused(
                f"{self._machine.host.name}: {self._machine.layout.unit} is another name of {state.unit}",
                hint=f"name it {state.unit}",
            )
        return state

    def starts(self) -> tuple[StartCommand, ...]:
        """Its commands as systemd holds them."""
        return self._machine.patiently(
            lambda: start_commands(
                self._machine.host, self._machine.layout.unit, user=self._machine.layout.user
            )
        )

    def processes(self) -> tuple[int, ...]:
        """All of its processes."""
        return self._machine.patiently(
            lambda: unit_processes(
                self._machine.host, self._machine.layout.unit, user=self._machine.layout.user
            )
        )

    def words(self, pid: int) -> tuple[str, ...] | None:
        """The words of a process; None if it has ended."""
        sudo = self._machine.sudo
        try:
            return self._machine.patiently(lambda: read_process(self._machine.host, pid, sudo=sudo)).words
        except CommandFailed:
            return None

    def complaints(self, fragment: str) -> frozenset[str]:
        """Lines of `systemd-analyze verify`."""
        ask = ["systemd-analyze", *self._scope(), "--man=no", "verify", fragment]
        sudo = self._machine.sudo
        result = self._machine.patiently(lambda: self._machine.host.run(ask, sudo=sudo, timeout_s=_VERIFY_S))
        lines = (result.out + result.err).decode("utf-8", "replace").splitlines()
        return frozenset(line for line in lines if line.strip())

    def coupled(self) -> tuple[str, ...]:
        """Active units that a stop would stop too, or that would start it while it is stopped."""
        unit = self._machine.layout.unit
        ask = self._systemctl("show", "-p", ",".join(_COUPLINGS), "--value", "--", unit)
        names = (
            self._machine.patiently(lambda: self._machine.host.run(ask))
            .checked()
            .out.decode("utf-8", "replace")
            .split()
        )
        if not names:
            return ()
        show = self._systemctl("show", "-p", "Id,ActiveState", "--", *names)
        out = (
            self._machine.patiently(lambda: self._machine.host.run(show))
            .checked()
            .out.decode("utf-8", "replace")
        )
        blocks = [dict(line.split("=", 1) for line in block.splitlines()) for block in out.split("\n\n")]
        idle = ("inactive", "failed")
        return tuple(each["Id"] for each in blocks if each.get("ActiveState", "inactive") not in idle)

    def hindrances(self) -> tuple[str, ...]:
        """Settings that forbid a stop or a start, or that do more at one: `FailureAction=reboot`."""
        ask = self._systemctl("show", "-p", _HINDRANCES, "--", self._machine.layout.unit)
        return parse_hindrances(self._machine.patiently(lambda: self._machine.host.run(ask)).checked().out)

    def on_failure(self) -> tuple[str, ...]:
        """Units that systemd starts when this one fails."""
        ask = self._systemctl("show", "-p", "OnFailure", "--value", "--", self._machine.layout.unit)
        out = self._machine.patiently(lambda: self._machine.host.run(ask)).checked().out
        return tuple(out.decode("utf-8", "replace").split())

    def cursor(self) -> str:
        """Where the journal ends now; empty if it cannot be told."""
        sudo = self._machine.sudo
        ask = ["journalctl", "-q", "-n", "1", "-o", "json", "--output-fields=MESSAGE_ID", "--no-pager"]
        out = self._machine.patiently(lambda: self._machine.host.run(ask, sudo=sudo)).out
        return _cursor_of(out)

    def log(self, cursor: str) -> tuple[str, ...]:
        """The unit's lines since then, systemd's own among them."""
        after = [f"--after-cursor={cursor}"] if cursor else ["-b"]
        ask = [
            "journalctl",
            "-q",
            f"{'--user-unit' if self._machine.layout.user else '--unit'}={self._machine.layout.unit}",
            *after,
            "-n",
            "400",
            "-o",
            "json",
            "-a",
            "--no-pager",
        ]
        sudo = self._machine.sudo
        return parse_journal(self._machine.patiently(lambda: self._machine.host.run(ask, sudo=sudo)).out)


def parse_hindrances(out: bytes) -> tuple[str, ...]:
    """Those of the properties that `systemctl show` printed that stand in a restart's way.

    >>> parse_hindrances(b"CanStart=yes\\nCanStop=no\\nFailureAction=reboot\\nOnSuccess=\\n")
    ('CanStop=no', 'FailureAction=reboot')
    """
    pairs = (line.partition("=") for line in out.decode("utf-8", "replace").splitlines())
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
