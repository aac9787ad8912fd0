"""Doubts and metrics of records with known answers."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from assay.bench import ClientReport, Level, RequestRecord, slos
from assay.bench.doubts import doubts
from assay.bench.metrics import metrics
from assay.errors import WorkloadError

MS = 1_000_000


def record(
    index: int, sent_ms: float, *, ttft_ms: float = 10, itl_ms: float = 5, tokens: int = 4
) -> RequestRecord:
    sent = 10**15 + round(sent_ms * MS)
    events = [sent + round((ttft_ms + itl_ms * at) * MS) for at in range(tokens)]
    return RequestRecord(
        index=index,
        connection=1,
        nth_on_connection=1,
        sent_ns=sent,
        due_ns=sent,
        last_byte_ns=events[-1],
        outcome="ok",
        events_ns=events,
        prompt_tokens=10,
        completion_tokens=tokens,
        backlog_ns=[0] * tokens,
    )


def client(*, backlog_ms: float | None = 0.1, lazy: float = 0.0, unstamped: int = 0) -> ClientReport:
    return ClientReport(
        cpu_s=0.1,
        events=400,
        stamps="read" if backlog_ms is None else "kernel",
        unstamped_reads=unstamped,
        backlog_p99_ms=backlog_ms,
        lazy_share=lazy,
        clock_moved_ms=0.0,
    )


def found(records: Sequence[RequestRecord], level: Level, by: ClientReport | None = None) -> dict[str, bool]:
    every = doubts(records, level, metrics(records, level), by or client(), "complete")
    assert all(doubt.text and doubt.mend for doubt in every)
    return {doubt.code: doubt.blocks for doubt in every}


ONE = Level(requests=100, concurrency=1)
CLOSED = [record(at, 30 * at) for at in range(100)]


def test_a_clean_rung_has_no_doubts() -> None:
    assert found(CLOSED, ONE) == {}


def test_figures_are_those_of_their_definitions() -> None:
    figures = metrics(CLOSED, ONE)
    assert (figures.ttft_ms.median, figures.itl_ms.median, figures.tpot_ms.median) == (10, 5, 5)
    assert figures.e2e_ms.median == 25
    assert figures.duration_s == pytest.approx(99 * 0.03 + 0.025)
    assert figures.output_throughput == pytest.approx(400 / figures.duration_s)
    assert figures.mean_concurrency == pytest.approx(100 * 0.025 / figures.duration_s)
    assert (figures.ttft_ms.count, figures.ttft_later_ms.count) == (100, 99)
    assert figures.full_load is not None
    assert figures.full_load.tokens_per_s == pytest.approx(4 / 0.03, rel=0.01)


@pytest.mark.parametrize(
    ("by", "expected"),
    [
        (client(backlog_ms=0.9), {}),
        (client(backlog_ms=1.5), {"client-backlog": True}),
        (client(backlog_ms=1.5, lazy=0.5), {}),
        (client(backlog_ms=None), {"read-stamps": False}),
        (client(unstamped=40), {"read-stamps": False}),
    ],
)
def test_the_client_is_doubted_first(by: ClientReport, expected: dict[str, bool]) -> None:
    assert found(CLOSED, ONE, by) == expected


def test_a_late_client_matters_by_the_gap() -> None:
    slow = [record(at, 1000 * at, itl_ms=100) for at in range(100)]
    assert found(slow, ONE, client(backlog_ms=3)) == {"client-backlog": False}
    assert found(slow, ONE, client(backlog_ms=4)) == {"client-backlog": True}


def test_an_open_loop_that_falls_behind_is_named() -> None:
    level = Level(requests=100, rate_per_s=1000 / 30)
    assert found(CLOSED, level) == {}
    for each in CLOSED[50:]:
        each.due_ns -= 20 * MS
    try:
        assert found(CLOSED, level) == {"late-sends": True}
    finally:
        for each in CLOSED[50:]:
            each.due_ns += 20 * MS
    assert found(CLOSED, Level(requests=100, rate_per_s=100)) == {"below-asked-load": True}


def test_latency_that_grows_under_an_open_loop_is_not_steady() -> None:
    growing = [record(at, 10 * at, ttft_ms=10 + 5 * at) for at in range(100)]
    assert found(growing, Level(requests=100, rate_per_s=100)) == {"not-steady": True}


def test_throughput_that_falls_in_a_closed_loop_is_not_steady() -> None:
    at, falling = 0.0, []
    for index in range(200):
        falling.append(record(index, at, itl_ms=5 + index / 10))
        at += 30 + index / 3
    assert found(falling, Level(requests=200, concurrency=1)) == {"not-steady": True}


def test_few_requests_are_only_a_note() -> None:
    assert found(CLOSED[:63], Level(requests=63, concurrency=1)) == {"too-few-requests": False}


def test_goodput_counts_what_kept_its_promises() -> None:
    records = [*CLOSED[:90], *(record(at, 30 * at, ttft_ms=50) for at in range(90, 100))]
    records[0].outcome = "empty"
    try:
        level = Level(requests=100, concurrency=1, slos=slos(["ttft:20", "tpot:5"]))
        kept = metrics(records, level).goodput
        assert kept is not None
        assert (kept.good, kept.attainment) == (89, 0.89)
        assert kept.attainment_by_metric == {"ttft": 0.89, "tpot": 0.99}
        assert kept.request_goodput == pytest.approx(89 / metrics(records, level).duration_s)
        tight = Level(requests=100, concurrency=1, slos=slos(["e2el:24.9"]))
        assert metrics(CLOSED, tight).goodput.good == 0  # type: ignore[union-attr]
    finally:
        records[0].outcome = "ok"
    assert metrics(CLOSED, ONE).goodput is None


@pytest.mark.parametrize(
    "pairs", [["ttft"], ["ttft:x"], ["ttft:0"], ["ttft:nan"], ["itl:5"], ["ttft:5", "ttft:6"], [":5"]]
)
def test_a_promise_that_is_none_is_refused(pairs: list[str]) -> None:
    with pytest.raises(WorkloadError, match="--goodput"):
        slos(pairs)


def test_an_answer_of_one_token_has_a_tpot_of_0_for_goodput_and_none_else() -> None:
    single = [record(at, 30 * at, tokens=1) for at in range(100)]
    found = metrics(single, Level(requests=100, concurrency=1, slos=slos(["tpot:1"])))
    assert found.tpot_ms.count == 0
    assert found.goodput is not None
    assert found.goodput.attainment == 1.0


def test_the_busiest_second_is_counted_in_tokens() -> None:
    records = [record(at, (0, 900, 2100)[at // 10]) for at in range(25)]  # 10 at 0 s, 10 at 0.9 s, 5 at 2.1 s
    found = metrics(records, Level(requests=25, concurrency=10))
    assert found.max_output_tokens_per_s == 4 * 20
