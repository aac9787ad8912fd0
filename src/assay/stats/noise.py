"""How far starts of one unchanged server differ, and means of paired differences that use it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import pairwise

from assay._value import Value

_MOST = 20.0
"""What is known of a machine counts as at most so many degrees of freedom: machines change."""
_FEWEST = 2.0
"""Less than this is not used: a spread from so few starts errs more than it helps."""


class Noise(Value):
    """The spread of starts that nothing but chance tells apart."""

    spread: float
    """Standard deviation of the logarithm of one start's figure: 0.01 is 1 %."""
    df: float
    """Degrees of freedom that it was estimated with."""


class PairedMean(Value):
    """The mean of differences between the two starts of each pair."""

    mean: float
    """Mean of the differences, in logarithms."""
    spread: float
    """Standard deviation of one difference, pooled with what was known before."""
    df: float
    """Degrees of freedom of the spread."""
    pairs: int
    """Number of differences."""

    @property
    def error(self) -> float:
        """Standard error of the mean."""
        return self.spread / math.sqrt(self.pairs)


def noise(starts: Sequence[float]) -> Noise | None:
    """The noise of a machine from figures of starts of one configuration, in order of time; `None` below two.

    From differences of neighbours, which slow drift hardly touches (von Neumann 1941): half their mean
    square, with `2 (n - 1)^2 / (3 n - 4)` degrees of freedom.

    >>> found = noise([100.0, 101.0, 99.0, 100.0])
    >>> round(found.spread, 4), found.df
    (0.01, 2.25)

    Raises:
        ValueError: a figure is not positive.
    """
    count = len(starts)
    if count < 2:
        return None
    if min(starts) <= 0:
        raise ValueError("positive figures were expected")
    logs = [math.log(each) for each in starts]
    squares = math.fsum((after - before) ** 2 for before, after in pairwise(logs))
    return Noise(spread=math.sqrt(squares / (count - 1) / 2), df=noise_df(count))


def noise_df(starts: int) -> float:
    """Degrees of freedom of the noise of so many starts of one configuration; 0 below two."""
    return 2 * (starts - 1) ** 2 / (3 * starts - 4) if starts > 1 else 0.0


def is_used(known: Noise) -> bool:
    """Whether so much is known that `paired_mean` takes it into account: from four starts on.

    >>> [is_used(noise([1.0] * count)) for count in (2, 3, 4)]
    [False, False, True]
    """
    return known.df >= _FEWEST


def pooled(known: Iterable[Noise]) -> Noise | None:
    """Several estimates of one machine's noise as one; `None` without any.

    >>> pooled([Noise(spread=0.01, df=4), Noise(spread=0.02, df=4)]).df
    8.0
    """
    kept = [each for each in known if each.df > 0]
    if not kept:
        return None
    df = math.fsum(each.df for each in kept)
    variance = math.fsum(each.df * each.spread**2 for each in kept) / df
    return Noise(spread=math.sqrt(variance), df=min(df, _MOST))


def paired_mean(differences: Sequence[float], known: Noise | None = None) -> PairedMean:
    """The mean of paired differences of logarithms, its spread pooled with the noise that is known.

    `s^2 = (df0 2 s0^2 + sum (d - mean)^2) / (df0 + n - 1)`: a difference of two starts has twice the variance
    of one. Known noise of fewer than 2 degrees of freedom is left out. One difference without known noise has
    no degrees of freedom and a spread of 0.

    >>> paired_mean([0.01, 0.03]).mean
    0.02

    Raises:
        ValueError: there is no difference.
    """
    if not differences:
        raise ValueError("at least one difference was expected")
    df0 = min(known.df, _MOST) if known is not None and is_used(known) else 0.0
    before = 2 * df0 * known.spread**2 if known is not None and df0 else 0.0
    mean = math.fsum(differences) / len(differences)
    squares = before + math.fsum((each - mean) ** 2 for each in differences)
    df = df0 + len(differences) - 1
    return PairedMean(mean=mean, spread=math.sqrt(squares / df) if df else 0.0, df=df, pairs=len(differences))
