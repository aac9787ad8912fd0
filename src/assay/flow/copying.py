"""Copies of values of the interpreter with all that they hold."""

from __future__ import annotations

from typing import Any

from assay.flow.values import Choice, Instance, VDict, VList, VSet


def deep_copy(value: Any, copies: dict[int, Any]) -> Any:
    """The value with its own objects and collections; classes, functions and constants are shared.

    `copies` holds, by identity of the original, every copy that was made.
    """
    if id(value) in copies:
        return copies[id(value)]
    kind = type(value)
    if kind is Instance:
        made = copies[id(value)] = Instance(value.cls)
        made.origins = dict(value.origins)
        for name, each in value.attributes.items():
            made.attributes[name] = deep_copy(each, copies)
        return made
    if kind is VList:
        collected = copies[id(value)] = VList()
        collected.extend(deep_copy(each, copies) for each in value)
        return collected
    if kind is VDict:
        mapped = copies[id(value)] = VDict()
        for key, each in value.items():
            mapped[key] = deep_copy(each, copies)
        return mapped
    if kind is VSet:
        copies[id(value)] = VSet(value)
        return copies[id(value)]
    if kind is Choice:
        return Choice(value.test, deep_copy(value.yes, copies), deep_copy(value.no, copies))
    return tuple(deep_copy(each, copies) for each in value) if kind is tuple else value
