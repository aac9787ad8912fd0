"""Classes of the interpreted program: how they are built, instantiated, and matched with exceptions."""

from __future__ import annotations

import ast
from typing import Any

from assay.engines import probes
from assay.flow.interpreter import Interpreter
from assay.flow.values import (
    MISSING,
    Bound,
    Class,
    Decorated,
    External,
    Frame,
    Function,
    Instance,
    Library,
    Member,
    Native,
    Symbol,
    Unknown,
    Wrapped,
    adopt,
)

_WITHOUT_ATTRIBUTES = frozenset(
    {"typing.Generic", "typing.Protocol", "abc.ABC", "typing_extensions.Protocol", "typing.NamedTuple"}
)
_ENUMS = frozenset({"enum.Enum", "enum.IntEnum", "enum.StrEnum", "enum.Flag", "enum.IntFlag"})
_COLLECTIONS = {
    "collections.UserDict": dict,
    "collections.UserList": list,
    "collections.OrderedDict": dict,
    "collections.defaultdict": dict,
    "collections.Counter": dict,
    "collections.deque": list,
}
"""Classes of collections that behave like the plain ones, as far as anyone has to know."""
_PLAIN_ENUMS = {"enum.IntEnum": int, "enum.StrEnum": str, "enum.IntFlag": int}


_PROTOCOLS = frozenset({"typing.Protocol", "typing_extensions.Protocol"})
_ASKS_FOR = "\0asks for"
"""Attribute of a protocol: the names that it asks for."""
CONTENTS = "\0contents"
"""Attribute of an object of a class that derives from dict: what it holds."""


class FieldSpec:
    """`dataclasses.field(…)`."""

    __slots__ = ("default", "factory", "init")

    def __init__(self, default: Any, factory: Any, *, init: bool = True) -> None:
        self.default, self.factory, self.init = default, factory, init


STRUCT = "msgspec.Struct"
"""A class that makes fields of its annotations, as `@dataclass` does."""
_DATA = frozenset({"pydantic.BaseModel", "pydantic.main.BaseModel"})
"""Classes whose bases make their fields, and of which no more is modelled."""
AUTO = Symbol("enum.auto()")


def build(i: Interpreter, node: ast.ClassDef, frame: Frame) -> Class:
    """The class that a definition makes."""
    made = Class(node.name, frame.module)
    made.is_record = f"{frame.module.file}:{node.name}" == i.record_class
    is_tuple = is_protocol = False
    for base in node.bases:
        found = i.force(i.evaluate(base, frame))
        is_tuple = is_tuple or getattr(found, "dotted", "") == "typing.NamedTuple"
        is_protocol = is_protocol or getattr(found, "dotted", "") in _PROTOCOLS
        _add_base(made, found)
    body = Frame(frame.module, frame if frame is not frame.module.frame else None)
    body.is_class = True
    for statement in node.body:
        i.execute(statement, body)
    for (where, dotted), given in i.modules.given.items():
        if where == frame.module.name and dotted.startswith(f"{node.name}."):
            body.names[dotted.partition(".")[2]] = given
    if is_protocol:
        body.names[_ASKS_FOR] = _members_of(node, made)
    made.attributes = body.names
    made.origins = body.origins
    for value in body.names.values():
        _own(value, made, node)
    if made.is_enum:
        _make_members(made)
    _set_names(i, made)
    if is_tuple:
        made.line.append(tuple)
    if is_tuple or is_struct(made):
        _take_fields(made, node)
    return made


def is_struct(cls: Class) -> bool:
    """Whether it is a class of msgspec's."""
    return any(isinstance(base, Library) and base.dotted == STRUCT for base in cls.line)


def _members_of(node: ast.ClassDef, made: Class) -> frozenset[str]:
    """The names that an object must have to be an instance of a protocol."""
    inherited = (base.attributes.get(_ASKS_FOR, ()) for base in made.line[1:] if isinstance(base, Class))
    own = {
        target.id
        for each in node.body
        for target in (each.targets if isinstance(each, ast.Assign) else [getattr(each, "target", None)])
        if isinstance(target, ast.Name)
    } | {each.name for each in node.body if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef)}
    return frozenset(own.union(*inherited))


