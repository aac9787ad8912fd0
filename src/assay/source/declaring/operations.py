"""The operators, functions and methods that folding may use, each with a bound on what it can make."""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, ItemsView, KeysView, Mapping, Sequence, ValuesView
from typing import Any

MAX_SIZE = 100_000
"""Most characters of a string and most elements of a collection."""
_MAX_INT = 1 << 64
_MAX_EXPONENT = 64
_HEAVY = (str, list, tuple, set, frozenset, dict)
_LONG_NUMBER = re.compile(r"\d{5,}|\{[^}]*\{|\*")
"""Widths above 9999, widths taken from an argument, nested fields: formats that could make much of little."""


class NotKnown(Exception):
    """The expression depends on something that only a run would show, or is too large to work out."""


def bounded(value: object) -> int:
    """How much the value holds: characters and elements, also those inside of its elements.

    Raises:
        NotKnown: it is more than folding may make.
    """
    if isinstance(value, int) and not -_MAX_INT < value < _MAX_INT:
        raise NotKnown("an integer of more than 64 bits")
    return _weight(value, MAX_SIZE)


def _weight(value: object, left: int) -> int:
    if isinstance(value, str):
        weight = len(value)
    elif isinstance(value, list | tuple | set | frozenset | dict):
        weight = len(value)
        for element in value if len(value) <= left else ():
            weight += _weight(element, left - weight) if isinstance(element, _HEAVY) else 0
        for element in value.values() if isinstance(value, dict) and weight <= left else ():
            weight += _weight(element, left - weight) if isinstance(element, _HEAVY) else 0
    else:
        return 0
    if weight > left:
        raise NotKnown("larger than folding may make")
    return weight


def binary(op: ast.operator, left: Any, right: Any) -> object:
    """`left op right`."""
    function = _BINARY.get(type(op))
    if function is None:
        raise NotKnown("operator")
    return function(left, right)


def _times(left: Any, right: Any) -> object:
    for one, other in ((left, right), (right, left)):
        if isinstance(one, str | list | tuple) and isinstance(other, int) and len(one) * other > MAX_SIZE:
            raise NotKnown("larger than folding may make")
    return left * right


def _power(left: Any, right: Any) -> object:
    if not isinstance(left, int | float) or not isinstance(right, int | float) or abs(right) > _MAX_EXPONENT:
        raise NotKnown("power")
    value: object = left**right
    if isinstance(value, complex):
        raise NotKnown("power")
    return value


def _shift(left: Any, right: Any) -> object:
    if not isinstance(right, int) or right > _MAX_EXPONENT:
        raise NotKnown("shift")
    return left << right


def _percent(left: Any, right: Any) -> object:
    if isinstance(left, str):
        _check_format(left)
    return left % right


def _check_format(text: str) -> None:
    if _LONG_NUMBER.search(text):
        raise NotKnown("format")


_BINARY: Mapping[type[ast.operator], Callable[[Any, Any], object]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: _times,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: _percent,
    ast.Pow: _power,
    ast.LShift: _shift,
    ast.RShift: operator.rshift,
    ast.BitOr: operator.or_,
    ast.BitAnd: operator.and_,
    ast.BitXor: operator.xor,
}

COMPARE: Mapping[type[ast.cmpop], Callable[[Any, Any], object]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.In: lambda item, container: item in container,
    ast.NotIn: lambda item, container: item not in container,
    ast.Is: operator.is_,
    ast.IsNot: operator.is_not,
}

UNARY: Mapping[type[ast.unaryop], Callable[[Any], object]] = {
    ast.Not: operator.not_,
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
    ast.Invert: operator.invert,
}


def _range(*limits: int) -> object:
    numbers = range(*limits)
    if len(numbers) > MAX_SIZE:
        raise NotKnown("larger than folding may make")
    return list(numbers)


def _next(items: Any, *default: Any) -> object:
    """The first element: folding has lists in place of iterators, so it can only be asked once."""
    for item in items:
        return item
    if not default:
        raise NotKnown("next of nothing")
    return default[0]


def _listed(function: Callable[..., Any]) -> Callable[..., object]:
    return lambda *arguments: list(function(*arguments))


