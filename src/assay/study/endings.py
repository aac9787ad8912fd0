"""What became of each candidate of a study; pure. What the search believes is no verdict."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from assay.candidates import Candidate
from assay.search import AnySearch, Arm
from assay.study.entries import OptionEnd, StartEnded

if TYPE_CHECKING:
    from assay.study.conduct import Conclusion

_NINE_IN_TEN = 1.6448536269514722


def option_ends(
    candidates: Sequence[Candidate],
    starts: Sequence[StartEnded],
    conclusion: Conclusion,
    search: AnySearch,
) -> tuple[OptionEnd, ...]:
    """One for each candidate, in its order."""
    return tuple(_end(at, each, candidates, starts, conclusion, search) for at, each in enumerate(candidates))


def _end(
    at: int,
    each: Candidate,
    candidates: Sequence[Candidate],
    starts: Sequence[StartEnded],
    conclusion: Conclusion,
    search: AnySearch,
) -> OptionEnd:
    baseline = tuple(one.present for one in candidates)
    served = {start.arm[at] for start in starts if start.outcome == "served"} - {each.present}
    confirmed = conclusion.arm[at]
    if confirmed != each.present and conclusion.decision is not None:
        level = confirmed
    elif served:
        level = max(served, key=lambda one: _middle(search, _only(baseline, at, one), baseline))
    else:
        return _never_served(at, each, starts)
    shipped = level == confirmed and conclusion.result == "shipped"
    alone = sum(one != base for one, base in zip(conclusion.arm, baseline, strict=True)) == 1
    if shipped and alone:
        low, high = _confirmed(conclusion)
    else:
        low, high = _believed(search, _only(baseline, at, level), baseline)
    failures = list(_failures(at, each, starts, served))
    told = "confirmed" if alone else "part of what was confirmed; by itself not shown"
    message = told if shipped else ""
    return OptionEnd(
        name=each.name,
        status="shipped" if shipped else "not_shown",
        value=each.levels[level].text,
        low=low,
        high=high,
        message="; ".join([message, *failures] if message else failures),
    )


def _middle(search: AnySearch, arm: Arm, baseline: Arm) -> float:
    found = search.difference(arm, baseline)
    return -math.inf if found is None else found[0]


def _believed(search: AnySearch, arm: Arm, baseline: Arm) -> tuple[float | None, float | None]:
    """As shares; nothing where the search was only told of arms that change more."""
    found = search.difference(arm, baseline)
    if found is None:
        return None, None
    mean, sd = found
    return math.expm1(mean - _NINE_IN_TEN * sd), math.expm1(mean + _NINE_IN_TEN * sd)


def _confirmed(conclusion: Conclusion) -> tuple[float | None, float | None]:
    """The decision's own interval at the primary level: of one option alone it is that option's."""
    assert conclusion.decision is not None
    primary = conclusion.decision.levels[0]
    return (
        (None, None) if primary.low is None or primary.high is None else (primary.low - 1, primary.high - 1)
    )


def _never_served(at: int, each: Candidate, starts: Sequence[StartEnded]) -> OptionEnd:
    tried = {start.arm[at] for start in starts} - {each.present}
    values = ", ".join(each.levels[level].text for level in sorted(tried)) or ", ".join(each.tried)
    if not tried:
        return OptionEnd(
            name=each.name,
            status="not_tried",
            value=values,
            message="the budget, or what failed before, ended it",
        )
    message = "; ".join(_failures(at, each, starts, set()))
    return OptionEnd(name=each.name, status="failed", value=values, message=message)


def _failures(at: int, each: Candidate, starts: Sequence[StartEnded], served: set[int]) -> Iterator[str]:
    """Each value that only failed, with the message of the start that changed least."""
    for level in range(len(each.levels)):
        failed = [start for start in starts if start.arm[at] == level and start.outcome != "served"]
        if failed and level not in served and level != each.present:
            least = min(failed, key=lambda start: start.change.count(","))
            yield f"{each.levels[level].text}: {least.outcome}: {least.message}"


def _only(baseline: Arm, at: int, level: int) -> Arm:
    return (*baseline[:at], level, *baseline[at + 1 :])
