"""Reading a deployment file: all of its faults at once, or a deployment."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, get_args

import msgspec

from assay.deployment.deployment import (
    Deployment,
    Hooks,
    Library,
    Live,
    OwnCandidate,
    Trials,
    Where,
    compose_service,
)
from assay.deployment.engine import EngineReference, parse_engine
from assay.deployment.files import read_user_file
from assay.deployment.launch import Variable
from assay.deployment.model import Model, find_model, read_model_folder, read_preset
from assay.deployment.toml_file.command_source import read_command
from assay.deployment.toml_file.hardware_section import read_hardware
from assay.deployment.toml_file.section import Faults, Section, got, kind
from assay.deployment.toml_file.toml import parse_toml
from assay.errors import DeploymentError, InputError

if TYPE_CHECKING:
    from collections.abc import Mapping


class _Surroundings:
    """What a file's values are read against."""

    def __init__(self, folder: Path, environment: Mapping[str, str], home: Path | None) -> None:
        self.folder = folder
        self.environment = environment
        self.home = home

    def path(self, text: str) -> Path:
        """A path of the file: relative to the file's folder, `~` is the home."""
        if self.home is not None and (text == "~" or text.startswith("~/")):
            return self.home / text[2:]
        return self.folder / text


def load_deployment(
    path: Path, *, environment: Mapping[str, str] | None = None, home: Path | None = None
) -> Deployment:
    """Read a deployment file (docs/reference/deployment-file.md).

    Args:
        path: the file; paths in it are relative to its folder.
        environment: the caller's environment, to find the Hugging Face cache by; None: not looked at.
        home: the caller's home folder, for `~` and that cache.

    Raises:
        InputError: the file cannot be read.
        DeploymentError: it can, and is wrong; `details` has a line for each fault.
    """
    file = read_user_file(path)
    document = parse_toml(file)
    faults = Faults(document)
    top = Section(faults, (), document.data)
    around = _Surroundings(path.parent, environment or {}, home)
    name = top.text("name") or path.stem
    engine = _read_engine(top, around)
    model = _read_model(top, around)
    hardware = read_hardware(top)
    command = read_command(top, around.path)
    variables = _read_environment(top)
    libraries = _read_libraries(top)
    trials = _read_trials(top)
    live = _read_live(top)
    hooks = _read_hooks(top)
    own = _read_candidates(top)
    top.refuse_unknown()
    if faults.count or engine is None or model is None or hardware is None or command is None:
        number = "one fault" if faults.count == 1 else f"{faults.count} faults"
        raise DeploymentError(
            f"{path} has {number}",
            hint="docs/reference/deployment-file.md has every key",
            details=faults.lines(),
        )
    return Deployment(
        name=name,
        engine=engine,
        model=model,
        hardware=hardware,
        command=command,
        file=file,
        environment=variables,
        libraries=libraries,
        trials=trials,
        live=live,
        hooks=hooks,
        candidates=own,
    )


def _read_engine(top: Section, around: _Surroundings) -> EngineReference | None:
    if not top.has("engine"):
        top.fault("engine", "expected where the engine's source is, such as sglang==0.5.10; it is missing")
        return None
    text = top.text("engine")
    if text is None:
        return None
    try:
        reference = parse_engine(text)
    except InputError as error:
        top.fault("engine", f"expected an engine, got {got(text)}; {error.hint}")
        return None
    if reference.kind == "folder":
        return msgspec.structs.replace(reference, value=str(around.path(reference.value)))
    return reference


def _read_model(top: Section, around: _Surroundings) -> Model | None:
    if not top.has("model"):
        top.fault("model", "expected a table, [model], with `path`, `name` or `preset`; it is missing")
    section = top.table("model")
    if section is None:
        return None
    section.refuse_unknown()
    path, name, preset, revision = (section.text(key) for key in ("path", "name", "preset", "revision"))
    ways = ("path", "name", "preset")
    named_path = {"path", "name"} <= section.data.keys() and not section.has("preset")
    if not named_path and section.one_of(ways, "which model this is") is None:
        return None
    try:
        if path:
            return read_model_folder(around.path(path), name=name)
        if preset:
            return read_preset(preset)
        if name:
            return find_model(
                name, environment=around.environment, home=around.home, revision=revision or "main"
            )
    except InputError as error:
        section.fault("path" if path else "preset" if preset else "name", _sentence(error))
    return None


def _read_environment(top: Section) -> tuple[Variable, ...]:
    section = top.table("environment")
    if section is None:
        return ()
    document = top.faults.document
    variables = []
    for name, value in section.data.items():
        path = (*section.path, name)
        if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name):
            section.fault(name, "expected the name of an environment variable: letters, digits and _")
        elif isinstance(value, bool) or not isinstance(value, str | int | float):
            section.fault(name, f"expected a text in quotes or a number, got {kind(value)}")
        elif "\0" in str(value):
            section.fault(name, "expected a text without a zero byte")
        else:
            span = document.spans[path]
            text = value if isinstance(value, str) else document.raw(path)
            variables.append(
                Variable(name=name, value=text, file=document.file, start=span.key, end=span.end)
            )
    return tuple(variables)


