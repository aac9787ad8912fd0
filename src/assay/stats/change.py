"""By how much one arm differs from another, from repeated runs of both."""

from __future__ import annotations

import math
from collections.abc import Sequence

from assay._value import Value
from assay.stats.student import t_quantile

_NO_SPREAD = 1e-24
"""A variance of logarithms below this is rounding."""


class Change(Value):
    """B over A, as a ratio of geometric means; the interval is `None` where the runs carry none."""

    a: float
    """Geometric mean of the runs of A."""
    b: float
    """The same of B."""
    runs_a: int
    """Runs of A."""
    runs_b: int
    """Runs of B."""
    ratio: float
    """`b / a`."""
    low: float | None = None
    """Lower end of the ratio's interval."""
    high: float | None = None
    """Upper end."""


def change(a: Sequence[float], b: Sequence[float], *, error: float = 0.05, paired: bool = False) -> Change:
    """The ratio B / A with an interval that is exceeded on each side with probability `error`.

    Runs are taken as logarithms, so that a gain and the loss that undoes it are equally far. Unpaired:
    Welch's interval (Welch 1947, degrees of freedom of Satterthwaite 1946), which does not take the two
    spreads for equal. `paired`: Student's interval of the differences of run i of B and run i of A. Two runs
    of each are the fewest; runs that do not differ at all within an arm carry no interval either, since their
    spread is not known.

    >>> change([100.0, 101.0, 99.0], [110.0, 111.0, 109.0]).low > 1.05
    True

    Raises:
        ValueError: a value is not positive, an arm is empty, or the numbers of paired runs differ.
    """
    if not a or not b or min(*a, *b) <= 0:
        raise ValueError("positive values were expected, at least one in each arm")
    if paired and len(a) != len(b):
        raise ValueError(f"as many runs of A as of B were expected, not {len(a)} and {len(b)}")
    logs_a, logs_b = [math.log(each) for each in a], [math.log(each) for each in b]
    middle = math.fsum(logs_b) / len(b) - math.fsum(logs_a) / len(a)
    half = _paired_half(logs_a, logs_b, error) if paired else _welch_half(logs_a, logs_b, error)
    return Change(
        a=math.exp(math.fsum(logs_a) / len(a)),
        b=math.exp(math.fsum(logs_b) / len(b)),
        runs_a=len(a),
        runs_b=len(b),
        ratio=_exp(middle),
        low=None if half is None else _exp(middle - half),
        high=None if half is None else _exp(middle + half),
    )


def _exp(logarithm: float) -> float:
    """A ratio that a float holds, and its reciprocal too."""
    return math.exp(min(700.0, max(-700.0, logarithm)))


def _welch_half(a: Sequence[float], b: Sequence[float], error: float) -> float | None:
    if len(a) < 2 or len(b) < 2:
        return None
    part_a, part_b = _variance(a) / len(a), _variance(b) / len(b)
    if min(part_a, part_b) < _NO_SPREAD:
        return None
    df = (part_a + part_b) ** 2 / (part_a**2 / (len(a) - 1) + part_b**2 / (len(b) - 1))
    return t_quantile(1 - error, df) * math.sqrt(part_a + part_b)


def _paired_half(a: Sequence[float], b: Sequence[float], error: float) -> float | None:
    differences = [after - before for before, after in zip(a, b, strict=True)]
    if len(differences) < 2 or (variance := _variance(differences)) < _NO_SPREAD:
        return None
    return t_quantile(1 - error, len(differences) - 1) * math.sqrt(variance / len(differences))


def _variance(values: Sequence[float]) -> float:
    mean = math.fsum(values) / len(values)
    return math.fsum((each - mean) ** 2 for each in values) / (len(values) - 1)
