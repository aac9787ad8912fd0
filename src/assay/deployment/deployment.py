"""What is served, by which engine, on which machine and started how: the values of a deployment file."""

from __future__ import annotations

import re
from typing import Literal

from assay._value import Value
from assay.deployment.engine import EngineReference
from assay.deployment.hardware import Hardware
from assay.deployment.launch import Variable
from assay.deployment.model import Model
from assay.deployment.text import UserFile, Word, Written

CommandKind = Literal["inline", "unit", "script", "compose", "manifest"]
"""Where the server's command line stands: in the deployment file, a systemd unit, a script, a compose file,
a Kubernetes manifest."""


class CommandSource(Value):
    """Where the server's command line is to be read. Files are named here; `read_target` reads them."""

    kind: CommandKind
    """In which kind of file."""
    path: str | None = None
    """Path of that file, None for `inline`; a relative one is joined to the folder of the deployment file."""
    name: str | None = None
    """The service of a compose file or the container of a manifest; None: the file has only one."""
    script: Written | None = None
    """An inline command that is one string, to be split as a shell would."""
    words: tuple[Word, ...] = ()
    """An inline command that is a list of words, taken as they are."""


class Library(Value):
    """What is known of one Python distribution beside the engine."""

    name: str
    """Name of the distribution, in the registry's normal form: `flashinfer-python`."""
    version: str | None = None
    """Its version; None if not stated, or if it is absent."""
    present: bool = True
    """False if it is known not to be installed."""


Where = Literal["nowhere", "spare", "drained", "in_place"]
"""Nowhere; on spare hosts; on a replica that was drained before; on the serving hosts themselves."""


class Trials(Value):
    """Where assay may start servers for measurements."""

    where: Where = "nowhere"
    """On which of the hosts."""
    hosts: tuple[str, ...] = ()
    """The hosts where, as `ssh` names them."""


class Hooks(Value):
    """Commands of the user's around a restart, run where assay runs: lists of words, no shell."""

    drain: tuple[str, ...] = ()
    """Takes the server out of its balancer, and returns when its last requests have ended."""
    undrain: tuple[str, ...] = ()
    """Puts it back."""
    timeout_s: float = 300.0
    """How long each may take."""


class OwnCandidate(Value):
    """A change of the command that `assay tune` shall try, as the file writes it."""

    set: tuple[str, ...] = ()
    """Options to set: `max-num-seqs=8`, `enable-mixed-chunk`."""
    without: tuple[str, ...] = ()
    """Options to take away."""
    why: str = ""
    """For what reason."""


_COMPOSE_SERVICE = re.compile(r"compose:([A-Za-z0-9][\w.-]*)/([A-Za-z0-9][\w.-]*)", re.ASCII)


def compose_service(unit: str) -> tuple[str, str] | None:
    """Project and service of `compose:PROJECT/SERVICE`; None for what is no such name, as a systemd unit's.

    >>> compose_service("compose:llm/server"), compose_service("llm.service")
    (('llm', 'server'), None)
    """
    found = _COMPOSE_SERVICE.fullmatch(unit)
    return (found[1], found[2]) if found else None


class Live(Value):
    """Where the deployment runs now: what `assay describe`, `apply` and `status` look at."""

    unit: str
    """The systemd unit, `llm.service`, or a service of docker compose, `compose:PROJECT/SERVICE`."""
    user: bool = False
    """Whether it is of the own manager of the user who logs in there: `systemctl --user`."""
    host: str | None = None
    """The machine, as `ssh` names it; None: this one."""
    unit_file: str | None = None
    """The user's own copy of the unit's file, which is edited when a change is kept, and copied over it; its
    path. None: a drop-in is kept."""
    url: str | None = None
    """Where the server answers, as seen from its own machine; None: as its command says."""
    model: str | None = None
    """The model's name for requests; None: the first that the server lists."""


class Deployment(Value):
    """One served model: everything that decides what an option of the engine does here."""

    name: str
    """Name of the deployment; the file's own name without its ending, if not stated."""
    engine: EngineReference
    """Which engine, and where its source is to be had."""
    model: Model
    """The model that is served, with its config.json."""
    hardware: Hardware
    """The accelerators of one serving machine."""
    command: CommandSource
    """How the server is started."""
    file: UserFile
    """The file that this was read from."""
    environment: tuple[Variable, ...] = ()
    """Environment variables of the server, beside those that its command sets. Their values may be secret."""
    libraries: tuple[Library, ...] = ()
    """Versions of libraries that the engine asks for."""
    trials: Trials = Trials()
    """Where trials may run."""
    live: Live | None = None
    """Where it runs; None if the file does not say."""
    hooks: Hooks = Hooks()
    """What is run around a restart."""
    candidates: tuple[OwnCandidate, ...] = ()
    """What `assay tune` shall try beside the engine's own table."""
