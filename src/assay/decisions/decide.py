"""Ship, revert or not shown, from pairs of fresh starts; pure.

The rule, its formulas and what is wrong with simpler ones: `docs/explanation/decisions.md`. How often it
errs: `benchmarks/decisions.py`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cache
from typing import NamedTuple

from assay.decisions.rule import ConfirmationRule, Decision, LevelEffect, LevelVerdict, Outcome, Reason
from assay.stats import Noise, PairedMean, boundaries, normal_below, paired_mean, t_quantile

_FOUR_IN_FIVE = 0.8416212335729143
"""Standard deviations below which four in five values lie."""
_HOPELESS = 0.1
"""A confirmation ends where the smallest gain that matters has less than this chance to be shown."""
_HARMED = 0.05
"""Error of the bound that shows harm and ends a confirmation."""
_FEWEST_DF = 3.0
"""No look with a spread that is less well known."""
_NO_SPREAD = 1e-12


class _Look(NamedTuple):
    """Where in the plan the data stand."""

    boundary: float
    """Standard deviations that the mean must be above zero."""
    last: float
    """The same at the last look."""
    planned: int
    """Pairs at the last look."""
    final: bool
    """Whether this is the last look."""


def decide(
    levels: Mapping[str, Sequence[float]],
    primary: str,
    rule: ConfirmationRule | None = None,
    *,
    known: Mapping[str, Noise] | None = None,
    complete: bool = False,
) -> Decision:
    """Decide after the pairs that there are.

    Args:
        levels: for each level the differences `log B - log A` of its pairs, in the order of measurement,
            turned so that more is better. Every level has the same pairs.
        primary: the level at which the gain must be shown.
        rule: what is applied.
        known: noise of starts of this machine at each level, from starts that nothing told apart. Never a
            guess: a guess that is too small makes false gains.
        complete: whether no pair can follow, as with files: then the last pair is the last look.

    Raises:
        ValueError: no level of that name, or levels with different numbers of pairs, or none.
    """
    rule, known = rule or ConfirmationRule(), known or {}
    counts = {len(each) for each in levels.values()}
    if primary not in levels or len(counts) != 1 or not min(counts):
        raise ValueError(f"levels with as many pairs each, {primary!r} among them, were expected")
    given = counts.pop()
    pairs = min(given, rule.looks[-1])
    means = {name: paired_mean(each[:pairs], known.get(name)) for name, each in levels.items()}
    look = _look(pairs, rule, means[primary].df, complete=complete)
    ordered = sorted(means, key=lambda name: name != primary)
    effects = tuple(_effect(name, means[name], look, rule) for name in ordered)
    outcome, reason = _outcome(means, primary, look, effects, rule)
    if complete and outcome == "go_on":
        outcome, reason = "not_shown", "too_few_pairs" if look is None else reason
    return Decision(
        outcome=outcome,
        reason=reason,
        primary=primary,
        levels=effects,
        pairs=pairs,
        starts=2 * pairs,
        left_out=given - pairs,
        detectable=_detectable(means[primary], rule, look),
        rule=rule,
    )


def smallest_shown(spread: float, df: float, rule: ConfirmationRule | None = None) -> float | None:
    """The smallest gain, as a share, that all planned pairs would show four times in five.

    Args:
        spread: standard deviation of one start, as a share.
        df: degrees of freedom that it is known with.
        rule: what will be applied.

    >>> round(smallest_shown(0.01, 10), 3)
    0.015
    """
    rule = rule or ConfirmationRule()
    planned = rule.looks[-1]
    if df + planned - 1 < 1:
        return None
    last = boundaries(rule.looks, rule.error)[-1]
    gain = (_t(last, df + planned - 1) + _FOUR_IN_FIVE) * math.sqrt(2 / planned) * spread
    return _ratio(gain) - 1


def _look(pairs: int, rule: ConfirmationRule, df: float, *, complete: bool) -> _Look | None:
    """The look that these pairs are; `None` between looks, or where the spread is not known well enough."""
    before = df - (pairs - 1)
    usable = tuple(each for each in rule.looks if before + each - 1 >= _FEWEST_DF)
    if complete and pairs not in usable and df >= _FEWEST_DF:
        taken = (*(each for each in usable if each < pairs), pairs)
        found = boundaries(taken, rule.error, of=rule.looks[-1])
        return _Look(found[-1], found[-1], pairs, final=True)
    if pairs not in usable:
        return None
    found = boundaries(usable, rule.error)
    here, final = found[usable.index(pairs)], complete or pairs == usable[-1]
    return _Look(here, here if final else found[-1], pairs if final else usable[-1], final)


@cache
def _t(z: float, df: float) -> float:
    """A boundary in standard deviations as one for an estimated spread, by equal probability of the tail."""
    return t_quantile(normal_below(z), df)


def _effect(name: str, mean: PairedMean, look: _Look | None, rule: ConfirmationRule) -> LevelEffect:
    ratio = _ratio(mean.mean)
    if mean.spread < _NO_SPREAD or mean.df < _FEWEST_DF:
        return LevelEffect(level=name, ratio=ratio, verdict="not_shown")
    boundary = look.boundary if look else max(boundaries(rule.looks, rule.error))
    half = _t(boundary, mean.df) * mean.error
    floor = mean.mean - t_quantile(1 - rule.harm_error, mean.df) * mean.error
    return LevelEffect(
        level=name,
        ratio=ratio,
        low=_ratio(mean.mean - half),
        high=_ratio(mean.mean + half),
        floor=_ratio(floor),
        spread=mean.spread / math.sqrt(2),
        df=mean.df,
        verdict=_level_verdict(mean, half, floor, rule),
    )


def _level_verdict(mean: PairedMean, half: float, floor: float, rule: ConfirmationRule) -> LevelVerdict:
    margin = math.log(1 - rule.margin)
    if mean.mean + t_quantile(1 - _HARMED, mean.df) * mean.error < margin:
        return "harm"
    if mean.mean + half < 0:
        return "loss"
    if mean.mean - half > 0:
        return "gain"
    return "no_harm" if floor > margin else "not_shown"


def _outcome(
    means: Mapping[str, PairedMean],
    primary: str,
    look: _Look | None,
    effects: Sequence[LevelEffect],
    rule: ConfirmationRule,
) -> tuple[Outcome, Reason]:
    if look is None:
        return "go_on", "between_looks"
    if any(each.spread < _NO_SPREAD for each in means.values()):
        return ("not_shown" if look.final else "go_on"), "no_spread"
    mean = means[primary]
    gained = mean.mean > _t(look.boundary, mean.df) * mean.error
    safe = all(each.floor is not None and each.floor > 1 - rule.margin for each in effects)
    if gained and safe:
        return "ship", "gain_shown"
    if any(each.verdict == "harm" for each in effects):
        return "revert", "harm_shown"
    if look.final:
        return "not_shown", "harm_not_excluded" if gained else "budget_spent"
    if not gained and _chance(mean, look, math.log1p(rule.smallest)) < _HOPELESS:
        return "not_shown", "gain_unlikely"
    return "go_on", "harm_not_excluded" if gained else "between_looks"


def _chance(mean: PairedMean, look: _Look, gain: float) -> float:
    """Chance that the last look shows a gain of that size, given the pairs so far (conditional power)."""
    left = look.planned - mean.pairs
    needed = _t(look.last, mean.df + left) * mean.spread * math.sqrt(look.planned)
    expected = mean.pairs * mean.mean + left * gain
    return normal_below((expected - needed) / (math.sqrt(left) * mean.spread))


def _detectable(mean: PairedMean, rule: ConfirmationRule, look: _Look | None) -> float | None:
    """Where the last look is crossed four times in five, from the spread seen so far."""
    planned = look.planned if look else rule.looks[-1]
    df = mean.df + planned - mean.pairs
    if mean.spread < _NO_SPREAD or mean.df < 1:
        return None
    last = look.last if look else boundaries(rule.looks, rule.error)[-1]
    gain = (_t(last, df) + _FOUR_IN_FIVE) * mean.spread / math.sqrt(planned)
    return _ratio(gain) - 1


def _ratio(logarithm: float) -> float:
    """A ratio that a float holds."""
    return math.exp(min(700.0, max(-700.0, logarithm)))
