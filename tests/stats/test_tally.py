"""A tally says of a sample what its sorted values say: exactly while small, closely beyond."""

from __future__ import annotations

import random
from statistics import stdev

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.stats import Tally, quantile, summarised


@given(st.lists(st.lists(st.integers(0, 1 << 50), max_size=20), max_size=8))
def test_a_small_sample_is_exact(parts: list[list[int]]) -> None:
    tally, values = Tally(), [value for part in parts for value in part]
    for part in parts:
        tally.add(part)
    found, expected = tally.summary(scale=1e6), summarised([value / 1e6 for value in values])
    assert found.count == expected.count == tally.count
    for name in ("mean", "median", "std", "least", "greatest", "p90", "p99"):
        value = getattr(expected, name)
        close = None if value is None else pytest.approx(value, rel=1e-9, abs=1e-6)
        assert getattr(found, name) == close
    assert tally.quantile(0.99) == (pytest.approx(quantile(sorted(values), 0.99)) if values else None)


def test_a_large_one_is_close_and_small_in_memory() -> None:
    draw = random.Random(7)
    values = [round(draw.lognormvariate(17, 1)) for _ in range(300_000)]
    tally = Tally()
    for at in range(0, len(values), 1000):
        tally.add(values[at : at + 1000])
    found, ordered = tally.summary(scale=1.0), sorted(values)
    for name, q in (("median", 0.5), ("p90", 0.9), ("p95", 0.95), ("p99", 0.99)):
        assert getattr(found, name) == pytest.approx(quantile(ordered, q), rel=1 / 4000)
    assert (found.least, found.greatest) == (ordered[0], ordered[-1])
    assert found.mean == pytest.approx(sum(values) / len(values), rel=1e-12)
    assert found.std == pytest.approx(stdev(values), rel=1e-9)
    assert len(tally._bins) < 100_000
    assert len(tally._some) <= 1 << 17


def test_fewer_independent_values_carry_fewer_quantiles() -> None:
    tally = Tally()
    tally.add(range(200_000))
    assert tally.summary(scale=1.0, independent=63).p90 is None
    assert tally.summary(scale=1.0, independent=64).p90 == pytest.approx(180_000, rel=1 / 4000)
