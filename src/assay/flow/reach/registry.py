"""Registries that import modules by name: model classes by architecture."""

from __future__ import annotations

import ast
import re
from typing import Any

from assay.engines import probes
from assay.flow.reach.elements import MARKS, NOTHING, RUN, Known, Seq, Value, joined
from assay.flow.reach.engine import Engine
from assay.flow.values import MISSING, Class, VList


def add(engine: Engine, name: str) -> None:
    """Tell the engine how its registries answer."""
    for registry in probes.REGISTRIES.get(name, ()):
        state = engine.i.modules.state(registry.module)
        if state is None:
            continue
        lookup = _Lookup(engine, registry)
        for each in ast.walk(state.module.tree):
            if isinstance(each, ast.FunctionDef) and each.name == registry.function:
                engine.replacements[each] = lookup
            elif isinstance(each, ast.FunctionDef) and each.name == registry.names:
                engine.replacements[each] = lookup.names


def add_topologies(engine: Engine, name: str) -> None:
    """Tell the engine which functions look at the machine."""
    for topology in probes.TOPOLOGIES.get(name, ()):
        state = engine.i.modules.state(topology.module)
        for each in ast.walk(state.module.tree) if state is not None else ():
            if isinstance(each, ast.FunctionDef) and each.name == topology.function:
                engine.topologies[each] = _Topology(engine, topology)


class _Topology:
    """A function that looks at the machine: where its source leaves the answer open, a fact decides."""

    def __init__(self, engine: Engine, topology: probes.Topology) -> None:
        self.engine = engine
        self.topology = topology
        self._inside: set[Any] = set()

    def __call__(self, run: Any, node: ast.AST, arguments: list[Value], function: Any = None) -> Value | None:
        from assay.flow.reach import calling

        found = calling.follow(run, node, function, None, arguments, {})
        fact = self.engine.i.outside.facts.find(self.topology.fact)
        known = self.engine.elements.known
        if fact is None or not {*known(True), *known(False)} <= found:
            return found
        return known(bool(fact.value)) | (found & MARKS)


class _Lookup:
    """One registry of classes."""

    def __init__(self, engine: Engine, registry: probes.Registry) -> None:
        self.engine = engine
        self.registry = registry
        self._found: dict[str, Any] = {}
        self._all = VList()

    def __call__(self, run: Any, node: ast.AST, arguments: list[Value]) -> Value | None:
        from assay.flow.reach.expressions import iterated

        if self.registry.lists:
            return self._made(run, node, arguments)
        found = NOTHING
        for argument in arguments[-1:]:
            for each in argument - MARKS:
                names = frozenset({each})
                if not (isinstance(each, Known) and isinstance(each.value, str)):
                    names = iterated(run, node, names)[0]
                for name in names - MARKS:
                    if isinstance(name, Known) and isinstance(name.value, str):
                        found = joined(found, self._pair(node, name.value))
        return found or RUN

    def names(self, _run: Any, _node: ast.AST, _arguments: list[Value]) -> Value:
        """All names that the table holds."""
        if not self._all:
            folder = self.engine.i.modules.modules.root.joinpath(*self.registry.package.split("."))
            pattern = re.compile(rf"^{self.registry.attribute}\s*=\s*(\[[^\]]*\]|\w+)".encode(), re.MULTILINE)
            for path in sorted(folder.glob("*.py")):
                for match in pattern.finditer(path.read_bytes()):
                    self._all.extend(each.decode() for each in re.findall(rb"[A-Za-z_]\w*", match.group(1)))
        return self.engine.elements.known(self._all)

    def _made(self, run: Any, node: ast.AST, arguments: list[Value]) -> Value | None:
        """An object of the class that lists one of the model's architectures."""
        from assay.flow.reach import calling, owners
        from assay.flow.reach.expressions import iterated

        names = owners.attribute(run, node, arguments[0], "architectures")
        found = NOTHING
        for name in iterated(run, node, names)[0] - MARKS:
            if isinstance(name, Known) and isinstance(name.value, str):
                cls = self.find(name.value)
                if cls is not None:
                    found = joined(found, calling.instantiated(run, node, cls, arguments, {}, None))
        return found or RUN

    def _pair(self, node: ast.AST, name: str) -> Value:
        cls = self.find(name)
        if cls is None:
            return NOTHING
        return self.engine.elements.known((cls, name))

    def find(self, name: str) -> Class | None:
        """The class of an architecture, from the module that names it as its entry."""
        if name not in self._found:
            self._found[name] = self._search(name)
        found = self._found[name]
        return found if isinstance(found, Class) else None

    def _search(self, name: str) -> Any:
        modules = self.engine.i.modules
        folder = modules.modules.root.joinpath(*self.registry.package.split("."))
        for path in sorted(folder.glob("*.py")):
            data = path.read_bytes()
            if name.encode() not in data or self.registry.attribute.encode() not in data:
                continue
            state = modules.state(f"{self.registry.package}.{path.stem}")
            if self.registry.lists:
                listed = self._listing(state, name) if state is not None else None
                if listed is not None:
                    return listed
                continue
            entry = self.engine.module_level(state, self.registry.attribute) if state is not None else MISSING
            entry = self.engine.force(entry) if entry is not MISSING else MISSING
            for each in entry if isinstance(entry, list) else [entry]:
                each = self.engine.force(each)
                if isinstance(each, Class) and each.name == name:
                    return each
        return None

    def _listing(self, state: Any, name: str) -> Any:
        """The class of a module whose list holds that name."""
        for each in state.module.tree.body:
            for inner in each.body if isinstance(each, ast.ClassDef) else ():
                targets = inner.targets if isinstance(inner, ast.Assign) else []
                if any(isinstance(t, ast.Name) and t.id == self.registry.attribute for t in targets):
                    names = {n.id for n in ast.walk(inner) if isinstance(n, ast.Name)}
                    found = self.engine.module_level(state, each.name) if name in names else None
                    if isinstance(found, Class):
                        return found
        return None


__all__ = ["Seq", "add"]
