"""Tells whether a module of the tree may be imported in the deployment that was followed."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from assay.flow.reach.engine import Engine
from assay.source import Module, Modules, Sites, absolute

_ENTERED = (ast.If, ast.Try, ast.With, ast.For, ast.While, ast.ClassDef)
"""Statements whose bodies run when their module is imported."""


class Loading:
    """The modules that are imported: those where something was followed, and what they import in turn."""

    def __init__(self, engine: Engine, sites: Sites, modules: Modules, registries: frozenset[str]) -> None:
        """`registries` are packages of which a registry imports every module by its name."""
        self._engine, self._sites, self._modules, self._registries = engine, sites, modules, registries
        self._known: dict[str, bool] = {}
        self._asked: set[str] = set()

    def may_be(self, name: str) -> bool:
        """Whether a module, by its dotted name, may be imported; False only where nobody does it."""
        if name in self._known:
            return self._known[name]
        if name in self._asked:
            return False  # it imports itself, over others; whoever asked first goes on looking
        self._asked.add(name)
        found = self._is_touched(name) or any(self.may_be(each) for each in self._importers(name))
        self._asked.discard(name)
        if found or not self._asked:
            self._known[name] = found
        return found

    def _is_touched(self, name: str) -> bool:
        touched = {*self._engine.touched_modules, *self._engine.i.ran.values()}
        package = name.rpartition(".")[0]
        return (
            name in touched
            or package in self._registries
            or any(each.startswith(f"{name}.") for each in touched)
            or self._is_named_in_text(name)
        )

    def _is_named_in_text(self, name: str) -> bool:
        """Whether a text of the tree may be the name that something imports."""
        package, _, leaf = name.rpartition(".")
        if leaf == "__main__":  # `python -m package`, which is another program
            return False
        for mention in self._sites.mentions(leaf):
            value = getattr(mention.node, "value", None)
            if mention.kind in ("string", "text") and isinstance(value, str):
                inside = f"{mention.module.name}.".startswith(f"{package}.") or "." in value.strip(".")
                if inside and f".{name}".endswith(f".{value.strip('.')}"):
                    return True
        return False

    def _importers(self, name: str) -> Iterator[str]:
        """The modules that import that one, or something below it, while they are imported themselves."""
        leaf = name.rpartition(".")[2]
        for each in self._sites.holding(leaf):
            module = self._modules.module(each)
            if each != name and module is not None and imports(module, name):
                yield each


def imports(module: Module, name: str) -> bool:
    """Whether importing one module imports another, by a statement of its own level."""
    for statement in _run_at_import(module.tree.body):
        if isinstance(statement, ast.Import):
            given = [alias.name for alias in statement.names]
        else:
            source = absolute(module, statement) or ""
            given = [source, *(f"{source}.{alias.name}" for alias in statement.names)]
        if any(each == name or each.startswith(f"{name}.") for each in given):
            return True
    return False


def _run_at_import(statements: Iterable[ast.stmt]) -> Iterator[ast.Import | ast.ImportFrom]:
    for statement in statements:
        if isinstance(statement, ast.Import | ast.ImportFrom):
            yield statement
        elif isinstance(statement, _ENTERED) and not _is_for_types(statement):
            for part in ("body", "orelse", "finalbody"):
                yield from _run_at_import(getattr(statement, part, ()))
            for handler in getattr(statement, "handlers", ()):
                yield from _run_at_import(handler.body)


def _is_for_types(statement: ast.stmt) -> bool:
    test = getattr(statement, "test", None)
    return isinstance(statement, ast.If) and "TYPE_CHECKING" in (
        getattr(test, "id", ""),
        getattr(test, "attr", ""),
    )
