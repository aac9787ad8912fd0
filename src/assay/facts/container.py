"""A container as its engine sees it: what was asked for, whether it runs, where it answers."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from assay._value import Value
from assay.errors import CommandFailed, InputError

if TYPE_CHECKING:
    from assay.hosts import Host

CONTAINER_RUNTIMES = ("docker", "podman", "nerdctl")
_NAME = re.compile(r"[A-Za-z0-9][\w.-]*", re.ASCII)
_ANSWER_S = 30.0
# its variables are not among them: the engine would send them all, secrets too
_FIELDS = (
    *(".Name", ".Config.Image", ".Config.Entrypoint", ".Config.Cmd", ".State", ".RestartCount"),
    *(".HostConfig.NetworkMode", ".NetworkSettings.Ports", ".NetworkSettings.IPAddress", ".Config.Labels"),
)
_FORMAT = f"[{','.join(f'{{{{json {field}}}}}' for field in _FIELDS)}]"


class ContainerState(Value):
    """What a container's engine says of it. Its words may hold secrets; nothing else does."""

    name: str
    """As the engine knows it."""
    image: str
    """As it was asked for: `lmsysorg/sglang:v0.5.10`."""
    words: tuple[str, ...]
    """Entry point and command."""
    pid: int | None
    """Its first process, by its number outside; None if it does not run."""
    status: str
    """`running`, `exited`, `restarting` and so on."""
    restarts: int
    """How often the engine started it anew by itself."""
    own_network: bool
    """Whether its ports are its own, not the machine's."""
    address: str
    """Its own address, or empty."""
    published: tuple[tuple[int, int], ...]
    """Ports within and those of the machine that lead there."""
    compose: str
    """The compose project and service that it is of, `llm/server`, or empty."""

    def __repr__(self) -> str:
        return f"ContainerState({self.name!r}, {self.status!r})"

    def reached(self, url: str | None) -> str | None:
        """Where the server that listens at `url` within is to be asked from the machine; None: nowhere."""
        port = urlsplit(url).port if url else None
        if url is None or port is None or not self.own_network:
            return url
        outside = dict(self.published).get(port)
        if outside is not None:
            return f"http://127.0.0.1:{outside}"
        return f"http://{self.address}:{port}" if self.address else None


def read_container(host: Host, runtime: str, name: str, *, sudo: bool) -> ContainerState:
    """Ask a container's engine about it. Nothing is run in it.

    Raises:
        CommandFailed: there is none of that name, or the engine does not answer.
        InputError: that can be no container's name.
    """
    if runtime not in CONTAINER_RUNTIMES or not _NAME.fullmatch(name):
        raise InputError(
            f"{runtime}:{name} is no container",
            hint=f"known: {', '.join(CONTAINER_RUNTIMES)}, as docker:NAME",
        )
    ask = [runtime, "inspect", "--type", "container", "--format", _FORMAT, name]
    result = host.run(ask, sudo=sudo, timeout_s=_ANSWER_S)
    if not result.ok:
        raise CommandFailed(
            f"{host.name}: {runtime} says nothing of a container {name}",
            details=tuple(result.err.decode("utf-8", "replace").splitlines()[-1:]),
            hint=f"`{runtime} ps -a` lists them; where only root may ask, use --sudo",
        )
    return parse_container(result.out)


def find_compose_container(host: Host, project: str, name: str, *, sudo: bool) -> str:
    """The name of the container of a service of docker compose.

    Raises:
        CommandFailed: there is none, or there are several.
    """
    labels = (f"project={project}", f"service={name}", "oneoff=False")
    filters = [word for each in labels for word in ("--filter", f"label=com.docker.compose.{each}")]
    ask = ["docker", "ps", "-a", *filters, "--format", "{{.Names}}"]
    found = host.run(ask, sudo=sudo, timeout_s=_ANSWER_S).checked().out.decode("utf-8", "replace").split()
    if len(found) != 1:
        raise CommandFailed(
            f"{host.name}: compose has {len(found) or 'no'} containers of {project}/{name}",
            hint="`docker ps -a` lists them; `assay describe docker:NAME` says which service one is of",
        )
    return found[0]


def parse_container(out: bytes) -> ContainerState:
    """Reads what the engine printed for the fields above.

    Raises:
        CommandFailed: that is no answer.
    """
    try:
        name, image, entry, command, state, restarts, network, ports, address, labels = json.loads(out)
        labels = labels or {}
        project = labels.get("com.docker.compose.project")
        entry = entry if isinstance(entry, list) else entry.split() if entry else []  # podman joins it
        return ContainerState(
            name=name.removeprefix("/"),
            image=image,
            words=tuple(map(str, [*entry, *(command or [])])),
            pid=state.get("Pid") or None,
            status=state.get("Status", ""),
            restarts=restarts or 0,
            own_network=network != "host",
            address=address or "",
            published=tuple(sorted(_published(ports or {}))),
            compose=f"{project}/{labels.get('com.docker.compose.service', '')}" if project else "",
        )
    except (ValueError, TypeError, AttributeError, KeyError) as error:
        raise CommandFailed("the container's engine did not say what was asked") from error


def _published(ports: dict[str, list[dict[str, str]] | None]) -> set[tuple[int, int]]:
    return {
        (int(within.removesuffix("/tcp")), int(each["HostPort"]))
        for within, outside in ports.items()
        if within.endswith("/tcp")
        for each in outside or ()
    }
