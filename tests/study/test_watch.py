"""When a watch sends a change back, and when it lets it stay: looks with known figures."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.bench import Measurement, RunFile
from assay.errors import InputError
from assay.study import Proven, ProvenLoad, Standing, WatchLook, WatchRule, proven_by_runs

RULE = WatchRule(seconds=60, every_s=15)
PROVEN = Proven(
    by="study s",
    loads=(
        ProvenLoad(concurrency=1, token_ms=10, ttft_ms=50),
        ProvenLoad(concurrency=16, token_ms=30, ttft_ms=200),
    ),
    acceptance=2.5,
)


def look(at_s: float, **more: Any) -> WatchLook:
    return msgspec.structs.replace(WatchLook(id="r", at_s=at_s, asked=4), **more)


def standing(*looks: WatchLook, proven: Proven | None = PROVEN, rule: WatchRule = RULE) -> Standing:
    """After these looks, or those until it had to go back."""
    found = Standing(rule, proven)
    for each in looks:
        if found.leave:
            break
        found.add(each)
    return found


def row(count: int, **more: Any) -> list[WatchLook]:
    return [look(15.0 * at, **more) for at in range(count)]


def test_it_is_well_when_it_was_seen_for_long_enough() -> None:
    assert not standing(*row(4)).well
    assert standing(*row(5)).well


@pytest.mark.parametrize(
    ("bad", "told"),
    [
        ({"failed": 1, "reason": "it answered 500"}, "1 of 4 requests failed: it answered 500"),
        ({"running": 1.0, "token_ms": 15.1}, "15.1 ms a token, of at most 15 among 1 requests"),
        ({"running": 2.0, "token_ms": 45.1}, "45.1 ms a token, of at most 45 among 16 requests"),
        ({"answer_ms": 3300.0, "answer_tokens": 64}, "3300 ms an answer, of at most 3180 among 16"),
        ({"acceptance": 1.9}, "1.9 tokens a step of speculation, of at least 2"),
    ],
)
def test_what_is_out_of_range_twice_in_a_row_sends_it_back(bad: dict[str, Any], told: str) -> None:
    once = standing(*row(3), look(45, **bad), look(60))
    assert not once.leave
    assert told in standing(*row(3), look(45, **bad), look(60, **bad)).leave


@pytest.mark.parametrize(
    "fine",
    [
        {"running": 1.0, "token_ms": 14.9},
        {"running": 2.0, "token_ms": 44.9},
        {"running": 17.0, "token_ms": 500.0},  # beyond what was proven nobody knows
        {"acceptance": 2.1},
        {"asked": 100, "failed": 2},
    ],
)
def test_what_is_in_range_stays(fine: dict[str, Any]) -> None:
    assert standing(*row(5, **fine)).well


def test_two_figures_out_of_range_by_turns_are_no_row() -> None:
    slow, failing = {"running": 1.0, "token_ms": 99.0}, {"failed": 1}
    assert not standing(look(0, **slow), look(15, **failing), look(30, **slow), look(45, **failing)).leave


def test_errors_now_and_then_add_up() -> None:
    every_other = [look(15.0 * at, failed=at % 2) for at in range(12)]
    assert standing(*every_other).leave == "5 of 40 requests failed in all"


def test_damaged_answers_send_it_back_at_once() -> None:
    assert "damaged: empty, 3 of 8" in standing(look(0), look(15, faults=("empty, 3 of 8",))).leave


def test_it_does_not_end_with_a_look_that_is_out_of_range() -> None:
    assert not standing(*row(6), look(90, failed=1)).well


def test_time_that_was_not_seen_does_not_count() -> None:
    blind = [look(15.0 * at, unseen="no link") for at in range(1, 10)]
    found = standing(look(0), *blind, look(150), look(165))
    assert found.watched_s == 15
    assert not found.well
    assert not found.leave


def test_who_sees_nothing_for_long_lets_it_go_back() -> None:
    found = standing(look(0), *(look(100.0 * at, unseen="no link") for at in range(1, 5)))
    assert found.leave == "nothing could be seen for 400 s: no link"


def test_without_a_range_only_errors_and_answers_speak() -> None:
    assert standing(*row(5, token_ms=1e6, acceptance=1.0), proven=None).well
    assert standing(*row(5, failed=4), proven=None).leave


@given(st.lists(st.integers(0, 4), min_size=1, max_size=30))
def test_what_fails_more_than_the_rule_allows_never_ends_well(failures: list[int]) -> None:
    found = standing(*(look(15.0 * at, failed=each) for at, each in enumerate(failures)))
    asked, failed = found.requests
    if failed >= RULE.failures and failed / asked > RULE.errors:
        assert found.leave
        assert not found.well


def measured(load: str, tpot: float, acceptance: float | None = None) -> RunFile:
    figures = {"mean_tpot_ms": tpot, "mean_ttft_ms": 5 * tpot}
    measurement = Measurement(
        load=load, open=False, figures=figures, completed=9, acceptance_length=acceptance
    )
    return RunFile(path="x", tool="assay bench", digest=f"{tpot}", measurements=(measurement,))


def test_a_range_is_the_worst_of_all_runs() -> None:
    runs = [
        measured("concurrency 4", 10, 2.5),
        measured("concurrency 4", 12, 2.7),
        measured("concurrency 1", 5),
    ]
    found = proven_by_runs(runs, by="study s")
    assert [(each.concurrency, each.token_ms, each.ttft_ms) for each in found.loads] == [
        (1, 5, 25),
        (4, 12, 60),
    ]
    assert found.acceptance == 2.5
    assert [each and each.concurrency for each in map(found.at, (0, 2, 4, 5))] == [1, 4, 4, None]


def test_open_loads_are_no_range() -> None:
    with pytest.raises(InputError, match="no load that keeps"):
        proven_by_runs([measured("4 req/s", 10)], by=str(Path("results")))
