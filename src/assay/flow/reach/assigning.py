"""Assigns to names, attributes, elements and several targets at once."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import TYPE_CHECKING

from assay.flow.reach import owners
from assay.flow.reach.elements import MARKS, NOTHING, RUN, Known, Seq, Value, joined
from assay.flow.reach.items import named_parts, store_item

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
        key = run.evaluate(target.slice) | (owner & MARKS)
        for element in owner - MARKS:
            store_item(run, element, key, value, node=target)
    elif isinstance(target, ast.Tuple | ast.List):
        starred = next((at for at, e in enumerate(target.elts) if isinstance(e, ast.Starred)), None)
        for at, each in enumerate(target.elts):
            if isinstance(each, ast.Starred):
                assign(run, each.value, _rest(run, each, value, at, len(target.elts) - at - 1))
            else:
                last = starred is not None and at > starred
                assign(run, each, part(run, target, value, at - len(target.elts) if last else at))


def _rest(run: Runner, node: ast.Starred, value: Value, first: int, after: int) -> Value:
    """The list that `first, *rest, last = value` makes."""
    engine = run.engine
    made = engine.elements.seq(node, "list")
    cell = engine.attribute_cell(next(iter(made)), "[]")
    for each in value - MARKS:
        if isinstance(each, Known) and isinstance(each.value, list | tuple):
            for inner in each.value[first : len(each.value) - after]:
                run.write(cell, engine.lift(inner))
        elif isinstance(each, Seq):
            run.write(cell, run.read(engine.attribute_cell(each, "[]")))
        else:
            run.write(cell, RUN)
    return made | (value & MARKS)


def part(run: Runner, node: ast.AST, value: Value, at: int) -> Value:
    """The element at a place of a value that is unpacked."""
    found = NOTHING
    for each in value - MARKS:
        parts = named_parts(run, node, each)
        if parts is not None and _has(parts, at):
            found = joined(found, parts[at])
            continue
        if isinstance(each, Known) and isinstance(each.value, list | tuple) and _has(each.value, at):
            found = joined(found, run.engine.lift(each.value[at]))
        elif isinstance(each, Seq):
            engine = run.engine
            exact = engine.attribute_cell(each, f"[{at}]")
            held = run.read(exact) if each.kind == "tuple" and at >= 0 else NOTHING
            found = joined(found, held or run.read(engine.attribute_cell(each, "[]")))
        else:
            found = joined(found, RUN)
    return (found or RUN) | (value & MARKS)


def _has(values: Sequence[object], at: int) -> bool:
    return -len(values) <= at < len(values)
