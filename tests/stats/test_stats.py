"""Summaries, intervals, steadiness: known answers and properties."""

import random
import statistics
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.stats import batch_means, carried_from, mser5, quantile, summarised, two_groups

FLOATS = st.floats(-1e6, 1e6)


def test_quantiles_need_as_many_values_as_mlperf_says() -> None:
    assert [carried_from(q) for q in (0.9, 0.95, 0.99)] == [64, 130, 662]
    with pytest.raises(ValueError, match="between"):
        carried_from(1.0)


@pytest.mark.parametrize(("count", "shown"), [(63, 0), (64, 1), (130, 2), (661, 2), (662, 3)])
def test_quantiles_are_there_only_where_the_sample_carries_them(count: int, shown: int) -> None:
    summary = summarised([float(n) for n in range(count)])
    assert sum(each is not None for each in (summary.p90, summary.p95, summary.p99)) == shown


def test_gaps_of_few_responses_carry_no_tail() -> None:
    assert summarised([1.0] * 1000, independent=10).p90 is None
    assert summarised([1.0] * 1000, independent=662).p99 == 1.0


def test_nothing_has_no_summary() -> None:
    assert summarised([]).mean is None
    assert summarised([3.0]).std is None


@given(st.lists(FLOATS, min_size=2, max_size=50))
def test_a_summary_agrees_with_the_standard_library(values: list[float]) -> None:
    summary = summarised(values)
    assert summary.mean == pytest.approx(statistics.fmean(values), abs=1e-6)
    assert summary.std == pytest.approx(statistics.stdev(values), abs=1e-6, rel=1e-6)
    assert summary.median == pytest.approx(statistics.median(values), abs=1e-6)


@given(st.lists(FLOATS, min_size=1, max_size=50), st.floats(0, 1))
def test_a_quantile_lies_within(values: list[float], q: float) -> None:
    ordered = sorted(values)
    assert ordered[0] - 1e-6 <= quantile(ordered, q) <= ordered[-1] + 1e-6


def _autocorrelated(seed: int, count: int, phi: float) -> list[float]:
    draw = random.Random(seed)
    at, values = 0.0, []
    for _ in range(count):
        at = phi * at + draw.gauss(0, 1)
        values.append(10 + at)
    return values


def test_batch_means_cover_the_mean_of_a_series_with_memory() -> None:
    runs = [batch_means(_autocorrelated(seed, 400, 0.8)) for seed in range(300)]
    covered = sum(each is not None and each.low <= 10 <= each.high for each in runs)
    assert covered / 300 > 0.85
    assert batch_means([1.0] * 39) is None


def test_mser5_cuts_the_warm_up_and_calls_a_trend_unsteady() -> None:
    draw = random.Random(1)
    steady = [100 + draw.gauss(0, 1) for _ in range(400)]
    cut = mser5([200.0 - n for n in range(50)] + steady)
    assert cut is not None
    assert 0.1 <= cut <= 0.2
    share = mser5(steady)
    assert share is not None
    assert share < 0.5
    trend = mser5([float(n) for n in range(400)])
    assert trend is not None
    assert trend > 0.5
    assert mser5([1.0] * 49) is None


def test_two_speeds_are_two_groups() -> None:
    draw = random.Random(2)
    values = [draw.gauss(10, 0.5) for _ in range(90)] + [draw.gauss(15, 0.5) for _ in range(30)]
    found = two_groups(values)
    assert found is not None
    means = [statistics.fmean(values[:90]), statistics.fmean(values[90:])]
    assert [found.low, found.high] == pytest.approx(means)
    assert found.share_high == 0.25
    assert two_groups(values[:50]) is None
    assert two_groups([10.0] * 95 + [20.0] * 5) is None  # a few late ones are no group
    assert two_groups([10.0] * 50 + [11.0] * 50) is None  # near enough to be one
    assert two_groups([0.0] * 100) is None


def test_one_group_is_not_taken_for_two() -> None:
    draw = random.Random(3)
    kinds: list[Callable[[], float]] = [
        lambda: draw.uniform(1, 100),
        lambda: draw.gauss(100, 20),
        lambda: draw.expovariate(1) + 0.01,
        lambda: draw.lognormvariate(0, 1.5),
        lambda: draw.gammavariate(0.5, 1) + 1e-9,
    ]
    for kind in kinds:
        assert sum(two_groups([kind() for _ in range(100)]) is not None for _ in range(200)) <= 2
