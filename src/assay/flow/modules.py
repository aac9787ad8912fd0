"""Evaluates the top level of modules, each statement when a name that it binds is first needed."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from assay.flow.machine import Machine
from assay.flow.values import MISSING, Deferred, External, Frame, ModuleValue, Signal
from assay.source import Module, Modules, absolute, collect_bindings

_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Import, ast.ImportFrom)


def _stands_in(statement: ast.stmt, lines: list[int]) -> bool:
    """Whether one of these lines is part of a statement."""
    return any(statement.lineno <= line <= (statement.end_lineno or line) for line in lines)


class ModuleState:
    """One module of the tree, as far as it has been evaluated."""

    def __init__(self, module: Module, replaced: frozenset[str]) -> None:
        self.module = module
        self._replaced = replaced
        self.name = module.name
        self.file = module.file
        self.frame = Frame(self)
        self.pending: dict[str, list[ast.stmt]] = {}
        """For each name, the top-level statements that bind or change it and have not been carried out."""
        self._rebound: frozenset[str] | None = None
        self.stars_outside: list[str] | None = None
        """Modules outside the tree of `from x import *`, once that was asked."""
        self.done: set[ast.stmt] = set()
        self.begun = False
        for statement in module.tree.body:
            if _changes_a_class(statement, module):
                continue
            for name in dict.fromkeys(name for name, _ in collect_bindings([statement])):
                self.pending.setdefault(name, []).append(statement)

    @property
    def rebound(self) -> frozenset[str]:
        """Module-level names that some function declares `global`, or replaces from another module."""
        if self._rebound is None:
            lines = [at for at, line in enumerate(self.module.lines, 1) if "global" in line]
            own = (each for each in self.module.tree.body if lines and _stands_in(each, lines))
            nodes = (node for statement in own for node in ast.walk(statement))
            own_names = {name for node in nodes if isinstance(node, ast.Global) for name in node.names}
            self._rebound = self._replaced | own_names
        return self._rebound


class ModuleStates:
    """The modules that the interpreted program has touched."""

    def __init__(
        self, machine: Machine, modules: Modules, execute: Callable[..., Any], call: Callable[..., Any]
    ) -> None:
        self.machine = machine
        self.modules = modules
        self._execute = execute
        self._call = call
        self.replaced: Mapping[str, frozenset[str]] = {}
        """By module, names that functions of other modules replace."""
        self.outside: frozenset[str] = frozenset()
        """Modules of the tree that count as libraries."""
        self.given: dict[tuple[str, str], Any] = {}
        """By module and name, what stands in the place of a definition."""
        self._states: dict[str, ModuleState | None] = {}
        self._has: dict[str, bool] = {}

    def has(self, name: str) -> bool:
        """Whether the tree holds that module or package."""
        if name not in self._has:
            self._has[name] = name not in self.outside and self.modules.has(name)
        return self._has[name]

    def state(self, name: str) -> ModuleState | None:
        """The module of that name, or None if the tree has none or it cannot be parsed."""
        if name not in self._states:
            module = self.modules.module(name)
            state = ModuleState(module, self.replaced.get(name, frozenset())) if module is not None else None
            for (where, given), value in self.given.items():
                if state is not None and where == name and given in state.pending:
                    del state.pending[given]
                    state.frame.names[given] = value
            self._states[name] = state
        return self._states[name]

    def lookup(self, state: ModuleState, name: str) -> Any:
        """What a module-level name stands for, `MISSING` if the module does not bind it."""
        if not state.begun:
            state.begun = True
            self.machine.suspended(lambda: self._begin(state))
        if name in state.pending:
            self.machine.suspended(lambda: self._bring_about(state, name))
        value = state.frame.names.get(name, MISSING)
        if value is MISSING:
            return self._dunder(state, name) if name.startswith("__") else self._starred(state, name)
        return value

    def imported(self, source: str, name: str) -> Any:
        """What `from source import name` binds; `MISSING` if the module of the tree has no such name."""
        if not self.has(source):
            return External(f"{source}.{name}")
        state = self.state(source)
        value = self.lookup(state, name) if state is not None else MISSING
        if value is MISSING and self.has(f"{source}.{name}"):
            return ModuleValue(f"{source}.{name}")
        if value is MISSING and state is None:
            return External(f"{source}.{name}")
        if value is MISSING and state is not None and not name.startswith("__"):
            fallback = state.frame.names.get("__getattr__") or self.lookup(state, "__getattr__")
            if fallback is MISSING:
                return MISSING
            # what it makes and keeps is the module's, whichever path asks first
            return self.machine.suspended(lambda: self._call(fallback, [name], {}))
        return value

    def force(self, deferred: Deferred) -> Any:
        """What a name stands for that was imported before anyone needed it."""
        value = self.imported(deferred.module, deferred.name)
        if value is MISSING:
            return self.machine.unknown(
                f"{deferred.module} has no name {deferred.name}", ("name", deferred.module, deferred.name)
            )
        return value

    def _bring_about(self, state: ModuleState, name: str) -> None:
        for statement in state.pending.pop(name, ()):
            self._carry_out(state, statement)

    def _carry_out(self, state: ModuleState, statement: ast.stmt) -> None:
        if statement in state.done:
            return
        state.done.add(statement)
        signal = self._execute(statement, state.frame)
        assert not isinstance(signal, Signal)

    def _begin(self, state: ModuleState) -> None:
        """Carry out what a module does when imported beside defining names."""
        body = state.module.tree.body
        for_effect = dict(self._imported_for_effect(state))
        for at, statement in enumerate(body):
            for name in for_effect.get(statement, ()):
                other = self.state(name)
                if other is not None:
                    self.lookup(other, "__name__")
            if _acts(statement) or self._registers(state, statement):
                if _changes_a_class(statement, state.module):
                    self._define(state, body[:at])
                self._carry_out(state, statement)

    def _imported_for_effect(self, state: ModuleState) -> Iterator[tuple[ast.stmt, list[str]]]:
        """Import statements with the modules of the tree that they bind to names which nobody uses."""
        found = {node: self._modules_of(state, node) for node in state.module.tree.body if _imports(node)}
        if not any(found.values()):
            return
        used = {node.id for node in ast.walk(state.module.tree) if isinstance(node, ast.Name)}
        for node, modules in found.items():
            yield node, [module for module, bound in modules if bound not in used]

    def _modules_of(self, state: ModuleState, node: ast.stmt) -> list[tuple[str, str]]:
        """The modules that an import statement names, and the names that it binds."""
        if isinstance(node, ast.Import):
            named = [(each.name, each.asname or each.name.partition(".")[0]) for each in node.names]
        else:
            source = absolute(state.module, node) if isinstance(node, ast.ImportFrom) else None
            names = node.names if isinstance(node, ast.ImportFrom) and source is not None else ()
            named = [(f"{source}.{each.name}", each.asname or each.name) for each in names]
        return [(module, bound) for module, bound in named if self.has(module)]

    def _registers(self, state: ModuleState, statement: ast.stmt) -> bool:
        """Whether a definition stands under a decorator of the tree, which may put it into a table."""
        for decorator in getattr(statement, "decorator_list", ()):
            root = decorator.func if isinstance(decorator, ast.Call) else decorator
            while isinstance(root, ast.Attribute):
                root = root.value
            bindings = state.module.bindings.get(root.id, ()) if isinstance(root, ast.Name) else ()
            if any(self._is_own(state, binding.node) for binding in bindings):
                return True
        return False

    def _is_own(self, state: ModuleState, node: ast.stmt) -> bool:
        if isinstance(node, ast.ImportFrom):
            source = absolute(state.module, node)
            return source is not None and self.has(source)
        return isinstance(node, ast.FunctionDef | ast.ClassDef | ast.Assign)

    def _define(self, state: ModuleState, statements: list[ast.stmt]) -> None:
        """Carry out definitions that a later statement may change the meaning of."""
        for statement in statements:
            if isinstance(statement, ast.ClassDef | ast.Assign | ast.AnnAssign):
                self._carry_out(state, statement)

    def _starred(self, state: ModuleState, name: str) -> Any:
        if name.startswith("_"):
            return MISSING
        for source in reversed(state.module.stars):
            starred = self.state(source) if self.has(source) else None
            value = self.lookup(starred, name) if starred is not None else MISSING
            if value is not MISSING:
                return value
        if state.stars_outside is None:
            state.stars_outside = [each for each in _star_sources(state.module) if not self.has(each)]
        outside = state.stars_outside
        return External(f"{outside[0]}.{name}") if outside else MISSING

    @staticmethod
    def _dunder(state: ModuleState, name: str) -> Any:
        known = {"__name__": state.name, "__file__": f"/{state.file}", "__doc__": None}
        return known.get(name, MISSING)


def _star_sources(module: Module) -> Iterator[str]:
    for node in module.tree.body:
        if isinstance(node, ast.ImportFrom) and any(alias.name == "*" for alias in node.names):
            source = absolute(module, node)
            if source:
                yield source


def _imports(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Import | ast.ImportFrom)


def _acts(statement: ast.stmt) -> bool:
    """Whether a top-level statement does something beside binding names."""
    if isinstance(statement, ast.Expr):
        return isinstance(statement.value, ast.Call)
    if isinstance(statement, ast.For | ast.While):
        return True
    if isinstance(statement, ast.Assign):
        return any(isinstance(target, ast.Attribute | ast.Subscript) for target in statement.targets)
    if isinstance(statement, ast.If) and _is_main(statement.test):
        return False
    if isinstance(statement, ast.If | ast.Try | ast.With):
        blocks = [statement.body, getattr(statement, "orelse", []), getattr(statement, "finalbody", [])]
        return any(_acts(inner) for block in blocks for inner in block)
    return False


def _changes_a_class(statement: ast.stmt, module: Module) -> bool:
    """Whether a statement is `Class.name = …` for a class of the module."""
    targets = statement.targets if isinstance(statement, ast.Assign) else []
    names = [t.value.id for t in targets if isinstance(t, ast.Attribute) and isinstance(t.value, ast.Name)]
    bindings = module.bindings
    return any(isinstance(each.node, ast.ClassDef) for name in names for each in bindings.get(name, ()))


def _is_main(test: ast.expr) -> bool:
    return isinstance(test, ast.Compare) and isinstance(test.left, ast.Name) and test.left.id == "__name__"
