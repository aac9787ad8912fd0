"""Lists what binds or changes each module-level name, without running anything."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass


@dataclass(frozen=True)
class Binding:
    """One statement that binds a module-level name, or changes the value that it stands for."""

    node: ast.stmt
    certain: bool
    """False if it stands under a condition, in a loop or in a `try`."""
    changes: bool = False
    """True if it only changes the value in place: `X.append(…)`, `X[k] = v`, `X += …`, `del X`."""
    alias: ast.alias | None = None
    """The name of an import statement that it is about."""


def collect_bindings(
    statements: Iterable[ast.stmt], *, certain: bool = True
) -> Iterator[tuple[str, Binding]]:
    """Name and binding, in the order of the source; functions and classes are not entered."""
    for statement in statements:
        if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield statement.name, Binding(statement, certain)
        elif isinstance(statement, ast.Import | ast.ImportFrom):
            yield from _imports(statement, certain=certain)
        elif isinstance(statement, ast.If | ast.Try | ast.With | ast.For | ast.While):
            yield from _compound(statement, certain=certain)
        else:
            yield from _simple(statement, certain=certain)


def _imports(statement: ast.Import | ast.ImportFrom, *, certain: bool) -> Iterator[tuple[str, Binding]]:
    for alias in statement.names:
        if alias.name != "*":
            first = alias.name.partition(".")[0] if isinstance(statement, ast.Import) else alias.name
            yield alias.asname or first, Binding(statement, certain, alias=alias)


def _compound(
    statement: ast.If | ast.Try | ast.With | ast.For | ast.While,
    *,
    certain: bool,
) -> Iterator[tuple[str, Binding]]:
    if isinstance(statement, ast.With):
        yield from collect_bindings(statement.body, certain=certain)
        return
    if isinstance(statement, ast.For):
        for name in _names(statement.target):
            yield name, Binding(statement, certain=False)
    if not (isinstance(statement, ast.If) and _only_for_types(statement.test)):
        yield from collect_bindings(statement.body, certain=False)
    for handler in statement.handlers if isinstance(statement, ast.Try) else ():
        yield from collect_bindings(handler.body, certain=False)
    yield from collect_bindings(statement.orelse, certain=False)
    if isinstance(statement, ast.Try):
        yield from collect_bindings(statement.finalbody, certain=certain)


def _simple(statement: ast.stmt, *, certain: bool) -> Iterator[tuple[str, Binding]]:
    if isinstance(statement, ast.Assign):
        for target in statement.targets:
            yield from _target(target, statement, certain=certain)
    elif isinstance(statement, ast.AnnAssign) and statement.value is not None:
        yield from _target(statement.target, statement, certain=certain)
    elif isinstance(statement, ast.AugAssign | ast.Delete):
        targets = [statement.target] if isinstance(statement, ast.AugAssign) else statement.targets
        for target in targets:
            for name in _names(target):
                yield name, Binding(statement, certain, changes=True)
    elif isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
        func = statement.value.func
        if isinstance(func, ast.Attribute) and isinstance(func.value, ast.Name):
            yield func.value.id, Binding(statement, certain, changes=True)


def _target(target: ast.expr, statement: ast.stmt, *, certain: bool) -> Iterator[tuple[str, Binding]]:
    in_place = isinstance(target, ast.Subscript | ast.Attribute)
    for name in _names(target):
        yield name, Binding(statement, certain, changes=in_place)


def _names(target: ast.expr) -> Iterator[str]:
    if isinstance(target, ast.Name):
        yield target.id
    elif isinstance(target, ast.Tuple | ast.List):
        for element in target.elts:
            yield from _names(element)
    elif isinstance(target, ast.Subscript | ast.Attribute | ast.Starred):
        yield from _names(target.value)


def _only_for_types(test: ast.expr) -> bool:
    return isinstance(test, ast.Name | ast.Attribute) and ast.unparse(test).endswith("TYPE_CHECKING")
