"""Verdicts between two arms with known answers, and how often the rule errs."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from typing import Any

import msgspec
import pytest

from assay.bench import Comparison, Measurement, Objection, Rule, RunFile, compare
from assay.errors import InputError

_NUMBERS = iter(range(10**9))


def run(
    throughput: float,
    *,
    load: str = "concurrency 16",
    date: str = "",
    tool: str = "assay bench",
    **changes: Any,
) -> RunFile:
    """A run with one figure, and latencies that follow from it."""
    measurement = Measurement(
        load=load,
        open=False,
        figures={
            "output_throughput": throughput,
            "median_ttft_ms": 1e4 / (throughput or 1),
            "median_tpot_ms": 5.0,
        },
        completed=100,
        failed=0,
        input_tokens=1000,
        output_tokens=2000,
        work={"prompts": "random"},
        model="m",
        seed="0",
    )
    measurement = msgspec.structs.replace(measurement, **changes)
    return RunFile(
        path="r.json", tool=tool, date=date, digest=str(next(_NUMBERS)), measurements=(measurement,)
    )


def arm(*throughputs: float, **changes: Any) -> list[RunFile]:
    return [run(each, **changes) for each in throughputs]


BASE = (100.0, 101.0, 99.0, 100.5)

CASES = [
    ([100, 100.4, 99.7], "same", "same"),
    ([110, 111, 109], "same", "better"),
    ([99, 105, 101, 103], "same", "not_worse"),
    ([90, 91, 89.5], "worse", "worse"),
    ([95.5, 97, 96.2], "inconclusive", "inconclusive"),
    ([90, 110, 100], "inconclusive", "inconclusive"),
    ([50], "inconclusive", "inconclusive"),
]


@pytest.mark.parametrize(("b", "outcome", "verdict"), CASES)
def test_the_interval_against_the_margin_decides(b: Sequence[float], outcome: str, verdict: str) -> None:
    found = compare(arm(*BASE), arm(*b))
    [load] = found.loads
    assert (found.outcome, load.outcome) == (outcome, outcome)
    first = load.rows[0]
    assert (first.name, first.decides, first.verdict) == ("output_throughput", True, verdict)
    assert [row.decides for row in load.rows[1:]] == [False, False]


def test_less_latency_is_better_and_one_run_carries_nothing() -> None:
    rule = Rule(metrics=("median_ttft_ms",))
    assert compare(arm(*BASE), arm(110, 111, 109), rule).loads[0].rows[0].verdict == "better"
    assert compare(arm(*BASE), arm(90, 91, 89.5), rule).outcome == "worse"
    alone = compare(arm(100), arm(50))
    assert alone.outcome == "inconclusive"
    assert alone.loads[0].rows[0].change is not None
    assert alone.loads[0].rows[0].change.low is None


def test_an_open_loop_is_judged_by_its_latencies() -> None:
    a, b = (arm(*values, open=True) for values in (BASE, (90.0, 91.0, 89.5)))
    [load] = compare(a, b).loads
    assert [row.name for row in load.rows if row.decides] == ["median_ttft_ms", "median_tpot_ms"]
    assert load.outcome == "worse"  # TTFT grew by a tenth; TPOT that never differs carries no interval


def test_loads_are_compared_one_by_one() -> None:
    a = [*arm(*BASE), *arm(*BASE, load="concurrency 1"), *arm(3, load="concurrency 4")]
    b = [*arm(90, 91, 89.5, load="concurrency 1"), *arm(*(each * 1.001 for each in BASE))]
    found = compare(a, [*b, *arm(5, load="concurrency 64")])
    assert {each.load: each.outcome for each in found.loads} == {
        "concurrency 16": "same",
        "concurrency 1": "worse",
    }
    assert (found.outcome, found.only_a, found.only_b) == ("worse", ("concurrency 4",), ("concurrency 64",))


@pytest.mark.parametrize(("ratio", "outcome"), [(1.001, "inconclusive"), (0.9, "worse")])
def test_a_load_that_b_lacks_is_no_pass(ratio: float, outcome: str) -> None:
    a = [*arm(*BASE), *arm(*BASE, load="concurrency 64")]
    found = compare(a, arm(*(each * ratio for each in BASE)))
    assert (found.outcome, found.only_a) == (outcome, ("concurrency 64",))
    more = compare(arm(*BASE), [*arm(*(each * 1.001 for each in BASE)), *arm(7, load="concurrency 64")])
    assert (more.outcome, more.only_b) == ("same", ("concurrency 64",))


def test_parts_of_one_file_of_ours_are_one_run() -> None:
    def twice(tool: str) -> Comparison:
        files = [run(100, tool=tool), run(101, tool=tool)]
        parts = [msgspec.structs.replace(file, measurements=file.measurements * 2) for file in files]
        return compare(parts, arm(100, 101, tool=tool))

    for tool, runs in (("assay bench", 2), ("vllm bench serve", 4)):
        change = twice(tool).loads[0].rows[0].change
        assert change is not None
        assert change.runs_a == runs
    assert [each.code for each in twice("vllm bench serve").loads[0].objections] == ["repeats-in-one-file"]


def codes(found: Comparison) -> dict[str, bool]:
    assert all(each.text for each in found.loads[0].objections)
    return {each.code: each.blocks for each in found.loads[0].objections}


DOUBT = Objection(code="client-backlog", blocks=True, text="late", mend="idle machine")
CHANGES: list[tuple[dict[str, Any], dict[str, bool], str]] = [
    ({}, {}, "same"),
    ({"objections": (DOUBT,)}, {"client-backlog": True}, "doubtful"),
    ({"work": {"prompts": "own"}}, {"workload-differs": True}, "doubtful"),
    ({"output_tokens": 2200}, {"lengths-differ": True}, "doubtful"),
    ({"input_tokens": 900}, {"lengths-differ": True}, "doubtful"),
    ({"tool": "guidellm"}, {"tools-differ": True}, "doubtful"),
    ({"model": "other"}, {"models-differ": False}, "same"),
    ({"seed": "7"}, {"seeds-differ": False}, "same"),
]


@pytest.mark.parametrize(("changes", "expected", "outcome"), CHANGES, ids=lambda value: str(value)[:30])
def test_doubts_forbid_a_verdict(changes: dict[str, Any], expected: dict[str, bool], outcome: str) -> None:
    found = compare(arm(*BASE), arm(*(each * 1.001 for each in BASE), **changes))
    assert (codes(found), found.outcome) == (expected, outcome)


def test_a_doubt_at_one_load_leaves_the_others_alone() -> None:
    worse = arm(90, 91, 89.5)
    a = [*arm(*BASE), *arm(*BASE, load="concurrency 1", objections=(DOUBT,))]
    assert compare(a, [*worse, *arm(*BASE, load="concurrency 1")]).outcome == "worse"
    assert compare(a, [*arm(100, 100.4, 99.7), *arm(*BASE, load="concurrency 1")]).outcome == "doubtful"


def test_order_is_a_matter_of_drift() -> None:
    a = [run(100, date="2026-01-01T10"), run(101, date="2026-01-01T13")]
    inside = [run(100.5, date="2026-01-01T11"), run(101.5, date="2026-01-01T12")]
    after = [run(100.5, date="2026-01-01T14"), run(101.5, date="2026-01-01T15")]
    assert codes(compare(a, inside)) == {}
    assert codes(compare(a, after)) == {"not-interleaved": False}


def test_pairs_need_partners() -> None:
    drift = (100.0, 80.0, 120.0)
    a, b = (
        arm(*drift),
        arm(*(each * factor for each, factor in zip(drift, (1.05, 1.051, 1.049), strict=True))),
    )
    assert compare(a, b).outcome == "inconclusive"
    assert compare(a, b, Rule(paired=True)).loads[0].rows[0].verdict == "better"
    with pytest.raises(InputError, match="3 runs of A and 2 of B"):
        compare(a, b[:2], Rule(paired=True))


def test_what_cannot_be_compared_is_refused() -> None:
    a = arm(*BASE)
    with pytest.raises(InputError, match="both arms"):
        compare(a, a)
    with pytest.raises(InputError, match="no load in common"):
        compare(a, arm(100, load="concurrency 2"))
    with pytest.raises(InputError, match="no figure of that name"):
        compare(a, arm(100), Rule(metrics=("speed",)))
    with pytest.raises(InputError, match="not in every run"):
        compare(a, arm(100), Rule(metrics=("p99_ttft_ms",)))


def test_zero_has_no_ratio() -> None:
    found = compare(arm(*BASE), arm(0.0, 0.0))
    assert (found.outcome, found.loads[0].rows[0].change) == ("inconclusive", None)


@pytest.mark.parametrize(
    ("true", "outcome", "at_most"), [(1.0, "worse", 0.02), (0.94, "same", 0.02), (0.97, "same", 0.07)]
)
def test_how_often_the_rule_errs(true: float, outcome: str, at_most: float) -> None:
    draw, wrong = random.Random(5), 0
    for _ in range(400):
        a, b = ([mean * math.exp(draw.gauss(0, 0.01)) for _ in range(3)] for mean in (100, 100 * true))
        wrong += compare(arm(*a), arm(*b)).outcome == outcome
    assert wrong / 400 <= at_most


def test_runs_of_one_start_are_no_full_repeats() -> None:
    a = [run(each, started=5.0 + at) for at, each in enumerate(BASE)]
    assert codes(compare(a, arm(100, 100.4, 99.7, started=9.0))) == {"one-start": False}
    assert codes(compare(a, [run(100, started=1.0), run(101)])) == {}


def test_absurd_figures_end_in_no_traceback() -> None:
    values = [1e-300, 1e299, 1.0]
    rule = Rule(metrics=("median_tpot_ms",))
    a, b = ([run(1.0, figures={"median_tpot_ms": each}) for each in values[::step]] for step in (1, -1))
    assert compare(a, b, rule).outcome == "inconclusive"
