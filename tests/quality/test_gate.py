"""The gate against servers that corrupt in known ways, and how often it errs on servers that do not."""

from __future__ import annotations

import random
from collections.abc import Sequence
from functools import cache

import pytest

from assay.quality import (
    Beside,
    LogprobDistance,
    Sampled,
    check_outputs,
    distance,
    judge,
    paired,
    sampled_faults,
)
from tests.quality.fakes import Corrupt, logprobs, outputs, starts

REFERENCE = 99


@cache
def reference() -> list[list[float]]:
    return logprobs(REFERENCE)


@cache
def own() -> tuple[LogprobDistance, ...]:
    return tuple(distance(reference(), each) for each in starts(4))


@cache
def at(kl: float, loss: float = 0.0, seed: int = 7) -> LogprobDistance:
    return distance(reference(), logprobs(seed, kl, loss))


CORRUPTIONS: list[tuple[str, Corrupt, str, str]] = [
    ("one sequence in 200 repeats", lambda draw, _at, _p: draw.random() < 1 / 200, "repeats", "repeats"),
    ("5 % of long prompts", lambda draw, _at, p: p > 3000 and draw.random() < 0.05, "repeats", "repeats"),
    ("one in 200 is strange", lambda draw, _at, _p: draw.random() < 1 / 200, "strange", "strange"),
    ("drift after 30 requests", lambda draw, at, _p: at > 30 and draw.random() < 0.02, "empty", "empty"),
]


@pytest.mark.parametrize(("name", "corrupt", "how", "code"), CORRUPTIONS, ids=lambda value: str(value)[:28])
def test_rare_damage_is_seen_in_the_outputs_of_the_load(
    name: str, corrupt: Corrupt, how: str, code: str
) -> None:
    """One in 200 of 1,200 is three or more with a chance of 94 %; the gate says what it could see."""
    del name
    seen = []
    for seed in range(2, 22):
        faults = check_outputs(outputs(1), outputs(seed, corrupt=corrupt, how=how))
        found = judge(at(5e-4), own(), Beside(faults=faults, outputs=1200))
        assert found.smallest_share is not None
        assert found.smallest_share < 1 / 200
        seen.append(found.verdict)
        if faults:
            assert faults[0].code == code
            assert code in found.reasons[0]
    assert seen.count("damaged") >= 16
    assert seen.count("damaged") + seen.count("suspicious") >= 19


def test_drift_is_also_seen_where_only_late_answers_are_broken() -> None:
    late: Corrupt = lambda draw, at, _p: at > 600 and draw.random() < 0.01  # noqa: E731
    found = check_outputs(outputs(1), outputs(3, corrupt=late, how="empty"))
    assert found[0].damaged


@pytest.mark.parametrize("seed", range(8))
def test_a_server_that_is_the_same_is_called_so(seed: int) -> None:
    faults = check_outputs(outputs(1), outputs(20 + seed))
    assert faults == ()
    assert judge(at(5e-4, seed=40 + seed), own(), Beside(faults=faults, outputs=1200)).verdict in (
        "same",
        "numerics_changed",
    )


def test_the_same_server_is_hardly_ever_called_changed() -> None:
    called = [judge(at(5e-4, seed=200 + each), own()).verdict for each in range(30)]
    assert called.count("same") >= 27
    assert "damaged" not in called


CHANGES = [
    (1.5e-3, 0.0, "numerics_changed"),  # another kernel
    (5e-3, 0.0, "suspicious"),
    (3.5e-2, 0.0, "damaged"),  # four bits
    (1e-3, 0.02, "suspicious"),  # little divergence, but text becomes less likely
]


@pytest.mark.parametrize(("kl", "loss", "verdict"), CHANGES)
def test_the_size_of_a_change_decides(kl: float, loss: float, verdict: str) -> None:
    found = judge(at(kl, loss), own())
    assert found.verdict == verdict
    assert found.reasons
    assert found.smallest_k3 is not None
    assert found.smallest_k3 < 2e-3


def test_lossy_but_fine_needs_questions_and_the_users_word() -> None:
    draw = random.Random(3)
    right = [draw.random() < 0.8 for _ in range(1319)]
    few = [not each if draw.random() < 0.005 else each for each in right]
    fine = judge(at(5e-3), own(), Beside(questions=paired(right, few), lossy=True))
    assert (fine.verdict, fine.needs_word) == ("numerics_changed", True)
    worse = [each and draw.random() > 0.05 for each in right]
    assert judge(at(5e-3), own(), Beside(questions=paired(right, worse), lossy=True)).verdict == "damaged"
    assert judge(at(5e-3), own(), Beside(lossy=True)).verdict == "suspicious"


def test_flips_between_cold_and_warm_are_no_regression() -> None:
    """A cache changes the numerics of a prompt's end: the baseline does the same, so it is its own noise."""
    mixed = [_mixed(seed) for seed in range(4)]
    noise = tuple(distance(reference(), each) for each in mixed)
    assert judge(distance(reference(), _mixed(9)), noise).verdict == "same"
    assert judge(distance(reference(), _mixed(9)), own()).verdict != "damaged"


def _mixed(seed: int) -> list[list[float]]:
    """Half of the prompts answered from a warm cache, with other kernels."""
    cold, warm = logprobs(300 + seed), logprobs(400 + seed, 1.5e-3)
    return [warm[place] if place % 2 else each for place, each in enumerate(cold)]


def test_a_number_that_is_none_is_damage() -> None:
    broken = [list(each) for each in logprobs(5)]
    broken[3][7] = float("nan")
    assert judge(distance(reference(), broken), own()).verdict == "damaged"


def test_one_broken_prompt_is_damage() -> None:
    broken = [list(each) for each in logprobs(5)]
    broken[3] = [value - (2.0 if place % 2 else 0.0) for place, value in enumerate(broken[3])]
    assert judge(distance(reference(), broken), own()).verdict == "damaged"


def test_without_enough_starts_of_the_baseline_nothing_is_called_same() -> None:
    assert judge(at(5e-4), own()[:2]).verdict == "numerics_changed"
    assert judge(at(5e-4), own()[:2]).smallest_k3 is None


def _samples(seed: int, logprob: float = -1.2, ended: float = 0.5, length: float = 5.0) -> Sequence[Sampled]:
    draw = random.Random(seed)
    return [
        Sampled(
            logprob=draw.gauss(logprob, 0.25),
            tokens=round(2.718 ** draw.gauss(length, 0.4)),
            ended=draw.random() < ended,
        )
        for _ in range(200)
    ]


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({}, None),
        ({"logprob": -1.35}, "sampled-logprob"),
        ({"ended": 0.2}, "sampled-ends"),
        ({"length": 4.7}, "sampled-length"),
    ],
)
def test_samples_show_faults_of_samplers_and_stop_tokens(changes: dict[str, float], code: str | None) -> None:
    found = sampled_faults(_samples(1), _samples(2, **changes))
    assert [each.code for each in found] == ([] if code is None else [code])
    assert all(each.damaged for each in found)
