"""What operators, subscripts, loops and decorators do with the interpreted program's values."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from assay.flow import attributes, calls, classes, log
from assay.flow.declared import Declared
from assay.flow.interpreter import Interpreter
from assay.flow.values import (
    MISSING,
    Bound,
    Choice,
    Class,
    Decorated,
    Deferred,
    External,
    Function,
    Instance,
    Library,
    Member,
    ModuleValue,
    Native,
    Partial,
    Symbol,
    Touched,
    Unknown,
    VList,
    Wrapped,
)
from assay.source import formatted

get_attribute = attributes.get
set_attribute = attributes.put
above = attributes.above
MAX_ELEMENTS = 50_000
_NEVER_NONE = frozenset({"int", "bool", "str", "float"})
_OPAQUE = (Class, Function, Instance, Member, ModuleValue, Native, Symbol, Wrapped, Library, Bound, Partial)


def as_load(target: ast.expr) -> ast.expr:
    """The target of `x += 1` as an expression."""
    return target


def negated(i: Interpreter, value: Any) -> Any:
    """`not value`."""
    value = i.force(value)
    if isinstance(value, Choice):
        from assay.flow.machine import choice

        return choice(value.test, negated(i, value.yes), negated(i, value.no))
    truth = i.truth(value)
    if isinstance(truth, bool):
        return not truth
    return Choice(truth, False, True)


def equal(i: Interpreter, one: Any, other: Any) -> Any:
    """`one == other`, both known."""
    for value, against in ((one, other), (other, one)):
        if isinstance(value, Instance):
            method = attributes.find(i, value, "__eq__")
            if isinstance(method, Bound):
                return i.call(method, [against], {})
            if isinstance(value.cls, Class) and value.cls.fields is not None and one is not other:
                return _equal_records(i, value, against)
            return one is other
    return one == other


def _equal_records(i: Interpreter, one: Instance, other: Any) -> Any:
    """Whether two objects of a dataclass are equal: of the same class, and equal in all fields."""
    if not isinstance(other, Instance) or one.cls is not other.cls:
        return False
    found: Any = True
    for name, _ in one.cls.fields:
        each = i.lift(
            lambda a, b: equal(i, a, b),
            one.attributes.get(name, MISSING),
            other.attributes.get(name, MISSING),
            label="==",
        )
        if each is False:
            return False
        if each is not True:
            found = each
    if isinstance(found, Choice):
        raise Touched(Unknown("equality of two records"))
    return found


def identical(i: Interpreter, one: Any, other: Any) -> Any:
    """`one is other`."""
    one, other = i.force(one), i.force(other)
    for value, against in ((one, other), (other, one)):
        if isinstance(value, Choice):
            return i.machine.fork(
                value.test,
                lambda v=value, a=against: identical(i, v.yes, a),  # type: ignore[misc]
                lambda v=value, a=against: identical(i, v.no, a),  # type: ignore[misc]
            )
    for value, against in ((one, other), (other, one)):
        if isinstance(value, Unknown):
            if value is against:
                return True
            if against is None and value.kind in _NEVER_NONE:
                return False
            return Unknown(value.reason, ("is", value.key, _key(against)), "bool")
    if isinstance(one, str | int | float) and not isinstance(one, bool) and type(one) is type(other):
        return bool(one == other)
    return one is other


def _key(value: Any) -> Any:
    if isinstance(value, Unknown):
        return value.key
    return (
        (type(value).__name__, value)
        if isinstance(value, str | int | float | bool | type(None))
        else id(value)
    )


def contained(i: Interpreter, one: Any, other: Any) -> Any:
    """`one in other`."""
    other = i.force(other)
    if isinstance(other, Instance):
        return i.call(get_attribute(i, other, "__contains__"), [one], {})
    if isinstance(other, Class) and other.is_enum:
        return i.lift(lambda a: a in classes.members(other), one, label="in")
    if type(other) is Declared:
        return log.contains(i, other, one)
    return i.lift(lambda a, b: a in b, one, other, label="in")


def elements(i: Interpreter, value: Any) -> Any:
    """The elements of something to iterate over, as a list; or an `Unknown`."""
    value = i.force(value)
    if isinstance(value, Choice):
        found = [elements(i, value.yes), elements(i, value.no)]
        return Unknown("elements of either of two collections", ("elements", value.test.key, len(found)))
    if isinstance(value, Unknown):
        return Unknown(value.reason, ("elements", value.key))
    if isinstance(value, Class) and value.is_enum:
        return classes.members(value)
    if isinstance(value, Instance):
        method = attributes.find(i, value, "__iter__")
        return (
            elements(i, i.call(method, [], {}))
            if isinstance(method, Bound)
            else Unknown("an iteration over an object")
        )
    return i.native(_listed, [value], "iteration")


def _listed(value: Any) -> list[Any]:
    found: list[Any] = []
    for each in value:
        found.append(each)
        if len(found) > MAX_ELEMENTS:
            raise Touched(Unknown("a collection of very many elements"))
    return found


def part(_i: Interpreter, value: Any, at: Any) -> Unknown:
    """An element of something unknown."""
    reason = value.reason if isinstance(value, Unknown) else "one of two collections"
    return Unknown(reason, ("element", getattr(value, "key", id(value)), at))


def mapping(i: Interpreter, value: Any) -> dict[Any, Any] | None:
    """The items of `**value`; None if they are not known."""
    value = i.force(value)
    if isinstance(value, dict):
        found = i.native(lambda items: list(items.items()), [value])
        return None if isinstance(found, Unknown) else dict(found)
    return None


def extend(i: Interpreter, owner: VList, value: Any) -> None:
    """`owner += value`."""
    found = elements(i, value)
    i.machine.changing(owner)
    if isinstance(found, Unknown):
        i.outside.open_up(owner)
    else:
        owner.extend(found)


def get_item(i: Interpreter, owner: Any, key: Any) -> Any:
    """`owner[key]`."""
    owner = i.force(owner)
    if isinstance(owner, Choice):
        return i.machine.fork(
            owner.test, lambda: get_item(i, owner.yes, key), lambda: get_item(i, owner.no, key)
        )
    if isinstance(owner, Class):
        if not owner.is_enum:
            return owner
        return i.lift(lambda name: {m.name: m for m in classes.members(owner)}[name], key, label="member")
    if isinstance(owner, Instance):
        method = attributes.find(i, owner, "__getitem__")
        if method is not MISSING:
            return i.call(method, [key], {}) if not isinstance(method, Unknown) else method
    if isinstance(owner, External):
        return i.outside.item(i, owner, key)
    if type(owner) is Declared:
        return log.item(i, owner, key)
    if isinstance(owner, type):
        return owner
    value = i.lift(lambda a, b: a[b], owner, key, label="[]")
    return i.force(value)


def set_item(i: Interpreter, owner: Any, key: Any, value: Any) -> None:
    """`owner[key] = value`."""
    key = i.force(key)
    if isinstance(owner, dict | list):
        if isinstance(key, Unknown | Choice):
            i.machine.changing(owner)
            i.outside.open_up(owner)
            return
        if i.outside.notes(i, key, value) and log.put_item(i, owner, key, value):
            return
        i.machine.changing(owner)
        i.native(
            owner.__setitem__,
            [key, value] if not isinstance(value, Unknown | Choice | Deferred) else [key, _Hidden(value)],
        )
        if isinstance(value, Unknown | Choice | Deferred):
            owner[key] = value
    elif isinstance(owner, Instance):
        i.call(get_attribute(i, owner, "__setitem__"), [key, value], {})
    elif isinstance(owner, External):
        i.outside.set_item(i, owner, key, value)


class _Hidden:
    """Keeps an open value out of the reach of `native`."""

    def __init__(self, value: Any) -> None:
        self.value = value


def delete_item(i: Interpreter, owner: Any, key: Any) -> None:
    """`del owner[key]`."""
    if isinstance(owner, dict | list):
        i.machine.changing(owner)
        i.native(owner.__delitem__, [i.force(key)])
    elif isinstance(owner, External):
        i.outside.set_item(i, owner, key, None)


def binary_method(i: Interpreter, op: ast.operator, left: Any, right: Any) -> Any:
    """What an operator does with an object, or `MISSING` if its method is not the program's own."""
    left, right = i.force(left), i.force(right)
    if isinstance(op, ast.BitOr) and any(isinstance(each, type | Class | Symbol) for each in (left, right)):
        return (left, right)
    if isinstance(left, Instance):
        name = {ast.Div: "__truediv__", ast.Add: "__add__", ast.Sub: "__sub__", ast.Mult: "__mul__"}.get(
            type(op), ""
        )
        method = attributes.find(i, left, name) if name else MISSING
        return i.call(method, [right], {}) if method is not MISSING else Unknown("an operator on an object")
    return MISSING


