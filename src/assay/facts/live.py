"""A deployment as it is now: what was asked for, what runs, what it runs on."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from assay._value import Value
from assay.deployment import compose_service
from assay.engines import key_of, model_of, url_of
from assay.errors import CommandFailed, HostError
from assay.facts.container import ContainerState, find_compose_container, read_container
from assay.facts.gpus import GpuState, read_gpus
from assay.facts.installed import Distribution, environment_of, read_installed
from assay.facts.process import RunningProcess, read_process
from assay.facts.served import Served, read_served
from assay.hosts import UnitState, start_commands, unit_processes, unit_state

if TYPE_CHECKING:
    from collections.abc import Sequence

    from assay._secret import Secret
    from assay.hosts import Host, StartCommand


class LiveDeployment(Value):
    """All that could be read of a deployment. Words of commands may hold secrets; nothing else does."""

    host: str
    """The machine, as ssh names it; `this machine`."""
    unit: UnitState | None = None
    """The unit as systemd sees it."""
    user: bool = False
    """Whether the unit is of a user's own manager."""
    starts: tuple[StartCommand, ...] = ()
    """Its `ExecStart=`: what was asked for."""
    container: ContainerState | None = None
    """The container, where it is one and no unit."""
    process: RunningProcess | None = None
    """Its main process: what runs."""
    processes: tuple[int, ...] = ()
    """All of its processes."""
    gpus: GpuState = GpuState()
    """The machine's accelerators."""
    installed: tuple[Distribution, ...] = ()
    """What is installed in the environment that serves."""
    served: Served | None = None
    """What the server says of itself."""
    config_text: str | None = None
    """The model's config.json."""
    notes: tuple[str, ...] = ()
    """What could not be read, and why."""

    @property
    def words(self) -> tuple[str, ...]:
        """The server's command: as it runs, else as it is asked for."""
        if self.process is not None and any(word.startswith("--") for word in self.process.words):
            return self.process.words
        return self.starts[-1].words if self.starts else ()

    def __repr__(self) -> str:
        return f"LiveDeployment(host={self.host!r}, unit={self.unit.unit if self.unit else None!r})"


