"""What a study has cost, what is left, and what is kept for the confirmation."""

from __future__ import annotations

import pytest

from assay.decisions import ConfirmationRule
from assay.stats import Noise
from assay.study import Budget, Spent, StartEnded, fewest_pairs, forecast

RULE = ConfirmationRule()
KNOWN = Noise(spread=0.01, df=2.25)


def start(seconds: float = 600.0, downtime_s: float = 60.0) -> StartEnded:
    return StartEnded(
        id="x", number=1, phase="baseline", arm=(0,), change="", outcome="served", seconds=seconds,
        downtime_s=downtime_s,
    )  # fmt: skip


def test_what_starts_took_is_what_the_next_ones_are_expected_to_take() -> None:
    spent = Spent(Budget(hours=2.0, start_minutes=20.0))
    assert (spent.left(), spent.start_s) == (6, 1200)
    spent.add(start(), lost_s=0.0)
    assert (spent.left(), spent.start_s) == (11, 600)
    spent.add(start(), lost_s=600.0)  # a try of it that was cut short
    assert spent.left() == 9


def test_hours_without_a_token_are_a_budget_of_their_own() -> None:
    spent = Spent(Budget(hours=100.0, downtime_hours=0.1))
    spent.add(start(), lost_s=0.0)
    assert spent.left() == 5
    quiet = Spent(Budget(hours=100.0, downtime_hours=0.1))
    quiet.add(start(downtime_s=0.0), lost_s=0.0)
    assert quiet.left() > 500


@pytest.mark.parametrize(("hours", "reserved"), [(10.0, 8), (1.5, 4), (0.7, 4)])
def test_the_confirmation_has_four_pairs_or_half_of_the_rest_or_its_first_look(
    hours: float, reserved: int
) -> None:
    spent = Spent(Budget(hours=hours, start_minutes=10.0))
    spent.reserve(RULE, KNOWN)
    assert spent.reserved == reserved


def test_a_first_look_needs_a_spread_that_is_known() -> None:
    assert fewest_pairs(RULE, KNOWN) == 2
    assert fewest_pairs(RULE, None) == 4
    assert fewest_pairs(RULE, Noise(spread=0.01, df=0.5)) == 4


def test_the_looks_are_those_that_the_rest_allows() -> None:
    spent = Spent(Budget(hours=2.0, start_minutes=10.0))  # 12 starts
    assert spent.looks(RULE, KNOWN) == (2, 4, 6)
    spent = Spent(Budget(hours=0.5, start_minutes=10.0))
    assert spent.looks(RULE, KNOWN) == ()


def test_what_can_be_shown_depends_on_how_far_starts_differ() -> None:
    quiet = forecast(Budget(hours=8), RULE, baseline=4, known=Noise(spread=0.005, df=10.0), start_s=600.0)
    noisy = forecast(Budget(hours=8), RULE, baseline=4, known=Noise(spread=0.04, df=10.0), start_s=600.0)
    assert quiet is not None
    assert noisy is not None
    assert quiet.smallest is not None
    assert noisy.smallest is not None
    assert 7 < noisy.smallest / quiet.smallest < 9
    assert (quiet.start_known, quiet.spread_known) == (True, True)
