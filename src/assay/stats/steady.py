"""Whether a run was steady, by MSER-5."""

from __future__ import annotations

from collections.abc import Sequence

_BATCH = 5
_FEWEST = 10


def mser5(values: Sequence[float]) -> float | None:
    """The share of a series that MSER-5 would cut off its start; `None` below 50 values.

    Means of 5 are cut where the standard error of what is left is smallest (White, Cobb and Spratt 2000).
    A share over one half says that the series was not steady. The last 5 means are no place for a cut: their
    variance says nothing.

    >>> mser5([1.0] * 100)
    0.0
    >>> mser5([50.0] * 20 + [1.0, 2.0] * 40)
    0.2
    """
    means = [sum(values[at : at + _BATCH]) / _BATCH for at in range(0, len(values) - _BATCH + 1, _BATCH)]
    if len(means) < _FEWEST:
        return None
    best, cut = float("inf"), 0
    total = squares = 0.0
    shift = means[-1]  # keeps the differences of squares small
    for at in range(len(means) - 1, -1, -1):
        total += means[at] - shift
        squares += (means[at] - shift) ** 2
        left = len(means) - at
        if left >= _BATCH:
            error = max(0.0, squares - total * total / left) / left**2
            if error <= best:
                best, cut = error, at
    return cut / len(means)
