"""The built-in functions of Python, for the interpreted program."""

from __future__ import annotations

import builtins
from collections.abc import Callable
from typing import Any

from assay.flow import attributes, classes, operations
from assay.flow.interpreter import Interpreter, derived
from assay.flow.machine import PRINTED, choice
from assay.flow.values import (
    MISSING,
    Bound,
    Choice,
    Class,
    External,
    Function,
    Instance,
    Library,
    Member,
    Native,
    Unknown,
    VDict,
    VList,
    VSet,
    Wrapped,
    may_be_missing,
)

MAX_RANGE = 50_000


def _isinstance(i: Interpreter, value: Any, cls: Any) -> Any:
    return _each(
        i,
        value,
        lambda each: classes.is_instance(i, each, cls),
        lambda each: ("isinstance", each.key, _name(cls)),
    )


def _each(i: Interpreter, value: Any, function: Any, key: Any) -> Any:
    """The function of each value that this may be."""
    value = i.force(value)
    if isinstance(value, Choice):
        return choice(value.test, _each(i, value.yes, function, key), _each(i, value.no, function, key))
    if isinstance(value, Unknown) and not isinstance(value, External):
        return Unknown(value.reason, key(value), "bool")
    return function(value)


def _name(cls: Any) -> Any:
    if isinstance(cls, tuple):
        return tuple(_name(each) for each in cls)
    return (
        getattr(cls, "dotted", None)
        or getattr(cls, "name", None)
        or getattr(cls, "__name__", None)
        or id(cls)
    )


def _issubclass(i: Interpreter, one: Any, cls: Any) -> Any:
    one, cls = i.force(one), i.force(cls)
    if isinstance(one, Class) and isinstance(cls, Library):
        return cls in one.line
    if isinstance(one, Class) and isinstance(cls, Class | type):
        return cls in one.line or cls is object
    if isinstance(one, type) and isinstance(cls, type):
        return issubclass(one, cls)
    return Unknown("issubclass of something not modelled")


def _getattr(i: Interpreter, owner: Any, name: Any, default: Any = MISSING) -> Any:
    owner, name = i.force(owner), i.force(name)
    if isinstance(name, Unknown | Choice):
        return Unknown("an attribute of a name that is not known")
    if isinstance(owner, Choice):
        return i.machine.fork(
            owner.test,
            lambda: _getattr(i, owner.yes, name, default),
            lambda: _getattr(i, owner.no, name, default),
        )
    value = i.force(attributes.find(i, owner, name))
    if isinstance(value, Choice) and may_be_missing(value):
        again = lambda: _getattr(i, owner, name, default)  # noqa: E731
        return i.machine.fork(value.test, again, again)
    if value is MISSING:
        if default is MISSING:
            raise i.error(AttributeError, f"{attributes.type_name(owner)!r} object has no attribute {name!r}")
        return default
    if default is not MISSING and isinstance(value, External) and isinstance(owner, External):
        return Unknown(f"whether {value.dotted} exists", ("getattr", value.dotted))
    return value


def _hasattr(i: Interpreter, owner: Any, name: Any) -> Any:
    return _each(i, owner, lambda each: _has(i, each, name), lambda each: ("hasattr", each.key, name))


def _has(i: Interpreter, owner: Any, name: str) -> Any:
    value = i.force(attributes.find(i, owner, name))
    if isinstance(value, Choice) and may_be_missing(value):
        return i.machine.fork(value.test, lambda: _has(i, owner, name), lambda: _has(i, owner, name))
    if isinstance(value, External) and isinstance(owner, External):
        if i.outside.exists(i, value.dotted):
            return True
        if i.outside.is_still_to_add(value.dotted):
            return False
        return Unknown(f"whether {value.dotted} exists", ("exists", value.dotted), "bool")
    if isinstance(value, Unknown) and not (isinstance(owner, Instance) and name in owner.attributes):
        return Unknown(value.reason, ("exists", value.key), "bool")
    return value is not MISSING


def _setattr(i: Interpreter, owner: Any, name: Any, value: Any) -> None:
    value = i.force(value)
    if isinstance(value, Choice) and may_be_missing(value):
        again = lambda: _setattr(i, owner, name, value)  # noqa: E731
        i.machine.fork(value.test, again, again)
    elif value is not MISSING:  # an entry of a dict that is not there on this path
        attributes.put(i, owner, i.force(name), value, set())


def _delattr(i: Interpreter, owner: Any, name: Any) -> None:
    owner = i.force(owner)
    if isinstance(owner, Instance | Class):
        i.machine.put(owner.attributes, name, MISSING)


def _callable(i: Interpreter, value: Any) -> Any:
    value = i.force(value)
    return (
        Unknown(value.reason)
        if isinstance(value, Unknown)
        else isinstance(value, Function | Native | Class | Bound | Wrapped | type)
    )


def _type(i: Interpreter, value: Any, *rest: Any) -> Any:
    value = i.force(value)
    if rest:
        return i.machine.unknown("a class made by type()")
    if isinstance(value, Instance | Member):
        return value.cls
    if isinstance(value, Unknown | Choice):
        return Unknown("type of an unknown value", ("type", getattr(value, "key", id(value))))
    return _PLAIN_TYPES.get(type(value), type(value))


