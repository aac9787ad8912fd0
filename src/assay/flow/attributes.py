"""Reads and writes attributes of the interpreted program's objects."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from assay.engines import probes
from assay.flow import classes
from assay.flow.interpreter import COMMAND_LINE, Interpreter
from assay.flow.machine import same
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
    ModuleValue,
    Native,
    NotPure,
    Origin,
    Partial,
    Strict,
    Unknown,
    Wrapped,
    may_be_missing,
)


def find(i: Interpreter, owner: Any, name: str) -> Any:
    """The attribute, `MISSING`, or an `Unknown`."""
    owner = i.force(owner)
    if isinstance(owner, Instance):
        return _of_instance(i, owner, name)
    if isinstance(owner, External):
        return i.outside.member(i, owner, name)
    if isinstance(owner, Unknown):
        return Unknown(owner.reason, ("attribute", owner.key, name))
    if isinstance(owner, ModuleValue):
        return _of_tree_module(i, owner, name)
    if isinstance(owner, Class):
        return _of_class(i, owner, name)
    if isinstance(owner, Member):
        return _of_member(i, owner, name)
    if isinstance(owner, Library):
        found = owner.attributes.get(name, MISSING)
        if found is MISSING and name in _OF_CLASSES:
            return i.outside.made_dict(dict(owner.attributes))
        return found.function if isinstance(found, Wrapped) and found.kind == "static" else found
    if isinstance(owner, Function | Wrapped | Bound | Partial | Native):
        return _of_function(owner, name)
    return i.outside.native_attribute(i, owner, name)


def _of_tree_module(i: Interpreter, owner: ModuleValue, name: str) -> Any:
    if name == "__dict__" and i.machine.strict is None:
        return Unknown(f"all names of {owner.name}")
    found = i.modules.imported(owner.name, name)
    return Unknown(f"{name} of a module") if found is MISSING and name.startswith("__") else found


def get(i: Interpreter, owner: Any, name: str) -> Any:
    """`owner.name`."""
    owner = i.force(owner)
    if isinstance(owner, Choice):
        return i.machine.fork(owner.test, lambda: get(i, owner.yes, name), lambda: get(i, owner.no, name))
    value = i.force(find(i, owner, name))
    if isinstance(value, Choice) and may_be_missing(value):
        return i.machine.fork(value.test, lambda: get(i, owner, name), lambda: get(i, owner, name))
    if value is MISSING:
        raise i.error(AttributeError, f"{type_name(owner)!r} object has no attribute {name!r}")
    return value


def type_name(value: Any) -> str:
    """The name of a value's class."""
    if isinstance(value, Instance | Member):
        cls = value.cls
        return (
            cls.name if isinstance(cls, Class) else cls.__name__ if isinstance(cls, type) else str(cls.dotted)
        )
    names = {"VList": "list", "VDict": "dict", "VSet": "set"}
    return names.get(type(value).__name__, type(value).__name__)


def _of_instance(i: Interpreter, owner: Instance, name: str) -> Any:
    cls, strict = owner.cls, i.machine.strict
    if strict is not None:
        owner = strict.kept.counterpart(owner)
        kept = _noted(strict, owner, name)
        if kept is not MISSING:
            return kept
    if name in owner.attributes:
        _read(i, owner, name)
        return owner.attributes[name]
    if name == "__class__":
        return cls
    if name == "__dict__":
        return _whole(i, owner)
    value = classes.class_attribute(cls, name)
    if value is not MISSING:
        return _bound(i, value, owner, cls)
    special = _of_a_library(i, owner, name)
    if special is not MISSING:
        return special
    fallback = classes.class_attribute(cls, "__getattr__")
    if fallback is not MISSING and not name.startswith("__"):
        return i.call(fallback, [owner, name], {})
    if isinstance(cls, Class) and cls.is_open:
        return Unknown(
            f"attribute {name} of {cls.name}, whose base is not modelled", ("attribute", id(owner), name)
        )
    return MISSING


def _of_a_library(i: Interpreter, owner: Instance, name: str) -> Any:
    """What a class from outside that the object's class derives from gives it."""
    if classes.CONTENTS in owner.attributes:
        return i.outside.native_attribute(i, owner.attributes[classes.CONTENTS], name)
    return i.outside.instance_attribute(i, owner, name)


def _whole(i: Interpreter, owner: Instance) -> dict[str, Any]:
    takes_all(i, owner)
    for _ in all_of(i, owner):
        pass  # each is noted as read
    return owner.attributes


