"""Copies of values of the interpreter with all that they hold."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from assay.flow.declared import Declared, Log
from assay.flow.values import Choice, Instance, VDict, VList, VSet

Attributes = Callable[[Instance], Iterable[tuple[str, Any]]]
"""The names and values of an object's attributes."""


def _attributes(owner: Instance) -> Iterable[tuple[str, Any]]:
    return owner.attributes.items()


def deep_copy(value: Any, copies: dict[int, Any], attributes: Attributes = _attributes) -> Any:
    """The value with its own objects and collections; classes, functions and constants are shared.

    `copies` holds, by identity of the original, every copy that was made; `attributes` tells what an object
    has.
    """
    if id(value) in copies:
        return copies[id(value)]
    kind = type(value)
    if kind is Instance:
        made = copies[id(value)] = Instance(value.cls)
        made.origins = dict(value.origins)
        for name, each in attributes(value):
            made.attributes[name] = deep_copy(each, copies, attributes)
        return made
    if kind in (VList, Log):
        collected = copies[id(value)] = kind()
        collected[:] = [deep_copy(each, copies, attributes) for each in value]
        return collected
    if kind in (VDict, Declared):
        mapped = copies[id(value)] = kind()
        for key, each in value.items():
            mapped[key] = deep_copy(each, copies, attributes)
        return mapped
    if kind is VSet:
        copies[id(value)] = VSet(value)
        return copies[id(value)]
    if kind is Choice:
        yes, no = (deep_copy(each, copies, attributes) for each in (value.yes, value.no))
        return Choice(value.test, yes, no)
    return tuple(deep_copy(each, copies, attributes) for each in value) if kind is tuple else value