_PLAIN_TYPES: dict[Any, Any] = {VList: list, VDict: dict, VSet: set}


def _vars(i: Interpreter, value: Any = None) -> Any:
    value = i.force(value)
    if isinstance(value, Class):
        return VDict(value.attributes)
    if not isinstance(value, Instance):
        return i.machine.unknown("vars()")
    return attributes.get(i, value, "__dict__")


def _id(_i: Interpreter, _value: Any) -> Any:
    return Unknown("id() of an object", kind="int")


def _hash(i: Interpreter, value: Any) -> Any:
    value = i.force(value)
    if isinstance(value, list | dict | set):
        raise i.error(TypeError, f"unhashable type: {attributes.type_name(value)!r}")
    return Unknown("hash() of a value", kind="int")


def _len(i: Interpreter, value: Any) -> Any:
    value = i.force(value)
    if isinstance(value, Instance):
        return i.call(attributes.get(i, value, "__len__"), [], {})
    if isinstance(value, Class):
        return len(classes.members(value))
    return i.lift(len, value)


def _range(i: Interpreter, *limits: Any) -> Any:
    def made(*ends: int) -> Any:
        numbers = range(*ends)
        if len(numbers) > MAX_RANGE:
            return Unknown("a very long range")
        return VList(numbers)

    return i.lift(made, *limits, label="range")


def _open(i: Interpreter, path: Any = None, mode: Any = "r", *_rest: Any, **_keywords: Any) -> Any:
    path = i.force(path)
    if path is None:
        raise i.error(TypeError, "expected str, bytes or os.PathLike object, not NoneType")
    return i.outside.opened(i, path, i.force(mode))


def _iter(i: Interpreter, things: Any, *last: Any) -> Any:
    if last:
        i.machine.passed_over("iter() of a function")
        return Unknown("iter() of a function")
    return operations.elements(i, things)


def _iterated(made: Any, label: str) -> Native:
    """A function of one collection."""

    def run(i: Interpreter, *arguments: Any) -> Any:
        if not arguments:
            return made([])
        found = operations.elements(i, arguments[0])
        if isinstance(found, Unknown):
            return Unknown(found.reason, (label, found.key))
        return i.lift(lambda *values: made(values), *found, label=label) if label in _HASHING else made(found)

    return Native(label, run)


_HASHING = frozenset({"set", "frozenset", "sum"})


def _dict(i: Interpreter, value: Any = None, **keywords: Any) -> Any:
    found = VDict() if value is None else operations.mapping(i, value)
    if found is None:
        pairs = operations.elements(i, value)
        if isinstance(pairs, Unknown):
            return pairs
        found = i.native(lambda: dict(tuple(pair) for pair in pairs), [])
    return found if isinstance(found, Unknown) else VDict(found | keywords)


def _any_all(*, decides: bool) -> Native:
    def run(i: Interpreter, value: Any) -> Any:
        found = operations.elements(i, value)
        if isinstance(found, Unknown):
            return Unknown(found.reason, ("any" if decides else "all", found.key), "bool")
        rest: Any = not decides
        for each in reversed(found):
            truth = i.truth(each)
            if truth is decides:
                rest = decides
            elif not isinstance(truth, bool):
                rest = choice(truth, decides, rest) if decides else choice(truth, rest, decides)
        return rest

    return Native("any" if decides else "all", run)


def _map(i: Interpreter, function: Any, *collections: Any) -> Any:
    found = [operations.elements(i, each) for each in collections]
    for each in found:
        if isinstance(each, Unknown):
            return Unknown(each.reason, ("map", each.key))
    return VList(i.call(function, list(each), {}) for each in zip(*found, strict=False))


def _filter(i: Interpreter, function: Any, collection: Any) -> Any:
    found = operations.elements(i, collection)
    if isinstance(found, Unknown):
        return found
    kept = VList()
    for each in found:
        truth = i.truth(each if function is None else i.call(function, [each], {}))
        if not isinstance(truth, bool):
            return Unknown(truth.reason, ("filter", truth.key))
        if truth:
            kept.append(each)
    return kept


def _zip(i: Interpreter, *collections: Any, **_keywords: Any) -> Any:
    found = [operations.elements(i, each) for each in collections]
    unknown = next((each for each in found if isinstance(each, Unknown)), None)
    return unknown if unknown is not None else VList(zip(*found, strict=False))


def _enumerate(i: Interpreter, collection: Any, start: Any = 0) -> Any:
    found = operations.elements(i, collection)
    return found if isinstance(found, Unknown) else VList(enumerate(found, i.force(start)))


def _sorted(i: Interpreter, collection: Any, key: Any = None, reverse: Any = None) -> Any:
    found = operations.elements(i, collection)
    if isinstance(found, Unknown):
        return found
    keys = found if key is None else [i.call(key, [each], {}) for each in found]
    order = i.native(
        lambda: sorted(range(len(found)), key=lambda at: keys[at], reverse=bool(reverse)), [], "sorted"
    )
    return order if isinstance(order, Unknown) else VList(found[at] for at in order)


