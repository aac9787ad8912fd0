"""One unit on one machine, as a rollout speaks to it: scripts under a lock, a lost link waited out."""

from __future__ import annotations

import json
import shlex
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from assay.errors import CommandFailed, HostError, OutcomeUnknown, Refused, Unreachable
from assay.facts import read_gpu_users, read_process
from assay.hosts import (
    HttpAnswer,
    Script,
    StartCommand,
    UnitState,
    ask_http,
    start_commands,
    unit_processes,
    unit_state,
)
from assay.rollout import scripts
from assay.rollout.failure import parse_journal
from assay.rollout.marks import Marks, parse_marks

if TYPE_CHECKING:
    from assay._secret import Secret
    from assay.hosts import CommandResult, Host
    from assay.rollout.drop_in import Layout

_T = TypeVar("_T")
_SCRIPT_S = 90.0
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
_PAUSE_S = 1.0
# the name of a program may hold anything, also blanks and brackets
_ALIVE = r"""
for each; do
  case $(sed 's/.*) //; s/ .*//' "/proc/$each/stat" 2>/dev/null) in ""|Z|X) ;; *) echo "$each" ;; esac
done
"""


class SwitchFired(Exception):
    """The rollout is over on the machine: its switch has fired, or the machine was restarted."""


class Machine:
    """The scripts of one rollout. What it asks may be asked twice: a lost link is waited out for `lost_s`."""

    def __init__(self, host: Host, layout: Layout, *, id: str, lost_s: float) -> None:
        self.host = host
        self.layout = layout
        self.id = id
        self._lost_s = lost_s
        self._root: bool | None = None

    def patiently(self, ask: Callable[[], _T]) -> _T:
        """What it gives; where the link is lost it is asked again, until `lost_s` are over.

        Raises:
            HostError: of the last try.
        """
        deadline = time.monotonic() + self._lost_s
        while True:
            try:
                return ask()
            except (Unreachable, OutcomeUnknown):
                if time.monotonic() >= deadline:
                    raise
                time.sleep(_PAUSE_S)

    @property
    def sudo(self) -> bool:
        """Whether root's rights come by sudo; a user's own unit needs none."""
        if self.layout.user:
            return False
        if self._root is None:
            self._root = self.patiently(lambda: self.host.run(["id", "-u"])).checked().out.strip() == b"0"
        return not self._root

    def scoped(self, text: str) -> str:
        """One of `scripts` as it is run for the manager whose unit this is."""
        return scripts.USER + text if self.layout.user else text

    def systemctl(self, *words: str) -> list[str]:
        """The words that ask that manager."""
        return ["systemctl", *self._scope(), *words]

    def _scope(self) -> list[str]:
        return ["--user"] if self.layout.user else []

    def script(self, text: str, name: str, *more: str, stdin: bytes | None = None) -> CommandResult:
        """Run one of `scripts`; any status is a result."""
        layout = self.layout
        arguments = (
            layout.run,
            self.id,
            layout.unit,
            layout.trial,
            layout.kept,
            layout.var,
            layout.switch,
            *more,
        )
        script = Script(text=self.scoped(text), arguments=arguments, name=f"the step {name}")
        sudo = self.sudo
        return self.patiently(lambda: self.host.run(script, stdin=stdin, timeout_s=_SCRIPT_S, sudo=sudo))

    def act(self, text: str, name: str, *more: str, stdin: bytes | None = None) -> None:
        """Run one of `scripts` that changes something.

        Raises:
            SwitchFired: the rollout is over there.
            Refused: another one is under way, or something lies about that nobody knows.
            CommandFailed: it failed otherwise.
        """
        result = self.script(text, name, *more, stdin=stdin)
        if result.status in (scripts.NOT_ARMED, scripts.NO_SWITCH):
            raise SwitchFired
        if result.status == scripts.ANOTHER:
            raise self._another(result.out)
        if result.status == scripts.LEFTOVER:
            raise Refused(
                f"{self.host.name}: {self.layout.trial} is there, and no rollout is under way",
                hint=f"see what it is; if it is of no use: rm {shlex.quote(self.layout.trial)}; "
                "systemctl daemon-reload",
            )
        if result.status == scripts.EDITED:
            raise Refused(
                f"{self.host.name}: {self.layout.kept} was edited or removed since it was promoted",
                hint=f"see what it says; the file before it lies in {self.layout.var}/{self.id}",
            )
        if result.status == scripts.LOCKED:
            raise CommandFailed(
                f"{self.host.name}: something holds {self.layout.run}/lock for 20 s",
                hint=f"see what it is: fuser -v {self.layout.run}/lock",
            )
        result.checked()

    def _another(self, out: bytes) -> Refused:
        words = out.decode("utf-8", "replace").split()
        told = f"{words[0]} by {words[1]}, since {words[2]}" if len(words) == 3 else "not readable"
        return Refused(
            f"{self.host.name}: another rollout of {self.layout.unit} is under way: {told}",
            hint="`assay status` says how far it is; `assay promote` or `assay rollback` ends a trial",
        )

    def marks(self) -> Marks:
        """What is to be seen of rollouts."""
        return parse_marks(self.script(scripts.MARKS, "look").checked().out)

    def state(self) -> UnitState:
        """The unit.

        Raises:
            Refused: it has another name, so rollouts by either would not see each other.
        """
        state = self.patiently(lambda: unit_state(self.host, self.layout.unit, user=self.layout.user))
        if state.unit != self.layout.unit:
            raise Refused(
                f"{self.host.name}: {self.layout.unit} is another name of {state.unit}",
                hint=f"name it {state.unit}",
            )
        return state

    def starts(self) -> tuple[StartCommand, ...]:
        """Its commands as systemd holds them."""
        return self.patiently(lambda: start_commands(self.host, self.layout.unit, user=self.layout.user))

    def processes(self) -> tuple[int, ...]:
        """All of its processes."""
        return self.patiently(lambda: unit_processes(self.host, self.layout.unit, user=self.layout.user))

    def alive(self, processes: tuple[int, ...]) -> tuple[int, ...]:
        """Those of them that still run, and are no zombies."""
        if not processes:
            return ()
        script = Script(text=_ALIVE, arguments=tuple(map(str, processes)), name="the look at old processes")
        sudo = self.sudo  # where /proc hides other users' processes, all would seem gone
        out = self.patiently(lambda: self.host.run(script, sudo=sudo)).out
        return tuple(int(each) for each in out.split() if each.isdigit())

    def holding_gpus(self, processes: tuple[int, ...]) -> tuple[int, ...]:
        """Those of them that still hold memory of a GPU: the driver lets go of it after a process has ended.

        Raises:
            CommandFailed: nvidia-smi is there and does not answer.
        """
        users = self.patiently(lambda: read_gpu_users(self.host))
        return tuple(sorted({user.pid for user in users} & set(processes)))

    def words(self, pid: int) -> tuple[str, ...] | None:
        """The words of a process; None if it has ended."""
        sudo = self.sudo
        try:
            return self.patiently(lambda: read_process(self.host, pid, sudo=sudo)).words
        except CommandFailed:
            return None

    def digests(self, paths: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
        """Path and SHA-256 of files."""
        sudo = self.sudo
        ask = ["sha256sum", "--", *paths]
        out = self.patiently(lambda: self.host.run(ask, sudo=sudo)).checked().out.decode("utf-8", "replace")
        # names are not read back: sha256sum doubles their backslashes
        return tuple(zip(paths, (line.lstrip("\\").split(" ")[0] for line in out.splitlines()), strict=True))

    def complaints(self, fragment: str) -> frozenset[str]:
        """Lines of `systemd-analyze verify`."""
        ask = ["systemd-analyze", *self._scope(), "--man=no", "verify", fragment]
        sudo = self.sudo
        result = self.patiently(lambda: self.host.run(ask, sudo=sudo, timeout_s=_SCRIPT_S))
        lines = (result.out + result.err).decode("utf-8", "replace").splitlines()
        return frozenset(line for line in lines if line.strip())

    def coupled(self) -> tuple[str, ...]:
        """Active units that a stop would stop too, or that would start it while it is stopped."""
        unit = self.layout.unit
        ask = self.systemctl("show", "-p", ",".join(_COUPLINGS), "--value", "--", unit)
        names = self.patiently(lambda: self.host.run(ask)).checked().out.decode("utf-8", "replace").split()
        if not names:
            return ()
        show = self.systemctl("show", "-p", "Id,ActiveState", "--", *names)
        out = self.patiently(lambda: self.host.run(show)).checked().out.decode("utf-8", "replace")
        blocks = [dict(line.split("=", 1) for line in block.splitlines()) for block in out.split("\n\n")]
        idle = ("inactive", "failed")
        return tuple(each["Id"] for each in blocks if each.get("ActiveState", "inactive") not in idle)

    def hindrances(self) -> tuple[str, ...]:
        """Settings that forbid a stop or a start, or that do more at one: `FailureAction=reboot`."""
        ask = self.systemctl("show", "-p", _HINDRANCES, "--", self.layout.unit)
        return parse_hindrances(self.patiently(lambda: self.host.run(ask)).checked().out)

    def on_failure(self) -> tuple[str, ...]:
        """Units that systemd starts when this one fails."""
        ask = self.systemctl("show", "-p", "OnFailure", "--value", "--", self.layout.unit)
        out = self.patiently(lambda: self.host.run(ask)).checked().out
        return tuple(out.decode("utf-8", "replace").split())

    def cursor(self) -> str:
        """Where the journal ends now; empty if it cannot be told."""
        sudo = self.sudo
        ask = ["journalctl", "-q", "-n", "1", "-o", "json", "--output-fields=MESSAGE_ID", "--no-pager"]
        out = self.patiently(lambda: self.host.run(ask, sudo=sudo)).out
        return _cursor_of(out)

    def log(self, cursor: str) -> tuple[str, ...]:
        """The unit's lines since then, systemd's own among them."""
        after = [f"--after-cursor={cursor}"] if cursor else ["-b"]
        ask = [
            "journalctl",
            "-q",
            f"{'--user-unit' if self.layout.user else '--unit'}={self.layout.unit}",
            *after,
            "-n",
            "400",
            "-o",
            "json",
            "-a",
            "--no-pager",
        ]
        sudo = self.sudo
        return parse_journal(self.patiently(lambda: self.host.run(ask, sudo=sudo)).out)

    def http(
        self, url: str, *, body: bytes | None = None, key: Secret | None = None, timeout_s: float = 10.0
    ) -> HttpAnswer:
        """Ask the server from its own machine."""
        return self.patiently(lambda: ask_http(self.host, url, body=body, key=key, timeout_s=timeout_s))


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


def host_failure(error: HostError) -> str:
    """A machine's failure in one line."""
    return " ".join([error.message, *error.details[-1:]])
