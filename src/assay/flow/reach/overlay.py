"""Run B over run A: what differs, kept apart from what run A came to, and what that does to the world."""

from __future__ import annotations

import ast
import heapq
from collections.abc import Callable, Hashable, Mapping
from typing import TYPE_CHECKING, Any

from assay.flow.machine import same
from assay.flow.reach import reading
from assay.flow.reach.context import Cell, Context, Outcome, before, summed
from assay.flow.reach.effects import Found
from assay.flow.reach.elements import (
    ALWAYS,
    CHANGED,
    FORKED,
    MARKS,
    NEVER,
    SOMETIMES,
    Known,
    Value,
    is_settled,
    joined,
    unmarked,
)
from assay.flow.reach.folding import Fold, alike, seen_by
from assay.flow.reach.judging import Judge
from assay.flow.reach.pairing import alike_constants, differences, instances
from assay.flow.reach.runner import Runner
from assay.flow.values import MISSING, Instance, Library

if TYPE_CHECKING:
    from assay.flow.reach.engine import Engine

MAX_RUNS = 2_000
MAX_RUNS_AFTER = 1_200
MAX_OTHERS_AFTER = 30
"""How many more contexts are run once an effect was found, to see whether B stops with an error."""
MAX_REPEATS = 16
_LAST = 1 << 40
MAX_PAIRED = 16
"""So many objects that one place makes are told apart."""