def _read_libraries(top: Section) -> tuple[Library, ...]:
    section = top.table("libraries")
    if section is None:
        return ()
    libraries: dict[str, Library] = {}
    for written, value in section.data.items():
        name = re.sub(r"[-_.]+", "-", written).lower()
        library = _library(name, value)
        if not re.fullmatch(r"[a-z0-9](?:[a-z0-9-]*[a-z0-9])?", name):
            section.fault(written, "expected the name of a Python distribution")
        elif name in libraries:
            section.fault(written, f"expected each distribution once; {name} was there before")
        elif library is None:
            section.fault(
                written,
                f'expected a version such as "0.6.7", "installed", "absent", true or false, got {got(value)}',
            )
        else:
            libraries[name] = library
    return tuple(libraries.values())


_VERSION = re.compile(r"v?\d+(?:\.\d+)*[A-Za-z0-9.+_-]{0,60}")


def _library(name: str, value: object) -> Library | None:
    if isinstance(value, bool):
        return Library(name=name, present=value)
    if value in ("installed", "absent"):
        return Library(name=name, present=value == "installed")
    if isinstance(value, str) and _VERSION.fullmatch(value):
        return Library(name=name, version=value)
    return None


_HOST = re.compile(r"[A-Za-z0-9_\[][\w.@:\[\]-]{0,252}", re.ASCII)


def _read_trials(top: Section) -> Trials:
    section = top.table("trials")
    if section is None:
        return Trials()
    section.refuse_unknown()
    where, hosts = section.text("where"), section.texts("hosts") or ()
    for index, host in enumerate(hosts):
        if not _HOST.fullmatch(host):  # nothing that ssh takes for an option
            section.faults.add(
                (*section.path, "hosts", index), f"expected the name of a host, got {got(host)}"
            )
    if where == "spare" and not section.has("hosts"):
        section.fault("hosts", 'expected at least one host for where = "spare"; it is missing')
    for known in get_args(Where):
        if where == known:
            return Trials(where=known, hosts=hosts)
    if where is not None:
        section.fault("where", f"expected one of {', '.join(map(got, get_args(Where)))}, got {got(where)}")
    return Trials(hosts=hosts)


_UNIT = re.compile(r"[A-Za-z0-9_][\w:.@\\-]{0,240}\.service", re.ASCII)


def _read_live(top: Section) -> Live | None:
    section = top.table("live")
    if section is None:
        return None
    section.refuse_unknown()
    unit, host, url, model = (section.text(key) for key in ("unit", "host", "url", "model"))
    if not section.has("unit"):
        section.fault("unit", 'expected a unit, such as "llm.service"; it is missing')
    elif unit is not None and not (_UNIT.fullmatch(unit) or compose_service(unit)):
        section.fault(
            "unit",
            'expected the full name of a service, such as "llm.service", or "compose:PROJECT/SERVICE", got '
            f"{got(unit)}",
        )
    if host is not None and not _HOST.fullmatch(host):
        section.fault("host", f"expected the name of a host, got {got(host)}")
    if url is not None and not re.fullmatch(r"https?://[^\s@/?#]+(?:/[^\s?#]*)?", url):
        section.fault("url", f"expected such as http://127.0.0.1:30000, no user, no query, got {got(url)}")
    user, unit_file = bool(section.flag("user")), section.text("unit_file")
    if not unit:
        return None
    return Live(unit=unit, user=user, host=host, unit_file=unit_file, url=url, model=model)


def _read_hooks(top: Section) -> Hooks:
    section = top.table("hooks")
    if section is None:
        return Hooks()
    section.refuse_unknown()
    drain, undrain = section.texts("drain"), section.texts("undrain")
    for key, other, words in (("drain", "undrain", drain), ("undrain", "drain", undrain)):
        if words is not None and (not words or not words[0] or words[0].startswith("-")):
            section.fault(key, "expected the words of a command, its program first")
        if section.has(other) and not section.has(key):
            section.fault(key, f"expected the words of a command beside `{other}`; it is missing")
    timeout_s = section.positive("timeout_s")
    return Hooks(drain=drain or (), undrain=undrain or (), timeout_s=timeout_s or Hooks().timeout_s)


def _read_candidates(top: Section) -> tuple[OwnCandidate, ...]:
    found = []
    for section in top.tables("candidates"):
        section.refuse_unknown()
        given, without = section.texts("set") or (), section.texts("without") or ()
        if not given and not without:
            section.fault("set", 'expected an option, such as set = ["max-num-seqs=8"]')
            continue
        found.append(OwnCandidate(set=given, without=without, why=section.text("why") or ""))
    return tuple(found)


def _sentence(error: InputError) -> str:
    return f"{error.message}; {error.hint}" if error.hint else error.message
