"""Applies an operation to everything that its operands may be, and keeps the remarks on them."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from assay.flow.reach.elements import (
    MARKS,
    NOTHING,
    RUN,
    Doubt,
    Known,
    Obj,
    Seq,
    Thing,
    Value,
    is_plain,
    joined,
    unmarked,
)
from assay.flow.values import (
    Instance,
    Touched,
    Unknown,
)

if TYPE_CHECKING:
    from assay.flow.reach.runner import Runner

MAX_WAYS = 16


def known_truth(value: Any) -> bool | None:
    """Whether a value of the interpreter is true; None where only a run would tell."""
    if is_plain(value):
        return bool(value)
    if isinstance(value, Instance | Unknown):
        return True
    try:
        return bool(value)
    except Touched:
        return None


def marks(*values: Value) -> Value:
    """The remarks on any of the values."""
    found = NOTHING
    for value in values:
        if value & MARKS:
            found = found | (value & MARKS)
    return found


def lifted(run: Runner, key: Any, operation: Callable[..., Any], values: list[Value]) -> Value:
    """`operation(*values)` for each of the things that the values may be, where all are known."""
    if not all(values):
        return NOTHING
    plain = [unmarked(value) for value in values]
    if not all(plain):
        return NOTHING
    remarks = marks(*values)
    ways = 1
    for value in plain:
        ways *= len(value)
    if ways <= MAX_WAYS and all(isinstance(e, Known) for value in plain for e in value):
        found = NOTHING
        for choice in itertools.product(*plain):
            operands = tuple(each.value for each in choice)  # type: ignore[attr-defined]  # all are known
            result = run.engine.folding.fold((key, choice), operands, operation, run.context)
            found = joined(found, result if result is not None else RUN)
        return found | remarks
    return vague(plain) | remarks


def vague(values: list[Value]) -> Value:
    """The result of something on values that are not all known."""
    doubts = [e for value in values for e in value if isinstance(e, Doubt)]
    if doubts and not any(isinstance(e, Thing | Seq | Obj) for value in values for e in value):
        return frozenset(doubts[:4])
    return RUN
