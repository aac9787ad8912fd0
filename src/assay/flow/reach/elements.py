"""What a name may stand for in a program that is followed without being carried out: sets of elements."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Self

from assay.flow.values import Instance

if TYPE_CHECKING:
    from assay.flow.reach.context import Context

ALWAYS, SOMETIMES, PERHAPS, NEVER = 3, 2, 1, 0
"""How surely something happens: in every start; in some batch, request or object; unless something that is
not known forbids it; not at all."""


_NUMBERS = itertools.count(1)


class Element(float):
    """One thing that a value may be; each is equal to itself only.

    Sets of them are gone through in an order that only depends on when they were made, so that two analyses
    of one thing come out alike. For that it is a number: the hash is asked for millions of times, and that of
    a number needs no call.
    """

    __slots__ = ("number",)
    number: int

    def __new__(cls, *_arguments: Any, **_keywords: Any) -> Self:
        """Number the elements as they are made."""
        number = next(_NUMBERS)
        made = super().__new__(cls, number)
        made.number = number
        return made

    def __init__(self, *_arguments: Any, **_keywords: Any) -> None:
        """Nothing is left to do."""


class Known(Element):
    """A value of the interpreter: a plain value, a class, a function, an object that it has made."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __repr__(self) -> str:
        return f"Known({self.value!r:.60})"


class Obj(Element):
    """Any object of a class of the tree that was made while the program was followed."""

    __slots__ = ("cls", "is_apart")

    def __init__(self, cls: Any, *, is_apart: bool = False) -> None:
        self.cls = cls
        self.is_apart = is_apart
        """Whether it stands only for those objects that one call has made."""

    def __repr__(self) -> str:
        return f"Obj({self.cls.name})"


class Seq(Element):
    """A collection made at one place of the source; its parts are cells."""

    __slots__ = ("is_fixed", "kind", "node")

    def __init__(self, node: ast.AST, kind: str) -> None:
        self.node, self.kind = node, kind
        starred = isinstance(node, ast.Tuple) and any(isinstance(e, ast.Starred) for e in node.elts)
        self.is_fixed = kind == "tuple" and isinstance(node, ast.Tuple) and not starred
        """Whether all that can differ are its parts, each of which is a cell of its own: not how many."""

    def __repr__(self) -> str:
        return f"Seq({self.kind}:{getattr(self.node, 'lineno', 0)})"


class Method(Element):
    """A function, or the name of a native method, with its first argument."""

    __slots__ = ("function", "receiver")

    def __init__(self, function: Any, receiver: Element) -> None:
        self.function, self.receiver = function, receiver

    def __repr__(self) -> str:
        return f"Method({getattr(self.function, 'name', self.function)}, {self.receiver})"


class Closure(Element):
    """A function or lambda that is defined inside of a function."""

    __slots__ = ("context", "node")

    def __init__(self, node: Any, context: Context) -> None:
        self.node, self.context = node, context


class Applied(Element):
    """`functools.partial(…)` of something followed."""

    __slots__ = ("arguments", "function", "keywords")

    def __init__(self, function: Value, arguments: list[Value], keywords: dict[str, Value]) -> None:
        self.function, self.arguments, self.keywords = function, arguments, keywords


class Thing(Element):
    """Something of run time that comes from outside, by where it came from: a tensor, a socket, a request."""

    __slots__ = ("label",)

    def __init__(self, label: str) -> None:
        self.label = label

    def __repr__(self) -> str:
        return f"Thing({self.label})"


class Doubt(Element):
    """Something that is fixed at the start and not known."""

    __slots__ = ("reason",)

    def __init__(self, reason: str) -> None:
        self.reason = reason

    def __repr__(self) -> str:
        return f"Doubt({self.reason})"


