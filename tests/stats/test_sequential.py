"""Boundaries of several looks against known ones and against simulation; noise of starts."""

import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.stats import Noise, boundaries, noise, paired_mean, pooled

KNOWN = [  # Pocock-type spending at equal steps, one-sided; simulated with 4e6 paths, to 0.005
    ((1,), 0.05, (1.645,)),
    ((2, 4, 6, 8), 0.05, (2.100, 2.076, 2.053, 2.035)),
    ((4, 6, 8), 0.05, (1.866, 2.004, 2.009)),
]


@pytest.mark.parametrize(("looks", "error", "expected"), KNOWN)
def test_boundaries_are_the_known_ones(
    looks: tuple[int, ...], error: float, expected: tuple[float, ...]
) -> None:
    assert boundaries(looks, error) == pytest.approx(expected, abs=0.005)


def test_all_looks_together_err_as_asked() -> None:
    draw, looks, crossed = random.Random(2), (1, 2, 5, 9), 0
    found = boundaries(looks, 0.1)
    for _ in range(20_000):
        total, values = 0.0, 0
        for look, boundary in zip(looks, found, strict=True):
            total += math.fsum(draw.gauss(0, 1) for _ in range(look - values))
            values = look
            if total > boundary * math.sqrt(look):
                crossed += 1
                break
    assert crossed / 20_000 == pytest.approx(0.1, abs=0.007)


def test_what_ends_early_has_spent_less() -> None:
    assert boundaries((2, 3), 0.05, of=8)[-1] > boundaries((2, 3), 0.05)[-1]


@pytest.mark.parametrize(
    ("looks", "error"), [((), 0.05), ((2, 2), 0.05), ((4, 2), 0.05), ((0, 1), 0.05), ((1, 2), 0.6)]
)
def test_what_is_no_plan_is_refused(looks: tuple[int, ...], error: float) -> None:
    with pytest.raises(ValueError, match="expected"):
        boundaries(looks, error)


def test_noise_of_starts_is_found_also_under_drift() -> None:
    draw = random.Random(3)
    plain: list[float] = []
    drifting: list[float] = []
    for _ in range(2000):
        starts = [draw.gauss(0, 0.01) for _ in range(8)]
        for seen, drift in ((plain, 0.0), (drifting, 0.004)):
            found = noise([100 * math.exp(each + drift * at) for at, each in enumerate(starts)])
            assert found is not None
            seen.append(found.spread**2)
    assert math.sqrt(math.fsum(plain) / 2000) == pytest.approx(0.01, rel=0.03)
    assert math.sqrt(math.fsum(drifting) / 2000) == pytest.approx(0.01, rel=0.06)  # as drawn: 0.0137


def test_degrees_of_freedom_are_those_of_the_estimate() -> None:
    """A chi-squared variable over its degrees of freedom has the variance 2 / df."""
    draw, count, squares = random.Random(4), 6, []
    for _ in range(4000):
        found = noise([math.exp(draw.gauss(0, 0.01)) for _ in range(count)])
        assert found is not None
        squares.append((found.spread / 0.01) ** 2)
    mean = math.fsum(squares) / 4000
    variance = math.fsum((each - mean) ** 2 for each in squares) / 4000
    assert 2 / variance == pytest.approx(2 * (count - 1) ** 2 / (3 * count - 4), rel=0.15)


def test_known_noise_is_pooled_by_its_degrees_of_freedom() -> None:
    assert pooled([]) is None
    both = pooled([Noise(spread=0.01, df=3), Noise(spread=0.03, df=9)])
    assert both is not None
    assert both.spread**2 == pytest.approx((3 * 0.0001 + 9 * 0.0009) / 12)
    many = pooled([Noise(spread=0.01, df=100)])
    assert many is not None
    assert many.df == 20


def test_a_difference_of_two_starts_has_twice_the_variance() -> None:
    known = Noise(spread=0.01, df=6)
    assert paired_mean([0.02], known).spread == pytest.approx(0.01 * math.sqrt(2))
    assert paired_mean([0.02], Noise(spread=0.01, df=1)).df == 0  # too little to be used
    assert paired_mean([0.0, 0.02]).spread == pytest.approx(0.02 / math.sqrt(2))


@given(st.lists(st.floats(-0.5, 0.5), min_size=2, max_size=9), st.floats(2, 20), st.floats(1e-4, 0.1))
def test_pooling_lies_between_both_sources(seen: list[float], df: float, spread: float) -> None:
    own, both = paired_mean(seen), paired_mean(seen, Noise(spread=spread, df=df))
    low, high = sorted((own.spread, spread * math.sqrt(2)))
    assert low * (1 - 1e-9) <= both.spread <= high * (1 + 1e-9)
    assert both.mean == own.mean


def test_what_has_no_noise_is_refused() -> None:
    assert noise([100.0]) is None
    with pytest.raises(ValueError, match="positive"):
        noise([1.0, 0.0])
    with pytest.raises(ValueError, match="at least one"):
        paired_mean([])
