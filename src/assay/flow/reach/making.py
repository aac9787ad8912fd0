"""Makes objects of classes of the tree."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from assay.flow.classes import FieldSpec, collection, note_built
from assay.flow.reach.arguments import Arguments, spread_value
from assay.flow.reach.elements import (
    MARKS,
    NOTHING,
    RUN,
    Element,
    Obj,
    Thing,
    Value,
    joined,
)
from assay.flow.values import (
    MISSING,
    Class,
    Decorated,
    Function,
    Wrapped,
)

if TYPE_CHECKING:
    from assay.flow.reach.runner import Runner


def instantiated(run: Runner, node: ast.AST, cls: Class, arguments: Arguments) -> Value:
    """A new object of a class of the tree."""
    engine = run.engine
    if cls.is_enum:
        return RUN
    note_built(run.i, cls)
    own = _from_new(run, node, cls, arguments)
    if own is not None:
        return own
    made = engine.elements.obj(cls)
    if f"{cls.module.name}.{cls.name}" in engine.separate:
        made = engine.elements.one(("obj", id(cls), node, run.context), lambda: Obj(cls, is_apart=True))
    element = next(iter(made))
    if cls.is_open and engine.class_attribute(cls, "forward") is not MISSING:
        run.write(engine.cell(("modules",)), made)
    return made if _begun(run, node, cls, element, arguments) else NOTHING


def _from_new(run: Runner, node: ast.AST, cls: Class, arguments: Arguments) -> Value | None:
    """What a class's own `__new__` gives; None where it has none or only asks Python for an object."""
    from assay.flow.reach import calling  # calling a class makes an object, and making one calls

    engine = run.engine
    maker = engine.class_attribute(cls, "__new__")
    if isinstance(maker, Function):
        receiver = next(iter(engine.elements.known(cls)))
        made = calling.follow(run, node, maker, receiver, arguments)
        kept = frozenset(e for e in made if not isinstance(e, Thing))
        if kept - MARKS:
            return kept
    return None


def _begun(run: Runner, node: ast.AST, cls: Class, element: Element, arguments: Arguments) -> bool:
    """Run what sets up a new object; False if that never ends."""
    from assay.flow.reach import calling, methods  # calling a class makes an object, and making one calls

    engine = run.engine
    begin = engine.class_attribute(cls, "__init__")
    if cls.fields is not None and "__init__" not in cls.attributes:
        _fill(run, node, cls, element, arguments)
        after = engine.class_attribute(cls, "__post_init__")
        return not isinstance(after, Function) or bool(calling.follow(run, node, after, element, Arguments()))
    if isinstance(begin, Function | Decorated | Wrapped):
        inner = begin.function if isinstance(begin, Decorated) else begin
        return bool(calling.follow(run, node, inner, element, arguments))
    kind = collection(cls)
    if kind is not None and kind is not tuple:
        methods.method(run, node, "update", element, arguments.positional, arguments.keywords)
        return True
    for name, value in arguments.keywords.items():
        run.write(engine.attribute_cell(element, name), value)
    if cls.is_open and arguments.positional:
        run.write(engine.attribute_cell(element, "[]"), joined_all(arguments.positional))
    return True


def joined_all(values: list[Value]) -> Value:
    """Any of the values, and what they may hold."""
    found = NOTHING
    for value in values:
        found = joined(found, value)
    return found


def _fill(run: Runner, node: ast.AST, cls: Class, element: Element, arguments: Arguments) -> None:
    """Set the fields of an object whose class only lists them."""
    engine = run.engine
    names = [name for name, _ in cls.fields or ()]
    given = dict(zip(names, arguments.positional, strict=False)) | arguments.keywords
    for name, default in cls.fields or ():
        value = given.get(name)
        if value is None and arguments.spread is not None:
            value = spread_value(run, arguments.spread, name)
        if value is None:
            value = _default_of_field(run, node, default)
        run.write(engine.attribute_cell(element, name), value)


def _default_of_field(run: Runner, node: ast.AST, default: Any) -> Value:
    from assay.flow.reach import calling  # calling a class makes an object, and making one calls

    if isinstance(default, FieldSpec):
        if default.factory is not MISSING:
            found = NOTHING
            for each in run.engine.lift(default.factory) - MARKS:
                found = joined(found, calling.call_element(run, node, each, Arguments()))
            return found or RUN
        default = default.default
    return RUN if default is MISSING else run.engine.lift(default)
