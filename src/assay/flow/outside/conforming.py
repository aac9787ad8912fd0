"""Whether a value is of the type that a field declares, and what pydantic makes of one that is not quite."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from assay.flow import classes
from assay.flow.interpreter import Interpreter
from assay.flow.machine import choice
from assay.flow.values import (
    MISSING,
    Choice,
    Class,
    Frame,
    Instance,
    Member,
    Touched,
    Unknown,
    VDict,
    VList,
    VSet,
)
from assay.source import absolute

FAILS: Any = object()
"""The value is not of that type, nor can it be made so."""
_ANY = frozenset({"Any", "SkipValidation", "Callable", "type", "Type", "TypeVar", "object"})
_THROUGH = frozenset({"Annotated", "InitVar", "Final", "Required", "NotRequired"})
_LISTS = {"list": VList, "List": VList, "Sequence": VList, "Iterable": VList, "set": VSet, "Set": VSet}
_DICTS = frozenset({"dict", "Dict", "Mapping", "MutableMapping"})
_TRUE, _FALSE = ("1", "on", "t", "true", "y", "yes"), ("0", "off", "f", "false", "n", "no")
MAX_ALIASES = 8


@dataclass(frozen=True)
class Annotated:
    """A type as written, and where its names are looked up."""

    node: ast.expr
    frame: Frame


Make = Callable[[Interpreter, Class, dict[str, Any]], Any]
"""Makes an object of a validated class of a dict."""


def conform(i: Interpreter, wanted: Annotated, value: Any, make: Make) -> Any:
    """The value as the field holds it, or `FAILS`; what is not known stays what it is."""
    value = i.force(value)
    if isinstance(value, Choice):
        return i.machine.fork(
            value.test,
            lambda: conform(i, wanted, value.yes, make),
            lambda: conform(i, wanted, value.no, make),
        )
    if isinstance(value, Unknown):
        return value
    try:
        return _Conforming(i, make).by(wanted.node, wanted.frame, value, lax=True)
    except Touched:
        return value


class _Conforming:
    def __init__(self, i: Interpreter, make: Make) -> None:
        self.i, self.make = i, make

    def by(self, node: ast.expr, frame: Frame, value: Any, *, lax: bool, depth: int = 0) -> Any:
        if isinstance(node, ast.Constant):
            return self._by_constant(node, frame, value, lax=lax, depth=depth)
        if isinstance(node, ast.BinOp):
            return self._union(_members(node), frame, value, lax=lax, depth=depth)
        if isinstance(node, ast.Subscript):
            return self._by_subscript(node, frame, value, lax=lax, depth=depth)
        name = _last(node)
        if name in _ANY:
            return value
        if isinstance(node, ast.Name):
            alias = self._alias(node.id, frame) if depth < MAX_ALIASES else None
            if alias is not None:
                return self.by(alias.node, alias.frame, value, lax=lax, depth=depth + 1)
        return self._by_class(node, frame, value, lax=lax)

    def _by_constant(self, node: ast.Constant, frame: Frame, value: Any, *, lax: bool, depth: int) -> Any:
        if node.value is None:
            return value if value is None else FAILS
        if isinstance(node.value, str):
            inner = ast.parse(node.value, mode="eval").body
            return self.by(inner, frame, value, lax=lax, depth=depth)
        return value

    def _union(self, nodes: list[ast.expr], frame: Frame, value: Any, *, lax: bool, depth: int) -> Any:
        for strict in (True, False) if lax else (True,):
            for each in nodes:
                found = self.by(each, frame, value, lax=not strict, depth=depth)
                if found is not FAILS:
                    return found
        return FAILS

    def _by_subscript(self, node: ast.Subscript, frame: Frame, value: Any, *, lax: bool, depth: int) -> Any:
        head = _last(node.value)
        inner = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        if head in _ANY:
            return value
        if head == "Literal":
            return self._literal(inner, frame, value)
        if head in _THROUGH:
            return self.by(inner[0], frame, value, lax=lax, depth=depth)
        if head == "Optional":
            return None if value is None else self.by(inner[0], frame, value, lax=lax, depth=depth)
        if head == "Union":
            return self._union(inner, frame, value, lax=lax, depth=depth)
        if head in _DICTS:
            return self._dict(inner, frame, value, lax=lax, depth=depth)
        if head in ("tuple", "Tuple"):
            return self._tuple(inner, frame, value, lax=lax, depth=depth)
        if head in _LISTS:
            return self._list(_LISTS[head], inner[0], frame, value, lax=lax, depth=depth)
        return value

    def _literal(self, nodes: list[ast.expr], frame: Frame, value: Any) -> Any:
        for each in nodes:
            allowed = self.i.force(self.i.evaluate(each, frame))
            if isinstance(allowed, Unknown):
                return value
            if type(allowed) is type(value) and allowed == value:
                return value
        return FAILS

    def _dict(self, inner: list[ast.expr], frame: Frame, value: Any, *, lax: bool, depth: int) -> Any:
        if not isinstance(value, dict):
            return FAILS
        if len(inner) < 2:
            return value
        made = VDict()
        for key, each in value.items():
            name = self.by(inner[0], frame, key, lax=lax, depth=depth)
            found = self._inner(inner[1], frame, each, lax=lax, depth=depth)
            if name is FAILS or found is FAILS:
                return FAILS
            made[name] = found
        return made

    def _tuple(self, inner: list[ast.expr], frame: Frame, value: Any, *, lax: bool, depth: int) -> Any:
        if not isinstance(value, tuple if not lax else (tuple, list)):
            return FAILS
        repeats = isinstance(inner[-1], ast.Constant) and inner[-1].value is ...
        wanted = [inner[0]] * len(value) if repeats else inner
        if len(wanted) != len(value):
            return FAILS
        found = [
            self._inner(node, frame, each, lax=lax, depth=depth)
            for node, each in zip(wanted, value, strict=True)
        ]
        return FAILS if any(each is FAILS for each in found) else tuple(found)

    def _list(self, kind: Any, inner: ast.expr, frame: Frame, value: Any, *, lax: bool, depth: int) -> Any:
        plain = set if kind is VSet else list
        if not isinstance(value, plain if not lax else (list, tuple, set, frozenset)):
            return FAILS
        found = [self._inner(inner, frame, each, lax=lax, depth=depth) for each in value]
        return FAILS if any(each is FAILS for each in found) else kind(found)

    def _inner(self, node: ast.expr, frame: Frame, value: Any, *, lax: bool, depth: int) -> Any:
        value = self.i.force(value)
        if isinstance(value, Choice):
            return choice(
                value.test,
                self._inner(node, frame, value.yes, lax=lax, depth=depth),
                self._inner(node, frame, value.no, lax=lax, depth=depth),
            )
        return value if isinstance(value, Unknown) else self.by(node, frame, value, lax=lax, depth=depth)

    # ------------------------------------------------------------ classes

    def _by_class(self, node: ast.expr, frame: Frame, value: Any, *, lax: bool) -> Any:
        cls = self.i.force(self.i.evaluate(node, frame))
        if cls in (bool, int, float, str) if isinstance(cls, type) else False:
            return _plain(cls, value, lax=lax)
        if cls in (list, dict, set, tuple) if isinstance(cls, type) else False:
            return value if isinstance(value, cls) else FAILS if value is None else value
        if not isinstance(cls, Class):
            return FAILS if value is None and not isinstance(cls, Unknown) else value
        if cls.is_enum:
            return self._member(cls, value, lax=lax)
        return self._object(cls, value, lax=lax)

    def _member(self, cls: Class, value: Any, *, lax: bool) -> Any:
        if isinstance(value, Member) and value.cls is cls:
            return value
        if not lax:
            return FAILS
        plain = next((each for each in cls.line if each in (int, str)), None)
        if plain is int and isinstance(value, str | float):
            value = _cast(int, value)
        return next((each for each in classes.members(cls) if each.value == value), FAILS)

    def _object(self, cls: Class, value: Any, *, lax: bool) -> Any:
        from assay.flow.outside.pydantic import check_again, is_validated

        if isinstance(value, Instance):
            inside = isinstance(value.cls, Class) and cls in value.cls.line
            if inside and is_validated(cls):
                check_again(self.i, value)
            return value if inside or (isinstance(value.cls, Class) and value.cls.is_open) else FAILS
        if isinstance(value, dict) and is_validated(cls) and lax:
            return self.make(self.i, cls, dict(value))
        return FAILS if value is None or is_validated(cls) else value

    def _alias(self, name: str, frame: Frame) -> Annotated | None:
        """What a module-level name is written as, where it is a name for a type."""
        state: Any = frame.module
        for _ in range(MAX_ALIASES):
            bindings = state.module.bindings.get(name, ())
            if len(bindings) != 1:
                return None
            node = bindings[0].node
            if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
                return Annotated(node.value, state.frame) if _is_type(node.value) else None
            if not isinstance(node, ast.ImportFrom):
                return None
            source = absolute(state.module, node)
            original = next((each.name for each in node.names if (each.asname or each.name) == name), name)
            state = self.i.modules.state(source) if source and self.i.modules.has(source) else None
            if state is None:
                return None
            name = original
        return None


def _is_type(node: ast.expr) -> bool:
    return isinstance(node, ast.Subscript) or (isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr))


def _members(node: ast.expr) -> list[ast.expr]:
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
        return [*_members(node.left), *_members(node.right)]
    return [node]


def _last(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def _plain(cls: type, value: Any, *, lax: bool) -> Any:
    if type(value) is cls or (isinstance(value, Member) and value.is_plain and isinstance(value.value, cls)):
        return value
    if cls is float and type(value) is int:
        return float(value)
    if not lax or not isinstance(value, bool | int | float | str):
        return FAILS
    return _cast(cls, value)


def _cast(cls: type, value: Any) -> Any:
    """What pydantic's lax mode makes of it."""
    if cls is str:
        return FAILS
    if cls is bool:
        text = str(value).lower() if isinstance(value, str) else str(int(value)) if value in (0, 1) else ""
        return True if text in _TRUE else False if text in _FALSE else FAILS
    try:
        number = float(value)
    except ValueError:
        return FAILS
    if cls is float:
        return number
    return int(number) if number.is_integer() else FAILS


__all__ = ["FAILS", "MISSING", "Annotated", "conform"]
