"""The interval of a mean within one run, from means of batches."""

from __future__ import annotations

import math
from collections.abc import Sequence

from assay._value import Value

_BATCHES = 8
_T7 = 2.3646242515927844
"""Student's t with 7 degrees of freedom at 97.5 %."""


class Interval(Value):
    """A mean and its 95 % interval: health of one run, never ground for a verdict between two."""

    mean: float
    """Mean of all values."""
    low: float
    """Lower end."""
    high: float
    """Upper end."""


def batch_means(values: Sequence[float]) -> Interval | None:
    """The interval of the mean of values that follow each other in time, from 8 means of batches.

    Batches carry the dependence of neighbours, which single values would hide (coverage at an
    autocorrelation of 0.8, by simulation: 0.87 from 80 values, 0.93 from 200). `None` below 40 values.
    Values left over at the start are left out.

    >>> batch_means([1.0] * 40)
    Interval(mean=1.0, low=1.0, high=1.0)
    """
    size = len(values) // _BATCHES
    if size < 5:
        return None
    kept = values[len(values) - size * _BATCHES :]
    means = [math.fsum(kept[at : at + size]) / size for at in range(0, len(kept), size)]
    mean = math.fsum(means) / _BATCHES
    spread = math.sqrt(math.fsum((each - mean) ** 2 for each in means) / (_BATCHES - 1))
    half = _T7 * spread / math.sqrt(_BATCHES)
    return Interval(mean=mean, low=mean - half, high=mean + half)