class Mark(Element):
    """No value, but a remark on how a value came about."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return self.name


Value = frozenset[Element]

RUNTIME = Thing("")
"""Something of run time that nobody can name."""
MANY = Thing("many")
"""Any of many plain values."""
CHANGED = Mark("CHANGED")
"""In run B: computed from something that differs from run A."""
FORKED = Mark("FORKED")
"""In run B: chosen by a test of run time that differs from run A."""
MARKS = frozenset({CHANGED, FORKED})

NOTHING: Value = frozenset()
"""No value: the expression is not reached, or never gives one."""
RUN: Value = frozenset({RUNTIME})
MAX_ELEMENTS = 24
MAX_THINGS = 4
_BROAD = frozenset({RUNTIME, MANY})
_SETTLED = (Known, Obj, Method, Closure)


def union(values: Iterable[Value]) -> Value:
    """Any of the values; too many become something of run time."""
    found = NOTHING
    for value in values:
        found = joined(found, value)
    return found


def joined(one: Value, other: Value) -> Value:
    """Either of two values."""
    if one is other or other <= one:
        return one
    if one <= other:
        return other
    found = one | other
    # Lists are made here because they take less time than generators; the order in a set stays the same.
    if len(found) > MAX_THINGS and len([each for each in found if each.__class__ is Thing]) > MAX_THINGS:
        found = frozenset({*[each for each in found if each.__class__ is not Thing or each is MANY], RUNTIME})
    elif RUNTIME in found:
        found = frozenset([each for each in found if each.__class__ is not Thing or each in _BROAD])
    if MANY in found or len(found) > MAX_ELEMENTS:
        return frozenset({*(each for each in found if not _is_one_of_many(each)), MANY})
    return found


def _is_one_of_many(each: Element) -> bool:
    return isinstance(each, Known) and (
        (is_plain(each.value) and each.value is not None and not isinstance(each.value, bool))
        or isinstance(each.value, tuple | list | dict)
    )


def is_plain(value: Any) -> bool:
    """Whether a value is one of Python's own constants."""
    return value is None or isinstance(value, bool | int | float | str | bytes)


def is_object(each: Element) -> bool:
    """Whether it is an object of a class of the tree, or of a modelled one."""
    return isinstance(each, Obj) or (isinstance(each, Known) and isinstance(each.value, Instance))


def is_settled(value: Value) -> bool:
    """Whether it is one thing, and neither of run time nor in doubt."""
    return len(value) <= 1 and all(
        isinstance(each, _SETTLED) or (isinstance(each, Seq) and each.is_fixed) for each in value
    )


def unmarked(value: Value) -> Value:
    """The value without remarks."""
    return value - MARKS if value & MARKS else value


class Elements:
    """The elements of one analysis: equal things are one element."""

    def __init__(self) -> None:
        self._single: dict[Any, Value] = {}

    def known(self, value: Any) -> Value:
        """A value of the interpreter."""
        return self.one(_key(value), lambda: Known(value))

    def obj(self, cls: Any) -> Value:
        """An object of that class."""
        return self.one(("obj", id(cls)), lambda: Obj(cls))

    def one(self, key: Any, make: Any) -> Value:
        """The element of that key, made when it is first asked for."""
        found = self._single.get(key)
        if found is None:
            found = self._single[key] = frozenset({make()})
        return found

    def seq(self, node: ast.AST, kind: str) -> Value:
        """The collection that is made there."""
        return self.one(("seq", node, kind), lambda: Seq(node, kind))

    def method(self, function: Any, receiver: Element) -> Value:
        """A function with its first argument."""
        key = function if isinstance(function, str) else id(function)
        return self.one(("method", key, receiver), lambda: Method(function, receiver))

    def thing(self, label: str) -> Value:
        """Something of run time."""
        if not label or len(label) > 80:
            return RUN
        return self.one(("thing", label), lambda: Thing(label))

    def doubt(self, reason: str) -> Value:
        """Something fixed that is not known."""
        return self.one(("doubt", reason), lambda: Doubt(reason))


def _key(value: Any) -> Any:
    kind = type(value)
    if kind in (str, int, bool, float, bytes) or value is None:
        return (kind, repr(value) if kind is float else value)
    if kind is tuple:
        return (tuple, tuple(_key(each) for each in value))
    return ("id", id(value))