def all_of(i: Interpreter, owner: Instance) -> Iterator[tuple[str, Any]]:
    """The attributes that an object has of its own; that each is read is noted."""
    strict = i.machine.strict
    if strict is not None:
        owner = strict.kept.counterpart(owner)
    for name, value in list(owner.attributes.items()):
        kept = MISSING if strict is None else _noted(strict, owner, name)
        yield name, value if kept is MISSING else kept


def _noted(strict: Strict, owner: Instance, name: str) -> Any:
    """Note that the attribute of an older object is read; its value, where something else keeps it."""
    if strict.has_made(owner):
        return MISSING
    key = (id(owner), name)
    strict.reads.add(key)
    kept = strict.kept.get(key)
    if kept is None:
        return MISSING
    if kept[0] is MISSING:
        raise NotPure(name)
    return kept[0]


def _read(i: Interpreter, owner: Instance, name: str) -> None:
    if isinstance(owner.cls, Class) and owner.cls.is_record:
        i.machine.reads.add(f"option {name}")
        i.inputs_read.add(f"option {name}")
    elif owner is i.outside.namespace:
        i.inputs_read.add(COMMAND_LINE)
    elif name in owner.origins:
        i.machine.reads |= owner.origins[name]


def takes_all(i: Interpreter, owner: Any) -> None:
    """Note that somebody takes everything that an object holds, whatever its names."""
    is_record = isinstance(owner, Instance) and isinstance(owner.cls, Class) and owner.cls.is_record
    if is_record or owner is i.outside.namespace:
        i.inputs_read.add("*")


def _bound(i: Interpreter, value: Any, owner: Any, cls: Any) -> Any:
    """What a class attribute gives when read from an instance."""
    value = i.force(value)
    if isinstance(value, Function):
        return Bound(value, owner)
    if isinstance(value, Native):
        return Bound(value, owner)
    if isinstance(value, Wrapped):
        if value.kind == "property":
            return i.call(value.function, [owner], {})
        if value.kind == "static":
            return value.function
        return Bound(value.function, cls) if value.kind == "class" else Bound(value, owner)
    if isinstance(value, Instance) and isinstance(value.cls, Class):
        getter = classes.class_attribute(value.cls, "__get__")
        if getter is not MISSING:
            return i.call(getter, [value, owner, cls], {})
    return value


def _of_class(i: Interpreter, owner: Class, name: str) -> Any:
    value = classes.class_attribute(owner, name)
    if value is not MISSING:
        for base in owner.line:
            if isinstance(base, Class) and name in base.attributes:
                i.machine.reads |= base.origins.get(name, frozenset())
                break
        value = i.force(value)
        if isinstance(value, Wrapped):
            if value.kind == "static":
                return value.function
            return Bound(value.function, owner) if value.kind == "class" else value
        return value
    if name in ("__name__", "__qualname__"):
        return owner.name
    if name in _OF_CLASSES:
        modelled = name == "__mro__" and all(base in probes.CLASSES for base in owner.open_bases)
        line = tuple(base for base in owner.line if isinstance(base, Class | type)) if modelled else ()
        return line or i.outside.class_attribute(i, owner, name)
    if owner.is_enum and name == "__members__":
        return i.outside.made_dict({each.name: each for each in classes.members(owner)})
    if classes.may_have(owner, name):
        return Unknown(
            f"attribute {name} of {owner.name}, whose base is not modelled", ("attribute", id(owner), name)
        )
    return MISSING


_OF_CLASSES = frozenset({"__annotations__", "__mro__", "__dict__", "__struct_fields__"})


def _of_member(i: Interpreter, owner: Member, name: str) -> Any:
    if name in ("name", "_name_"):
        return owner.name
    if name in ("value", "_value_"):
        return owner.value
    value = classes.class_attribute(owner.cls, name)
    if value is not MISSING:
        return _bound(i, value, owner, owner.cls)
    if owner.is_plain:
        return i.outside.native_attribute(i, owner.value, name)
    return MISSING


def _of_function(owner: Any, name: str) -> Any:
    if name in ("__name__", "__qualname__"):
        while not isinstance(owner, Function | Native):
            owner = owner.function
        return owner.name
    if name == "__doc__":
        return None
    if name == "__func__" and isinstance(owner, Function | Bound):
        return owner.function if isinstance(owner, Bound) else MISSING
    if name in ("cache_clear", "cache_info") and isinstance(owner, Wrapped):
        return Native(name, lambda i: _clear(i, owner))
    if name == "__wrapped__" and isinstance(owner, Wrapped):
        return owner.function
    if name in ("func", "args", "keywords") and isinstance(owner, Partial):
        return {"func": owner.function, "args": tuple(owner.arguments), "keywords": owner.keywords}[name]
    if name in ("setter", "getter", "deleter") and isinstance(owner, Wrapped):
        return Native(name, lambda _i, _function: owner)
    if isinstance(owner, Native) and "." in owner.name:
        return External(f"{owner.name}.{name}")
    return Unknown(f"attribute {name} of a function", ("attribute", id(owner), name))


