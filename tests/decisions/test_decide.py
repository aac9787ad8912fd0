"""The rule of a confirmation: known answers, and how often it errs."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence

import pytest

from assay.decisions import ConfirmationRule, Decision, decide
from assay.stats import Noise

KNOWN = {"64": Noise(spread=0.01, df=10), "1": Noise(spread=0.01, df=10)}
BALANCED = (0.006, -0.006, 0.006, -0.006, 0.006, -0.006, 0.006, -0.006)
"""Differences of eight pairs without any effect."""


def pairs(count: int, effect: float) -> list[float]:
    return [effect + each for each in BALANCED[:count]]


def decided(count: int, at_64: float, at_1: float = 0.0, *, complete: bool = False) -> Decision:
    levels = {"1": pairs(count, at_1), "64": pairs(count, at_64)}
    return decide(levels, "64", known=KNOWN, complete=complete)


CASES = [
    (2, 0.06, 0.0, "ship", "gain_shown"),
    (2, 0.02, 0.0, "go_on", "between_looks"),
    (4, 0.03, 0.0, "ship", "gain_shown"),
    (3, 0.06, 0.0, "go_on", "between_looks"),
    (4, -0.03, 0.0, "not_shown", "gain_unlikely"),
    (8, 0.005, 0.0, "not_shown", "budget_spent"),
    (8, 0.02, 0.0, "ship", "gain_shown"),
    (4, 0.06, -0.06, "revert", "harm_shown"),
    (4, 0.06, -0.026, "go_on", "harm_not_excluded"),
    (8, 0.06, -0.027, "not_shown", "harm_not_excluded"),
    (8, 0.06, -0.015, "ship", "gain_shown"),
]


@pytest.mark.parametrize(("count", "at_64", "at_1", "outcome", "reason"), CASES)
def test_known_answers(count: int, at_64: float, at_1: float, outcome: str, reason: str) -> None:
    found = decided(count, at_64, at_1)
    assert (found.outcome, found.reason) == (outcome, reason)
    assert (found.pairs, found.starts) == (count, 2 * count)
    assert [each.level for each in found.levels] == ["64", "1"]


def test_every_level_has_its_own_verdict_and_there_is_no_single_winner() -> None:
    found = decided(8, 0.06, -0.02)
    assert [each.verdict for each in found.levels] == ["gain", "loss"]
    assert found.disagree
    assert found.levels[1].floor is not None
    assert found.levels[1].floor > 0.97
    assert decided(4, 0.06, -0.06).levels[1].verdict == "harm"
    assert not decided(4, 0.06).disagree
    assert decided(4, 0.06).levels[1].verdict == "no_harm"


def test_files_have_no_next_look() -> None:
    early = decided(2, 0.02, complete=True)
    assert (early.outcome, early.reason) == ("not_shown", "budget_spent")
    assert decided(3, 0.06, complete=True).outcome == "ship"
    few = decide({"64": pairs(2, 0.06)}, "64", complete=True)
    assert (few.outcome, few.reason) == ("not_shown", "too_few_pairs")
    assert few.levels[0].low is None


def test_pairs_beyond_the_last_look_do_not_count() -> None:
    later = decide({"64": [*pairs(8, 0.0), *[0.2] * 4]}, "64", known=KNOWN)
    assert (later.outcome, later.pairs, later.left_out) == ("not_shown", 8, 4)


def test_without_spread_nothing_is_shown() -> None:
    same = decide({"64": [0.05] * 8}, "64")
    assert (same.outcome, same.reason, same.detectable) == ("not_shown", "no_spread", None)
    assert decide({"64": [0.05] * 4}, "64").outcome == "go_on"


def test_what_cannot_be_decided_is_refused() -> None:
    refused: list[dict[str, list[float]]] = [{"64": [0.1]}, {"64": [0.1], "1": [0.1, 0.2]}, {"1": []}]
    for levels in refused:
        with pytest.raises(ValueError, match="levels"):
            decide(levels, "1")


def _session(draw: random.Random, effects: Sequence[float], spread: float) -> Decision:
    """One confirmation, look by look, with 6 degrees of freedom known before."""
    known = {
        str(at): Noise(spread=spread * math.sqrt(draw.gammavariate(3, 2) / 6), df=6)
        for at in range(len(effects))
    }
    seen = {
        str(at): [effect + draw.gauss(0, spread * math.sqrt(2)) for _ in range(8)]
        for at, effect in enumerate(effects)
    }
    rule = ConfirmationRule()
    for look in rule.looks:
        found = decide({name: each[:look] for name, each in seen.items()}, "0", rule, known=known)
        if found.outcome != "go_on":
            return found
    raise AssertionError("the last look decides")


@pytest.mark.parametrize(
    ("effects", "low", "high"),
    [((0.0,), 0.035, 0.062), ((0.02,), 0.87, 1.0), ((0.03, -0.04), 0.0, 0.03), ((0.03, 0.0), 0.95, 1.0)],
)
def test_how_often_the_rule_ships(effects: Sequence[float], low: float, high: float) -> None:
    draw = random.Random(9)
    shipped = sum(_session(draw, effects, 0.01).outcome == "ship" for _ in range(3000)) / 3000
    assert low <= shipped <= high


def test_the_smallest_effect_is_the_one_that_is_shown_four_times_in_five() -> None:
    draw = random.Random(10)
    promised = [_session(draw, (0.0,), 0.01).detectable for _ in range(300)]
    gains = [math.log1p(each) for each in promised if each is not None]
    typical = sorted(gains)[len(gains) // 2]
    shipped = sum(_session(draw, (typical,), 0.01).outcome == "ship" for _ in range(1500)) / 1500
    assert 0.72 < shipped < 0.92
