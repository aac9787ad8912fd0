"""The arguments of one call: by place, by name, and handed on by `*x` and `**x`."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from assay.flow.reach.elements import NOTHING, RUN, Element, Known, Seq, Value, joined, unmarked

if TYPE_CHECKING:
    from assay.flow.reach.runner import Runner

Keywords = dict[str, Value]

MAX_EXACT = 16
"""A longer collection is handed on by `*x` as any of its elements."""


class Spread:
    """Arguments that are handed on by `*x` and `**x`."""

    __slots__ = ("keywords", "positional")

    def __init__(self) -> None:
        self.positional: Value = NOTHING
        self.keywords: list[Element] = []
        """Dictionaries whose items are handed on by name."""


@dataclass(frozen=True, slots=True)
class Arguments:
    """What one call hands to the function that it calls."""

    positional: list[Value] = field(default_factory=list)
    keywords: Keywords = field(default_factory=dict)
    spread: Spread | None = None

    def after(self, *first: Value) -> Arguments:
        """The same with others before them, such as the object of a method."""
        return Arguments([*first, *self.positional], self.keywords, self.spread)

    def values(self) -> list[Value]:
        """All that are written out at the call."""
        return [*self.positional, *self.keywords.values()]


def exact_elements(run: Runner, value: Value) -> list[Value] | None:
    """The elements of `*x`, one by one; None if it is not told which those are."""
    only = next(iter(unmarked(value))) if len(unmarked(value)) == 1 else None
    if isinstance(only, Known) and isinstance(only.value, list | tuple) and len(only.value) <= MAX_EXACT:
        return [run.engine.lift(each) for each in only.value]
    if isinstance(only, Seq) and only.kind == "tuple" and isinstance(only.node, ast.Tuple):
        engine = run.engine
        held = [run.read(engine.attribute_cell(only, f"[{at}]")) for at in range(len(only.node.elts))]
        return held if all(held) else None
    return None


def spread_value(run: Runner, spread: Spread, name: str) -> Value | None:
    """What `**x` hands on by that name; None if nothing."""
    found = NOTHING
    engine = run.engine
    for each in spread.keywords:
        if isinstance(each, Seq):
            found = joined(found, run.read(engine.attribute_cell(each, f"[{name}]")))
            found = joined(found, run.read(engine.attribute_cell(each, "[?]")))
        elif isinstance(each, Known) and isinstance(each.value, dict):
            if name in each.value:
                found = joined(found, engine.lift(each.value[name]))
        else:
            found = joined(found, RUN)
    return found or None