def _fits(i: Interpreter, value: Any, protocol: Class) -> bool | Unknown:
    """Whether an object or class has all that a protocol asks for."""
    for name in sorted(protocol.attributes[_ASKS_FOR]):
        found = i.force(i.attribute(value, name))
        if isinstance(found, Unknown) and not isinstance(found, Decorated):
            return Unknown(found.reason, ("fits", found.key), "bool")
        if found is MISSING:
            return False
    return True


def _add_base(made: Class, base: Any) -> None:
    if isinstance(base, Class):
        made.line = [*made.line, *(each for each in base.line if each not in made.line)]
        made.is_open |= base.is_open
        made.is_data |= base.is_data
        made.open_bases |= base.open_bases
        made.is_enum |= base.is_enum
        if base.fields is not None and made.fields is None:
            made.fields = None
    elif isinstance(base, External):
        made.is_enum |= base.dotted in _ENUMS
        made.is_data = made.is_data or base.dotted in _DATA
        if base.dotted in _PLAIN_ENUMS:
            made.line.append(_PLAIN_ENUMS[base.dotted])
        if base.dotted in _COLLECTIONS:
            made.line.append(_COLLECTIONS[base.dotted])
        known = base.dotted in _WITHOUT_ATTRIBUTES or base.dotted in _ENUMS or base.dotted in _COLLECTIONS
        made.is_open |= not known
        made.open_bases |= frozenset() if known else {base.dotted}
    elif isinstance(base, Library | type):
        made.line.append(base)
    else:
        made.is_open = made.is_open or not isinstance(base, Symbol)
        made.open_bases |= frozenset() if isinstance(base, Symbol) else {""}


def may_have(cls: Class, name: str) -> bool:
    """Whether a base that is not known may give a class that attribute."""
    if not cls.is_open or not cls.open_bases or name.startswith("__"):
        return cls.is_open
    return any(name in probes.CLASSES.get(base, (name,)) for base in cls.open_bases)


def _own(value: Any, owner: Class, definition: ast.ClassDef) -> None:
    while isinstance(value, Wrapped | Bound):
        value = value.function
    if isinstance(value, Function) and value.owner is None:
        value.owner = owner
        if value.closure is not None and value.node not in definition.body:
            for inner in value.closure.names.values():  # a decorator put another function around it
                if isinstance(inner, Function) and inner.node in definition.body:
                    inner.owner = inner.owner or owner


def _make_members(made: Class) -> None:
    count = 0
    for name, value in list(made.attributes.items()):
        if name.startswith("_") or isinstance(value, Function | Wrapped | Class):
            continue
        count = count + 1 if not isinstance(value, int) else value
        given = count if value is AUTO else value
        made.attributes[name] = Member(made, name, given)


def _set_names(i: Interpreter, made: Class) -> None:
    for name, value in list(made.attributes.items()):
        if isinstance(value, Instance) and isinstance(value.cls, Class):
            method = class_attribute(value.cls, "__set_name__")
            if method is not MISSING:
                i.call(method, [value, made, name], {})


def members(cls: Class) -> list[Member]:
    """The members of an enumeration."""
    return [each for each in cls.attributes.values() if isinstance(each, Member)]


def class_attribute(cls: Any, name: str) -> Any:
    """What the class or its bases bind that name to, as it stands there; else `MISSING`."""
    for base in cls.line if isinstance(cls, Class) else [cls]:
        if isinstance(base, Class | Library) and name in base.attributes:
            return base.attributes[name]
        if isinstance(base, type) and name in _EXCEPTION_METHODS and issubclass(base, BaseException):
            return _EXCEPTION_METHODS[name]
    return MISSING


def make_dataclass(i: Interpreter, cls: Class) -> Class:
    """`@dataclass`: the fields of the class and its bases, in order."""
    _take_fields(cls, definition(i, cls))
    return cls


