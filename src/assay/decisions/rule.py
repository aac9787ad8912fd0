"""What a confirmation is decided by, and what it says: values only."""

from __future__ import annotations

from typing import Literal

from assay._value import Value

Outcome = Literal["ship", "revert", "not_shown", "go_on"]
"""`ship`: the gain is shown and no level is harmed; `revert`: harm is shown; `not_shown`: neither, with what
was measured or could be; `go_on`: the next look decides."""

Reason = Literal[
    "gain_shown",
    "harm_shown",
    "gain_unlikely",
    "harm_not_excluded",
    "budget_spent",
    "too_few_pairs",
    "no_spread",
    "between_looks",
]
"""Why: `gain_unlikely` is that a gain of the smallest size that matters would hardly be shown any more;
`harm_not_excluded` that a gain was shown, but a loss beyond the margin may stand beside it; `too_few_pairs`
that the spread is not known well enough for any look; `no_spread` that the pairs do not differ at all, so
that nothing says how far chance reaches."""

LevelVerdict = Literal["gain", "no_harm", "loss", "harm", "not_shown"]
"""Of one level: its interval lies above no change; a loss beyond the margin is excluded; its interval lies
below no change; a loss beyond the margin is shown; none of these."""


class ConfirmationRule(Value):
    """How a final combination is held against the baseline; declared before its first pair."""

    looks: tuple[int, ...] = (2, 4, 6, 8)
    """After so many pairs of fresh starts the data are looked at."""
    error: float = 0.05
    """Probability, over all looks, that a change without any effect is shipped."""
    margin: float = 0.03
    """A loss up to this share at a level is none that matters."""
    harm_error: float = 0.1
    """At each level, probability of overlooking a loss of just the margin."""
    smallest: float = 0.02
    """The smallest gain that matters; when it will hardly be shown any more, the confirmation ends."""


class LevelEffect(Value):
    """What one level (a load, or a figure at a load) says."""

    level: str
    """Its name."""
    ratio: float
    """B over A, turned so that more is better."""
    low: float | None = None
    """Lower end of the interval that holds at every look (each side is missed with the rule's error)."""
    high: float | None = None
    """Upper end."""
    floor: float | None = None
    """One-sided lower bound that is held against the margin."""
    spread: float | None = None
    """Standard deviation of one start, as a share, from these pairs and the noise that was known."""
    df: float = 0.0
    """Degrees of freedom of the spread."""
    verdict: LevelVerdict
    """What the rule says of the level."""


class Decision(Value):
    """The answer of a confirmation."""

    outcome: Outcome
    """What to do."""
    reason: Reason
    """Why."""
    primary: str
    """The level that the gain must be shown at, declared beforehand."""
    levels: tuple[LevelEffect, ...]
    """Every level; the primary one first."""
    pairs: int
    """Pairs that were looked at."""
    starts: int
    """Starts of the server that these took."""
    left_out: int = 0
    """Pairs beyond the last look, which do not count."""
    detectable: float | None = None
    """The smallest gain, as a share, that all planned pairs would show four times in five; `None` where the
    spread is not known."""
    rule: ConfirmationRule
    """What was applied."""

    @property
    def disagree(self) -> bool:
        """Whether one level gains and another loses: then there is no winner, only one for each level."""
        verdicts = {each.verdict for each in self.levels}
        return "gain" in verdicts and bool(verdicts & {"loss", "harm"})
