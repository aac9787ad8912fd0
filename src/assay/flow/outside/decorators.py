"""Functions about functions and classes: functools, contextlib, dataclasses, enum, copy."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from assay.flow import attributes, classes, operations
from assay.flow.copying import deep_copy
from assay.flow.interpreter import Interpreter
from assay.flow.outside import structs
from assay.flow.values import (
    MISSING,
    Choice,
    Class,
    Instance,
    Library,
    Native,
    Partial,
    Symbol,
    Unknown,
    VDict,
    Wrapped,
)


def _cache(i: Interpreter, function: Any = None, *_rest: Any, **_keywords: Any) -> Any:
    function = i.force(function)
    if function is None or isinstance(function, int):
        return Native("lru_cache(…)", lambda _i, inner: Wrapped("cache", inner))
    return Wrapped("cache", function)


def _partial(_i: Interpreter, function: Any, *arguments: Any, **keywords: Any) -> Any:
    return Partial(function, list(arguments), keywords)


def _reduce(i: Interpreter, function: Any, collection: Any, *start: Any) -> Any:
    found = operations.elements(i, collection)
    if isinstance(found, Unknown):
        return found
    return functools.reduce(lambda one, other: i.call(function, [one, other], {}), [*start, *found])


def identity(_i: Interpreter, function: Any, *_rest: Any, **_keywords: Any) -> Any:
    return function


def _given_back(_i: Interpreter, *_arguments: Any, **_keywords: Any) -> Any:
    return Native("decorator", identity)


def _dataclass(i: Interpreter, cls: Any = None, **_keywords: Any) -> Any:
    if cls is None:
        return Native("dataclass(…)", _dataclass)
    return classes.make_dataclass(i, cls) if isinstance(cls, Class) else cls


def _field(
    i: Interpreter,
    *,
    default: Any = MISSING,
    default_factory: Any = MISSING,
    init: Any = True,
    **_keywords: Any,
) -> Any:
    given = [MISSING if i.force(each) is NO_DEFAULT else each for each in (default, default_factory)]
    return classes.FieldSpec(*given, init=i.force(init) is not False)


_FIELD = Library("dataclasses.Field", {})
NO_DEFAULT = Symbol("dataclasses.MISSING")


def _fields(i: Interpreter, owner: Any) -> Any:
    owner = i.force(owner)
    cls = owner.cls if isinstance(owner, Instance) else owner
    if not isinstance(cls, Class) or cls.fields is None:
        return i.machine.unknown("fields of something that is no dataclass")
    return structs.field_list(i, cls, _FIELD, NO_DEFAULT)


def _asdict(i: Interpreter, owner: Any, **_keywords: Any) -> Any:
    owner = i.force(owner)
    if isinstance(owner, Instance) and isinstance(owner.cls, Class) and owner.cls.fields is not None:
        attributes.takes_all(i, owner)
        own = dict(attributes.all_of(i, owner))
        return VDict({name: own.get(name) for name, _ in owner.cls.fields})
    return i.machine.unknown("asdict of something that is no dataclass")


def _replace(i: Interpreter, owner: Any, **changes: Any) -> Any:
    owner = i.force(owner)
    if isinstance(owner, Choice):
        return i.machine.fork(
            owner.test, lambda: _replace(i, owner.yes, **changes), lambda: _replace(i, owner.no, **changes)
        )
    if not isinstance(owner, Instance):
        return i.machine.unknown("replace of something that is no dataclass")
    attributes.takes_all(i, owner)
    made = Instance(owner.cls)
    made.attributes.update(dict(attributes.all_of(i, owner)) | changes)
    return made


def _copy(i: Interpreter, value: Any, *_rest: Any) -> Any:
    copies: dict[int, Any] = {}
    made = deep_copy(i.force(value), copies, lambda owner: attributes.all_of(i, owner))
    if id(i.outside.record) in copies:
        attributes.takes_all(i, i.outside.record)
    return made


SUPPRESS = Library(
    "contextlib.suppress",
    {"__init__": Native("suppress", lambda i, made, *types: i.machine.put(made.attributes, "types", types))},
)


def suppressed(i: Interpreter, manager: Instance, inside: Callable[[Any], Any]) -> Any:
    """`with contextlib.suppress(…)`."""
    from assay.flow.machine import Handlers, Path

    types = manager.attributes["types"]
    handlers = Handlers(lambda raised: classes.matches(i, raised.error, types))
    i.machine.tries.append(handlers)
    path = i.machine.ended(lambda: inside(None))
    i.machine.tries.remove(handlers)

    def quiet(path: Path) -> Path:
        return Path("value", None, {}) if handlers.catches(path.value) else path

    if path.kind == "raise":
        path = quiet(path)
    if i.machine.pendings:
        path = i.machine.settle(handlers, path, quiet)
    return i.machine.resume(path)


def _shallow(i: Interpreter, value: Any) -> Any:
    value = i.force(value)
    if isinstance(value, Instance):
        attributes.takes_all(i, value)
        made = Instance(value.cls)
        made.attributes.update(attributes.all_of(i, value))
        return made
    return value.copy() if isinstance(value, list | dict | set) else value


NAMES: dict[str, Any] = {
    "functools.lru_cache": Native("lru_cache", _cache),
    "functools.cache": Native("cache", _cache),
    "functools.partial": Native("partial", _partial),
    "functools.wraps": Native("wraps", _given_back),
    "functools.reduce": Native("functools.reduce", _reduce),
    "functools.total_ordering": Native("total_ordering", identity),
    "functools.cached_property": Native("cached_property", lambda _i, f: Wrapped("property", f)),
    "contextlib.contextmanager": Native("contextmanager", lambda _i, f: Wrapped("context", f)),
    "contextlib.suppress": SUPPRESS,
    "contextlib.nullcontext": Native(
        "nullcontext", lambda _i, *_a: Instance(Library("contextlib.nullcontext", {}))
    ),
    "types.MappingProxyType": Native("MappingProxyType", identity),
    "dataclasses.dataclass": Native("dataclass", _dataclass),
    "dataclasses.field": Native("field", _field),
    "dataclasses.MISSING": NO_DEFAULT,
    "dataclasses.fields": Native("fields", _fields),
    "dataclasses.asdict": Native("asdict", _asdict),
    "dataclasses.replace": Native("replace", _replace),
    "dataclasses.is_dataclass": Native(
        "is_dataclass",
        lambda i, v: isinstance(c := getattr(i.force(v), "cls", i.force(v)), Class) and c.fields is not None,
    ),
    "enum.auto": Native("auto", lambda _i: classes.AUTO),
    "enum.unique": Native("unique", identity),
    "abc.abstractmethod": Native("abstractmethod", identity),
    "typing.cast": Native("cast", lambda _i, _t, v: v),
    "typing.overload": Native("overload", identity),
    "typing.final": Native("final", identity),
    "typing.dataclass_transform": Native("dataclass_transform", _given_back),
    "typing_extensions.dataclass_transform": Native("dataclass_transform", _given_back),
    "typing.runtime_checkable": Native("runtime_checkable", identity),
    "typing_extensions.runtime_checkable": Native("runtime_checkable", identity),
    "typing.TYPE_CHECKING": False,
    "typing.List": list,
    "typing.Dict": dict,
    "typing.Tuple": tuple,
    "typing.Set": set,
    "typing.no_type_check": Native("no_type_check", identity),
    "typing_extensions.override": Native("override", identity),
    "copy.copy": Native("copy", _shallow),
    "copy.deepcopy": Native("deepcopy", _copy),
}
