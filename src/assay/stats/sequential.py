"""Boundaries of a test that looks several times, so that all looks together err as rarely as one."""

from __future__ import annotations

import math
from functools import cache

from assay.stats.normal import normal_below

_POINTS = 400
_FAR = 9.0
"""Standard deviations beyond which no path is followed."""


@cache
def boundaries(looks: tuple[int, ...], error: float, *, of: int | None = None) -> tuple[float, ...]:
    """One-sided boundaries in standard deviations for looks at a running mean after so many values.

    The error is spent by Lan and DeMets' function of Pocock's type, `error * log(1 + (e - 1) t)` at the share
    t of all values (Lan and DeMets 1983); the chance to cross is integrated over the paths that have not
    crossed yet (Armitage, McPherson and Rowe 1969). `of` is the number of values planned, where looks end
    before it.

    >>> [round(each, 2) for each in boundaries((2, 4, 6, 8), 0.05)]
    [2.1, 2.08, 2.05, 2.03]

    Raises:
        ValueError: the looks do not grow, or the error is not between 0 and 1/2.
    """
    planned = of or (looks[-1] if looks else 0)
    if not looks or list(looks) != sorted(set(looks)) or looks[0] < 1 or planned < looks[-1]:
        raise ValueError(f"growing numbers of values were expected, not {looks} of {planned}")
    if not 0 < error < 0.5:
        raise ValueError(f"an error between 0 and 1/2 was expected, not {error}")
    found: list[float] = []
    spent, seen = 0.0, 0
    paths: list[tuple[float, float]] = [(0.0, 1.0)]  # sum of the values, probability of this piece
    for look in looks:
        upto = error * math.log(1 + (math.e - 1) * look / planned)
        found.append(_boundary(paths, look, look - seen, upto - spent))
        paths = _followed(paths, look, look - seen, found[-1])
        spent, seen = upto, look
    return tuple(found)


def _boundary(paths: list[tuple[float, float]], look: int, step: int, error: float) -> float:
    """The boundary at a look that the paths cross with that probability, by bisection."""
    low, high = -_FAR, _FAR
    while high - low > 1e-9:
        middle = (low + high) / 2
        limit = middle * math.sqrt(look)
        crossed = math.fsum(mass * normal_below((at - limit) / math.sqrt(step)) for at, mass in paths)
        low, high = (middle, high) if crossed > error else (low, middle)
    return (low + high) / 2


def _followed(
    paths: list[tuple[float, float]], look: int, step: int, boundary: float
) -> list[tuple[float, float]]:
    """The paths that stay below the boundary, as pieces of Simpson's rule."""
    top, bottom = boundary * math.sqrt(look), -_FAR * math.sqrt(look)
    width = (top - bottom) / _POINTS
    scale = 1 / math.sqrt(2 * math.pi * step)
    pieces = []
    for point in range(_POINTS + 1):
        at = bottom + point * width
        density = scale * math.fsum(mass * math.exp(-((at - was) ** 2) / (2 * step)) for was, mass in paths)
        weight = 1 if point in (0, _POINTS) else 4 if point % 2 else 2
        pieces.append((at, density * weight * width / 3))
    return pieces
