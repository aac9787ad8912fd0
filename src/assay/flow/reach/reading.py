"""What a function sees in a cell: by what others have written, and when."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from assay.flow.reach.context import Cell, Context, before, summed
from assay.flow.reach.elements import ALWAYS, Value, joined

if TYPE_CHECKING:
    from assay.flow.reach.engine import Engine

Part = tuple[Value, int, bool]
Parts = dict[Any, Part]


def read(engine: Engine, cell: Cell, context: Context) -> Value:
    """What a cell holds; the context runs again when that changes."""
    cell.readers[context] = None
    seen = _seen(engine, cell, context)
    if seen is not None:
        value = _summed(engine, cell, seen)
        return joined(value, before(cell, seen)) if context in seen else value
    if engine.overlay is not None:
        return engine.overlay.read(cell, context)
    if writes_too(context, cell.parts):
        return joined(cell.value, before(cell, cell.parts))
    return cell.value


def writes_too(context: Context, parts: Parts) -> bool:
    """Whether a function may read a cell before it has written it itself: also as one of the several contexts
    of one function, of which only one is what runs.
    """
    if context in parts:
        return True
    return context.receiver is None and any(writer.node is context.node for writer in parts)


def read_before(engine: Engine, cell: Cell, context: Context, *, once: bool = False) -> Value:
    """What a cell holds for a function that has not written it yet, and runs only once."""
    cell.readers[context] = None
    parts = _parts(engine, cell, context)
    if context not in parts or (engine.level(context) < ALWAYS and not once):
        return read(engine, cell, context)
    initial = cell.initial if engine.overlay is None else engine.overlay.initial(cell)
    return joined(initial, _summed(engine, cell, _others(parts, context)))


def read_making(engine: Engine, cell: Cell, context: Context, own: Part | None) -> Value:
    """An attribute of an object, for the function that makes it: its own writes count as they are now."""
    if own is None:
        return read_before(engine, cell, context, once=True)
    cell.readers[context] = None
    others = _others(_parts(engine, cell, context), context)
    return joined(own[0], _summed(engine, cell, others)) if others or own[1] < ALWAYS else own[0]


def _parts(engine: Engine, cell: Cell, context: Context) -> Parts:
    seen = _seen(engine, cell, context)
    if seen is not None:
        return seen
    return cell.parts if engine.overlay is None else engine.overlay.parts(cell)


def _seen(engine: Engine, cell: Cell, context: Context) -> Parts | None:
    """What the start writes into an attribute, for a function of the start; None if that is everything."""
    if context not in engine.phases.starting or cell.label[0] != "attribute":
        return None
    parts = cell.parts if engine.overlay is None else engine.overlay.parts(cell)
    kept = {writer: part for writer, part in parts.items() if writer in engine.phases.at_start}
    return kept if len(kept) < len(parts) and (kept or cell.initial) else None


def _others(parts: Parts, context: Context) -> Parts:
    return {writer: part for writer, part in parts.items() if writer is not context}


def _summed(engine: Engine, cell: Cell, parts: Parts) -> Value:
    if engine.overlay is not None:
        return engine.overlay.summed(cell, parts)
    return summed(cell, parts)