def _clear(i: Interpreter, owner: Wrapped) -> None:
    for key in list(owner.store):
        i.machine.put(owner.store, key, MISSING)


def _touched(strict: Strict, owner: Any, name: str, value: Any) -> Any:
    """The object that is to be changed, noted if it is an older one; None if it has that value already."""
    if isinstance(owner, Instance):
        owner = strict.kept.counterpart(owner)
    if not strict.has_made(owner):
        if isinstance(owner, Instance) and same(owner.attributes.get(name, MISSING), value):
            return None
        if not isinstance(owner, Instance) or (isinstance(owner.cls, Class) and owner.cls.is_record):
            raise NotPure(name)
        strict.touched[id(owner)] = owner
    return owner


def put(i: Interpreter, owner: Any, name: str, value: Any, reads: set[str]) -> None:
    """`owner.name = value`."""
    owner = i.force(owner)
    if i.machine.strict is not None:
        owner = _touched(i.machine.strict, owner, name, value)
        if owner is None:
            return
    if isinstance(owner, Choice):
        i.machine.fork(
            owner.test,
            lambda: put(i, owner.yes, name, value, reads),
            lambda: put(i, owner.no, name, value, reads),
        )
    elif isinstance(owner, Instance):
        _put_instance(i, owner, name, value, reads)
    elif isinstance(owner, Class):
        i.machine.put(owner.attributes, name, value)
    elif isinstance(owner, ModuleValue):
        state = i.modules.state(owner.name)
        if state is not None:
            i.modules.lookup(state, name)
            i.machine.put(state.frame.names, name, value)
    elif isinstance(owner, External):
        i.outside.set_member(i, owner, name, value)


def _put_instance(i: Interpreter, owner: Instance, name: str, value: Any, reads: set[str]) -> None:
    cls = owner.cls
    setter = classes.class_attribute(cls, "__setattr__")
    if setter is not MISSING and isinstance(setter, Function) and not _sets_itself(i, setter, owner):
        i.call(setter, [owner, name, value], {})
        return
    _store(i, owner, name, value, reads)


def put_plainly(i: Interpreter, owner: Instance, name: str, value: Any, reads: set[str]) -> None:
    """`object.__setattr__(owner, name, value)`: whatever the class's own `__setattr__` does."""
    if i.machine.strict is not None:
        touched = _touched(i.machine.strict, owner, name, value)
        if touched is None:
            return
        owner = touched
    _store(i, owner, name, value, reads)


def _store(i: Interpreter, owner: Instance, name: str, value: Any, reads: set[str]) -> None:
    cls = owner.cls
    if isinstance(cls, Class) and cls.is_record and cls.fields is not None:
        if i.outside.keeps(i, owner, name, value):
            return
        i.outside.record_write(i, owner, name, value, reads)
    name = i.outside.renamed(owner, name)
    i.machine.put(owner.attributes, name, value)
    if reads or name in owner.origins:
        i.machine.put(owner.origins, name, Origin(reads))


def _sets_itself(i: Interpreter, setter: Function, owner: Instance) -> bool:
    frame = i.machine.frame
    while frame is not None:
        if frame.function is setter and frame.receiver is owner:
            return True
        frame = frame.parent
    return False


def above(i: Interpreter, owner: Class, receiver: Any, name: str) -> Any:
    """`super().name` in a method of `owner`."""
    line = (
        receiver.cls.line
        if isinstance(receiver, Instance)
        else receiver.line
        if isinstance(receiver, Class)
        else []
    )
    rest = line[line.index(owner) + 1 :] if owner in line else []
    for base in rest:
        found = MISSING
        if isinstance(base, Class | Library):
            found = base.attributes.get(name, MISSING)
        elif isinstance(base, type) and issubclass(base, BaseException):
            found = classes.class_attribute(base, name)
        if found is not MISSING:
            if isinstance(receiver, Class):
                inner = found.function if isinstance(found, Wrapped) else found
                return Bound(inner, receiver)
            return _bound(i, found, receiver, receiver.cls)
    if isinstance(receiver, Instance) and classes.CONTENTS in receiver.attributes:
        return i.outside.native_attribute(i, receiver.attributes[classes.CONTENTS], name)
    if name in ("__init__", "__init_subclass__", "__post_init__"):
        return Native(name, lambda _i, *_arguments, **_keywords: None)
    if name == "__setattr__":
        return Native(name, lambda i, key, value: put(i, receiver, key, value, set()))
    return Unknown(f"super().{name}")
