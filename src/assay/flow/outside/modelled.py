"""Makes modelled functions out of plain ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from assay.flow.interpreter import Interpreter
from assay.flow.values import Library, Native, Unknown


def pure(label: str, function: Callable[..., Any]) -> Native:
    """A function of known values that touches nothing."""

    def run(i: Interpreter, *arguments: Any, **keywords: Any) -> Any:
        named = {key: i.force(value) for key, value in keywords.items()}
        return i.lift(lambda *values: function(*values, **named), *arguments, label=label)

    return Native(label, run)


def constant(value: Any) -> Native:
    return Native("constant", lambda _i, *_arguments, **_keywords: value)


def partly(dotted: str, attributes: dict[str, Any]) -> Library:
    """A class of a library of which only these attributes are modelled: any other is not known."""

    def other(_i: Interpreter, owner: Any, name: Any) -> Unknown:
        return Unknown(f"{name} of {dotted}", ("attribute", id(owner), name))

    return Library(dotted, {"__getattr__": Native("__getattr__", other), **attributes})
