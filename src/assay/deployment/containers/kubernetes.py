"""Kubernetes manifests: each container that states a command or arguments becomes a launch."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING

from assay.deployment.containers.compose_command import (
    LIMIT_FAULTS,
    SHELLS,
    flow_as_text,
    quoting,
    scalar_word,
    word_as_written,
)
from assay.deployment.containers.letters import UNKNOWN, Letters, joined
from assay.deployment.containers.yaml_go import NAMES, GoType, go_type
from assay.deployment.containers.yaml_text import YamlMapping, YamlNode, YamlScalar, YamlSequence, read_yaml
from assay.deployment.files import read_user_file
from assay.deployment.launch import Fault, Launch, Variable
from assay.deployment.text import Edit
from assay.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from assay.deployment.text import UserFile, Word

_LIMIT_FILES = 50
_LIMIT_VALUES = 1 << 22  # characters that variables may give in all
_HELM = re.compile(
    r"\{\{-?\s*(?:\$|\.(?:Values|Release|Chart|Files|Capabilities|Template)\b"
    r"|(?:include|template|toYaml|if|else|end|range|with|define|tpl|default|quote|printf|required|lookup)\b)"
)
_RENDER = "render it first: helm template RELEASE CHART > manifests.yaml"

_POD_SPECS = {
    "Pod": ("spec",),
    "CronJob": ("spec.jobTemplate.spec.template.spec",),
    "LeaderWorkerSet": (
        "spec.leaderWorkerTemplate.leaderTemplate.spec",
        "spec.leaderWorkerTemplate.workerTemplate.spec",
    ),
    "InferenceService": ("spec.predictor", "spec.predictor.workerSpec"),
    "RayCluster": ("spec.headGroupSpec.template.spec", "spec.workerGroupSpecs.*.template.spec"),
    "RayService": (
        "spec.rayClusterConfig.headGroupSpec.template.spec",
        "spec.rayClusterConfig.workerGroupSpecs.*.template.spec",
    ),
    "RayJob": (
        "spec.rayClusterSpec.headGroupSpec.template.spec",
        "spec.rayClusterSpec.workerGroupSpecs.*.template.spec",
    ),
}
_OTHER_POD_SPECS = ("spec.template.spec", "spec")
"""Where Deployment, StatefulSet, DaemonSet, ReplicaSet, Job and most custom resources have their pods."""

_ADDS_NO_VARIABLES = frozenset(
    {"Pod", "Deployment", "StatefulSet", "DaemonSet", "ReplicaSet", "ReplicationController", "Job", "CronJob"}
)
"""Kinds of Kubernetes itself. Controllers of others set variables of their own in the container:
LeaderWorkerSet sets LWS_LEADER_ADDRESS, LWS_GROUP_SIZE and LWS_WORKER_INDEX."""
_OF_AN_INDEXED_JOB = "JOB_COMPLETION_INDEX"

_SERVICE_VARIABLE = re.compile(r"[A-Z][A-Z0-9_]*_(?:SERVICE_HOST|SERVICE_PORT\w*|PORT(?:_\w+)?)")
_VARIABLE = re.compile(r"[-._a-zA-Z][-._a-zA-Z0-9]*")
_SHELL_REFERENCE = re.compile(r"\$(?:([A-Za-z_]\w*)|\{([A-Za-z_]\w*)\})")


def looks_like_kubernetes(node: YamlNode) -> bool:
    """Whether a document is a Kubernetes object: it has `apiVersion` and `kind`."""
    return isinstance(node, YamlMapping) and bool(node.get("apiVersion") and node.get("kind"))


def read_kubernetes(path: Path) -> tuple[Launch, ...]:
    """One launch for each container, init containers included, with a command or arguments.

    Objects that hold pods: Pod, Deployment, StatefulSet, DaemonSet, ReplicaSet, Job, CronJob, List,
    LeaderWorkerSet, KServe's InferenceService, RayCluster, RayService, RayJob, and any other kind with
    `spec.template.spec.containers` or `spec.containers`. A ConfigMap that `envFrom` or `valueFrom` names is
    looked for in the same file, then in the other YAML files of its folder.

    Raises:
        InputError: the file cannot be read, is no YAML, is a Helm template or a kustomization, or holds no
            Kubernetes object.
    """
    file = read_user_file(path)
    if _HELM.search(file.text):
        raise InputError(f"{path} is a Helm template, not a manifest", hint=_RENDER)
    try:
        objects = list(_objects(read_yaml(file)))
    except InputError as error:
        if "{{" in file.text:
            raise InputError(f"{error.message} (a template?)", hint=_RENDER) from error
        raise
    if not objects:
        raise InputError(f"{path}: no Kubernetes object (apiVersion and kind) in it")
    if any(_text(found.get("kind")) == "Kustomization" for found in objects):
        hint = "render it first: kubectl kustomize FOLDER > manifests.yaml"
        raise InputError(f"{path} is a kustomization, not a manifest", hint=hint)
    manifest = _Manifest(path, file, objects)
    found = [manifest.launch(kind, container) for kind, container in _containers(objects)]
    return tuple(launch for launch in found if launch is not None)


def _objects(documents: tuple[YamlNode, ...]) -> Iterator[YamlMapping]:
    for document in documents:
        if not isinstance(document, YamlMapping) or not looks_like_kubernetes(document):
            continue
        items = document.get("items")
        if (_text(document.get("kind")) or "").endswith("List") and isinstance(items, YamlSequence):
            yield from (item for item in items.items if isinstance(item, YamlMapping))
        else:
            yield document


def _text(node: YamlNode | None) -> str | None:
    return node.text if isinstance(node, YamlScalar) and go_type(node, kubernetes=True) != "null" else None


def _containers(objects: list[YamlMapping]) -> Iterator[tuple[str, YamlMapping]]:
    """Each container with the kind of its object."""
    for found in objects:
        kind = _text(found.get("kind")) or ""
        for where in _POD_SPECS.get(kind, _OTHER_POD_SPECS):
            for spec in _at(found, where.split(".")):
                yield from ((kind, container) for container in _of_pod(spec))


def _at(node: YamlNode | None, path: list[str]) -> Iterator[YamlMapping]:
    """The mappings at a path; `*` stands for each item of a list."""
    if not path:
        if isinstance(node, YamlMapping):
            yield node
    elif isinstance(node, YamlMapping):
        yield from _at(node.get(path[0]), path[1:])
    elif isinstance(node, YamlSequence) and path[0] == "*":
        for item in node.items:
            yield from _at(item, path[1:])


def _of_pod(spec: YamlMapping) -> Iterator[YamlMapping]:
    for key in ("initContainers", "containers"):
        listed = spec.get(key)
        if isinstance(listed, YamlSequence):
            yield from (item for item in listed.items if isinstance(item, YamlMapping))
    model = spec.get("model")  # KServe: one container, built from the runtime
    if isinstance(model, YamlMapping):
        yield model


@dataclass(slots=True)
class _Environment:
    """The variables of one container."""

    variables: list[Variable] = field(default_factory=list)
    values: dict[str, str | None] = field(default_factory=dict)
    """By name; None where the value only shows at run time."""
    complete: bool = True
    """False if there may be more variables than are known here."""
    faults: list[Fault] = field(default_factory=list)
    """What is wrong in the container."""
    undefined: list[Fault] = field(default_factory=list)
    """References to variables that are not there; a shell may mean something else by them."""


class _Manifest:
    """A manifest and the ConfigMaps that it may refer to."""

    def __init__(self, path: Path, file: UserFile, objects: list[YamlMapping]) -> None:
        self.path = path
        self.file = file
        self.maps = dict(_config_maps(objects))
        self.folder_read = False
        self.given = 0

    def launch(self, kind: str, container: YamlMapping) -> Launch | None:
        environment = self._environment(kind, container)
        words: list[Word] = []
        for key in ("command", "args"):
            words += self._words(container.get(key), key, environment)
        faults = environment.faults
        if not words and not faults:
            return None
        if not any(word.text.rpartition("/")[2] in SHELLS for word in words):
            faults += environment.undefined
            faults += islice(_shell_references(words, environment), LIMIT_FAULTS)
        faults += islice(_repeated(container), LIMIT_FAULTS)
        others = {variable.file.path: variable.file for variable in environment.variables}
        others.pop(self.file.path, None)
        return Launch(
            kind="kubernetes",
            name=_text(container.get("name")) or "kserve-container",
            words=tuple(words),
            environment=tuple(environment.variables),
            image=_text(container.get("image")),
            directory=_text(container.get("workingDir")),
            faults=tuple(faults[:LIMIT_FAULTS]),
            files=(self.file, *others.values()),
        )

    # words

    def _words(self, node: YamlNode | None, key: str, environment: _Environment) -> Iterator[Word]:
        if isinstance(node, YamlSequence):
            for item in node.items:
                yield self._word(item, key, environment)
        elif node is not None and (isinstance(node, YamlMapping) or _text(node) is not None):
            message = f"Kubernetes refuses this {key}: it must be a list of strings"
            help_text = f'write a list: {key}: ["…", "…"]'
            environment.faults.append(
                Fault(kind="lost-quotes", place=node.place, message=message, refused=True, help=help_text)
            )
            yield word_as_written(node)

    def _word(self, item: YamlNode, key: str, environment: _Environment) -> Word:
        if not isinstance(item, YamlScalar):
            what = "mapping" if isinstance(item, YamlMapping) else "list"
            message = f"YAML reads this as a {what}, and Kubernetes refuses it in {key}: {item.raw[:60]}"
            if len(environment.faults) < LIMIT_FAULTS:
                environment.faults.append(flow_as_text(item, message))
            return word_as_written(item)
        kind = go_type(item, kubernetes=True)
        letters = Letters.of(item)
        if kind == "null":
            letters = Letters(item.file)
        elif kind != "str" and len(environment.faults) < LIMIT_FAULTS:
            environment.faults.append(_not_text(item, kind, key))
        return scalar_word(item, self._expanded(letters, environment))

    def _expanded(self, letters: Letters, environment: _Environment) -> Letters:
        def look_up(name: str, start: int, end: int) -> tuple[str | None, bool]:
            if name in environment.values:
                value = environment.values[name]
                return self._give(value), value is None
            may_be = _may_be_there(name, environment)
            if not may_be and len(environment.undefined) < LIMIT_FAULTS:
                environment.undefined.append(_undefined(letters.file, name, start, end))
            return None, may_be

        return _expand(letters, look_up) if "$" in letters.text else letters

    def _give(self, value: str | None) -> str | None:
        self.given += len(value or "")
        if self.given > _LIMIT_VALUES:
            raise InputError(f"{self.path}: its variables give more than {_LIMIT_VALUES:,} characters")
        return value

    # environment

    def _environment(self, kind: str, container: YamlMapping) -> _Environment:
        environment = _Environment(complete=kind in _ADDS_NO_VARIABLES)
        if kind in ("Job", "CronJob"):
            environment.values[_OF_AN_INDEXED_JOB] = None
        sources, listed = container.get("envFrom"), container.get("env")
        for source in sources.items if isinstance(sources, YamlSequence) else ():
            self._from(source, environment)
        for entry in listed.items if isinstance(listed, YamlSequence) else ():
            if isinstance(entry, YamlMapping):
                self._variable(entry, environment)
        return environment

    def _from(self, source: YamlNode, environment: _Environment) -> None:
        """All of a ConfigMap; a Secret's names are not known."""
        reference = source.get("configMapRef") if isinstance(source, YamlMapping) else None
        name = _text(reference.get("name")) if isinstance(reference, YamlMapping) else None
        data = self._config_map(name) if name else None
        if data is None or not isinstance(source, YamlMapping):
            environment.complete = False
            return
        prefix = _text(source.get("prefix")) or ""
        for entry in data.entries:
            value = _text(entry.value)
            end = entry.value.end if entry.value.end > entry.key.start else entry.key.end
            full = prefix + entry.key.text
            environment.values[full] = value or ""
            environment.variables.append(
                Variable(name=full, value=value or "", file=data.file, start=entry.key.start, end=end)
            )

    def _variable(self, entry: YamlMapping, environment: _Environment) -> None:
        name, value = _text(entry.get("name")), entry.get("value")
        if name is None:
            return
        text, known = "", True
        if entry.get("valueFrom"):
            text, known = self._value_from(entry.get("valueFrom"))
        elif isinstance(value, YamlScalar):
            kind = go_type(value, kubernetes=True)
            if kind not in ("str", "null") and len(environment.faults) < LIMIT_FAULTS:
                environment.faults.append(_not_text(value, kind, f"the value of {name}"))
            letters = Letters(value.file) if kind == "null" else Letters.of(value)
            letters = _expand_value(letters, environment, self._give)
            text, known = letters.text, UNKNOWN not in letters.marks
        environment.values[name] = text if known else None
        environment.variables.append(
            Variable(name=name, value=text, file=entry.file, start=entry.start, end=entry.end, known=known)
        )

    def _value_from(self, node: YamlNode | None) -> tuple[str, bool]:
        reference = node.get("configMapKeyRef") if isinstance(node, YamlMapping) else None
        if isinstance(reference, YamlMapping):
            name, key = _text(reference.get("name")), _text(reference.get("key"))
            data = self._config_map(name) if name else None
            value = _text(data.get(key)) if data and key else None
            if value is not None:
                return value, True
        return "", False

    def _config_map(self, name: str) -> YamlMapping | None:
        if name not in self.maps and not self.folder_read:
            self.folder_read = True
            for path in islice(_beside(self.path), _LIMIT_FILES):
                for key, data in _config_maps_of(path):
                    self.maps.setdefault(key, data)
        return self.maps.get(name)


