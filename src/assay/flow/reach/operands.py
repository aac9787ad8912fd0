"""What strict evaluations are given for the operands of a call or an operation."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Callable, Hashable, Iterable
from typing import TYPE_CHECKING, Any

from assay.flow.reach.elements import Element, Known, Seq, Value, unmarked
from assay.flow.values import Unknown, VDict, adopt_all

if TYPE_CHECKING:
    from assay.flow.reach.runner import Runner

Operand = tuple[Hashable, Any]
"""What tells an operand from others, and its value for the interpreter."""


def choices(
    values: Iterable[Value], most: int, operand: Callable[[Element], Operand | None]
) -> Iterable[tuple[Operand, ...]] | None:
    """All ways to take one operand from each value; None if one is not known, or there are too many."""
    count = 1
    found = []
    for value in values:
        count *= len(value)
        if count > most:
            return None
        operands = []
        for each in value:
            one = operand(each)
            if one is None:
                return None
            operands.append(one)
        found.append(operands)
    return itertools.product(*found)


def grows(run: Runner, each: Element) -> bool:
    """Whether it is a collection that is filled while the program is followed."""
    if isinstance(each, Known) and isinstance(each.value, list | dict | set):
        cell = run.engine.made(("attribute", each, "[]"), run.context)
        return cell is not None and bool(run.read(cell))
    return isinstance(each, Seq)


def standing(run: Runner, each: Element) -> Operand | None:
    """A value of the interpreter as it stands where the program has been followed: a dict with what was put
    into it under constant keys. None for one of which it is not known what it holds by now, and for all else.
    """
    if not isinstance(each, Known):
        return None
    value, engine = each.value, run.engine
    if not grows(run, each):
        return each, value
    unnamed = engine.made(("attribute", each, "[?]"), run.context)
    if not isinstance(value, dict) or (unnamed is not None and run.read(unnamed)):
        return None
    grown, parts = VDict(value), []
    for key in engine.keys_of(each, run.context):
        held = unmarked(run.read(engine.attribute_cell(each, f"[{key}]")))
        only = next(iter(held)) if len(held) == 1 else None
        is_new = key not in value
        grown[key] = (
            only.value if is_new and isinstance(only, Known) else Unknown(f"[{key!r}]", ("put in", each, key))
        )
        parts.append((key, held))
    return ("grown", each, tuple(parts)), grown


def argument(call: ast.AST, run: Runner, each: Element) -> Operand | None:
    """The same of an argument of a call, which may also be a display of constants that stands in the call."""
    if isinstance(each, Seq):
        return (
            (("literal", each), adopt_all(ast.literal_eval(each.node)))
            if _is_literal_of(call, each.node)
            else None
        )
    return standing(run, each)


def _is_literal_of(call: ast.AST, node: ast.AST) -> bool:
    """Whether it is a display of constants in that call: nobody else can have changed it yet."""
    if not isinstance(call, ast.Call) or not isinstance(node, ast.List | ast.Dict):
        return False
    if not any(node is given for given in (*call.args, *(each.value for each in call.keywords))):
        return False
    inner = [*node.keys, *node.values] if isinstance(node, ast.Dict) else node.elts
    return all(isinstance(each, ast.Constant) for each in inner)
