"""The normal distribution; `statistics` has it too, but takes 10 ms to import."""

from __future__ import annotations

import math


def normal_below(z: float) -> float:
    """The probability of a value below `z` standard deviations.

    >>> round(normal_below(1.645), 3)
    0.95
    """
    return 0.5 * math.erfc(-z / math.sqrt(2))