def _beside(path: Path) -> Iterator[Path]:
    try:
        beside = sorted(path.parent.iterdir())
    except OSError:  # a folder may be closed to us while the file in it is not
        return
    for other in beside:
        if other.suffix in (".yaml", ".yml") and other != path and other.is_file():
            yield other


def _config_maps_of(path: Path) -> list[tuple[str, YamlMapping]]:
    """A file beside the manifest that cannot be read is none of the user's question."""
    try:
        return list(_config_maps(list(_objects(read_yaml(read_user_file(path))))))
    except InputError:
        return []


def _config_maps(objects: list[YamlMapping]) -> Iterator[tuple[str, YamlMapping]]:
    for found in objects:
        metadata, data = found.get("metadata"), found.get("data")
        name = _text(metadata.get("name")) if isinstance(metadata, YamlMapping) else None
        if _text(found.get("kind")) == "ConfigMap" and name and isinstance(data, YamlMapping):
            yield name, data


def _may_be_there(name: str, environment: _Environment) -> bool:
    """Whether a variable that the manifest does not set may exist at run time."""
    if not _VARIABLE.fullmatch(name):
        return False
    return not environment.complete or bool(_SERVICE_VARIABLE.fullmatch(name))


def _expand_value(
    letters: Letters, environment: _Environment, give: Callable[[str | None], str | None]
) -> Letters:
    """A variable's value may refer to variables before it; one that is not there stays as it stands."""

    def look_up(name: str, start: int, end: int) -> tuple[str | None, bool]:  # noqa: ARG001
        value = environment.values.get(name)
        return give(value), name in environment.values or _may_be_there(name, environment)

    return _expand(letters, look_up) if "$" in letters.text else letters


