"""A service of docker compose as a rollout asks about it: one container, and the files that state it."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from assay._value import Value
from assay.deployment import UserFile, compose_words, reword_service
from assay.engines import server_of
from assay.errors import CommandFailed, InputError, Refused
from assay.facts import read_container
from assay.hosts import Script, StartCommand, UnitState
from assay.rollout import compose_scripts
from assay.rollout.compose_scripts import functions_of
from assay.rollout.container import processes_in

if TYPE_CHECKING:
    from collections.abc import Sequence

    from assay.hosts import CommandResult
    from assay.rollout.drop_in import ComposeProject
    from assay.rollout.manager import Asked

_ASK_S = 60.0
# no variables: the engine would send them all, secrets too
_FIELDS = (
    ".Id",
    ".Created",
    ".State",
    ".RestartCount",
    ".Config.Entrypoint",
    ".Config.Cmd",
    ".Config.Labels",
)
_FORMAT = f"[{','.join(f'{{{{json {field}}}}}' for field in _FIELDS)}]"
_ACTIVE = {"running": "active", "paused": "active", "restarting": "activating", "created": "activating"}


class Box(Value):
    """One container of the service. Its words may hold secrets."""

    id: str
    """Its full id."""
    created: str
    """When it was made, as docker writes it: later ones sort behind."""
    status: str
    """`running`, `exited`, `restarting` and so on."""
    pid: int | None
    """Its first process, by its number outside."""
    started: str
    """When it was started last."""
    exit_code: int
    """Of its last end; above 128 a signal."""
    out_of_memory: bool
    """Whether the kernel ended it for want of memory."""
    restarts: int
    """How often its engine started it anew by itself."""
    entrypoint: tuple[str, ...]
    """Of its command the part that the image gives, unless the file does."""
    command: tuple[str, ...]
    """The rest."""
    digest: str
    """Of what compose made it from."""

    def __repr__(self) -> str:
        return f"Box({self.id[:12]!r}, {self.status!r})"

    @property
    def words(self) -> tuple[str, ...]:
        """The server's command."""
        return words_of(self.entrypoint, self.command)


def words_of(entrypoint: Sequence[str], command: Sequence[str]) -> tuple[str, ...]:
    """The server's command: both, unless the entry point only goes before it, as a script of the image."""
    both = (*entrypoint, *command)
    return both if server_of(both) is not None or server_of(command) is None else tuple(command)


class ComposeManager:
    """The manager of a service."""

    def __init__(self, machine: Asked, project: ComposeProject) -> None:
        self._machine, self._project = machine, project
        self.shell = functions_of(project, machine.layout.kept)

    def _ask(self, text: str, name: str, *arguments: str) -> CommandResult:
        script = Script(text=self.shell + text, arguments=arguments, name=name)
        machine = self._machine
        sudo = machine.sudo
        return machine.patiently(lambda: machine.host.run(script, sudo=sudo, timeout_s=_ASK_S))

    def _look(self) -> tuple[Box | None, frozenset[str]]:
        """The container that counts: the one that runs, else the newest; and what else is to be seen."""
        places = self._machine.layout
        said = self._ask(
            compose_scripts.LOOK, "the look at the service", places.trial, places.switch, _FORMAT
        ).checked()
        lines = said.out.decode("utf-8", "replace").splitlines()
        boxes = sorted(parse_boxes(lines), key=lambda each: (each.status == "running", each.created))
        return (boxes[-1] if boxes else None), frozenset(lines)

    def state(self) -> UnitState:
        """A container that its engine starts again and again is `activating`."""
        places = self._machine.layout
        box, marks = self._look()
        files = [each for each in self._project.files if each != places.kept]
        return state_of(
            box,
            unit=places.unit,
            files=(places.kept, *files, *([places.trial] if "trial" in marks else [])),
            starting="starting" in marks,
        )

    def check_written(self) -> None:
        """Compose would leave the container as it is."""
        box, _ = self._look()
        said = self._ask(compose_scripts.HASH, "the digest of the service")
        now = said.checked().out.decode("utf-8", "replace").strip()
        if box is not None and box.digest != now:
            raise Refused(
                f"{self._machine.host.name}: {self._machine.layout.unit} was made from other files, or with "
                "variables of a shell that is gone: a start would bring in more than the change",
                hint=f"`docker compose up -d {self._project.service}` in {self._project.folder}, with "
                "variables in its .env; see that it serves, then try again",
            )

    def starts(self) -> tuple[StartCommand, ...]:
        """As compose resolves its files, with the trial's where it lies there."""
        box, _ = self._look()
        said = self._ask(compose_scripts.RESOLVED, "the service's command", self._machine.layout.trial)
        entrypoint, command = compose_words(said.checked().out.decode("utf-8", "replace"))
        if command is None:
            return ()
        if entrypoint is None:
            entrypoint = box.entrypoint if box is not None else ()
        words = words_of(entrypoint, command)
        return (StartCommand(path=words[0], words=words, failure_ignored=False, flags=("no-env-expand",)),)

    def words(self, pid: int) -> tuple[str, ...] | None:
        """As the engine was told: its first process may be an init or a script."""
        box, _ = self._look()
        return box.words if box is not None and box.pid == pid else None

    def processes(self) -> tuple[int, ...]:
        """Those in its container, by their numbers outside."""
        box, _ = self._look()
        return processes_in(self._machine, "docker", box.id) if box is not None and box.pid else ()

    def trial_text(self, before: StartCommand, after: Sequence[str], *, id: str) -> str:
        """The compose file with the changed command; all else of it stays as it is written."""
        del id  # it is a copy, and becomes the file itself when it is kept
        box, _ = self._look()
        if box is None:
            raise Refused(f"{self._machine.host.name}: {self._machine.layout.unit} has no container")
        head = len(before.words) - len(box.command)
        if before.words[head:] != box.command or tuple(after[:head]) != before.words[:head]:
            raise Refused(
                f"the change is of the entry point of {self._machine.layout.unit}",
                hint="assay changes the service's `command`; change the entry point by hand",
            )
        kept = self._machine.layout.kept
        sudo = self._machine.sudo
        data = self._machine.patiently(lambda: self._machine.host.read(kept, sudo=sudo))
        file = UserFile(path=kept, text=data.decode("utf-8", "surrogateescape"))
        try:
            return reword_service(file, self._project.service, before.words[head:], after[head:])
        except InputError as error:
            raise Refused(error.message, hint=error.hint, details=error.details) from error

    def complaints(self, fragment: str) -> frozenset[str]:
        """Lines of `docker compose config`."""
        del fragment
        said = self._ask(compose_scripts.CHECK, "the check of the files", self._machine.layout.trial)
        lines = said.checked().out.decode("utf-8", "replace").splitlines()
        return frozenset(line for line in lines if line.strip())

    def coupled(self) -> tuple[str, ...]:
        """Nothing: other services are not touched (`--no-deps`)."""
        return ()

    def hindrances(self) -> tuple[str, ...]:
        """None."""
        return ()

    def on_failure(self) -> tuple[str, ...]:
        """Nothing."""
        return ()

    def cursor(self) -> str:
        """The machine's clock."""
        ask = ["date", "+%s.%N"]
        out = self._machine.patiently(lambda: self._machine.host.run(ask)).out.decode("utf-8", "replace")
        return out.strip()

    def log(self, cursor: str) -> tuple[str, ...]:
        """Lines of its containers, then those of `docker compose up`."""
        since = datetime.fromtimestamp(float(cursor), UTC).isoformat() if cursor else ""
        arguments = (since, cursor, self._machine.layout.switch)
        said = self._ask(compose_scripts.LOG, "the log of the service", *arguments)
        return tuple(said.out.decode("utf-8", "replace").splitlines())

    def reached(self, url: str | None) -> str | None:
        """Where its port is published, if that is another one than within."""
        box, _ = self._look()
        if box is None:
            return url
        sudo = self._machine.sudo
        state = self._machine.patiently(
            lambda: read_container(self._machine.host, "docker", box.id, sudo=sudo)
        )
        return state.reached(url)