def text(i: Interpreter, value: Any) -> Any:
    """`str(value)`."""
    value = i.force(value)
    if isinstance(value, Choice):
        from assay.flow.machine import choice

        return choice(value.test, text(i, value.yes), text(i, value.no))
    if isinstance(value, Unknown):
        return Unknown(value.reason, ("str", value.key), "str")
    if isinstance(value, Instance | Member):
        for name in ("__str__", "__repr__"):
            method = attributes.find(i, value, name)
            if isinstance(method, Bound):
                return i.call(method, [], {})
        if isinstance(value, Instance):
            return Unknown(f"text of an object of {attributes.type_name(value)}")
        return (
            f"{value.cls.name}.{value.name}"
            if not value.is_plain or value.cls.line[1:2] == [str]
            else str(value.value)
        )
    if isinstance(value, _OPAQUE) and not isinstance(value, Symbol):
        return Unknown("text of an object")
    return i.native(str, [value], "str")


def formatted_text(i: Interpreter, value: Any, conversion: int, spec: Any) -> Any:
    """One replacement field of an f-string."""
    value = i.force(value)
    if conversion == ord("r") and isinstance(value, str | int | float | list | dict | tuple):
        return i.lift(lambda each, how: formatted(each, conversion, how), value, spec, label="format")
    if isinstance(value, str | int | float) and not isinstance(value, bool):
        return i.lift(lambda each, how: formatted(each, -1, how), value, spec, label="format")
    return text(i, value)


def decorated(i: Interpreter, decorator: Any, value: Any) -> Any:
    """A function or class under a decorator."""
    decorator = i.force(decorator)
    if isinstance(decorator, Unknown):
        if isinstance(value, Class):
            return value
        label = decorator.dotted if isinstance(decorator, External) else decorator.reason
        return Decorated(label, value)
    made = i.force(i.call(decorator, [value], {}))
    if isinstance(made, Unknown) and not isinstance(made, Decorated) and not isinstance(value, Class):
        return Decorated(made.reason, value)
    return made


def entered(i: Interpreter, manager: Any, inside: Callable[[Any], Any]) -> Any:
    """A `with` statement: what its body gives."""
    if isinstance(manager, Wrapped) and manager.kind == "entering":
        return calls.enter(i, manager.function, inside)
    if isinstance(manager, Instance) and not isinstance(manager.cls, Library):
        value = i.call(get_attribute(i, manager, "__enter__"), [], {})
        result = inside(value)
        i.call(get_attribute(i, manager, "__exit__"), [None, None, None], {})
        return result
    return i.outside.entered(i, manager, inside)
