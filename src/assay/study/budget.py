"""What a study has cost and may still cost; pure: time is what starts were recorded to take."""

from __future__ import annotations

import math

from assay.decisions import ConfirmationRule
from assay.stats import Noise, is_used
from assay.study.entries import Budget, StartEnded

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
        """Keep what the confirmation needs: four pairs, or half of what is left, or its first look."""
        fewest = fewest_pairs(rule, known)
        self.reserved = 2 * max(fewest, min(_PAIRS, self.left() // 4))

    def allows_search(self) -> bool:
        """Whether a further start leaves what the confirmation needs."""
        return self.left() > self.reserved


def fewest_pairs(rule: ConfirmationRule, known: Noise | None) -> int:
    """Pairs until the first look that may decide: with little known of noise the pairs must show it first."""
    before = known.df if known is not None and is_used(known) else 0.0
    usable = [look for look in rule.looks if before + look - 1 >= _FEWEST_DF]
    return usable[0] if usable else rule.looks[-1]