def parse_boxes(lines: Sequence[str]) -> tuple[Box, ...]:
    """Reads what `docker inspect` printed for the fields above, a line for each container.

    Raises:
        CommandFailed: a line is none of its answers.
    """
    found = []
    for line in lines:
        if not line.startswith("["):
            continue
        try:
            id, created, state, restarts, entrypoint, command, labels = json.loads(line)
            found.append(
                Box(
                    id=id,
                    created=created,
                    status=state.get("Status", ""),
                    pid=state.get("Pid") or None,
                    started=state.get("StartedAt", ""),
                    exit_code=state.get("ExitCode", 0),
                    out_of_memory=bool(state.get("OOMKilled")),
                    restarts=restarts or 0,
                    entrypoint=tuple(entrypoint or ()),
                    command=tuple(command or ()),
                    digest=(labels or {}).get("com.docker.compose.config-hash", ""),
                )
            )
        except (ValueError, TypeError, AttributeError) as error:
            raise CommandFailed("docker did not say what was asked of the service's container") from error
    return tuple(found)


def state_of(box: Box | None, *, unit: str, files: Sequence[str], starting: bool) -> UnitState:
    """A container in systemd's words: `files` begins with the one that states the command."""
    job = 1 if starting else None
    if box is None:
        return UnitState(
            unit=unit, load_state="loaded", load_error="", active_state="inactive", sub_state="no container",
            result="success", invocation_id="", main_pid=None, restarts=0, exit_status=None, exit_kind="none",
            need_daemon_reload=False, fragment_path=files[0], drop_in_paths=tuple(files[1:]), job=job,
        )  # fmt: skip
    ended = box.pid is None and box.status != "created"
    killed = box.exit_code > 128
    gone = "failed" if box.exit_code else "inactive"
    return UnitState(
        unit=unit,
        load_state="loaded",
        load_error="",
        active_state=_ACTIVE.get(box.status, gone),
        sub_state="auto-restart" if box.status == "restarting" else box.status,
        result="oom-kill" if box.out_of_memory else "exit-code" if ended and box.exit_code else "success",
        invocation_id=f"{box.id[:12]}-{box.started}",
        main_pid=box.pid,
        restarts=box.restarts,
        exit_status=(box.exit_code - 128 if killed else box.exit_code) if ended else None,
        exit_kind=("killed" if killed else "exited") if ended else "none",
        need_daemon_reload=False,
        fragment_path=files[0],
        drop_in_paths=tuple(files[1:]),
        job=job,
    )
