"""Which things of run B stand for which of run A."""

from __future__ import annotations

from typing import Any

from assay.flow.reach.context import Context
from assay.flow.reach.elements import Known, Value
from assay.flow.reach.folding import alike
from assay.flow.values import MISSING, Class, Instance


def instances(value: Value) -> list[Known]:
    """The objects of the tree's classes that a value may be, in the order of their making; none if it may be
    something else.
    """
    found = [
        each
        for each in value
        if isinstance(each, Known) and isinstance(each.value, Instance) and isinstance(each.value.cls, Class)
    ]
    return sorted(found, key=lambda each: each.number) if len(found) == len(value) else []


def differences(one: Instance, other: Instance) -> int:
    """How many attributes of two objects are not alike."""
    names = {*one.attributes, *other.attributes}
    return sum(
        not alike(one.attributes.get(name, MISSING), other.attributes.get(name, MISSING)) for name in names
    )


def alike_constants(one: Context, other: Context) -> int:
    """How many of the arguments by which two contexts of a function are told apart are the same."""
    return len(_constants(one) & _constants(other))


def _constants(context: Context) -> frozenset[Any]:
    """See `binding.context_of` for the key: receiver, constant arguments, parent, closure."""
    constants = context.key[1][1]
    return frozenset(constants or ())
