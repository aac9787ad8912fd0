"""Decisions on result files: which runs are pairs of fresh starts, and what forbids a decision."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import count
from typing import Any

import pytest

from assay.bench import Measurement, Objection, Rule, RunFile, compare
from assay.decisions import Decision, NoDecision, decide_files
from assay.errors import InputError

_NUMBERS = count()
ABBA = (0, 3, 4, 7, 8, 11, 12, 15), (1, 2, 5, 6, 9, 10, 13, 14)
DRIFT = 0.004
WOBBLE = (0.003, -0.004, 0.001, -0.002, 0.004, 0.0, -0.003, 0.002)


def run(throughput: float, at: int | None, **changes: Any) -> RunFile:
    values: dict[str, Any] = {
        "load": "concurrency 16",
        "open": False,
        "figures": {"output_throughput": throughput, "median_ttft_ms": 1e5 / throughput},
        "completed": 100,
        **changes,
    }
    return RunFile(
        path="r.json",
        tool="assay bench",
        date="" if at is None else f"2026-01-01T{at:02}",
        digest=str(next(_NUMBERS)),
        measurements=(Measurement(**values),),
    )


def arms(
    gain: float, *, dated: bool = True, runs: int = 8, **changes: Any
) -> tuple[list[RunFile], list[RunFile]]:
    """Runs in the order A B B A on a machine that drifts, with a gain of B."""

    def arm(times: Sequence[int], gain: float) -> list[RunFile]:
        return [
            run(100 * math.exp(gain + DRIFT * at + wobble), at if dated else None, **changes)
            for at, wobble in zip(times[:runs], WOBBLE, strict=False)
        ]

    return arm(ABBA[0], 0.0), arm(ABBA[1], gain)


def test_dates_show_which_runs_are_pairs() -> None:
    a, b = arms(0.05)
    found = decide_files(compare(a, b[::-1]))  # the order of the files does not matter
    assert isinstance(found, Decision)
    assert (found.outcome, found.pairs, found.primary) == ("ship", 8, "concurrency 16")
    assert found.levels[0].ratio == pytest.approx(math.exp(0.05), rel=0.003)
    nothing = decide_files(compare(*arms(0.0)))
    assert isinstance(nothing, Decision)
    assert nothing.outcome == "not_shown"


def test_less_latency_is_a_gain() -> None:
    rule = Rule(metrics=("median_ttft_ms",))
    found = decide_files(compare(*arms(0.05), rule))
    assert isinstance(found, Decision)
    assert found.outcome == "ship"


def test_known_noise_lets_three_pairs_decide() -> None:
    a, b = arms(0.05, runs=3)
    alone = decide_files(compare(a, b))
    assert isinstance(alone, Decision)
    assert alone.reason == "too_few_pairs"
    before = [run(100 * math.exp(each), at) for at, each in enumerate((0.0, 0.01, 0.002, 0.009, 0.001))]
    found = decide_files(compare(a, b), known=before)
    assert isinstance(found, Decision)
    assert found.outcome == "ship"
    assert found.levels[0].df == pytest.approx(2 + 32 / 11)


def test_runs_that_are_no_pairs_give_no_decision() -> None:
    a, b = arms(0.05, dated=False)
    found = decide_files(compare(a, b))
    assert isinstance(found, NoDecision)
    assert "--paired" in found.why
    assert isinstance(decide_files(compare(a, b, Rule(paired=True))), Decision)
    uneven = decide_files(compare(arms(0.05)[0][:7], arms(0.05)[1]))
    assert isinstance(uneven, NoDecision)
    blocks = [run(100 + at, at) for at in range(4)], [run(110 + at, 10 + at) for at in range(4)]
    assert isinstance(decide_files(compare(*blocks)), NoDecision)


def test_doubts_and_runs_of_one_start_give_no_decision() -> None:
    doubt = Objection(code="client-backlog", blocks=True, text="late")
    for changes, word in (({"objections": (doubt,)}, "late"), ({"started": 5.0}, "fresh starts")):
        found = decide_files(compare(*arms(0.05, **changes)))
        assert isinstance(found, NoDecision)
        assert word in found.why
    known = [run(100, 1, started=3.0), run(101, 2, started=3.0)]
    of_one = decide_files(compare(*arms(0.05)), known=known)
    assert isinstance(of_one, NoDecision)
    assert "one start" in of_one.why


@pytest.mark.parametrize(
    ("changes", "count"),
    [
        ({"load": "concurrency 99"}, 6),
        ({}, 3),
        ({"figures": {"output_throughput": 0.0}}, 6),
        ({"figures": {}}, 6),
    ],
)
def test_noise_that_says_nothing_of_these_loads_is_refused(changes: dict[str, Any], count: int) -> None:
    known = [run(100 + at % 2, at, **changes) for at in range(count)]
    with pytest.raises(InputError, match="nothing is learnt of noise"):
        decide_files(compare(*arms(0.05)), known=known)


@pytest.mark.parametrize(
    ("changes", "other"), [({"model": "other"}, "the model"), ({"work": {"num_prompts": "9"}}, "num_prompts")]
)
def test_noise_of_other_work_gives_no_decision(changes: dict[str, Any], other: str) -> None:
    known = [run(100 + at % 2, at, **changes) for at in range(6)]
    found = decide_files(compare(*arms(0.05)), known=known)
    assert isinstance(found, NoDecision)
    assert f"{other} differs" in found.why


def test_an_unknown_primary_load_is_refused() -> None:
    with pytest.raises(InputError, match="concurrency 99"):
        decide_files(compare(*arms(0.05)), primary="concurrency 99")