class Overlay:
    """The state of run B, where it differs from run A's."""

    def __init__(self, engine: Engine, record: Instance, environment: Mapping[str, Any]) -> None:
        self.engine = engine
        self.changed: set[tuple[int, str]] = set()
        self._other: dict[int, Any] = {}
        self._back: dict[int, int] = {}
        self._alive: list[Any] = []
        self._values: dict[Cell, Value] = {}
        self._parts: dict[Cell, dict[Any, tuple[Value, int, bool]]] = {}
        self._initial: dict[Cell, Value] = {}
        self._outcomes: dict[Context, Outcome] = {}
        self._levels: dict[Context, int] = {}
        self._callers: dict[Context, dict[tuple[Context, ast.AST], int]] = {}
        self._folds: dict[Hashable, Fold] = {}
        self._bases: dict[Context, dict[ast.AST, Any]] = {}
        self._runs: dict[Context, int] = {}
        self.partners: dict[Context, Context] = {}
        self._like: dict[Cell, Cell] = {}
        """The cells of contexts that only B has, and those of their partners in A."""
        self.via: dict[Context, tuple[Context, ast.AST]] = {}
        self._queue: list[tuple[int, int, Context]] = []
        """A heap: what stands nearer to the entry comes first."""
        self._queued: set[Context] = set()
        self._first: int | None = None
        self._mourning: set[Context] = set()
        """Callers of functions that now raise."""
        self.found = Found()
        self.count = 0
        self._pair(engine.record, record)
        own = engine.i.outside.environment.written
        for name in {**own, **environment}:
            if not same(own.get(name, MISSING), environment.get(name, MISSING)):
                self._change((0, f"environment {name}"))

    # ------------------------------------------------------------ objects of the interpreter

    def _pair(self, one: Instance, other: Instance) -> None:
        """Two objects stand for each other; attributes that differ are noted."""
        if id(one) in self._other:
            return
        self._other[id(one)], self._back[id(other)] = other, id(one)
        self._alive += [one, other]
        for name in one.attributes | other.attributes:
            a, b = one.attributes.get(name, MISSING), other.attributes.get(name, MISSING)
            if a is b or same(a, b):
                continue
            if isinstance(one.cls, Library) and (a is MISSING or b is MISSING):
                continue  # a default of a library's class, kept where it was first asked for
            if isinstance(a, Instance) and isinstance(b, Instance) and a.cls is b.cls:
                self._pair(a, b)
            elif not alike(a, b):
                self._change((id(one), name))
        self._pair_cells(one, other)

    def _pair_cells(self, one: Instance, other: Instance) -> None:
        """Begin the cells of attributes that differ with what the other object holds."""
        element = next(iter(self.engine.elements.known(one)))
        for name in one.attributes | other.attributes:
            cell = self.engine.cells.get(("attribute", element, name))
            if cell is not None and (id(one), name) in self.changed:
                self._initial[cell] = self.engine.lift(other.attributes.get(name, MISSING))
                self._settle(cell)
        for (owner, name), cell in list(self.engine.folding.cells.items()):
            if owner == id(one):
                self._keep(other, name, cell)

    def _keep(self, other: Instance, name: str, cell: Cell) -> None:
        held = self.engine.folding.changed
        key = (id(other), name)
        held[key] = lambda context: seen_by(
            context, self._initial.get(cell, cell.initial), self.value(cell), self.parts(cell)
        )
        self._alive.append(key)

    def close(self) -> None:
        """Forget what strict evaluations were told of run B."""
        for key in self._alive:
            if isinstance(key, tuple):
                self.engine.folding.changed.pop(key, None)

    def _change(self, key: tuple[int, str]) -> None:
        if key not in self.changed:
            self.changed.add(key)
            for context in self.engine.key_readers.get(key, ()):
                self.enqueue(context)

    def in_place_of(self, old: Value, new: Value) -> Value | None:
        """Run A's objects for those that B has made in their place; None unless all are of one class.

        What B makes at the place of A's object is not another value, but the same with other attributes.
        """
        ours, theirs = instances(old), instances(new)
        if len(ours) != len(theirs) or not 0 < len(ours) <= MAX_PAIRED:
            return None
        if len({id(each.value.cls) for each in (*ours, *theirs)}) != 1:
            return None
        left = list(theirs)
        for one in ours:  # of several, made for several ranks, the one that differs least
            distances = [differences(one.value, each.value) for each in left]
            other = left.pop(distances.index(min(distances)))
            if not self._stands_for(one.value, other):
                return None
        return old

    def changed_attributes(self) -> frozenset[tuple[Any, str]]:
        """Attributes that objects other than the record have with another value in B, each with the class of
        its object, or None where there is none.
        """
        of_record = self.engine.record
        record = next(iter(self.engine.elements.known(of_record)))
        changed = [(self._other.get(owner), name) for owner, name in self.changed if owner != id(of_record)]
        cells = [cell.label for cell in self._values if cell.label[0] == "attribute"]
        held = [(_holder(owner), name) for _, owner, name in cells if owner is not record]
        return frozenset((getattr(owner, "cls", None), name) for owner, name in (*changed, *held))

    def has_changed(self, value: Instance) -> bool:
        """Whether an object other than the record has other attributes in B."""
        return value is not self.engine.record and any(
            (id(value), name) in self.changed for name in value.attributes
        )

    def _stands_for(self, a: Instance, element: Known) -> bool:
        b = element.value
        if self._other.get(id(a)) is b:
            return True
        if not self.engine.is_of_b(element) or id(b) in self._back:
            return False
        self._pair(a, b)
        return self._other[id(a)] is b

    def counterpart(self, value: Instance) -> Instance:
        """What stands in run B for an object of run A."""
        found: Instance = self._other.get(id(value), value)
        return found

    def counterparts(self, values: tuple[Any, ...]) -> tuple[Any, ...]:
        """The same for several."""
        return tuple(self._other.get(id(value), value) for value in values)

    def attribute(self, owner: Any, name: str) -> Value | None:
        """An attribute of an object of run B; None if it has none of its own."""
        value = owner.attributes.get(name, MISSING) if isinstance(owner, Instance) else MISSING
        return None if value is MISSING else self.engine.lift(value)

    def own(self, fold: Fold) -> Fold:
        """A strict evaluation of run B, with what it read named as run A names it."""
        reads = frozenset((self._back.get(owner, owner), name) for owner, name in fold.reads)
        return fold.with_value(fold.value, fold.raw, reads)

    def refold(self, key: Hashable, old: Fold, evaluate: Callable[[], Fold]) -> Fold:
        """Evaluate again what depends on something that differs."""
        found = self._folds.get(key)
        if found is None:
            found = self.own(evaluate())
            a, b = old.raw, found.raw
            if isinstance(a, Instance) and isinstance(b, Instance) and a.cls is b.cls and old.value:
                self._pair(a, b)
                found = found.with_value(old.value, b, found.reads | old.reads)
            elif old.value and found.value and alike(a, b):
                found = found.with_value(old.value, b, found.reads | old.reads)
            self._folds[key] = found
        return found

    # ------------------------------------------------------------ cells

    def value(self, cell: Cell) -> Value:
        """What a cell holds in run B."""
        return self._values.get(cell, cell.value)

    def read(self, cell: Cell, context: Context) -> Value:
        """The same, as a context sees it."""
        value = self._values.get(cell, cell.value)
        parts = self._parts.get(cell, cell.parts)
        if reading.writes_too(context, parts):
            return joined(value, before(cell, parts))
        return value

    def write_early(self, context: Context, cell: Cell, value: Value, level: int) -> None:
        """A write while the context is still running."""
        if cell in self._values or cell in self._parts or not value <= self.value(cell):
            parts = self._own_parts(cell)
            part = parts.get(context)
            early = value if part is None else joined(part[0], value)
            if part is None or early != part[0]:
                parts[context] = (early, level, False)
                self._settle(cell)

    def parts(self, cell: Cell) -> dict[Any, tuple[Value, int, bool]]:
        """Who writes a cell in run B, and what."""
        return self._parts.get(cell, cell.parts)

    def _own_parts(self, cell: Cell) -> dict[Any, tuple[Value, int, bool]]:
        """The same, to be changed."""
        found = self._parts.get(cell)
        if found is None:
            found = self._parts[cell] = dict(cell.parts)
        return found

    def initial(self, cell: Cell) -> Value:
        """What a cell holds in run B before anyone has written it."""
        found = self._initial.get(cell)
        if found is None:
            return cell.initial
        return found | {CHANGED} if found != cell.initial else found

    def summed(self, cell: Cell, parts: dict[Any, tuple[Value, int, bool]]) -> Value:
        """What a cell holds in run B by these writers."""
        held = cell.initial
        cell.initial = self._initial.get(cell, held)
        value = summed(cell, parts)
        cell.initial = held
        return value

    def _settle(self, cell: Cell) -> None:
        value = self.summed(cell, self.parts(cell))
        plain = unmarked(value)
        of_a = self._like.get(cell, cell).value
        if cell.label[0] == "parameter" and plain and plain == value and plain <= of_a:
            if cell not in self._like:
                value = cell.value  # only a call is gone, which is judged where it stood
        elif plain == of_a:
            if FORKED not in value and (is_settled(plain) or not value & MARKS):
                value = plain
        else:
            value = value | {CHANGED}
        old = self._values.get(cell, cell.value)
        if value == old:
            return
        if value == cell.value:
            self._values.pop(cell, None)
        else:
            self._values[cell] = value
        for reader in cell.readers:
            if reader.runs or reader in self._outcomes:
                self.enqueue(reader)

    # ------------------------------------------------------------ contexts

    def enqueue(self, context: Context) -> None:
        """Run a context in B later; after all others, and the innermost first, what a callee's death came to:
        of several callees one after the other may die, and the caller has to see that none is left.
        """
        if context not in self._queued:
            self._queued.add(context)
            at = _LAST - context.number if context in self._mourning else context.number
            heapq.heappush(self._queue, (at, id(context), context))

    def level(self, context: Context) -> int:
        """How surely run B reaches a context."""
        return self._levels.get(context, context.level)

    def outcome(self, context: Context) -> Outcome:
        """What the last run through a context came to, in B."""
        found = self._outcomes.get(context)
        return context.outcome if found is None else found

    def enter(self, caller: Context, node: ast.AST, callee: Context, level: int) -> None:
        """A call by a context that is running."""
        if self.level(callee) == NEVER:
            self._levels[callee] = min(level, self.level(caller))
            self.via[callee] = (caller, node)
        engine = self.engine
        if callee.runs == 0 and callee not in self._outcomes and callee not in engine._running:
            if engine.depth < 60 and not self._is_done():
                engine.run(callee)
            else:
                self.enqueue(callee)

    def meet(self, caller: Context, node: ast.AST, callee: Context) -> None:
        """A call is about to be made: where A never comes to that context, find the one that A has for it,
        the same function, called at the same place in another way.
        """
        if callee.runs or callee in self.partners:
            return
        source = self.partners.get(caller, caller)
        others = [each for at, each in source.outcome.edges if at is node and each.node is callee.node]
        if others:
            partner = max(others, key=lambda each: alike_constants(each, callee))
            self.partners[callee] = partner
            self._like[callee.returned] = partner.returned
            for name, cell in callee.parameters.items():
                self._like[cell] = partner.parameters[name]

    def base(self, context: Context) -> dict[ast.AST, Any]:
        """What each expression of a context came to in run A; nothing if A never ran it."""
        source = self.partners.get(context, context)
        if source not in self._bases:
            seen: dict[ast.AST, Any] | None = self.engine.bases.get(source)
            if seen is not None:
                self._bases[source] = seen
                return seen
            seen = {}
            if source.runs and source.level > NEVER:
                engine = self.engine
                engine.overlay = None
                try:
                    run = Runner(engine, source)
                    run.seen = seen
                    run.run_function()
                finally:
                    engine.overlay = self
                engine.bases[source] = seen
            self._bases[source] = seen
        return self._bases[source]

    def run(self, context: Context) -> Outcome:
        """Run through a context in B."""
        base = self.base(context)
        run = Runner(self.engine, context)
        run.seen, run.base = {}, base
        outcome = run.run_function()
        Judge(self).judge(context, outcome, run.seen, base)
        return outcome

    def commit(self, context: Context, outcome: Outcome) -> None:
        """Hand on what came of a context."""
        old = self.outcome(context) if self._was_reached(context) else Outcome()
        self._outcomes[context] = outcome
        for cell in {**old.writes, **outcome.writes}:
            parts = self._parts.get(cell)
            new = outcome.writes.get(cell)
            part = (new[0], min(new[1], self.level(context)), new[2]) if new is not None else None
            if (parts if parts is not None else cell.parts).get(context) != part:
                parts = self._own_parts(cell)
                if part is None:
                    parts.pop(context, None)
                else:
                    parts[context] = part
                self._settle(cell)
        self._returned(context, outcome)
        self._call(context, old, outcome)

    def _was_reached(self, context: Context) -> bool:
        return context in self._outcomes or (context.runs > 0 and context.level > NEVER)

    def _returned(self, context: Context, outcome: Outcome) -> None:
        cell = context.returned
        value = outcome.returns
        plain = unmarked(value)
        of_a = self._like.get(cell, cell).value
        if plain == of_a and FORKED not in value and (is_settled(plain) or not value & MARKS):
            value = plain
        elif plain != of_a and value:
            value = value | {CHANGED}
        died = outcome.death is not None and context.outcome.death is None
        if value == self._values.get(cell, cell.value) and not died:
            return
        self._values[cell] = value
        for reader in cell.readers:
            if reader.runs or reader in self._outcomes:
                if outcome.death is not None:
                    self._mourning.add(reader)
                self.enqueue(reader)

    def _call(self, context: Context, old: Outcome, outcome: Outcome) -> None:
        for node, callee in old.edges:
            if (node, callee) not in outcome.edges:
                self._own_callers(callee).pop((context, node), None)
                self._relevel(callee)
        for (node, callee), edge in outcome.edges.items():
            before_ = old.edges.get((node, callee))
            if before_ is None or before_.level != edge.level:
                self._own_callers(callee)[(context, node)] = edge.level
                self._relevel(callee)

    def _own_callers(self, context: Context) -> dict[tuple[Context, ast.AST], int]:
        found = self._callers.get(context)
        if found is None:
            found = self._callers[context] = dict(context.callers)
        return found

    def _relevel(self, context: Context) -> None:
        if context.is_root:
            return
        callers = self._callers.get(context, context.callers)
        level, via = NEVER, None
        for (caller, node), edge in callers.items():
            under = min(edge, self.level(caller))
            if under > level:
                level, via = under, (caller, node)
        was = self.level(context)
        self._levels[context] = level
        if via is not None:
            self.via[context] = via
        if level == NEVER and was > NEVER:
            self.commit(context, Outcome())
            self._outcomes.pop(context, None)
        elif was == NEVER and context not in self._outcomes:
            self.enqueue(context)

    # ------------------------------------------------------------ the comparison

    def compare(self) -> Found:
        """Run B until nothing changes, or until enough was seen."""
        engine = self.engine
        limit = MAX_RUNS
        while self._queue:
            context = heapq.heappop(self._queue)[2]
            self._queued.discard(context)
            if self.level(context) == NEVER or (self._is_done() and context not in self._mourning):
                continue
            if self._first is not None and not self._may_end_it(context):
                continue
            self._runs[context] = self._runs.get(context, 0) + 1
            if self._runs[context] > MAX_REPEATS * (1 + (context in self._mourning)):
                self.found.restless[context] = None
                continue
            self.count += context not in self._mourning  # those are few, and what B comes to hangs on them
            if self.count > limit:
                self.found.gave_up = True
                break
            engine.run(context)
        self._look_for_death()
        return self.found

    def _may_end_it(self, context: Context) -> bool:
        """Whether a context is worth a run once an effect is known: B might still stop there."""
        if self.level(context) < ALWAYS:
            return False
        assert self._first is not None
        if context.runs == 0 or context in self._mourning or self.count < self._first + MAX_OTHERS_AFTER:
            return True
        return context in self.engine.phases.starting

    def _is_done(self) -> bool:
        if self._first is None:
            # a line of the log says little: there may be more to find
            if not any(each.level >= SOMETIMES and each.what != "log" for each in self.found.effects):
                return False
            self._first = self.count
        return self.count > self._first + MAX_RUNS_AFTER

    def _look_for_death(self) -> None:
        for context, outcome in self._outcomes.items():
            starts = context.is_root and context.level == ALWAYS
            if outcome.death is not None and starts and context.outcome.death is None:
                self.found.death = outcome.death
            elif outcome.death is not None and self._came_through(context):
                self.found.stuck = outcome.death

    def _came_through(self, context: Context) -> bool:
        """Whether A's start runs through a function to its end, and B gets to it as surely."""
        is_run = SOMETIMES <= context.level <= self.level(context)
        return is_run and context in self.engine.phases.at_start and context.outcome.death is None


def _holder(owner: Any) -> Any:
    """What has the attribute that a cell keeps, and a class."""
    return owner.value if isinstance(owner, Known) else owner
