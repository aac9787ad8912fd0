"""What a study has cost and may still cost; pure: time is what starts were recorded to take."""

from __future__ import annotations

import math

import msgspec

from assay._value import Value
from assay.decisions import ConfirmationRule, smallest_shown
from assay.stats import Noise, is_used, noise_df
from assay.study.entries import Budget, StartEnded

_ASSUMED = Noise(spread=0.01, df=0.0)
"""How far starts differ where nobody has measured it."""
_PAIRS = 4
"""Of the confirmation that the search leaves room for."""
_FEWEST_DF = 3.0
"""As the rule of a confirmation has it: no look with a spread that is less well known."""


class Spent:
    """Adds up starts against a budget."""

    def __init__(self, budget: Budget) -> None:
        self._budget = budget
        self._served: list[float] = []
        self.seconds = 0.0
        """Spent so far."""
        self.downtime_s = 0.0
        """That the service did not serve."""
        self.reserved = 0
        """Starts that are kept for the confirmation."""

    def __str__(self) -> str:
        return f"{self.seconds / 3600:.2f} of {self._budget.hours:g} h used"

    @property
    def start_s(self) -> float:
        """What one start is expected to cost."""
        if not self._served:
            return 60 * self._budget.start_minutes
        return math.fsum(self._served) / len(self._served)

    def add(self, start: StartEnded, *, lost_s: float) -> None:
        """One start more, and what tries of it that were cut short took."""
        self.seconds += start.seconds + lost_s
        self.downtime_s += start.downtime_s
        if start.outcome == "served":
            self._served.append(start.seconds)

    def left(self) -> int:
        """Starts that the rest of the budget allows."""
        left = (3600 * self._budget.hours - self.seconds) / self.start_s
        if self._budget.downtime_hours is not None and self._served and self.downtime_s > 0:
            each_s = self.downtime_s / len(self._served)
            left = min(left, (3600 * self._budget.downtime_hours - self.downtime_s) / each_s)
        return max(0, math.floor(left))

    def looks(self, rule: ConfirmationRule, known: Noise | None) -> tuple[int, ...]:
        """The looks of a confirmation that the rest allows; empty where it allows none."""
        pairs = self.left() // 2
        fewest = fewest_pairs(rule, known)
        return tuple(look for look in rule.looks if look <= pairs) if fewest <= pairs else ()

    def reserve(self, rule: ConfirmationRule, known: Noise | None) -> None:
        """Keep what the confirmation needs."""
        self.reserved = _reserved(fewest_pairs(rule, known), self.left())

    def allows_search(self) -> bool:
        """Whether a further start leaves what the confirmation needs."""
        return self.left() > self.reserved


def _reserved(fewest: int, starts: int) -> int:
    """Starts that are kept for the confirmation: four pairs, or half of what there is, or its first look."""
    return 2 * max(fewest, min(_PAIRS, starts // 4))


def fewest_pairs(rule: ConfirmationRule, known: Noise | None) -> int:
    """Pairs until the first look that may decide: with little known of noise the pairs must show it first."""
    before = known.df if known is not None and is_used(known) else 0.0
    usable = [look for look in rule.looks if before + look - 1 >= _FEWEST_DF]
    return usable[0] if usable else rule.looks[-1]


class Forecast(Value):
    """What a study will cost and can show, before its first start."""

    start_s: float
    """What one start and its measurement costs."""
    start_known: bool
    """Whether that was measured by earlier studies; else it is an assumption."""
    baseline: int
    """Starts of the unchanged command."""
    search: int
    """Starts for the search, at the most."""
    confirmation: int
    """Starts kept for the confirmation."""
    spread: float
    """By how much starts differ at the primary load, as a share."""
    spread_known: bool
    """Whether that was measured by earlier studies; else it is an assumption."""
    smallest: float | None
    """The smallest gain, as a share, that the confirmation shows four times in five."""


def forecast(
    budget: Budget,
    rule: ConfirmationRule,
    *,
    baseline: int,
    start_s: float | None = None,
    known: Noise | None = None,
) -> Forecast | None:
    """What the budget allows; `None` where it does not allow a baseline and a confirmation.

    Args:
        budget: what a study may cost.
        rule: by what is decided.
        baseline: starts of the unchanged command.
        start_s: what a start cost in earlier studies.
        known: how far starts differed in them.
    """
    cost_s = start_s or 60 * budget.start_minutes
    starts = math.floor(3600 * budget.hours / cost_s) - baseline
    spread = known or _ASSUMED
    # by then the baseline's own starts have told how far starts differ
    told = Noise(spread=spread.spread, df=(known.df if known else 0.0) + noise_df(baseline))
    fewest = fewest_pairs(rule, told)
    if starts < 2 * fewest:
        return None
    reserved = _reserved(fewest, starts)
    looks = tuple(look for look in rule.looks if 2 * look <= reserved) or (fewest,)
    planned = msgspec.structs.replace(rule, looks=looks)
    return Forecast(
        start_s=cost_s,
        start_known=start_s is not None,
        baseline=baseline,
        search=starts - reserved,
        confirmation=reserved,
        spread=spread.spread,
        spread_known=known is not None,
        smallest=smallest_shown(spread.spread, told.df, planned),
    )
