"""Intervals between two arms: known quantiles, and coverage by simulation."""

import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.stats import change, t_quantile

KNOWN = [  # two decimals more than tables print
    (0.95, 1, 6.313752),
    (0.95, 2, 2.919986),
    (0.975, 7, 2.364624),
    (0.9, 4, 1.533206),
    (0.995, 30, 2.749996),
    (0.95, 1e6, 1.644854),
    (0.999, 1, 318.308839),
]


@pytest.mark.parametrize(("p", "df", "value"), KNOWN)
def test_quantiles_are_those_of_the_tables(p: float, df: float, value: float) -> None:
    assert t_quantile(p, df) == pytest.approx(value, rel=1e-6)
    assert t_quantile(1 - p, df) == pytest.approx(-value, rel=1e-6)


@pytest.mark.parametrize("p", [0.51, 0.75, 0.9, 0.99])
def test_two_cases_have_closed_forms(p: float) -> None:
    assert t_quantile(p, 1) == pytest.approx(math.tan(math.pi * (p - 0.5)), rel=1e-9)
    assert t_quantile(p, 2) == pytest.approx((2 * p - 1) * math.sqrt(2 / (4 * p * (1 - p))), rel=1e-9)


@given(st.floats(0.51, 0.999), st.floats(0.3, 500))
def test_fewer_degrees_of_freedom_are_wider(p: float, df: float) -> None:
    assert t_quantile(p, df) >= t_quantile(p, df * 1.5) * (1 - 1e-9)


@pytest.mark.parametrize(("p", "df"), [(0, 1), (1, 1), (0.5, 0), (math.nan, 1), (0.9, math.nan)])
def test_what_has_no_quantile_is_refused(p: float, df: float) -> None:
    with pytest.raises(ValueError, match="expected"):
        t_quantile(p, df)


def _runs(draw: random.Random, count: int, mean: float, spread: float) -> list[float]:
    return [mean * math.exp(draw.gauss(0, spread)) for _ in range(count)]


@pytest.mark.parametrize(
    ("of_a", "of_b", "spread_b"), [(2, 2, 0.01), (3, 3, 0.05), (2, 6, 0.002), (5, 5, 0.01)]
)
def test_an_interval_covers_the_true_ratio(of_a: int, of_b: int, spread_b: float) -> None:
    draw, above, below = random.Random(7), 0, 0
    for _ in range(800):
        found = change(_runs(draw, of_a, 100, 0.01), _runs(draw, of_b, 104, spread_b))
        assert found.low is not None
        assert found.high is not None
        above += found.low > 1.04
        below += found.high < 1.04
    assert above / 800 < 0.08  # 5 % are asked for; unequal spreads in few runs cost up to 2 more
    assert below / 800 < 0.08


def test_pairs_take_out_what_both_runs_share() -> None:
    draw, apart, together, covered = random.Random(4), 0.0, 0.0, 0
    for _ in range(400):
        drift = [draw.gauss(0, 0.05) for _ in range(4)]
        a = [100 * math.exp(each + draw.gauss(0, 0.005)) for each in drift]
        b = [102 * math.exp(each + draw.gauss(0, 0.005)) for each in drift]
        for paired in (False, True):
            found = change(a, b, paired=paired)
            assert found.low is not None
            assert found.high is not None
            if paired:
                together += found.high - found.low
                covered += found.low <= 1.02 <= found.high
            else:
                apart += found.high - found.low
    assert together < 0.3 * apart
    assert 0.87 < covered / 400 < 0.93


def test_too_little_carries_no_interval() -> None:
    for a, b in (([1.0], [2.0]), ([1.0, 1.1], [2.0]), ([1.0, 1.0], [2.0, 2.1])):
        found = change(a, b)
        assert (found.low, found.high) == (None, None)
        assert found.ratio == pytest.approx(found.b / found.a)
    assert change([1.0, 1.1], [2.0, 2.2], paired=True).low is None  # the differences do not differ


def test_ratios_that_no_float_holds_are_cut() -> None:
    for a, b in (([1e299, 1.1e299], [1e-320, 2e-320]), ([1e-320, 2e-320], [1e299, 1.1e299])):
        found = change(a, b)
        assert found.low is not None
        assert found.high is not None
        assert 0 < found.low <= found.ratio <= found.high < math.inf
        assert 1 / found.low < math.inf


def test_what_has_no_ratio_is_refused() -> None:
    for a, b in (([], [1.0]), ([0.0], [1.0]), ([1.0], [-1.0])):
        with pytest.raises(ValueError, match="positive"):
            change(a, b)
    with pytest.raises(ValueError, match="as many"):
        change([1.0], [1.0, 2.0], paired=True)