def _take_fields(cls: Class, node: ast.ClassDef | None) -> None:
    fields: dict[str, Any] = {}
    only: dict[str, Any] = {}
    for base in reversed(cls.line):
        if isinstance(base, Class) and base is not cls and base.fields is not None:
            fields.update(base.fields)
            only.update(base.init_only)
    for statement in node.body if node is not None else []:
        if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
            if "ClassVar" in ast.unparse(statement.annotation):
                continue
            name = statement.target.id
            into = only if _is_init_only(statement.annotation) else fields
            into[name] = cls.attributes.get(name, MISSING)
            if isinstance(into[name], FieldSpec):
                cls.attributes.pop(name, None)
                if into[name].default is not MISSING:
                    cls.attributes[name] = into[name].default
    cls.fields, cls.init_only = list(fields.items()), list(only.items())


def _is_init_only(annotation: ast.expr) -> bool:
    """Whether a field is only an argument of `__init__` that `__post_init__` gets."""
    head = annotation.value if isinstance(annotation, ast.Subscript) else annotation
    return "InitVar" in (getattr(head, "id", ""), getattr(head, "attr", ""))


def definition(_i: Interpreter, cls: Class) -> ast.ClassDef | None:
    """Where a class stands in its module."""
    begun = all(each in cls.module.done for each in cls.module.pending.get(cls.name, ()))
    for node in ast.walk(cls.module.module.tree) if begun else ():
        if isinstance(node, ast.ClassDef) and node.name == cls.name:
            return node
    return None


def collection(cls: Any) -> type | None:
    """The plain collection that a class derives from: dict, list, set, or tuple for a named one."""
    line = cls.line if isinstance(cls, Class) else ()
    return next((base for base in line if base in (dict, list, set, tuple)), None)


def note_built(i: Interpreter, cls: Class) -> None:
    """Note that an object of that class, and so of its bases, is made."""
    if cls.name not in i.built:
        i.built.update(base.name for base in cls.line if isinstance(base, Class))


def instantiate(i: Interpreter, cls: Class, arguments: list[Any], keywords: dict[str, Any]) -> Any:
    """Call a class."""
    if cls.is_enum:
        return _member(i, cls, arguments)
    if isinstance(class_attribute(cls, "__new__"), Function | Wrapped):
        i.machine.passed_over(f"{cls.name} makes its own objects")
    note_built(i, cls)
    made = Instance(cls)
    if collection(cls) in (dict, list, set):
        if i.machine.strict is not None or collection(cls) is not dict:
            i.machine.passed_over(f"{cls.name} is a collection")
        elif class_attribute(cls, "__init__") is MISSING:
            made.attributes[CONTENTS] = i.call(i.outside.builtin("dict") or dict, arguments, keywords)
            return made
    _set_up(i, made, arguments, keywords)
    return made


def _set_up(i: Interpreter, made: Instance, arguments: list[Any], keywords: dict[str, Any]) -> None:
    cls = made.cls
    begin = class_attribute(cls, "__init__")
    if cls.fields is not None and "__init__" not in cls.attributes:
        _fill(i, made, cls, arguments, keywords)
    elif begin is not MISSING:
        i.call(begin, [made, *arguments], keywords)
    elif any(isinstance(base, type) and issubclass(base, BaseException) for base in cls.line):
        made.attributes["args"] = tuple(arguments)
    elif cls.is_data:
        made.attributes.update(keywords)
    elif cls.is_open and (arguments or keywords):
        i.machine.passed_over(f"{cls.name} is set up by a base that is not known")


def _member(i: Interpreter, cls: Class, arguments: list[Any]) -> Any:
    value = i.force(arguments[0]) if arguments else None
    if isinstance(value, Member) and value.cls is cls:
        return value
    if isinstance(value, Unknown):
        return Unknown(value.reason, ("member", id(cls), value.key))
    for each in members(cls):
        if each.value == value:
            return each
    missing = class_attribute(cls, "_missing_")
    if missing is not MISSING:
        found = i.call(missing.function if isinstance(missing, Wrapped) else missing, [cls, value], {})
        if isinstance(found, Member | Unknown):
            return found
    raise i.error(ValueError, f"{value!r} is not a valid {cls.name}")


