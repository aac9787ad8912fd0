"""The libraries that an engine's own metadata requires: taken as installed unless facts say otherwise."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable
from pathlib import Path

import msgspec
from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from assay.engines import engine_named
from assay.facts import Fact, Facts, library_fact

MAX_BYTES = 1 << 20


def with_requirements(facts: Facts, root: Path, engine: str) -> Facts:
    """The facts, and for each required library of which they say nothing that it is installed as required.

    Read from `NAME.dist-info/METADATA` beside the engine's package, or a checkout's `pyproject.toml`.
    """
    if facts.libraries_are_complete:
        return facts
    found: dict[str, Fact] = {}
    lowest: list[Fact] = []
    for text, where in _requirements(root, engine):
        try:
            need = Requirement(text)
        except InvalidRequirement:
            continue
        if need.marker is not None and not need.marker.evaluate({"extra": ""}):
            continue
        name = canonicalize_name(need.name)
        pin = next((each.version for each in need.specifier if each.operator == "=="), None)
        pin = pin and pin.partition("+")[0]  # `+cpu` is this build's, not the deployment's
        fact = library_fact(name, pin, f"{where} requires {text}"[:200])
        if facts.find(fact.name) is None:
            found.setdefault(name, fact)
            least = next((each.version for each in need.specifier if each.operator == ">="), None)
            if pin is None and least is not None:
                lowest.append(Fact(name=f"at_least:{name}", value=least, source=fact.source))
    added = [*found.values(), *lowest, *_of_torch(facts, found.get("torch"))]
    return msgspec.structs.replace(facts, facts=(*facts.facts, *added)) if added else facts


def _of_torch(facts: Facts, pinned: Fact | None) -> Iterable[Fact]:
    """The version that torch itself states, of a build for the known CUDA version."""
    if pinned is None or pinned.value["version"] is None or facts.find("torch.version") is not None:
        return
    cuda = facts.find("cuda.version")
    suffix = f"+cu{str(cuda.value).replace('.', '')}" if cuda is not None and cuda.value else ""
    yield Fact(name="torch.version", value=f"{pinned.value['version']}{suffix}", source=pinned.source)


def _requirements(root: Path, engine: str) -> Iterable[tuple[str, str]]:
    for name in engine_named(engine).distributions:
        for file in sorted(root.glob(f"{name.replace('-', '_')}-*.dist-info/METADATA"))[:1]:
            for line in _text(file).splitlines():
                if line.startswith("Requires-Dist: "):
                    yield line.removeprefix("Requires-Dist: "), file.parent.name
            return
    project = root / "pyproject.toml"
    if project.is_file():
        try:
            table = tomllib.loads(_text(project)).get("project", {})
        except tomllib.TOMLDecodeError:
            return
        for line in table.get("dependencies", []) if isinstance(table, dict) else []:
            yield str(line), project.name


def _text(file: Path) -> str:
    with file.open("rb") as stream:
        return stream.read(MAX_BYTES).decode(errors="replace")
