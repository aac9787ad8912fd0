"""Compares two resolutions: which options and variables differ, and whether both surely start."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from assay.flow import FieldValue, Rejection, Resolution

_GIVEN_UP = "the interpretation was given up"


@dataclass(frozen=True)
class Changes:
    """What differs between the records of two runs."""

    fields: tuple[str, ...]
    """Options whose values surely differ."""
    unsure: tuple[str, ...]
    """Options of which nobody can tell."""
    environment: tuple[str, ...]
    """Environment variables that the engine sets otherwise."""

    @property
    def none(self) -> bool:
        """Whether both runs surely have the same record."""
        return not (self.fields or self.unsure or self.environment)


def changes(one: Resolution, other: Resolution, field: str | None) -> Changes:
    """What run B (`other`) has otherwise than run A; `field` is the option that was asked about."""
    sure, unsure = [], []
    theirs = {each.name: each for each in other.fields}
    for mine in one.fields:
        yours = theirs.get(mine.name)
        if yours is None:
            sure.append(mine.name)
        elif mine.known and yours.known:
            if not equal(mine.value, yours.value):
                sure.append(mine.name)
        elif mine.known != yours.known and mine.name == field:
            sure.append(mine.name)  # what was asked for stands against what nobody asked for
        elif not _same_unknown(mine, yours, field):
            unsure.append(mine.name)
    return Changes(tuple(sure), tuple(unsure), _environment(one, other))


def equal(one: Any, other: Any) -> bool:
    """Equal, and of one type where one of them is a truth value."""
    return bool(one == other) and isinstance(one, bool) is isinstance(other, bool)


def _same_unknown(mine: FieldValue, yours: FieldValue, field: str | None) -> bool:
    """Both are computed at the same line from the same things, and not from the option."""
    where = mine.provenance, yours.provenance
    return (
        (mine.known, mine.reason) == (yours.known, yours.reason)
        and where[0].site == where[1].site
        and f"option {field}" not in where[1].depends_on
        and [each.value for each in mine.candidates] == [each.value for each in yours.candidates]
    )


def _environment(one: Resolution, other: Resolution) -> tuple[str, ...]:
    mine, yours = _variables(one), _variables(other)
    return tuple(sorted(name for name in {*mine, *yours} if mine.get(name) != yours.get(name)))


def _variables(found: Resolution) -> dict[str, tuple[Any, ...]]:
    """The last write of each."""
    return {each.name: (each.value, each.known, each.certain) for each in found.environment}


def given_up(found: Resolution) -> bool:
    """Whether the interpretation did not come to its end."""
    return not found.fields or any(gap.reason.startswith(_GIVEN_UP) for gap in found.gaps)


def premises(found: Resolution) -> tuple[Rejection, ...]:
    """Lines that may raise in this run: who asks about a deployment that serves knows that they do not."""
    return found.possible_rejections


def new_doubts(one: Resolution, other: Resolution) -> tuple[Rejection, ...]:
    """Lines that may raise in run B and not in run A."""
    known = {(each.site, each.when) for each in one.possible_rejections}
    return tuple(each for each in other.possible_rejections if (each.site, each.when) not in known)
