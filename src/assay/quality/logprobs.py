"""How far two servers' log-probabilities of the same tokens are apart (teacher forcing)."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence

from assay._value import Value
from assay.stats import t_quantile

_MOST = 30.0
"""A difference beyond this is counted as this: exp of it is what a float still sums."""


class LogprobDistance(Value):
    """Statistics of `d = log p(B) - log p(A)` at every token of fixed prompts."""

    prompts: int
    """Prompts that both have."""
    tokens: int
    """Tokens of these."""
    median: float
    """Median of |d|: sees small changes of every token."""
    k3: float
    """Mean of `exp(d) - 1 - d`: estimates KL(A || B), nats a token (Schulman 2020); sees rare damage."""
    nll: float
    """Mean of -d: by how much B finds the text less likely, nats a token."""
    nll_high: float
    """Upper 95 % bound of that, prompts taken as the units; `inf` with fewer than two."""
    worst: float
    """The largest mean of |d| of one prompt."""
    broken: int
    """Tokens where B gives no number."""


def distance(a: Sequence[Sequence[float]], b: Sequence[Sequence[float]]) -> LogprobDistance:
    """The distance of B's log-probabilities from A's, prompt by prompt.

    >>> distance([[-1.0, -2.0]], [[-1.0, -2.0]]).k3
    0.0

    Raises:
        ValueError: the prompts, or the tokens of one, are not the same in number, or there are none.
    """
    if len(a) != len(b) or any(len(of_a) != len(of_b) for of_a, of_b in zip(a, b, strict=True)):
        raise ValueError("the same prompts with the same tokens were expected")
    by_prompt = [_differences(of_a, of_b) for of_a, of_b in zip(a, b, strict=True)]
    kept = [each for each in by_prompt if each]
    every = [d for each in kept for d in each]
    if not every:
        raise ValueError("no token with a log-probability in both")
    losses = [-math.fsum(each) / len(each) for each in kept]
    return LogprobDistance(
        prompts=len(kept),
        tokens=len(every),
        median=statistics.median(abs(d) for d in every),
        k3=math.fsum(math.expm1(d) - d for d in every) / len(every),
        nll=-math.fsum(every) / len(every),
        nll_high=_upper(losses),
        worst=max(math.fsum(abs(d) for d in each) / len(each) for each in kept),
        broken=sum(
            not math.isfinite(value)
            for of_a, of_b in zip(a, b, strict=True)
            for value in _numbers(of_a, of_b)
        ),
    )


def _differences(a: Sequence[float], b: Sequence[float]) -> list[float]:
    found = (after - before for before, after in zip(a, b, strict=True) if math.isfinite(before + after))
    return [min(max(each, -_MOST), _MOST) for each in found]


def _numbers(a: Sequence[float], b: Sequence[float]) -> list[float]:
    """B's values where A has a number."""
    return [after for before, after in zip(a, b, strict=True) if math.isfinite(before)]


def _upper(losses: Sequence[float]) -> float:
    if len(losses) < 2:
        return math.inf
    error = statistics.stdev(losses) / math.sqrt(len(losses))
    return statistics.fmean(losses) + t_quantile(0.95, len(losses) - 1) * error
