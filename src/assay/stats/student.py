"""Student's t distribution, for degrees of freedom that need not be whole."""

from __future__ import annotations

import math
from functools import lru_cache

_TINY = 1e-300
_STEPS, _ENOUGH = 10_000, 1e-15


@lru_cache(maxsize=4096)
def t_quantile(p: float, df: float) -> float:
    """The value below which Student's t with `df` degrees of freedom lies with probability `p`.

    Found by bisection of the distribution function.

    >>> round(t_quantile(0.95, 2), 3), round(t_quantile(0.975, 7), 3)
    (2.92, 2.365)

    Raises:
        ValueError: `p` is not between 0 and 1, or `df` is not positive.
    """
    if not 0 < p < 1 or not df > 0:
        raise ValueError(f"expected 0 < p < 1 and df > 0, not p={p}, df={df}")
    if p < 0.5:
        return -t_quantile(1 - p, df)
    low, high = 0.0, 1.0
    while _distribution(high, df) < p and high < 1e300:
        high *= 2
    while high - low > 1e-12 * high:
        middle = (low + high) / 2
        if _distribution(middle, df) < p:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def _distribution(t: float, df: float) -> float:
    """Probability of a value below `t >= 0` (DLMF 8.17 with x = df / (df + t^2))."""
    if t * t < df:  # the fraction converges on the other side of its symmetry
        return 0.5 + 0.5 * _beta(t * t / (df + t * t), 0.5, df / 2)
    return 1 - 0.5 * _beta(df / (df + t * t), df / 2, 0.5)


def _beta(x: float, a: float, b: float) -> float:
    """The regularised incomplete beta function, by the continued fraction of DLMF 8.17.22 and 8.17.23."""
    if x <= 0:
        return 0.0
    if x > (a + 1) / (a + b + 2):
        return 1 - _beta(1 - x, b, a)
    log_front = a * math.log(x) + b * math.log1p(-x) + math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b)
    fraction, above, below = 1.0, 1.0, 0.0  # Lentz's way, from the top of 1 + d1 / (1 + d2 / (1 + ...
    for step in range(1, _STEPS):
        term = _term(step, x, a, b)
        below = 1 / _kept(1 + term * below)
        above = _kept(1 + term / above)
        fraction *= above * below
        if abs(above * below - 1) < _ENOUGH:
            break
    return math.exp(log_front) / (a * fraction)


def _term(step: int, x: float, a: float, b: float) -> float:
    """The coefficient d of that step."""
    m = step // 2
    if step % 2:
        return -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
    return m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))


def _kept(value: float) -> float:
    return value if abs(value) > _TINY else _TINY
