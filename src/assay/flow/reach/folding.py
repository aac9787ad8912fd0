"""Evaluates strictly, by the interpreter: calls and attributes of which everything is known."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from assay.flow.copying import deep_copy
from assay.flow.interpreter import NATIVE_FAULTS
from assay.flow.machine import SETTING, same
from assay.flow.reach.elements import NOTHING, Known, Value, union, unmarked
from assay.flow.values import (
    MISSING,
    Choice,
    Instance,
    NotPure,
    OutOfFuel,
    Raised,
    Strict,
    Touched,
    Unknown,
)
from assay.source import NotKnown

if TYPE_CHECKING:
    from assay.flow.reach.context import Cell, Context
    from assay.flow.reach.engine import Engine
    from assay.flow.reach.overlay import Overlay


def only(held: Value, initial: Value) -> Any:
    """The one value that a cell holds, or comes to hold after its first; else `MISSING`."""
    value = unmarked(held)
    later = value - initial or value
    single = next(iter(later)) if len(later) == 1 else None
    return single.value if isinstance(single, Known) else MISSING


def seen_by(context: Context | None, initial: Value, held: Value, parts: Mapping[Any, Any]) -> Any:
    """The one value that a function finds in a cell; else `MISSING`. One that writes the cell itself reads it
    before that, and does not find what it will have written; unless nothing was asked for, in which case the
    engine usually fills in what is used anyway.
    """
    if context is None or context not in parts or _is_none(initial):
        return only(held, initial)
    before = union((initial, *(part[0] for writer, part in parts.items() if writer is not context)))
    return only(before, NOTHING)


def _is_none(value: Value) -> bool:
    return all(isinstance(each, Known) and each.value is None for each in unmarked(value))


def alike(one: Any, other: Any, depth: int = 0) -> bool:
    """Whether two values of the interpreter are surely equal, also in what they hold."""
    if one is other or same(one, other):
        return True
    if depth > 12 or type(one) is not type(other):
        return False
    if isinstance(one, Unknown):
        return bool(one.reason == other.reason)
    if isinstance(one, Choice):
        return alike(one.yes, other.yes, depth + 1) and alike(one.no, other.no, depth + 1)
    if isinstance(one, Instance):
        return one.cls is other.cls and all(
            alike(one.attributes.get(name, MISSING), other.attributes.get(name, MISSING), depth + 1)
            for name in {*one.attributes, *other.attributes}
        )
    if isinstance(one, list | tuple):
        return len(one) == len(other) and all(alike(a, b, depth + 1) for a, b in zip(one, other, strict=True))
    if isinstance(one, dict):
        return list(one) == list(other) and all(alike(one[key], other[key], depth + 1) for key in one)
    return False


FUEL = 40_000
FAILED = (NotPure, NotKnown, Raised, Touched, OutOfFuel, RecursionError, MemoryError, *NATIVE_FAULTS)


def _kept(strict: Strict, value: Any) -> Any:
    """The result, as a copy where older objects were changed to make it, which will be undone."""
    if not strict.touched:
        return value
    copies: dict[int, Any] = {}
    held: set[int] = set()

    def attributes(owner: Instance) -> Iterable[tuple[str, Any]]:
        own = strict.kept.counterpart(owner)
        held.add(id(own))
        return own.attributes.items()

    made = deep_copy(value, copies, attributes)
    if not strict.touched.keys() <= copies.keys() | held:
        raise NotPure("something older that the result does not hold")
    return made


class Fold:
    """One strict evaluation: what it gave, read and logged."""

    __slots__ = ("logged", "operands", "raw", "reads", "value")

    def __init__(
        self,
        value: Value | None,
        raw: Any,
        reads: frozenset[tuple[int, str]],
        operands: tuple[Any, ...],
        logged: tuple[str, ...] = (),
    ) -> None:
        self.value, self.raw, self.reads = value, raw, reads
        self.logged = logged
        """What it sets that decides what is logged; empty for a mere message, whatever it says."""
        self.operands = operands
        """Kept alive: the memory is keyed by their identities."""

    def with_value(self, value: Value | None, raw: Any, reads: frozenset[tuple[int, str]]) -> Fold:
        """The same evaluation, with an equal result that is known already, or other names of what it read."""
        return Fold(value, raw, reads, self.operands, self.logged)


class _As:
    """What cells hold for one function, and in run B: which objects stand for those of run A."""

    def __init__(
        self,
        kept: Mapping[Any, Callable[[Context | None], Any]],
        context: Context | None,
        overlay: Overlay | None,
    ) -> None:
        self._kept, self._context, self._overlay = kept, context, overlay

    def counterpart(self, owner: Instance) -> Instance:
        """The object of run B for one of run A, which something that both runs share may hold."""
        return owner if self._overlay is None else self._overlay.counterpart(owner)

    def get(self, key: tuple[int, str]) -> tuple[Any] | None:
        """The value; `MISSING` if it is not one, None if no cell keeps that attribute."""
        look = self._kept.get(key)
        return None if look is None else (look(self._context),)


class Folding:
    """The strict evaluations of one analysis, each done once."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.memory: dict[Hashable, Fold] = {}
        self.changed: dict[tuple[int, str], Callable[[Context | None], Any]] = {}
        """Attributes that a cell keeps: what it holds for a function."""
        self.writers: set[Context] = set()
        """The functions that write such attributes."""
        self.cells: dict[tuple[int, str], Cell] = {}
        self.former: dict[Hashable, Fold] = {}
        """What evaluations gave that have been forgotten: an equal result is the same object again."""

    def fold(
        self, key: Hashable, operands: tuple[Any, ...], evaluate: Callable[..., Any], context: Context
    ) -> Value | None:
        """`evaluate(*operands)`, or None if it is not strict: see `folded`."""
        return self.folded(key, operands, evaluate, context).value

    def folded(
        self, key: Hashable, operands: tuple[Any, ...], evaluate: Callable[..., Any], context: Context
    ) -> Fold:
        """`evaluate(*operands)`, with no value if it is not strict.

        Args:
            key: names the operation; equal keys must mean equal operations.
            operands: values of the interpreter; in run B they stand for their counterparts.
            evaluate: called with the operands.
            context: who asks; it runs again when something that was read changes.
        """
        engine = self.engine
        asker = context if context in self.writers else None
        if asker is not None:
            key = (key, asker)
        found = self.memory.get(key)
        overlay = engine.overlay
        if found is None:
            own = operands if overlay is None else overlay.counterparts(operands)
            found = self.evaluate(own, evaluate, asker)
            if overlay is not None:
                found = overlay.own(found)
            former = self.former.pop(key, None)
            if former is not None and former.value and found.value and alike(former.raw, found.raw):
                found = found.with_value(former.value, former.raw, found.reads | former.reads)
            if overlay is None or not (found.reads & overlay.changed):
                self.memory[key] = found
        elif overlay is not None and found.reads & overlay.changed:
            found = overlay.refold(
                key, found, lambda: self.evaluate(overlay.counterparts(operands), evaluate, asker)
            )
        for each in found.reads:
            engine.key_readers.setdefault(each, {})[context] = None
        return found

    def logs_otherwise(self, key: Hashable, fold: Fold, context: Context) -> bool:
        """In run B: whether that evaluation logged something else in run A."""
        old = self.memory.get((key, context) if context in self.writers else key)
        return self.engine.overlay is not None and old is not None and old.logged != fold.logged

    def evaluate(
        self, operands: tuple[Any, ...], evaluate: Callable[..., Any], asker: Context | None = None
    ) -> Fold:
        """Evaluate once; `asker` is the function that asks, if it writes what may be read."""
        machine, log = self.engine.i.machine, self.engine.i.log
        strict = Strict(_As(self.changed, asker, self.engine.overlay))

        def run() -> Any:
            fuel, depth = machine.fuel, machine.depth
            machine.fuel, machine.strict, machine.depth = FUEL, strict, 0
            machine.recording = 1
            try:
                return _kept(strict, evaluate(*operands))
            finally:
                if strict.touched:
                    machine.rewind(0)
                machine.fuel, machine.strict, machine.depth = fuel, None, depth

        before = len(log)
        try:
            value = machine.suspended(run)
        except FAILED:
            value = MISSING
        logged = tuple(
            text if level == SETTING else "" for level, text, *_ in log[before:] if level != "debug"
        )
        del log[before:]
        reads = frozenset(strict.reads)
        if value is MISSING:
            return Fold(None, None, reads, operands)
        self.engine.i.ran.update(strict.functions)
        lifted = self.engine.lift(value)
        return Fold(lifted if lifted is not NOTHING else None, value, reads, operands, logged)

    def outgrow(self, owner: Instance, name: str, cell: Cell) -> None:
        """An attribute of an object of the interpreter is now kept by a cell."""
        key = (id(owner), name)
        if key in self.changed:
            return
        self.changed[key] = lambda context: seen_by(context, cell.initial, cell.value, cell.parts)
        self.cells[key] = cell
        cell.key = key
        self.forget(key)

    def forget(self, key: tuple[int, str]) -> None:
        """What was evaluated from that attribute is evaluated again."""
        for each in [each for each, fold in self.memory.items() if key in fold.reads]:
            self.former[each] = self.memory.pop(each)
        for context in self.engine.key_readers.get(key, ()):
            self.engine.enqueue(context)
