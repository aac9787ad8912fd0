"""Whether a sample falls into two groups far apart."""

from __future__ import annotations

import math
from collections.abc import Sequence

from assay._value import Value

_FEWEST = 64
_SHARE, _BETWEEN, _APART = 0.1, 0.9, 1.25


class TwoGroups(Value):
    """Two groups of one sample."""

    low: float
    """Mean of the lower group."""
    high: float
    """Mean of the upper group."""
    share_high: float
    """Share of the values in the upper group."""


def two_groups(values: Sequence[float]) -> TwoGroups | None:
    """The two groups that a sample of at least 64 positive values falls into; `None` where it does not.

    The sample is cut where the variance between the two sides is largest (Otsu 1979). Two groups are seen
    where that is 90 % of the whole (a uniform sample has 75 %, a normal one 64 %), each holds a tenth of the
    values, and their means are a quarter apart.

    >>> two_groups([10.0] * 70 + [20.0] * 30)
    TwoGroups(low=10.0, high=20.0, share_high=0.3)
    """
    ordered = sorted(values)
    count = len(ordered)
    if count < _FEWEST or ordered[0] <= 0:
        return None
    total = math.fsum(ordered)
    whole = math.fsum((each - total / count) ** 2 for each in ordered)
    best, cut, below, below_cut = 0.0, 0, 0.0, 0.0
    for at in range(1, count):
        below += ordered[at - 1]
        between = (below * count - total * at) ** 2 / (at * (count - at) * count)
        if between > best:
            best, cut, below_cut = between, at, below
    if not whole or best < _BETWEEN * whole or not _SHARE * count <= cut <= (1 - _SHARE) * count:
        return None
    low, high = below_cut / cut, (total - below_cut) / (count - cut)
    return TwoGroups(low=low, high=high, share_high=(count - cut) / count) if high > _APART * low else None