def _extreme(function: Any) -> Native:
    def run(i: Interpreter, *arguments: Any, key: Any = None, default: Any = MISSING) -> Any:
        values = list(arguments)
        if len(values) == 1:
            values = operations.elements(i, values[0])
            if isinstance(values, Unknown):
                return Unknown(values.reason, (function.__name__, values.key))
        if not values and default is not MISSING:
            return default
        if key is not None:
            keys = [i.call(key, [each], {}) for each in values]
            at = i.native(lambda: function(range(len(values)), key=lambda n: keys[n]), [])
            return at if isinstance(at, Unknown) else values[at]
        return i.lift(lambda *each: function(each), *values, label=function.__name__)

    return Native(function.__name__, run)


def _next(i: Interpreter, collection: Any, default: Any = MISSING) -> Any:
    found = operations.elements(i, collection)
    if isinstance(found, Unknown):
        return Unknown(found.reason, ("next", found.key))
    if found:
        return found[0]
    if default is MISSING:
        raise i.error(StopIteration)
    return default


def _sum(i: Interpreter, collection: Any, start: Any = 0) -> Any:
    found = operations.elements(i, collection)
    return (
        found
        if isinstance(found, Unknown)
        else i.lift(lambda *values: sum(values[1:], values[0]), start, *found, label="sum")
    )


def _bool(i: Interpreter, value: Any = None) -> Any:
    return _each(i, value, lambda each: _truth(i, each), lambda each: ("truth", each.key))


def _truth(i: Interpreter, value: Any) -> Any:
    truth = i.truth(value)
    return truth if isinstance(truth, bool) else derived("truth", [truth])


def _pure(function: Any) -> Native:
    return Native(
        function.__name__,
        lambda i, *a, **k: i.lift(lambda *v: function(*v, **k), *a, label=function.__name__),
    )


def _print(i: Interpreter, *_arguments: Any, **_keywords: Any) -> None:
    i.log.append((PRINTED, "", i.site, tuple(i.machine.guards)))


BUILTINS: dict[str, Any] = {
    name: value
    for name, value in vars(builtins).items()
    if isinstance(value, type) and (issubclass(value, BaseException) or value in (int, float, bytes, object))
}
BUILTINS |= {
    "str": str,
    "bool": bool,
    "dict": dict,
    "list": list,
    "tuple": tuple,
    "set": set,
    "frozenset": frozenset,
    "NotImplemented": NotImplemented,
    "Ellipsis": ...,
    "__debug__": True,
    "property": Native("property", lambda _i, function: Wrapped("property", function)),
    "staticmethod": Native("staticmethod", lambda _i, function: Wrapped("static", function)),
    "classmethod": Native("classmethod", lambda _i, function: Wrapped("class", function)),
    "print": Native("print", _print),
    "abs": _pure(abs),
    "round": _pure(round),
    "divmod": _pure(divmod),
    "ord": _pure(ord),
    "chr": _pure(chr),
    "hex": _pure(hex),
    "bin": _pure(bin),
    "pow": _pure(pow),
    "repr": Native("repr", lambda i, v: operations.formatted_text(i, v, ord("r"), "")),
    "iter": Native("iter", _iter),
    "reversed": Native(
        "reversed", lambda i, value: i.lift(lambda each: VList(reversed(each)), operations.elements(i, value))
    ),
    "globals": Native("globals", lambda i: i.machine.unknown("globals()")),
    "locals": Native("locals", lambda i: i.machine.unknown("locals()")),
    "any": _any_all(decides=True),
    "all": _any_all(decides=False),
    "min": _extreme(min),
    "max": _extreme(max),
}
_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "isinstance": _isinstance,
    "issubclass": _issubclass,
    "getattr": _getattr,
    "hasattr": _hasattr,
    "setattr": _setattr,
    "delattr": _delattr,
    "callable": _callable,
    "type": _type,
    "vars": _vars,
    "id": _id,
    "hash": _hash,
    "len": _len,
    "range": _range,
    "open": _open,
    "map": _map,
    "filter": _filter,
    "zip": _zip,
    "enumerate": _enumerate,
    "sorted": _sorted,
    "next": _next,
    "sum": _sum,
}
BUILTINS |= {name: Native(name, run) for name, run in _FUNCTIONS.items()}


def _object(_i: Interpreter) -> Instance:
    return Instance(object)


CONSTRUCTORS: dict[Any, Native] = {
    list: _iterated(VList, "list"),
    tuple: _iterated(tuple, "tuple"),
    set: _iterated(VSet, "set"),
    frozenset: _iterated(frozenset, "frozenset"),
    dict: Native("dict", _dict),
    bool: Native("bool", _bool),
    str: Native("str", lambda i, value="", *_rest, **_keywords: operations.text(i, value)),
    int: Native("int", lambda i, value=0, *base: i.lift(int, value, *base, label="int")),
    float: Native("float", lambda i, value=0.0: i.lift(float, value, label="float")),
    object: Native("object", _object),
}
"""What calling a built-in type does."""
