"""What may be changed, and what is wanted: values only."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

from assay._value import Value

Arm: TypeAlias = tuple[int, ...]
"""A configuration: for each knob the place of its level."""


class Effect(Value):
    """What is believed of an effect before it is measured, in logarithms: 0.01 is 1 %."""

    mean: float
    """The likeliest."""
    sd: float
    """How far it may be off; what is believed must be able to be overruled, so 0.006 is the least used."""


class Knob(Value):
    """An option, or several that are always changed together."""

    name: str
    """The option's usual flag."""
    levels: tuple[str, ...]
    """Its values, in order where they have one. A switch has two."""
    default: int
    """The place of the value that the baseline has."""
    ordered: bool = False
    """Whether neighbouring levels do alike, as with numbers; else each level stands for itself."""
    up: Effect | None = None
    """What one level more does at the primary level; of a switch, what changing it does."""
    down: Effect | None = None
    """What one level less does beyond that, below the kink; only where there is one."""
    curve: Effect | None = None
    """What the square of the distance from the kink, or the default, adds; only where ordered."""
    kink: int | None = None
    """The level below which the slope is another, such as a batch of the measured concurrency."""
    only_primary: bool = False
    """Whether it can do nothing at the other levels, as a limit that these do not reach."""


class Space(Value):
    """All knobs."""

    knobs: tuple[Knob, ...]
    """In a fixed order."""

    @property
    def baseline(self) -> Arm:
        """Every knob at its default."""
        return tuple(knob.default for knob in self.knobs)

    def neighbours(self, arm: Arm) -> Iterator[Arm]:
        """All arms that differ in one knob."""
        for at, knob in enumerate(self.knobs):
            for level in range(len(knob.levels)):
                if level != arm[at]:
                    yield (*arm[:at], level, *arm[at + 1 :])


class Objective(Value):
    """The primary level's gain, less what other levels lose beyond a margin."""

    levels: tuple[str, ...]
    """Names of the levels that are measured; the primary one first."""
    margin: float = 0.02
    """A loss up to this at another level is none that matters, in logarithms."""
    penalty: float = 3.0
    """What a loss beyond the margin weighs, against as much gain at the primary level."""