def _expand(letters: Letters, look_up: Callable[[str, int, int], tuple[str | None, bool]]) -> Letters:
    """Kubernetes' `$(NAME)`; `$$` is one `$`; anything else stays.

    `look_up` gives a value, or None and whether the variable may be there at run time.
    """
    parts: list[Letters] = []
    text, at = letters.text, 0
    last = text.rfind(")")
    while at < len(text):
        dollar = text.find("$", at)
        stop = dollar if dollar >= 0 else len(text)
        parts.append(letters.part(at, stop))
        close = text.find(")", stop + 2) if text.startswith("(", stop + 1) and last > stop else -1
        if close >= 0:
            value, open_ = look_up(text[stop + 2 : close], letters.starts[stop], letters.stops[close])
            if value is not None:
                parts.append(letters.value(stop, close + 1, value))
            else:
                parts.append(letters.part(stop, close + 1, UNKNOWN if open_ else None))
            at = close + 1
        elif text.startswith("$", stop + 1):
            dollars = letters.part(stop, stop + 1)
            dollars.stops = [letters.stops[stop + 1]]
            parts.append(dollars)
            at = stop + 2
        else:
            parts.append(letters.part(stop, min(stop + 1, len(text))))
            at = stop + 1
    return joined(letters.file, parts)


