"""Which values to ask about where the user named none: one rule for each kind of option."""

from __future__ import annotations

from typing import Any

from assay.source import Option

PROBE = "assay-probe"
"""Stands for a text that nobody would give: it shows whether a value is read, not what a good one does."""

_MOST_CHOICES = 24


def values_to_ask(option: Option, resolved: Any) -> tuple[Any, ...]:
    """Values that differ from the resolved one, the likeliest first.

    Switches are asked turned on, or off where the engine has them on and a flag can do that. Choices are
    asked one after the other. A number is doubled, then halved; a share between 0 and 1 is halved first;
    None, 0 and negative numbers become 1. Of text and JSON without choices a made-up value is asked.

    >>> from assay.source import Constant, Site
    >>> site = Site(file="a.py", line=1)
    >>> number = Option(flags=("--n",), dest="n", field="n", action="store", converter="int",
    ...                 default=Constant(known=True, value=8), declared_at=site, first_line=1, last_line=1)
    >>> values_to_ask(number, 8), values_to_ask(number, None)
    ((16, 4), (1,))
    """
    if option.action == "store_const":
        return (option.const.value if option.const is not None and option.const.known else True,)
    if option.action == "boolean":
        return (not resolved,)
    if option.nargs == 0:
        return (True,)
    if option.choices is not None and option.choices.known:
        return _choices(option, resolved)
    values = _values(option, resolved)
    return tuple([value] for value in values) if option.nargs not in (None, "?") else values


def made_up(option: Option) -> bool:
    """Whether such values are assay's own invention, so that their refusal says little of the option."""
    return option.action in ("store", "append") and not (option.choices and option.choices.known)


def _choices(option: Option, resolved: Any) -> tuple[Any, ...]:
    assert option.choices is not None
    several = option.nargs not in (None, "?")
    held = resolved if isinstance(resolved, list) else [resolved]
    same = [*held, None, option.default.value if option.default.known else None]
    others = [choice for choice in option.choices.value if choice not in same]
    others = others or [choice for choice in option.choices.value if choice is not None]
    return tuple([each] if several else each for each in others[:_MOST_CHOICES])


def _values(option: Option, resolved: Any) -> tuple[Any, ...]:
    if isinstance(resolved, list) and len(resolved) > 0:
        resolved = resolved[0]
    if option.converter in ("int", "si-int"):
        return _integers(resolved)
    if option.converter == "float":
        return _floats(resolved)
    if option.converter == "bool":
        return ("" if resolved else "true",)
    if option.converter in ("json", "json-list"):
        return ({"probe": 1},)
    return (PROBE,)


def _integers(resolved: Any) -> tuple[Any, ...]:
    if not isinstance(resolved, int) or isinstance(resolved, bool) or resolved <= 0:
        return (1,)
    return (2,) if resolved == 1 else (resolved * 2, resolved // 2)


def _floats(resolved: Any) -> tuple[Any, ...]:
    if not isinstance(resolved, int | float) or resolved <= 0:
        return (0.5,)
    return (resolved / 2, min(resolved * 1.1, 0.99)) if resolved <= 1 else (resolved * 2, resolved / 2)
