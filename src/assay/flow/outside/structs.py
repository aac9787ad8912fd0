"""Classes of msgspec, and what a program asks of annotations."""

from __future__ import annotations

import ast
from typing import Any

from assay.flow import attributes, classes
from assay.flow.interpreter import Interpreter
from assay.flow.outside.standard_objects import OneOf
from assay.flow.values import (
    MISSING,
    Class,
    External,
    Frame,
    Function,
    Instance,
    Library,
    Native,
    Symbol,
    Unknown,
    VDict,
    VList,
    Wrapped,
)


class Hint:
    """An annotation, as it is written in a module."""

    __slots__ = ("module", "node")

    def __init__(self, node: ast.expr, module: Any) -> None:
        self.node, self.module = node, module


def set_plainly(i: Interpreter, owner: Any, name: Any, value: Any) -> None:
    """`object.__setattr__(owner, name, value)`."""
    owner, name = i.force(owner), i.force(name)
    if isinstance(owner, Instance) and isinstance(name, str):
        attributes.put_plainly(i, owner, name, value, set())
    else:
        i.machine.gap("an attribute of something that is not known is set")


STRUCT = Library(classes.STRUCT, {"__setattr__": Native("Struct.__setattr__", set_plainly)})
_FIELD = Library("msgspec.structs.FieldInfo", {})
_NO_DEFAULT = Symbol("msgspec.NODEFAULT")
_ANNOTATED = Symbol("typing.Annotated")


def _fields(i: Interpreter, owner: Any) -> Any:
    owner = i.force(owner)
    cls = owner.cls if isinstance(owner, Instance) else owner
    if not isinstance(cls, Class) or cls.fields is None:
        return i.machine.unknown("fields of something that is no struct")
    return field_list(i, cls, _FIELD, _NO_DEFAULT)


def field_list(i: Interpreter, cls: Class, kind: Library, no_default: Symbol) -> VList:
    """The fields of a class, as objects of that kind."""
    found, hints = VList(), _hints(i, cls)
    for name, default in cls.fields or ():
        made = Instance(kind)
        made.attributes |= {
            "name": name,
            "encode_name": name,
            "type": hints.get(name, Symbol("typing.Any")),
            "default": no_default,
            "default_factory": no_default,
        }
        spec = default if isinstance(default, classes.FieldSpec) else classes.FieldSpec(default, MISSING)
        made.attributes["init"] = spec.init
        if spec.factory is not MISSING:
            made.attributes["default_factory"] = spec.factory
        if spec.default is not MISSING:
            made.attributes["default"] = spec.default
        found.append(made)
    return found


def _defstruct(
    i: Interpreter, name: Any, fields: Any, *, namespace: Any = None, bases: Any = (), **_options: Any
) -> Any:
    site = i.site
    state = i.modules.state(site[0].name) if site is not None else None
    entries, members = i.force(fields), i.force(namespace)
    plain = isinstance(entries, list) and type(members) is VDict and not i.force(bases)
    if state is None or not plain or not isinstance(name, str):
        return i.machine.unknown("msgspec.defstruct() of something that is not known")
    made = Class(name, state)
    made.is_record = f"{state.file}:{name}" == i.record_class
    made.line = [made, STRUCT]
    made.attributes = dict(members)
    for each in members.values():
        inner = each
        while isinstance(inner, Wrapped):
            inner = inner.function
        if isinstance(inner, Function):
            inner.owner = made
    made.fields = [(each[0], each[2] if len(each) > 2 else MISSING) for each in entries]
    made.attributes["__annotations__"] = VDict({each[0]: each[1] for each in entries})
    return made


def annotated(i: Interpreter, cls: Class) -> VDict:
    """The annotations in the class's own body."""
    found = cls.attributes.get("__annotations__")
    if isinstance(found, VDict):
        return found
    node = classes.definition(i, cls)
    return VDict(
        (each.target.id, Hint(each.annotation, cls.module))
        for each in (node.body if node is not None else ())
        if isinstance(each, ast.AnnAssign) and isinstance(each.target, ast.Name)
    )


def _hints(i: Interpreter, cls: Class) -> VDict:
    found = VDict()
    for base in reversed(cls.line):
        if isinstance(base, Class):
            found.update(annotated(i, base))
    return found


def _type_hints(i: Interpreter, cls: Any, **_keywords: Any) -> Any:
    cls = i.force(cls)
    return _hints(i, cls) if isinstance(cls, Class) else i.machine.unknown("type hints of no class")


def _evaluated(i: Interpreter, node: ast.expr, module: Any) -> Any:
    """An expression of an annotation, evaluated where nothing of the present path can be seen."""
    return i.machine.suspended(lambda: i.force(i.evaluate(node, Frame(module))))


def _origin(i: Interpreter, hint: Any) -> Any:
    hint = i.force(hint)
    if not isinstance(hint, Hint):
        return None if isinstance(hint, type | Class) else Unknown("the origin of a type")
    if isinstance(hint.node, ast.Subscript):
        found = _evaluated(i, hint.node.value, hint.module)
        return Symbol(found.dotted) if isinstance(found, External) else found
    is_union = isinstance(hint.node, ast.BinOp)
    return Symbol("types.UnionType") if is_union else None


def _arguments(i: Interpreter, hint: Any) -> Any:
    hint = i.force(hint)
    if isinstance(hint, OneOf):
        return hint.values
    if not isinstance(hint, Hint) or not isinstance(hint.node, ast.Subscript):
        return Unknown("the arguments of a type") if not isinstance(hint, type | Class) else ()
    inner = hint.node.slice
    elements = inner.elts if isinstance(inner, ast.Tuple) else [inner]
    if _origin(i, hint) is not _ANNOTATED:
        return Unknown("the arguments of a type")
    rest = [_evaluated(i, each, hint.module) for each in elements[1:]]
    return (Hint(elements[0], hint.module), *rest)


def _asdict(i: Interpreter, owner: Any) -> Any:
    return i.call(i.outside.known(i, "dataclasses.asdict"), [owner], {})


NAMES: dict[str, Any] = {
    "msgspec.Struct": STRUCT,
    "msgspec.NODEFAULT": _NO_DEFAULT,
    "msgspec.defstruct": Native("msgspec.defstruct", _defstruct),
    "msgspec.field": Native(
        "msgspec.field",
        lambda _i, default=MISSING, default_factory=MISSING, **_k: classes.FieldSpec(
            default, default_factory
        ),
    ),
    "msgspec.structs.fields": Native("msgspec.structs.fields", _fields),
    "msgspec.structs.asdict": Native("msgspec.structs.asdict", _asdict),
    "msgspec.structs.replace": Native(
        "msgspec.structs.replace",
        lambda i, owner, **k: i.call(i.outside.known(i, "dataclasses.replace"), [owner], k),
    ),
    "typing.Annotated": _ANNOTATED,
    "typing.get_type_hints": Native("get_type_hints", _type_hints),
    "typing.get_origin": Native("get_origin", _origin),
    "typing.get_args": Native("get_args", _arguments),
}
