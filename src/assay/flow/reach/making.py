"""Makes objects of classes of the tree."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from assay.flow.classes import FieldSpec
from assay.flow.reach.binding import Keywords, Spread, spread_value
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


def instantiated(
    run: Runner,
    node: ast.AST,
    cls: Class,
    arguments: list[Value],
    keywords: Keywords,
    spread: Spread | None,
) -> Value:
    """A new object of a class of the tree."""
    from assay.flow.reach import calling  # it makes objects, which calls what makes them

    engine = run.engine
    if cls.is_enum:
        return RUN
    maker = engine.class_attribute(cls, "__new__")
    if isinstance(maker, Function):
        receiver = next(iter(engine.elements.known(cls)))
        made = calling.follow(run, node, maker, receiver, arguments, keywords, spread)
        kept = frozenset(e for e in made if not isinstance(e, Thing))
        if kept - MARKS:
            return kept
    made = engine.elements.obj(cls)
    if f"{cls.module.name}.{cls.name}" in engine.separate:
        made = engine.elements.one(("obj", id(cls), node, run.context), lambda: Obj(cls, is_apart=True))
    element = next(iter(made))
    if cls.is_open and engine.class_attribute(cls, "forward") is not MISSING:
        run.write(engine.cell(("modules",)), made)
    begin = engine.class_attribute(cls, "__init__")
    if cls.fields is not None and "__init__" not in cls.attributes:
        _fill(run, node, cls, element, arguments, keywords, spread)
        after = engine.class_attribute(cls, "__post_init__")
        if isinstance(after, Function):
            if not calling.follow(run, node, after, element, [], {}):
                return NOTHING
    elif isinstance(begin, Function | Decorated | Wrapped):
        inner = begin.function if isinstance(begin, Decorated) else begin
        if not calling.follow(run, node, inner, element, arguments, keywords, spread):
            return NOTHING
    else:
        for name, value in keywords.items():
            run.write(engine.attribute_cell(element, name), value)
        if cls.is_open and arguments:
            run.write(engine.attribute_cell(element, "[]"), joined_all(arguments))
    return made


def joined_all(values: list[Value]) -> Value:
    """Any of the values, and what they may hold."""
    found = NOTHING
    for value in values:
        found = joined(found, value)
    return found


def _fill(
    run: Runner,
    node: ast.AST,
    cls: Class,
    element: Element,
    arguments: list[Value],
    keywords: Keywords,
    spread: Spread | None,
) -> None:
    engine = run.engine
    names = [name for name, _ in cls.fields or ()]
    given = dict(zip(names, arguments, strict=False)) | keywords
    for name, default in cls.fields or ():
        value = given.get(name)
        if value is None and spread is not None:
            value = spread_value(run, spread, name)
        if value is None:
            value = _default_of_field(run, node, default)
        run.write(engine.attribute_cell(element, name), value)


def _default_of_field(run: Runner, node: ast.AST, default: Any) -> Value:
    from assay.flow.reach import calling  # it makes objects, which calls what makes them

    if isinstance(default, FieldSpec):
        if default.factory is not MISSING:
            found = NOTHING
            for each in run.engine.lift(default.factory) - MARKS:
                found = joined(found, calling.call_element(run, node, each, [], {}))
            return found or RUN
        default = default.default
    return RUN if default is MISSING else run.engine.lift(default)