class _Notes:
    """Reads on where something cannot be had, and remembers why."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def add(self, what: str, error: HostError) -> None:
        """One thing that is not known."""
        self.lines.append(f"{what}: {error.message}" + (f" ({error.details[-1]})" if error.details else ""))


def read_live(host: Host, unit: str, *, sudo: bool = False, user: bool = False) -> LiveDeployment:
    """Read a deployment that is a systemd unit. Nothing is changed; `sudo` is for the process's variables.

    With `user` it is a unit of the own manager of the user who logs in there; `compose:PROJECT/SERVICE` is
    the container of a service of docker compose.

    Raises:
        CommandFailed: there is no such unit, or no systemd.
        InputError: that is not the full name of a unit.
        Unreachable: no connection.
    """
    if service := compose_service(unit):
        name = find_compose_container(host, *service, sudo=sudo)
        return read_live_container(host, "docker", name, sudo=sudo)
    state = unit_state(host, unit, user=user)
    if state.load_state == "not-found":
        raise CommandFailed(
            f"{host.name} has no unit {unit}",
            hint=f"`systemctl{' --user' if user else ''} list-units --type=service` lists them",
        )
    notes = _Notes()
    starts = start_commands(host, unit, user=user) if state.load_state == "loaded" else ()
    process = _process(host, state, notes, sudo=sudo)
    words = _best_words(process, starts)
    url = url_of(words)
    return LiveDeployment(
        host=host.name,
        unit=state,
        user=user,
        starts=starts,
        process=process,
        processes=unit_processes(host, unit, user=user),
        gpus=_gpus(host, notes),
        installed=_installed(host, words, notes),
        served=_served(host, url, words, notes) if url and process else None,
        config_text=_config(host, model_of(words), notes, sudo=sudo),
        notes=tuple(notes.lines),
    )


def read_live_container(host: Host, runtime: str, name: str, *, sudo: bool = False) -> LiveDeployment:
    """Read a deployment that is a container of docker, podman or nerdctl. Nothing is changed or run in it.

    `sudo` is for its engine, and for the process and the files in it.

    Raises:
        CommandFailed: there is no such container.
        InputError: that can be no container's name.
        Unreachable: no connection.
    """
    state = read_container(host, runtime, name, sudo=sudo)
    notes = _Notes()
    if state.pid is None:
        notes.lines.append(f"container {state.name} does not run: it is {state.status}")
    process = None
    if state.pid is not None:
        try:
            process = read_process(host, state.pid, sudo=sudo)
        except CommandFailed as error:
            notes.add("the running process", error)
    asked = RunningProcess(pid=state.pid or 0, words=state.words, environment=())
    # an init before the server has its words, too; what the engine was told is the server's command alone
    process = msgspec.structs.replace(process or asked, words=state.words)
    url = state.reached(url_of(state.words))
    inside = f"/proc/{state.pid}/root" if state.pid else None
    return LiveDeployment(
        host=host.name,
        container=state,
        process=process,
        gpus=_gpus(host, notes),
        installed=_installed_in(host, state.words, inside, notes, sudo=sudo) if inside else (),
        served=_served(host, url, state.words, notes) if url and state.pid else None,
        config_text=_config(host, model_of(state.words), notes, sudo=sudo, inside=inside) if inside else None,
        notes=tuple(notes.lines),
    )


def _installed_in(
    host: Host, words: Sequence[str], inside: str, notes: _Notes, *, sudo: bool
) -> tuple[Distribution, ...]:
    """Those of the environment that the words name, else of the places where images have them."""
    prefixes = [prefix] if (prefix := environment_of(words)) else ["/usr/local", "/opt/venv", "/usr"]
    found: tuple[Distribution, ...] = ()
    for prefix in prefixes:
        try:
            listed = read_installed(host, f"{inside}{prefix}", sudo=sudo)
        except CommandFailed as error:
            notes.add("installed packages", error)
            return ()
        found += tuple(
            msgspec.structs.replace(each, folder=each.folder.removeprefix(inside)) for each in listed
        )
    return found


def read_live_url(host: Host, url: str, *, key: Secret | None = None) -> LiveDeployment:
    """Read what a server says of itself, asked from the machine `host`.

    Raises:
        CommandFailed: it does not answer as a server.
    """
    served = read_served(host, url, key=key)
    if not served.models and not served.settings:
        raise CommandFailed(
            f"{url} does not answer as a server does", details=served.notes, hint="see whether it runs"
        )
    return LiveDeployment(host=host.name, served=served, notes=served.notes)


def _best_words(process: RunningProcess | None, starts: Sequence[StartCommand]) -> tuple[str, ...]:
    return LiveDeployment(host="", process=process, starts=tuple(starts)).words


def _process(host: Host, state: UnitState, notes: _Notes, *, sudo: bool) -> RunningProcess | None:
    if state.main_pid is None:
        return None
    try:
        process = read_process(host, state.main_pid, sudo=sudo)
    except CommandFailed as error:
        notes.add("the running process", error)
        return None
    if not process.environment_read:
        notes.lines.append(
            f"variables of process {process.pid}: only its user and root may read them; use --sudo"
        )
    return process


def _gpus(host: Host, notes: _Notes) -> GpuState:
    try:
        return read_gpus(host)
    except CommandFailed as error:
        notes.add("accelerators", error)
        return GpuState()


def _installed(host: Host, words: Sequence[str], notes: _Notes) -> tuple[Distribution, ...]:
    prefix = environment_of(words)
    if prefix is None:
        return ()
    try:
        return read_installed(host, prefix)
    except CommandFailed as error:
        notes.add("installed packages", error)
        return ()


def _served(host: Host, url: str, words: Sequence[str], notes: _Notes) -> Served | None:
    try:
        return read_served(host, url, key=key_of(words))
    except CommandFailed as error:
        notes.add(f"the server at {url}", error)
        return None


def _config(
    host: Host, model: str | None, notes: _Notes, *, sudo: bool, inside: str | None = None
) -> str | None:
    if model is None or not model.startswith("/"):
        return None
    try:
        return host.read(
            f"{inside or ''}{model.rstrip('/')}/config.json", sudo=sudo, limit_bytes=16 << 20
        ).decode()
    except CommandFailed as error:
        notes.add("the model's config.json", error)
    except UnicodeDecodeError:
        notes.lines.append(f"the model's config.json: {model}/config.json is not UTF-8")
    return None
