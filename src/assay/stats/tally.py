"""A sample of any size in bounded memory: exact while it is small, in narrow bins beyond."""

from __future__ import annotations

import math
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator
from operator import mul

from assay.stats.summary import Summary, carried_from, quantile

_EXACT = 1 << 17
_BITS = 13
"""Bins hold values that share so many leading bits: their middle is within 1 part in 8,000 of each."""


class Tally:
    """Counts whole numbers of at least 0, such as nanoseconds; mean and spread stay exact."""

    def __init__(self) -> None:
        self.count = 0
        self._sum = self._squares = 0
        self._least, self._greatest = 0, 0
        self._some = array("q")
        self._bins: Counter[int] = Counter()

    def add(self, values: Iterable[int]) -> None:
        """Count these too."""
        before = len(self._some)
        self._some.extend(values)
        new = self._some[before:]
        if not new:
            return
        least, greatest = min(new), max(new)
        self._least = least if not self.count else min(self._least, least)
        self._greatest = max(self._greatest, greatest)
        self.count += len(new)
        self._sum += sum(new)
        self._squares += sum(map(mul, new, new))
        if len(self._some) > _EXACT:
            self._bins.update(map(_middle, self._some))
            self._some = array("q")

    def quantile(self, q: float) -> float | None:
        """The quantile, between neighbours in proportion; `None` of nothing."""
        if not self.count:
            return None
        return self._quantiles((q,))[0]

    def summary(self, *, scale: float, independent: int | None = None) -> Summary:
        """The summary of all values over `scale`; `independent` as in `summarised`."""
        count = self.count
        if not count:
            return Summary(count=0)
        carriers = count if independent is None else min(count, independent)
        median, *tails = self._quantiles((0.5, 0.9, 0.95, 0.99))
        p90, p95, p99 = (
            value / scale if carriers >= carried_from(q) else None
            for q, value in zip((0.9, 0.95, 0.99), tails, strict=True)
        )
        squares = count * self._squares - self._sum**2
        return Summary(
            count=count,
            mean=self._sum / count / scale,
            median=median / scale,
            std=math.sqrt(squares / (count * (count - 1))) / scale if count > 1 else None,
            least=self._least / scale,
            greatest=self._greatest / scale,
            p90=p90,
            p95=p95,
            p99=p99,
        )

    def _quantiles(self, qs: Iterable[float]) -> list[float]:
        """For rising `qs`: exact, or of the bins the middle of that in which each falls."""
        if not self._bins:
            values = sorted(self._some)
            return [quantile(values, q) for q in qs]
        self._bins.update(map(_middle, self._some))
        self._some = array("q")
        walk = _Walk(iter(sorted(self._bins.items())))
        found = (walk.at(q * (self.count - 1)) for q in qs)
        return [float(min(max(value, self._least), self._greatest)) for value in found]


class _Walk:
    """Goes up the bins."""

    def __init__(self, ordered: Iterator[tuple[int, int]]) -> None:
        self._ordered = ordered
        self._value, self._seen = next(ordered)

    def at(self, place: float) -> int:
        """The bin of the value with so many below it."""
        while self._seen <= place:
            self._value, more = next(self._ordered)
            self._seen += more
        return self._value


def _middle(value: int) -> int:
    """The middle of a value's bin."""
    low = value.bit_length() - _BITS
    return value if low <= 0 else (value >> low << low) + (1 << low >> 1)
