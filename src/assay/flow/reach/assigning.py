"""Assigns to names, attributes, elements and several targets at once."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from assay.flow.reach import owners
from assay.flow.reach.elements import MARKS, NOTHING, RUN, Known, Seq, Value, joined
from assay.flow.reach.items import store_item

if TYPE_CHECKING:
    from assay.flow.reach.runner import Runner


def assign(run: Runner, target: ast.expr, value: Value) -> None:
    """`target = value`."""
    if not value:
        return
    if isinstance(target, ast.Name):
        run.bind(target.id, value)
    elif isinstance(target, ast.Attribute):
        owner = run.evaluate(target.value)
        owners.store_attribute(run, target, owner, target.attr, value)
    elif isinstance(target, ast.Subscript):
        owner = run.evaluate(target.value)
        key = run.evaluate(target.slice)
        for element in owner - MARKS:
            store_item(run, element, key, value, node=target)
    elif isinstance(target, ast.Starred):
        assign(run, target.value, value)
    elif isinstance(target, ast.Tuple | ast.List):
        for at, each in enumerate(target.elts):
            assign(run, each, part(run, value, at))


def part(run: Runner, value: Value, at: int) -> Value:
    """The element at a place of a value that is unpacked."""
    found = NOTHING
    for each in value - MARKS:
        if isinstance(each, Known) and isinstance(each.value, list | tuple) and at < len(each.value):
            found = joined(found, run.engine.lift(each.value[at]))
        elif isinstance(each, Seq):
            engine = run.engine
            exact = engine.attribute_cell(each, f"[{at}]")
            held = run.read(exact) if each.kind == "tuple" else NOTHING
            found = joined(found, held or run.read(engine.attribute_cell(each, "[]")))
        else:
            found = joined(found, RUN)
    return (found or RUN) | (value & MARKS)
