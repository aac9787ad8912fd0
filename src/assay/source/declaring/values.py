"""Folded values: where their names live, and how they become values that can be kept."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from assay.source.declaring.classes import Member
from assay.source.declaring.module import Defined, Module, clean
from assay.source.declaring.operations import NotKnown


@dataclass(eq=False)
class Scope:
    """Where an expression stands: its module, and the local names worked out so far."""

    module: Module
    names: dict[str, object] = field(default_factory=dict)
    owner: Defined | None = None
    """The class whose body it stands in."""


def bind(target: ast.expr, value: object, scope: Scope) -> None:
    """Bind the names of an assignment's or loop's target."""
    if isinstance(target, ast.Name):
        scope.names[target.id] = value
    elif isinstance(target, ast.Tuple | ast.List) and isinstance(value, list | tuple):
        if len(target.elts) != len(value):
            raise NotKnown("unpacking")
        for part, element in zip(target.elts, value, strict=True):
            bind(part, element, scope)
    else:
        raise NotKnown("a target that was not followed")


def plain(value: object) -> Any:
    """A folded value as None, bool, int, float, str, or a list or dict of these; sets are sorted.

    Raises:
        NotKnown: it is or holds something else.
    """
    if isinstance(value, Member):
        value = value.folded if value.is_plain else value
    if value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, list | tuple):
        return [plain(element) for element in value]
    if isinstance(value, set | frozenset):
        return sorted((plain(element) for element in value), key=repr)
    if isinstance(value, dict) and all(isinstance(key, str | int) for key in value):
        return {plain(key): plain(element) for key, element in value.items()}
    raise NotKnown("a value that cannot be kept")


def without_docstring(body: Sequence[ast.stmt]) -> list[ast.stmt]:
    """The statements of a function's body, less those that are a constant alone."""
    return [s for s in body if not (isinstance(s, ast.Expr) and isinstance(s.value, ast.Constant))]


def literal(node: ast.Constant) -> object:
    """The value of a constant that is written out."""
    if node.value is None or isinstance(node.value, bool | int | float | str):
        return node.value
    raise NotKnown("a literal that cannot be kept")


def own(value: object) -> object:
    """The value, or a copy of it where a later statement could change it in place."""
    return value.copy() if isinstance(value, list | dict | set) else value
