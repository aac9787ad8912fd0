"""What may be tried, and what was left out and why: values only."""

from __future__ import annotations

from typing import Literal

from assay._value import Value
from assay.engines import Effect, RestartCost, Risk
from assay.findings import Evidence
from assay.rollout import Change

Origin = Literal["table", "own"]
"""The engine's table of knobs; the user, in the deployment file or on the command line."""


class Level(Value):
    """One value of an option that may be tried."""

    text: str
    """As a person would call it: `8`, `on`, `as it is`."""
    change: Change | None = None
    """What of the command is otherwise then; `None`: it is as it is."""


class Candidate(Value):
    """An option, or several that are changed together, with the values that are worth a trial."""

    name: str
    """The option's usual flag; of several, all of them."""
    levels: tuple[Level, ...]
    """Its values, the present one among them; ascending where `ordered`."""
    present: int
    """The place of the present one."""
    ordered: bool = False
    """Whether neighbouring values do alike."""
    origin: Origin = "table"
    """Who named it."""
    effect: Effect | None = None
    """What it changes in a step, where that is known."""
    risk: Risk | None = None
    """What it does to the answers, where that is known."""
    cost: RestartCost = "restart"
    """What a change of it costs."""
    bound: float | None = None
    """The most that it could give at any load, as a share; `None` where nothing bounds it."""
    reason: str = ""
    """Why it is worth a trial, in a sentence."""

    @property
    def tried(self) -> tuple[str, ...]:
        """The values beside the present one."""
        return tuple(level.text for at, level in enumerate(self.levels) if at != self.present)


class LeftOut(Value):
    """An option, or one value of it, that is not tried."""

    name: str
    """The option's usual flag."""
    value: str = ""
    """The value; empty: none of it is tried."""
    why: str
    """Why not, in a sentence."""
    evidence: tuple[Evidence, ...] = ()
    """The lines that show it."""


class Candidates(Value):
    """Everything that was thought of."""

    planned: tuple[Candidate, ...]
    """What is tried, the most promising first."""
    left_out: tuple[LeftOut, ...]
    """What is not."""
    triaged: bool
    """Whether the engine's source was asked what each value does here; else only what it declares."""
    why_not_triaged: str = ""
    """Why it was not."""


class Own(Value):
    """A candidate that the user names."""

    change: Change
    """What of the command is otherwise."""
    why: str = ""
    """In the user's words."""
