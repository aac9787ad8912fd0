"""What is inside of values that leave the tree: whether lists and objects of data hold other things in B."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from assay.flow.reach.elements import CHANGED, MARKS, NOTHING, Element, Known, Obj, Seq, Value
from assay.flow.reach.lifting import marks
from assay.flow.values import Class, Instance

if TYPE_CHECKING:
    from assay.flow.reach.runner import Runner

MAX_CELLS = 200


def all_marks(run: Runner, values: Sequence[Value]) -> Value:
    """In run B: the remarks on values, and on what is inside of them."""
    return marks(*values) | inner_marks(run, values)


def inner_marks(run: Runner, values: Iterable[Value]) -> Value:
    """In run B: the remarks on what collections and objects of data hold, and whether others have other
    attributes. Run A only notes who looks there, to be run again in B where something differs.
    """
    overlay, found = run.engine.overlay, NOTHING
    pending = [each for value in values for each in value - MARKS]
    seen = set(pending)
    left = MAX_CELLS
    while pending and left > 0:
        each = pending.pop()
        if isinstance(each, Known) and isinstance(each.value, Instance):
            if overlay is not None and overlay.has_changed(each.value):
                found = found | {CHANGED}
            continue
        for cell in run.engine.attributes_of.get(each, ()) if _is_data(each) else ():
            left -= 1
            held = run.read(cell)
            found = found | marks(held)
            inner = {one for one in held - MARKS if _is_data(one)} - seen
            pending += inner
            seen |= inner
    return found if overlay is not None else NOTHING


def _is_data(each: Element) -> bool:
    """Whether it is a collection, or an object of a class that has fields and little else."""
    if isinstance(each, Seq):
        return True
    cls = each.cls if isinstance(each, Obj) else None
    return isinstance(cls, Class) and (cls.is_data or cls.fields is not None)
