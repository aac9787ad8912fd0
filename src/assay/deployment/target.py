"""Reads whatever a user points at: which kind of file it is, and all that it starts."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from assay._value import Value
from assay.deployment.containers.compose import looks_like_compose, read_compose
from assay.deployment.containers.kubernetes import looks_like_kubernetes, read_kubernetes
from assay.deployment.containers.yaml_text import read_yaml
from assay.deployment.deployment import Deployment
from assay.deployment.engine import EngineReference
from assay.deployment.files import read_user_file
from assay.deployment.launch import Launch
from assay.deployment.shell.script import COMMAND_LINE, parse_command, read_script
from assay.deployment.systemd.unit import read_unit
from assay.deployment.text import UserFile, Written
from assay.deployment.toml_file.load import load_deployment
from assay.deployment.wrappers.unwrap import unwrap
from assay.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping

_SECTION = re.compile(r"^[ \t]*+\[(?:Unit|Service)\][ \t\r]*+$", re.MULTILINE)
_DROP_INS = re.compile(r"(?P<unit>.+\.service)\.d")


class Target(Value):
    """What a user pointed at."""

    launches: tuple[Launch, ...]
    """Every command that it starts, wrappers taken off."""
    engine: EngineReference | None = None
    """The engine that it names itself; only a deployment file does."""
    deployment: Deployment | None = None
    """The deployment, if it is a deployment file."""


def read_target(path: Path, *, environment: Mapping[str, str], home: Path) -> Target:
    """Read a unit, script, compose file, manifest or deployment file; the kind is seen from name and text.

    `environment` and `home` are where a deployment file's model is looked for; compose files do not see them.

    Raises:
        InputError: the file cannot be read, or is of none of these kinds.
    """
    if path.is_dir():
        raise InputError(f"{path} is a folder", hint="name the unit, script, compose file or manifest in it")
    if path.suffix == ".toml":
        return _deployment(path, environment, home)
    if path.suffix == ".conf" and (match := _DROP_INS.fullmatch(path.parent.name)):
        return _of(read_unit(path.parent.with_name(match["unit"])))
    text = read_user_file(path).text
    if path.suffix == ".service" or _SECTION.search(text):
        return _of(read_unit(path))
    if path.suffix in (".yaml", ".yml"):
        return _of(*_containers(path))
    return _of(*read_script(path))


def read_command(text: str) -> Target:
    """Read a command line given as text, by the rules of the shell."""
    file = UserFile(path=COMMAND_LINE, text=text)
    return _of(parse_command(Written.whole(file), kind="command", name=COMMAND_LINE))


def _of(*launches: Launch) -> Target:
    return Target(launches=tuple(inner for launch in launches for inner in unwrap(launch)))


def _containers(path: Path) -> tuple[Launch, ...]:
    """The services or containers of a YAML file; none if it is neither compose file nor manifest."""
    documents = read_yaml(read_user_file(path))
    if any(looks_like_kubernetes(document) for document in documents):
        return read_kubernetes(path)
    if any(looks_like_compose(document) for document in documents):
        return read_compose(path)
    return ()


def _deployment(path: Path, environment: Mapping[str, str], home: Path) -> Target:
    deployment = load_deployment(path, environment=environment, home=home)
    launches = [_with_environment(launch, deployment) for launch in _commanded(deployment, environment, home)]
    inner = tuple(inner for launch in launches for inner in unwrap(launch))
    return Target(launches=inner, engine=deployment.engine, deployment=deployment)


def start_command(deployment: Deployment, *, environment: Mapping[str, str], home: Path) -> Launch:
    """The one command of a deployment as it is written, wrappers and all, with its variables.

    Raises:
        InputError: it starts none, or several.
    """
    launches = [_with_environment(each, deployment) for each in _commanded(deployment, environment, home)]
    if len(launches) != 1:
        raise InputError(f"{deployment.file.path} starts {len(launches) or 'no'} commands; one was expected")
    return launches[0]


def _commanded(deployment: Deployment, environment: Mapping[str, str], home: Path) -> tuple[Launch, ...]:
    """What the deployment's command is, wherever it stands."""
    source = deployment.command
    if source.kind != "inline":
        if (source.path or "").endswith(".toml"):
            raise InputError(
                f"{source.path} is a deployment file itself", hint="name a unit, script or compose file there"
            )
        launches = read_target(Path(source.path or ""), environment=environment, home=home).launches
        named = [launch for launch in launches if source.name in (None, launch.name)]
        if not named:
            names = ", ".join(dict.fromkeys(launch.name for launch in launches)) or "nothing"
            raise InputError(f"{source.path} has no {source.name!r}", hint=f"it has {names}")
        return tuple(
            msgspec.structs.replace(launch, files=(*launch.files, deployment.file)) for launch in named
        )
    if source.script is not None:
        return (parse_command(source.script, kind="deployment", name=deployment.name),)
    return (Launch(kind="deployment", name=deployment.name, words=source.words, files=(deployment.file,)),)


def _with_environment(launch: Launch, deployment: Deployment) -> Launch:
    """The launch with the deployment's variables under its own."""
    return msgspec.structs.replace(launch, environment=(*deployment.environment, *launch.environment))
