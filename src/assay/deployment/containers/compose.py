"""Docker Compose files: each service that states a command becomes a launch."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import islice
from os.path import isfile  # unlike Path.is_file, it bears any name
from pathlib import Path
from typing import TYPE_CHECKING

from assay.deployment.containers.compose_command import (
    LIMIT_FAULTS,
    SHELLS,
    Command,
    interpolated,
    quoting,
    read_command,
)
from assay.deployment.containers.compose_env import (
    EnvironmentFile,
    read_environment_file,
    read_raw_environment_file,
)
from assay.deployment.containers.letters import UNKNOWN, Letters
from assay.deployment.containers.yaml_go import go_text, go_type
from assay.deployment.containers.yaml_text import (
    YamlEntry,
    YamlMapping,
    YamlNode,
    YamlScalar,
    YamlSequence,
    read_yaml,
)
from assay.deployment.files import read_user_file
from assay.deployment.launch import Fault, Launch, Variable
from assay.deployment.text import Edit
from assay.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from assay.deployment.containers.compose_interpolation import Unset
    from assay.deployment.text import UserFile

_DEFAULT_NAMES = ("compose.yaml", "compose.yml", "docker-compose.yml", "docker-compose.yaml")
_OVERRIDES = (
    *("compose.override.yml", "compose.override.yaml"),
    *("docker-compose.override.yml", "docker-compose.override.yaml"),
)
_FIELDS = ("image", "command", "entrypoint", "working_dir")
_LIMIT_EXTENDS = 20
_LIMIT_FILES = 50
_LIMIT_VALUES = 1 << 22  # characters that variables may give in all
_NOTHING: Mapping[str, str] = {}


def looks_like_compose(node: YamlNode) -> bool:
    """Whether a document is (part of) a compose file: `services`, and no `apiVersion` or `kind`."""
    if not isinstance(node, YamlMapping) or node.get("apiVersion") or node.get("kind"):
        return False
    services = node.get("services")
    return isinstance(services, YamlMapping) and any(
        isinstance(entry.value, YamlMapping) for entry in services.entries
    )


def read_compose(path: Path, *, environment: Mapping[str, str] = _NOTHING) -> tuple[Launch, ...]:
    """One launch for each service with a command or an entrypoint, as `docker compose up` would start it.

    The first of the override files beside a file with one of Compose's default names is merged into it;
    `.env` beside it gives variables, `environment` more of them (those of the shell that runs Compose, which
    win). `include` is not followed.

    Raises:
        InputError: a file cannot be read or is no YAML, there is no `services` mapping, or `extends` names a
            service that is not there or one that extends itself.
    """
    return _Project(path, environment).launches()


@dataclass(slots=True)
class _Source:
    """The services of one document."""

    file: UserFile
    folder: Path
    services: YamlMapping


@dataclass(slots=True)
class _Setting:
    """One entry of `environment`."""

    name: str
    letters: Letters | None
    file: UserFile
    start: int
    end: int


@dataclass(slots=True)
class _EnvironmentFileEntry:
    """One entry of `env_file`."""

    node: YamlNode
    path: Path
    required: bool
    raw: bool


@dataclass(slots=True)
class _Service:
    """What is known of a service; later files are laid over earlier ones."""

    fields: dict[str, YamlNode] = field(default_factory=dict)
    environment: dict[str, _Setting] = field(default_factory=dict)
    env_files: dict[str, _EnvironmentFileEntry] = field(default_factory=dict)
    faults: list[Fault] = field(default_factory=list)
    files: list[UserFile] = field(default_factory=list)
    cleared: set[str] = field(default_factory=set)
    """Keys with `!reset` or `!override`, which forget what earlier files say."""

    def lay_over(self, other: _Service) -> None:
        """Take what a later file says: commands replace, environments are merged by name."""
        for key in other.cleared:
            self.fields.pop(key, None)
        if "environment" in other.cleared:
            self.environment = {}
        if "env_file" in other.cleared:
            self.env_files = {}
        self.fields |= other.fields
        self.environment |= other.environment
        self.env_files |= other.env_files
        self.faults += other.faults
        self.files += [file for file in other.files if file not in self.files]


class _Project:
    """A compose file with all that belongs to it."""

    def __init__(self, path: Path, environment: Mapping[str, str]) -> None:
        self.path = path
        self.environment = environment
        self.given = 0
        self.read: dict[Path, tuple[UserFile, tuple[YamlNode, ...]]] = {}
        self.main = self._read(path)[0]
        self.dotenv_file: UserFile | None = None
        self.dotenv = self._dotenv()
        self.variables = {
            variable.name: variable.value for variable in self.dotenv.variables if variable.known
        }

    def look_up(self, name: str) -> str | None:
        """A variable for interpolation."""
        value = self.environment.get(name)
        value = value if value is not None else self.variables.get(name)
        self.given += len(value or "")
        if self.given > _LIMIT_VALUES:
            raise InputError(f"{self.path}: its variables give more than {_LIMIT_VALUES:,} characters")
        return value

    def launches(self) -> tuple[Launch, ...]:
        sources = [source for path in self._paths() for source in self._sources(path)]
        if not sources:
            raise InputError(
                f"{self.path}: no `services:` mapping",
                hint="a compose file lists its services under `services:`",
            )
        services: dict[str, _Service] = {}
        for source in sources:
            for entry in source.services.entries:
                name = entry.key.text
                services.setdefault(name, _Service()).lay_over(self._service(source, name, ()))
        found = [self._launch(name, service) for name, service in services.items()]
        return tuple(launch for launch in found if launch is not None)

    def _paths(self) -> Iterator[Path]:
        yield self.path
        if self.path.name in _DEFAULT_NAMES:
            beside = [self.path.with_name(name) for name in _OVERRIDES]
            yield from [path for path in beside if isfile(path)][:1]

    def _read(self, path: Path) -> tuple[UserFile, tuple[YamlNode, ...]]:
        if path not in self.read:
            if len(self.read) >= _LIMIT_FILES:
                raise InputError(f"{self.path}: more than {_LIMIT_FILES} files belong to it")
            file = read_user_file(path)
            self.read[path] = (file, read_yaml(file))
        return self.read[path]

    def _sources(self, path: Path) -> list[_Source]:
        file, documents = self._read(path)
        found = []
        for document in documents:
            services = document.get("services") if isinstance(document, YamlMapping) else None
            if isinstance(services, YamlMapping):
                found.append(_Source(file, path.parent, services))
        return found

    def _dotenv(self) -> EnvironmentFile:
        path = self.path.with_name(".env")
        if not isfile(path):
            return EnvironmentFile()
        self.dotenv_file = read_user_file(path)
        return read_environment_file(self.dotenv_file, self.environment.get)

    # one service

    def _service(self, source: _Source, name: str, seen: tuple[tuple[str, str], ...]) -> _Service:
        here = (source.file.path, name)
        node = source.services.get(name)
        if here in seen or len(seen) >= _LIMIT_EXTENDS:
            raise InputError(f"{source.file.path}: service {name} extends itself, or too many others")
        if not isinstance(node, YamlMapping):
            return _Service()
        service = self._layer(source, node)
        extends = node.get("extends")
        base = self._base(source, extends, (*seen, here)) if extends else None
        if base is None:
            return service
        base.lay_over(service)
        return base

    def _base(self, source: _Source, extends: YamlNode, seen: tuple[tuple[str, str], ...]) -> _Service | None:
        service, other = extends, None
        if isinstance(extends, YamlMapping):
            service, other = extends.get("service") or extends, extends.get("file")
        if not isinstance(service, YamlScalar):
            place = extends.place
            raise InputError(f"{place.file}:{place.line}:{place.column}: expected the name of a service")
        sources = [source]
        if isinstance(other, YamlScalar):
            path = self._path(source, other)
            if not isfile(path):
                fault = _missing(other, f"extends: {path} is not there, and Compose refuses it", refused=True)
                return _Service(faults=[fault])
            sources = self._sources(path)
        name = self._text(service)
        for candidate in sources:
            if candidate.services.get(name):
                return self._service(candidate, name, seen)
        place = service.place
        raise InputError(f"{place.file}:{place.line}:{place.column}: extends: no service {name}")

    def _text(self, scalar: YamlScalar) -> str:
        return interpolated(Command(), scalar, self.look_up).letters.text

    def _path(self, source: _Source, scalar: YamlScalar) -> Path:
        text = self._text(scalar)
        if text.startswith("~/") and (home := self.environment.get("HOME")):
            text = home + text[1:]
        return source.folder / text

    def _layer(self, source: _Source, node: YamlMapping) -> _Service:
        """What one document says of a service."""
        service = _Service(files=[source.file], faults=list(islice(_repeated(node), LIMIT_FAULTS)))
        for entry in node.entries:
            key, value = entry.key.text, entry.value
            if value.tag in ("!reset", "!override"):
                service.cleared.add(key)
            if value.tag == "!reset":
                continue
            if key in _FIELDS:
                service.fields[key] = value
            elif key == "environment":
                self._environment(service, value)
            elif key == "env_file":
                self._env_files(service, source, value)
        return service

    def _environment(self, service: _Service, node: YamlNode) -> None:
        if isinstance(node, YamlMapping):
            for entry in node.entries:
                self._mapped(service, entry)
        elif isinstance(node, YamlSequence):
            for item in node.items:
                self._listed(service, item)

    def _mapped(self, service: _Service, entry: YamlEntry) -> None:
        key, value = entry.key, entry.value
        if not isinstance(value, YamlScalar):
            if len(service.faults) >= LIMIT_FAULTS:
                return
            message = f"Compose refuses the value of {key.text}: it is a list or mapping, not text"
            service.faults.append(
                Fault(kind="ignored-line", place=value.place, message=message, refused=True)
            )
            return
        letters: Letters | None = None
        if go_type(value) != "null":
            letters = self._value(service, value)
            if (text := go_text(value)) != value.text and go_type(value) != "str":
                self._changed(service, entry, value, text)
                letters = letters.value(0, len(letters), text)
        end = value.end if value.file == key.file and value.end > key.start else key.end
        service.environment[key.text] = _Setting(key.text, letters, key.file, key.start, end)

    def _changed(self, service: _Service, entry: YamlEntry, value: YamlScalar, text: str) -> None:
        if text == value.text.lower() or len(service.faults) >= LIMIT_FAULTS:
            return
        message = f"YAML reads {value.raw} as a number, and the process gets {entry.key.text}={text}"
        service.faults.append(
            Fault(
                kind="lost-quotes",
                place=value.place,
                message=message,
                help="put it in quotes",
                edits=quoting(value),
            )
        )

    def _value(self, service: _Service, value: YamlScalar) -> Letters:
        command = Command()
        letters = interpolated(command, value, self.look_up).letters
        service.faults += command.faults
        return letters

    def _listed(self, service: _Service, item: YamlNode) -> None:
        if not isinstance(item, YamlScalar) or go_type(item) != "str":
            if len(service.faults) >= LIMIT_FAULTS:
                return
            message = f"Compose refuses this in a list of environment variables: {item.raw[:60]}"
            help_text = "write NAME=value"
            service.faults.append(
                Fault(kind="ignored-line", place=item.place, message=message, refused=True, help=help_text)
            )
            return
        letters = self._value(service, item)
        at = letters.text.find("=")
        name = letters.text if at < 0 else letters.text[:at]
        value = letters.part(at + 1, len(letters)) if at >= 0 else None
        service.environment[name] = _Setting(name, value, item.file, item.start, item.end)

    def _env_files(self, service: _Service, source: _Source, node: YamlNode) -> None:
        for item in node.items if isinstance(node, YamlSequence) else (node,):
            path, required, raw = item, True, False
            if isinstance(item, YamlMapping):
                path = item.get("path") or item
                needed, style = item.get("required"), item.get("format")
                required = not (isinstance(needed, YamlScalar) and needed.text.lower() == "false")
                raw = isinstance(style, YamlScalar) and style.text == "raw"
            if not isinstance(path, YamlScalar) or go_type(path) == "null":
                continue
            letters = self._value(service, path)
            if UNKNOWN not in letters.marks:
                found = self._path(source, path)
                service.env_files[str(found)] = _EnvironmentFileEntry(path, found, required, raw)

    # one launch

    def _launch(self, name: str, service: _Service) -> Launch | None:
        entrypoint = read_command(service.fields.get("entrypoint"), "entrypoint", self.look_up)
        command = read_command(service.fields.get("command"), "command", self.look_up)
        words = (*entrypoint.words, *command.words)
        faults = [*service.faults, *entrypoint.faults, *command.faults]
        if not words and not faults:
            return None
        variables = self._variables(service, faults)
        names = {variable.name for variable in variables}
        shell = any(word.text.rpartition("/")[2] in SHELLS for word in words)
        for scalar, unset in [*entrypoint.unset, *command.unset][:LIMIT_FAULTS]:
            inside = unset.name in names
            if inside or shell or self.dotenv_file:  # else it may well come from where Compose runs
                faults.append(_unset(scalar, unset, inside=inside, shell=shell))
        return Launch(
            kind="compose",
            name=name,
            words=words,
            environment=tuple(variables),
            image=self._plain(service, "image"),
            directory=self._plain(service, "working_dir"),
            faults=(*self.dotenv.faults, *faults[:LIMIT_FAULTS]),
            files=tuple(self._files(service)),
        )

    def _files(self, service: _Service) -> list[UserFile]:
        files = [self.main, *(file for file in service.files if file != self.main)]
        return (
            [*files, self.dotenv_file]
            if self.dotenv_file and (self.dotenv.variables or self.dotenv.faults)
            else files
        )

    def _plain(self, service: _Service, key: str) -> str | None:
        node = service.fields.get(key)
        return self._text(node) or None if isinstance(node, YamlScalar) and go_type(node) != "null" else None

    def _variables(self, service: _Service, faults: list[Fault]) -> list[Variable]:
        """Variables of the environment files first: `environment` wins."""
        variables: list[Variable] = []
        for entry in service.env_files.values():
            if not isfile(entry.path):
                if entry.required and len(faults) < LIMIT_FAULTS:
                    message = f"env_file {entry.path} is not there, and Compose refuses to start without it"
                    faults.append(_missing(entry.node, message, refused=True))
                continue
            file = read_user_file(entry.path)
            service.files.append(file)
            read = self._read_env_file(service, file, raw=entry.raw)
            variables += read.variables
            faults += read.faults
        return variables + [self._variable(setting) for setting in service.environment.values()]

    def _read_env_file(self, service: _Service, file: UserFile, *, raw: bool) -> EnvironmentFile:
        def look_up(name: str) -> str | None:
            value = self.look_up(name)
            setting = service.environment.get(name)
            if value is None and setting and setting.letters and UNKNOWN not in setting.letters.marks:
                return setting.letters.text
            return value

        return read_raw_environment_file(file) if raw else read_environment_file(file, look_up)

    def _variable(self, setting: _Setting) -> Variable:
        """A name without a value is passed on from the shell or `.env`."""
        if setting.letters is None:
            value = self.look_up(setting.name)
            text, known = value or "", value is not None
        else:
            text, known = setting.letters.text, UNKNOWN not in setting.letters.marks
        return Variable(
            name=setting.name,
            value=text,
            file=setting.file,
            start=setting.start,
            end=setting.end,
            known=known,
        )


def _missing(node: YamlNode, message: str, *, refused: bool) -> Fault:
    return Fault(kind="missing-file", place=node.place, message=message, refused=refused)


def _unset(scalar: YamlScalar, unset: Unset, *, inside: bool, shell: bool) -> Fault:
    """The fault of a reference to a variable that is set nowhere."""
    name = unset.name
    edits: tuple[Edit, ...] = ()
    if inside and shell:
        edits = (Edit(file=scalar.file.path, start=unset.start, end=unset.start, text="$"),)
    message = f"Compose puts nothing in place of `${name}` unless its own shell or `.env` sets it"
    if inside:
        message += "; it does not look at the container's environment"
    return Fault(
        kind="dollar-expansion",
        place=scalar.file.place(unset.start, unset.end),
        message=message,
        help=f"set `{name}` in `.env`, or give a default: `${{{name}:-…}}`"
        + (f"; for the shell inside write `$${name}`" if shell else ""),
        edits=edits,
    )


def _repeated(node: YamlNode) -> Iterator[Fault]:
    """Compose refuses a file in which a key is written twice."""
    children: tuple[YamlNode, ...] = ()
    if isinstance(node, YamlMapping):
        for key in node.duplicates:
            message = f"Compose refuses the file: {key.text} is written a second time in this mapping"
            yield Fault(kind="ignored-line", place=key.place, message=message, refused=True)
        children = tuple(entry.value for entry in node.entries)
    elif isinstance(node, YamlSequence):
        children = node.items
    for child in children:
        yield from _repeated(child)