def _not_text(scalar: YamlScalar, kind: GoType, where: str) -> Fault:
    return Fault(
        kind="lost-quotes",
        place=scalar.place,
        message=f"Kubernetes refuses `{scalar.raw}` in {where}: it is {NAMES[kind]}, not text",
        refused=True,
        help="put it in quotes",
        edits=quoting(scalar),
    )


def _undefined(file: UserFile, name: str, start: int, end: int) -> Fault:
    return Fault(
        kind="dollar-expansion",
        place=file.place(start, end),
        message=f"the container has no variable `{name}`: the process gets `$({name})` as it stands",
        help=f"set `{name}` in `env`; for a shell's own `$( … )` write `$$( … )`",
    )


def _shell_references(words: list[Word], environment: _Environment) -> Iterator[Fault]:
    """`$NAME` where no shell is there to replace it."""
    for word in words:
        for found in _SHELL_REFERENCE.finditer(word.text):
            name = found[1] or found[2]
            start, end = word.offsets[found.start()], word.offsets[found.end() - 1] + 1
            here = word.file.text[start:end] == found[0]
            edits: tuple[Edit, ...] = ()
            if here and word.editable and name in environment.values:
                edits = (Edit(file=word.file.path, start=start, end=end, text=f"$({name})"),)
            yield Fault(
                kind="dollar-expansion",
                place=word.file.place(start, max(end, start)),
                message=f"no shell runs here: the process gets `{found[0]}` as it stands",
                help=f"Kubernetes puts a variable of the container in place of `$({name})`",
                edits=edits,
            )


def _repeated(node: YamlNode) -> Iterator[Fault]:
    """Of a key that is written twice the last one counts, without a word."""
    children: tuple[YamlNode, ...] = ()
    if isinstance(node, YamlMapping):
        for key in node.duplicates:
            message = f"{key.text} is written a second time in this mapping; the first one is dropped"
            yield Fault(kind="ignored-line", place=key.place, message=message)
        children = tuple(entry.value for entry in node.entries)
    elif isinstance(node, YamlSequence):
        children = node.items
    for child in children:
        yield from _repeated(child)