BUILTINS: Mapping[str, Callable[..., Any]] = {
    "list": list,
    "tuple": tuple,
    "set": set,
    "frozenset": frozenset,
    "dict": dict,
    "sorted": sorted,
    "reversed": _listed(reversed),
    "enumerate": _listed(enumerate),
    "next": _next,
    "zip": _listed(zip),
    "len": len,
    "min": min,
    "max": max,
    "sum": sum,
    "abs": abs,
    "any": any,
    "all": all,
    "round": round,
    "range": _range,
    "str": str,
    "repr": repr,
    "int": int,
    "float": float,
    "bool": bool,
}
"""Built-in functions by name, in the form that folding calls."""

EMPTY_FACTORIES = frozenset({"list", "dict", "set", "tuple", "str", "int", "float", "bool", "frozenset"})

_TEXT_METHODS = frozenset(
    {"upper", "lower", "title", "capitalize", "casefold", "strip", "lstrip", "rstrip", "split", "rsplit"}
    | {"startswith", "endswith", "removeprefix", "removesuffix", "partition", "rpartition", "splitlines"}
    | {"count", "find", "index", "isdigit", "isalpha", "isidentifier"}
)
_READ_METHODS: Mapping[type, frozenset[str]] = {
    str: _TEXT_METHODS,
    list: frozenset({"copy", "index", "count"}),
    tuple: frozenset({"index", "count"}),
    dict: frozenset({"keys", "values", "items", "get", "copy"}),
    set: frozenset({"copy", "union", "intersection", "difference", "issubset", "issuperset"}),
    frozenset: frozenset({"union", "intersection", "difference", "issubset", "issuperset"}),
}
_CHANGE_METHODS: Mapping[type, frozenset[str]] = {
    list: frozenset({"append", "extend", "insert", "remove", "sort", "reverse", "pop", "clear"}),
    dict: frozenset({"update", "setdefault", "pop", "clear"}),
    set: frozenset({"add", "update", "discard", "remove", "clear"}),
}


def method(owner: Any, name: str, arguments: Sequence[Any], keywords: Mapping[str, Any]) -> object:
    """`owner.name(…)` for a method that reads."""
    if isinstance(owner, str) and name in _SPECIAL_TEXT_METHODS:
        return _SPECIAL_TEXT_METHODS[name](owner, *arguments, **keywords)
    if name == "pop" and isinstance(owner, dict):
        taken: object = owner.pop(*arguments, **keywords)
        return taken
    if name not in _READ_METHODS.get(type(owner), ()):
        raise NotKnown(f"method {name}")
    value: object = getattr(owner, name)(*arguments, **keywords)
    return list(value) if isinstance(value, KeysView | ValuesView | ItemsView) else value


def change(owner: Any, name: str, arguments: Sequence[Any], keywords: Mapping[str, Any]) -> None:
    """Carry out `owner.name(…)`, a statement; methods that only read do nothing."""
    if name in _READ_METHODS.get(type(owner), ()):
        return
    if name not in _CHANGE_METHODS.get(type(owner), ()):
        raise NotKnown(f"method {name}")
    getattr(owner, name)(*arguments, **keywords)
    bounded(owner)


def _join(owner: str, items: Any) -> str:
    texts = list(items)
    if sum(len(text) + len(owner) for text in texts) > MAX_SIZE:
        raise NotKnown("larger than folding may make")
    return owner.join(texts)


def _replace(owner: str, old: str, new: str, count: int = -1) -> str:
    if (len(owner) + 1) * (len(new) + 1) > MAX_SIZE * 10:
        raise NotKnown("larger than folding may make")
    return owner.replace(old, new, count)


def _format(owner: str, *arguments: Any, **keywords: Any) -> str:
    _check_format(owner)
    if re.search(r"\{[^}]*[.\[]", owner):
        raise NotKnown("format that looks into its arguments")
    return owner.format(*arguments, **keywords)


_SPECIAL_TEXT_METHODS: Mapping[str, Callable[..., str]] = {
    "join": _join,
    "replace": _replace,
    "format": _format,
}


def formatted(value: Any, conversion: int, spec: str) -> str:
    """One replacement field of an f-string."""
    _check_format(spec)
    if conversion in (ord("r"), ord("a")):
        value = repr(value) if conversion == ord("r") else ascii(value)
    elif conversion == ord("s"):
        value = str(value)
    return format(value, spec)
