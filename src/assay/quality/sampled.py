"""Samples at temperature 1: faults of samplers and stop tokens, which nothing greedy can show."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence

from assay._value import Value
from assay.quality.outputs import Fault, fisher

_SURE, _SUSPECT = 4.0, 3.0


class Sampled(Value):
    """One sample."""

    logprob: float
    """Mean log-probability of its tokens, nats."""
    tokens: int
    """Its tokens."""
    ended: bool
    """Whether the model ended it by itself."""


def sampled_faults(baseline: Sequence[Sampled], candidate: Sequence[Sampled]) -> tuple[Fault, ...]:
    """Where samples of the same prompts differ: log-probability, length, how often they end by themselves.

    Means are held against each other by Welch's statistic (3 standard errors are suspicious, 4 are damage),
    ends by Fisher's test on both sides.

    Raises:
        ValueError: fewer than two samples in an arm.
    """
    if min(len(baseline), len(candidate)) < 2:
        raise ValueError("two samples of each at the least were expected")
    found = []
    for code, of in (("sampled-logprob", _logprob), ("sampled-length", _length)):
        distance = _standard_errors([of(each) for each in baseline], [of(each) for each in candidate])
        if distance > _SUSPECT:
            found.append(
                _fault(code, baseline, candidate, math.erfc(distance / math.sqrt(2)), distance > _SURE)
            )
    ends = [(sum(each.ended for each in arm), len(arm)) for arm in (baseline, candidate)]
    others = [(count - ended, count) for ended, count in ends]
    p = 2 * min(fisher(ends[0], ends[1]), fisher(others[0], others[1]))
    if p < 0.01:
        found.append(_fault("sampled-ends", baseline, candidate, p, p < 1e-4))
    return tuple(found)


def _logprob(each: Sampled) -> float:
    return each.logprob if math.isfinite(each.logprob) else -1e3


def _length(each: Sampled) -> float:
    return math.log(max(1, each.tokens))


def _standard_errors(a: Sequence[float], b: Sequence[float]) -> float:
    error = math.sqrt(statistics.variance(a) / len(a) + statistics.variance(b) / len(b))
    apart = abs(statistics.fmean(a) - statistics.fmean(b))
    return apart / error if error else math.inf if apart else 0.0


def _fault(code: str, a: Sequence[Sampled], b: Sequence[Sampled], p: float, damaged: bool) -> Fault:  # noqa: FBT001
    return Fault(
        code=code,
        where="all",
        seen=len(b),
        of=len(b),
        baseline=len(a),
        baseline_of=len(a),
        p=p,
        damaged=damaged,
    )
