"""What an option that is gone is called now, with what says so."""

from __future__ import annotations

import difflib
import re
from typing import TYPE_CHECKING

from assay.drift.change import Successor
from assay.engines import nearest

if TYPE_CHECKING:
    from collections.abc import Mapping

    from assay.engines import OptionHistory
    from assay.source import Declarations, Option

_MOST_STEPS = 5
_ALIKE = 0.85
"""Likeness of two help texts from which on they say the same, numbers and spelling aside."""
_SHORT = 20
"""Help texts shorter than this say too little to be compared."""


def flags_of(declarations: Declarations) -> dict[str, Option]:
    """The option of each flag."""
    return {flag: option for option in declarations.options for flag in option.flags}


def successor(
    option: Option, older: Declarations, newer: Declarations, history: OptionHistory
) -> Successor | None:
    """The option of the newer version that does what this one of the older did; None if nothing shows one."""
    now = flags_of(newer)
    return (
        _by_field(option, newer)
        or _by_word_of(option, now, older)
        or _by_history(option, now, history)
        or _by_likeness(option, older, newer)
    )


def stated(option: Option, flag: str) -> Successor:
    """The successor that the newer version itself names for a flag that it calls deprecated."""
    why = f"the help of `{flag}` says so"
    return Successor(flag=option.replaced_by, certainty="stated", why=why, site=option.site("help"))


def _by_field(option: Option, newer: Declarations) -> Successor | None:
    """The same field of the arguments class, set by another flag."""
    if option.field is None:
        return None
    for each in newer.options:
        if each.field == option.field and not each.deprecated and each.action != "refused":
            why = f"both set the field `{option.field}`"
            return Successor(flag=each.flags[0], certainty="stated", why=why, site=each.declared_at)
    return None


def _by_word_of(option: Option, now: Mapping[str, Option], older: Declarations) -> Successor | None:
    """What the older version itself says of a deprecated option."""
    if option.replaced_by in now:
        why = f"{older.version or 'the older version'} already says so"
        return Successor(flag=option.replaced_by, certainty="stated", why=why, site=option.site("help"))
    return None


def _by_history(option: Option, now: Mapping[str, Option], history: OptionHistory) -> Successor | None:
    """What releases between say, step by step: `--a` became `--b`, that became `--c`."""
    for flag in option.flags:
        steps: list[str] = []
        at = flag
        while len(steps) < _MOST_STEPS and (said := history.successor(at)) is not None:
            at, first, last = said
            steps.append(first if first == last else f"{first} to {last}")
            if at in now:
                return Successor(flag=at, certainty="stated", why=f"the source of {', '.join(steps)} says so")
    return None


def _by_likeness(option: Option, older: Declarations, newer: Declarations) -> Successor | None:
    """A new option of a name like it, whose help says the same."""
    before = flags_of(older)
    added = [each for each in newer.options if not any(flag in before for flag in each.flags)]
    text = _plain(option.help)
    alike = [each for each in added if len(text) >= _SHORT and _likeness(text, _plain(each.help)) >= _ALIKE]
    if len(alike) == 1:
        why = "a new option, and its help says the same"
        return Successor(flag=alike[0].flags[0], certainty="likely", why=why, site=alike[0].declared_at)
    near = nearest(option.flags[0], [each.flags[0] for each in added])
    close = [each for each in added if each.flags[0] in near and each.nargs == option.nargs]
    if len(close) == 1:
        why = "a new option of a name like it"
        return Successor(flag=close[0].flags[0], certainty="likely", why=why, site=close[0].declared_at)
    return None


def _plain(text: str) -> str:
    return re.sub(r"[\W_]+", " ", text).lower().strip()


def _likeness(one: str, other: str) -> float:
    if not other or min(len(one), len(other)) < 0.7 * max(len(one), len(other)):
        return 0.0
    return difflib.SequenceMatcher(None, one, other, autojunk=False).ratio()
