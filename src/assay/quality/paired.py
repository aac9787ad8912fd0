"""Right and wrong answers to the same questions under two configurations (McNemar)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import NormalDist

from assay._value import Value


class Paired(Value):
    """What two configurations made of the same questions."""

    questions: int
    """Questions that both answered."""
    right_a: int
    """Right answers of A."""
    right_b: int
    """Right answers of B."""
    lost: int
    """Right in A, wrong in B."""
    gained: int
    """Wrong in A, right in B."""
    p_worse: float
    """Chance of as many lost or more among those that changed, were both equally likely (McNemar, exact)."""
    drop_high: float
    """Upper 95 % bound of the share lost, in points of the whole: 0.02 is two points."""


def paired(a: Sequence[bool], b: Sequence[bool]) -> Paired:
    """Compare two lists of verdicts on the same questions.

    The bound is Wald's for a difference of paired shares with half a question added to both kinds of change
    (Agresti and Min 2005), so that no change at all is not taken for certainty.

    >>> paired([True] * 10, [True] * 8 + [False] * 2).lost
    2

    Raises:
        ValueError: lists of different length, or empty.
    """
    if len(a) != len(b) or not a:
        raise ValueError("verdicts on the same questions were expected")
    lost = sum(before and not after for before, after in zip(a, b, strict=True))
    gained = sum(after and not before for before, after in zip(a, b, strict=True))
    total = len(a) + 2
    worse, better = lost + 0.5, gained + 0.5
    drop = (worse - better) / total
    error = math.sqrt(max(worse + better - (worse - better) ** 2 / total, 0.0)) / total
    return Paired(
        questions=len(a),
        right_a=sum(a),
        right_b=sum(b),
        lost=lost,
        gained=gained,
        p_worse=_at_least(lost, lost + gained),
        drop_high=drop + NormalDist().inv_cdf(0.95) * error,
    )


def _at_least(count: int, of: int) -> float:
    """Probability of so many heads or more."""
    return (
        math.fsum(math.comb(of, each) for each in range(count, of + 1)) / 2**of
        if of <= 1000
        else _tail(count, of)
    )


def _tail(count: int, of: int) -> float:
    return 1 - NormalDist(of / 2, math.sqrt(of) / 2).cdf(count - 0.5)
