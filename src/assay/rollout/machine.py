"""One unit on one machine, as a rollout speaks to it: scripts under a lock, a lost link waited out."""

from __future__ import annotations

import shlex
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from assay.errors import CommandFailed, HostError, OutcomeUnknown, Refused, Unreachable
from assay.facts import read_gpu_users
from assay.hosts import HttpAnswer, Script, StartCommand, UnitState, ask_http
from assay.rollout import scripts
from assay.rollout.compose_manager import ComposeManager
from assay.rollout.marks import Marks, parse_marks
from assay.rollout.token import Service, service_of
from assay.rollout.unit_manager import UnitManager

if TYPE_CHECKING:
    from collections.abc import Sequence

    from assay._secret import Secret
    from assay.hosts import CommandResult, Host
    from assay.rollout.drop_in import Layout
    from assay.rollout.manager import Manager

_T = TypeVar("_T")
_SCRIPT_S = 90.0
_COMPOSE_S = 400.0
"""It waits itself until a container has stopped, and another one is made."""
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
        self.manager: Manager = ComposeManager(self, layout.compose) if layout.compose else UnitManager(self)

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
        """One of `scripts` as it is run for what is changed here."""
        return self.manager.shell + text

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
        sudo, limit_s = self.sudo, _COMPOSE_S if layout.compose else _SCRIPT_S
        return self.patiently(lambda: self.host.run(script, stdin=stdin, timeout_s=limit_s, sudo=sudo))

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
            since = "the trial began" if name == "keep" else "it was promoted"
            raise Refused(
                f"{self.host.name}: {self.layout.kept} was edited or removed since {since}",
                hint=f"see what it says; the file before it lies in {self.layout.var}/{self.id}"
                if name != "keep"
                else "take that edit back, or keep it and `assay rollback`",
            )
        if result.status == scripts.ELSEWHERE:
            called = f"{self.host.name}: rollout {self.id} of {self.layout.unit}"
            raise Refused(
                f"{called} is not kept in {self.layout.kept}",
                hint="name the deployment file that began it: unit_file, in its [live], says where",
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
        """The unit, or the service as one.

        Raises:
            Refused: it has another name, so rollouts by either would not see each other.
        """
        return self.manager.state()

    def starts(self) -> tuple[StartCommand, ...]:
        """What would be started now: its commands as systemd holds them, or as the compose files say."""
        return self.manager.starts()

    def processes(self) -> tuple[int, ...]:
        """All of its processes."""
        return self.manager.processes()

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
        return self.manager.words(pid)

    def digests(self, paths: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
        """Path and SHA-256 of files."""
        sudo = self.sudo
        ask = ["sha256sum", "--", *paths]
        out = self.patiently(lambda: self.host.run(ask, sudo=sudo)).checked().out.decode("utf-8", "replace")
        # names are not read back: sha256sum doubles their backslashes
        return tuple(zip(paths, (line.lstrip("\\").split(" ")[0] for line in out.splitlines()), strict=True))

    def complaints(self, fragment: str) -> frozenset[str]:
        """What the manager's own check says of the unit's file, or of the compose files."""
        return self.manager.complaints(fragment)

    def cursor(self) -> str:
        """Where the log ends now; empty if it cannot be told."""
        return self.manager.cursor()

    def log(self, cursor: str) -> tuple[str, ...]:
        """Its lines since then, systemd's own among them."""
        return self.manager.log(cursor)

    def service(self, words: Sequence[str], *, url: str | None, model: str | None) -> Service:
        """How the server with these words is asked from here.

        Raises:
            Refused: nobody says where.
        """
        return service_of(words, url=url, model=model, reached=self.manager.reached)

    def http(
        self, url: str, *, body: bytes | None = None, key: Secret | None = None, timeout_s: float = 10.0
    ) -> HttpAnswer:
        """Ask the server from its own machine."""
        return self.patiently(lambda: ask_http(self.host, url, body=body, key=key, timeout_s=timeout_s))


def host_failure(error: HostError) -> str:
    """A machine's failure in one line."""
    return " ".join([error.message, *error.details[-1:]])