def _fill(i: Interpreter, made: Instance, cls: Class, arguments: list[Any], keywords: dict[str, Any]) -> None:
    fields = cls.fields or []
    given = dict(zip((name for name, _ in fields), arguments, strict=False)) | keywords
    for name, default in fields:
        i.machine.put(made.attributes, name, _filling(i, name, default, given))
    handed = [_filling(i, name, default, given) for name, default in cls.init_only]
    if given:
        raise i.error(TypeError, f"__init__() got an unexpected keyword argument {next(iter(given))!r}")
    after = class_attribute(cls, "__post_init__")
    if after is not MISSING:
        i.outside.begins(i, made)
        i.call(after, [made, *handed], {})
        i.outside.has_begun(i, made)


def _filling(i: Interpreter, name: str, default: Any, given: dict[str, Any]) -> Any:
    """What a field is filled with."""
    if name in given:
        value = given.pop(name)
    elif isinstance(default, FieldSpec):
        value = i.call(default.factory, [], {}) if default.factory is not MISSING else default.default
    else:
        value = default
    if value is MISSING:
        raise i.error(TypeError, f"__init__() missing required argument: {name!r}")
    return adopt(value)


def matches(i: Interpreter, error: Any, handled: Any) -> bool:
    """Whether an exception is caught by a handler for that class or tuple of classes."""
    if isinstance(handled, tuple):
        return any(matches(i, error, i.force(each)) for each in handled)
    if isinstance(handled, Class):
        return isinstance(error.cls, Class) and handled in error.cls.line
    if not isinstance(handled, type):
        known = i.outside.exception_class(handled)
        if known is None:
            return not isinstance(handled, External)
        handled = known
    line = error.cls.line if isinstance(error.cls, Class) else [error.cls]
    return any(isinstance(base, type) and issubclass(base, handled) for base in line)


def is_instance(i: Interpreter, value: Any, cls: Any) -> Any:
    """`isinstance(value, cls)`: a bool or an `Unknown`."""
    cls = i.force(cls)
    if cls is type and isinstance(value, Class | Library):
        return True
    if isinstance(cls, tuple):
        found = [is_instance(i, value, each) for each in cls]
        unknown = [each for each in found if isinstance(each, Unknown)]
        return True if True in found else unknown[0] if unknown else False
    if isinstance(cls, Unknown):
        is_plain = isinstance(value, bool | int | float | str | list | dict | tuple | type(None))
        return (
            False
            if is_plain and isinstance(cls, External)
            else Unknown(cls.reason, ("isinstance", id(value), cls.key))
        )
    if isinstance(cls, Class) and _ASKS_FOR in cls.attributes and isinstance(value, Class | Instance):
        line = value.line if isinstance(value, Class) else getattr(value.cls, "line", ())
        return (cls in line and isinstance(value, Instance)) or _fits(i, value, cls)
    if isinstance(value, Instance | Member):
        line = value.cls.line if isinstance(value.cls, Class) else [value.cls]
        if cls in line or any(
            isinstance(b, type) and isinstance(cls, type) and issubclass(b, cls) for b in line
        ):
            return True
        is_open = isinstance(value.cls, Class) and value.cls.is_open and not isinstance(cls, type)
        return Unknown(f"bases of {value.cls.name}") if is_open else cls is object
    if isinstance(cls, type):
        return isinstance(value, cls)
    if isinstance(cls, Symbol) and isinstance(value, Symbol):
        return cls.dotted == "torch.dtype" and value.dotted in probes.SYMBOLS - probes.NO_DTYPES
    return isinstance(cls, Native) and cls.name == "type" and isinstance(value, Class | type)


def _exception_text(_i: Interpreter, error: Instance) -> Any:
    arguments = error.attributes.get("args", ())
    if len(arguments) == 1:
        return _i.outside.text(_i, arguments[0])
    return "" if not arguments else str(arguments)


def _exception_init(i: Interpreter, error: Instance, *arguments: Any) -> None:
    i.machine.put(error.attributes, "args", arguments)


_EXCEPTION_METHODS = {
    "__str__": Native("Exception.__str__", _exception_text),
    "__init__": Native("Exception.__init__", _exception_init),
}
