"""Finds the classes whose fields another class takes over by code instead of by inheritance.

`names, defaults, spaces = collect([A, B]); X.__annotations__ = {**names, …}` gives X the fields of A and B.
Their order is that of a tuple of names that `collect` refers to, if there is one, then of the declarations.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import Protocol

from assay.source.declarations import Site
from assay.source.declaring.module import Defined, Module, Modules, Variable
from assay.source.declaring.operations import NotKnown


class Folds(Protocol):
    """What this module needs of a folder."""

    tree: Modules

    def in_module(self, module: Module, expr: ast.expr) -> object:
        """What an expression at module level stands for."""


@dataclass(frozen=True)
class Collected:
    """The classes, and the order of their fields' names as far as it is stated."""

    classes: tuple[Defined, ...] = ()
    order: tuple[str, ...] = ()
    listed_at: tuple[Site, ...] = ()
    """The lines that state that order: they read no field."""


def collected(folder: Folds, owner: Defined) -> Collected:
    """The classes that a class collects its fields from; none for almost every class."""
    module = owner.module
    if not any(isinstance(n, ast.Assign) and _gives(n, owner) for n in module.tree.body):
        return Collected()
    for node in module.tree.body:
        if not isinstance(node, ast.Assign) or not isinstance(node.value, ast.Call) or not node.value.args:
            continue
        try:
            function = folder.in_module(module, node.value.func)
            classes = folder.in_module(module, node.value.args[0])
        except NotKnown:
            continue
        if isinstance(classes, list) and classes and all(_is_class(each) for each in classes):
            order, listed = _order(folder, function) if isinstance(function, Defined) else ((), ())
            return Collected(tuple(classes), order, listed)
    return Collected()


def _gives(node: ast.Assign, owner: Defined) -> bool:
    """`X.__annotations__ = …`."""
    return ast.unparse(node.targets[0]) == f"{owner.node.name}.__annotations__"


def _is_class(found: object) -> bool:
    return isinstance(found, Defined) and isinstance(found.node, ast.ClassDef)


def _order(folder: Folds, function: Defined) -> tuple[tuple[str, ...], tuple[Site, ...]]:
    """The tuple of names that the function refers to, and its lines."""
    for node in ast.walk(function.node):
        if isinstance(node, ast.Name) and node.id.isupper():
            try:
                value = folder.in_module(function.module, node)
            except NotKnown:
                continue
            if isinstance(value, tuple) and all(isinstance(name, str) for name in value):
                return value, _lines_of(folder, function.module, node.id)
    return (), ()


def _lines_of(folder: Folds, module: Module, name: str) -> tuple[Site, ...]:
    found = folder.tree.lookup(module, name)
    if not isinstance(found, Variable):
        return ()
    tuples = [
        n for b in found.module.bindings[found.name] for n in ast.walk(b.node) if isinstance(n, ast.Tuple)
    ]
    return tuple(found.module.site(element) for each in tuples for element in each.elts)
