"""Summaries of a sample; quantiles only where the sample carries them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache

from assay._value import Value

_CONFIDENCE = 0.99


class Summary(Value):
    """Location and spread of one sample; `None` where the sample is too small to say."""

    count: int
    """Values in the sample."""
    mean: float | None = None
    """Arithmetic mean; from 1 value."""
    median: float | None = None
    """Half of the values are below; from 1 value."""
    std: float | None = None
    """Standard deviation with n - 1; from 2 values."""
    least: float | None = None
    """The smallest value."""
    greatest: float | None = None
    """The largest value."""
    p90: float | None = None
    """90 % of the values are at most this; from 64 independent values."""
    p95: float | None = None
    """95 % of the values are at most this; from 130 independent values."""
    p99: float | None = None
    """99 % of the values are at most this; from 662 independent values."""


@cache
def carried_from(q: float) -> int:
    """How many independent values carry the quantile `q`.

    The floor of MLPerf's early stopping: so many that, were the true quantile as large as the value found
    with one value above it, chance would do this in at most 1 % of the samples:
    `q**n + n * (1 - q) * q**(n - 1) <= 0.01`.

    >>> carried_from(0.9), carried_from(0.99)
    (64, 662)
    """
    if not 0.5 < q < 1:
        raise ValueError(f"a quantile between 0.5 and 1 was expected, not {q}")
    count = 1
    while q**count + count * (1 - q) * q ** (count - 1) > 1 - _CONFIDENCE:
        count += 1
    return count


def quantile(ordered: Sequence[float], q: float) -> float:
    """The quantile of values in order, between neighbours in proportion (numpy's and Excel's default).

    >>> quantile([1.0, 2.0, 3.0], 0.25)
    1.5
    """
    at = q * (len(ordered) - 1)
    low = math.floor(at)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (at - low) * (ordered[high] - ordered[low])


def summarised(values: Sequence[float], *, independent: int | None = None) -> Summary:
    """The summary of values in any order.

    `independent` is how many of them count as independent where that is fewer than all: gaps within one
    response share its fate, so that their quantiles are carried by the number of responses.
    """
    if not values:
        return Summary(count=0)
    ordered = sorted(values)
    count = len(ordered)
    mean = math.fsum(ordered) / count
    spread = math.fsum((value - mean) ** 2 for value in ordered)
    carriers = count if independent is None else min(count, independent)

    def tail(q: float) -> float | None:
        return quantile(ordered, q) if carriers >= carried_from(q) else None

    return Summary(
        count=count,
        mean=mean,
        median=quantile(ordered, 0.5),
        std=math.sqrt(spread / (count - 1)) if count > 1 else None,
        least=ordered[0],
        greatest=ordered[-1],
        p90=tail(0.9),
        p95=tail(0.95),
        p99=tail(0.99),
    )
