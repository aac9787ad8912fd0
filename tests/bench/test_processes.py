"""Several client processes drive a rung as one does: nothing lost or doubled, stalls and stops in all."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable
from itertools import pairwise

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.bench.servers import HEAD, FakeLLM, Scripted, chunk, said, streamed, usage

from assay.bench import (
    ClientReport,
    Doubt,
    Level,
    Limits,
    Prompt,
    RandomPrompts,
    Report,
    Sending,
    Workload,
    measure,
)
from assay.bench import processes as room
from assay.bench.jobs import shares
from assay.bench.processes import measured_again, more_processes
from assay.bench.run import Rung
from assay.errors import NotReady

Begin = Callable[..., FakeLLM]
GOOD = streamed(said("a"), said("b"), said("c", "length"), usage(8, 3))


def chat(turns: int = 1) -> Workload:
    prompts = RandomPrompts(input_tokens=8, output_tokens=3, turns=turns)
    return Workload(sending=Sending(model="m", endpoint="/v1/chat/completions"), prompts=prompts)


@given(
    st.lists(st.integers(1, 3), min_size=1, max_size=30),
    st.integers(0, 5),
    st.integers(1, 9),
    st.integers(1, 9),
    st.booleans(),
)
def test_every_request_has_one_process_and_conversations_stay_together(
    lengths: list[int],
    warmups: int,
    streams: int,
    processes: int,
    is_open: bool,  # noqa: FBT001 - drawn
) -> None:
    timed = [Prompt(turn=turn) for length in lengths for turn in range(1, length + 1)]
    prompts = [Prompt()] * warmups + timed
    rate = 1.0 if is_open else None
    level = Level(requests=len(timed), warmups=warmups, concurrency=streams, rate_per_s=rate)
    found = list(shares(level, prompts, processes))
    assert sorted(number for share in found for number in share) == list(range(len(prompts)))
    assert all(share == sorted(share) for share in found)
    owner = {number: at for at, share in enumerate(found) for number in share}
    for number, prompt in enumerate(prompts):
        if prompt.turn > 1:
            assert owner[number] == owner[number - 1]
    if not is_open and processes <= streams:  # each process has its share of the streams to drive
        assert all(len({owner[at] for at in range(len(prompts))}) <= streams for _ in found)


@pytest.mark.parametrize("processes", [2, 3])
@pytest.mark.parametrize(
    "level", [Level(requests=96, concurrency=16, warmups=4), Level(requests=60, rate_per_s=60)]
)
def test_they_measure_what_one_measures(fakellm: Begin, processes: int, level: Level) -> None:
    server = fakellm("--ttft-ms", "40", "--itl-ms", "10")
    prompts = RandomPrompts(input_tokens=32, output_tokens=16)
    workload = Workload(sending=Sending(model="fake", endpoint="/v1/completions"), prompts=prompts)
    [(rung, records)] = list(measure(server.where, workload, [level], limits=Limits(processes=processes)))
    truth = server.stop()
    assert len(truth) == level.requests + level.warmups
    assert [each.index for each in records] == list(range(level.warmups, level.warmups + level.requests))
    assert {each.outcome for each in records} == {"ok"}
    assert rung.metrics.output_tokens == level.requests * 16
    assert rung.client.processes == processes
    assert {each.connection % processes for each in records} == set(range(processes))
    assert len({(each.connection, each.nth_on_connection) for each in records}) == level.requests
    timed = sorted(truth, key=lambda each: each["t_request"])[level.warmups :]
    sent, read = sorted(each.sent_ns for each in records), sorted(each["t_request"] for each in timed)
    assert all(a < b for a, b in zip(sent, read, strict=True))
    arrived = sorted(at for each in records for at in each.events_ns)
    gone = sorted(at for each in timed for at in each["t_send"])
    assert all(a > b for a, b in zip(arrived, gone, strict=True))
    if level.open:
        assert [each.due_ns for each in records] == sorted(each.due_ns for each in records)
        assert records[-1].due_ns - records[0].due_ns == pytest.approx(59e9 / 60, rel=1e-6)
        assert all(each.sent_ns >= each.due_ns for each in records)
    else:
        assert rung.metrics.max_concurrency == 16


def test_conversations_keep_to_their_connections(scripted: Callable[..., Scripted]) -> None:
    server = scripted(lambda *_: GOOD)
    level = Level(requests=30, concurrency=4)
    [(rung, records)] = list(measure(server.where, chat(turns=3), [level], limits=Limits(processes=2)))
    assert rung.metrics.completed == 30
    for before, after in pairwise(records):
        if after.turn > 1:
            assert after.connection == before.connection
            assert after.sent_ns > before.last_byte_ns


def test_a_stall_is_one_only_where_all_are_silent(scripted: Callable[..., Scripted]) -> None:
    def answer(connection: int, _nth: int, _request: bytes) -> list[object]:
        return [HEAD, chunk(said("a")), "hang"] if connection == 1 else [HEAD, 0.05, *GOOD[1:]]

    server = scripted(answer)
    limits = Limits(stall_s=0.5, processes=2)
    [(rung, records)] = list(
        measure(server.where, chat(), [Level(requests=100, concurrency=2)], limits=limits)
    )
    assert Counter(each.outcome for each in records) == {"ok": 99, "silent": 1}
    assert rung.ended == "complete"

    server = scripted(lambda *_: [HEAD, chunk(said("a")), "hang"])
    [(rung, records)] = list(measure(server.where, chat(), [Level(requests=9, concurrency=3)], limits=limits))
    assert rung.ended == "stalled"
    assert [each.outcome for each in records] == ["unfinished"] * 3


def test_all_stop_together(scripted: Callable[..., Scripted]) -> None:
    server: Scripted = scripted(
        lambda *_: [HEAD, *[step for _ in range(9) for step in (chunk(said("a")), 0.2)]]
    )
    stop = threading.Timer(0.7, os.kill, (os.getpid(), signal.SIGINT))
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # it is ignored in a shell's background

    def going(_level: Level, report: Report) -> None:
        if report.in_flight == 4 and stop.ident is None:
            stop.start()

    began = time.monotonic()
    level = Level(requests=400, concurrency=4)
    try:
        run = measure(server.where, chat(), [level], limits=Limits(processes=2), progress=going)
        [(rung, records)] = list(run)
    finally:
        signal.signal(signal.SIGINT, before)
    assert rung.ended == "interrupted"
    assert time.monotonic() - began < 40  # a stall would be seen after 60
    assert {each.outcome for each in records} >= {"unfinished"}


def test_nobody_there_is_said_once() -> None:
    from assay.bench import target

    with pytest.raises(NotReady, match="refused"):
        list(
            measure(
                target("http://127.0.0.1:9"),
                chat(),
                [Level(requests=4, concurrency=4)],
                limits=Limits(processes=2),
            )
        )


def test_more_are_asked_for_by_the_backlog_of_a_busy_client(
    scripted: Callable[..., Scripted], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(room, "cores", lambda: 4)
    [(rung, _)] = list(measure(scripted(lambda *_: GOOD).where, chat(), [Level(requests=64, concurrency=64)]))
    late = Doubt(code="client-backlog", blocks=True, text="late", mend="")

    def after(doubts: tuple[Doubt, ...], **client: float) -> Rung:
        changed: ClientReport = msgspec.structs.replace(rung.client, **client)
        return msgspec.structs.replace(rung, doubts=doubts, client=changed)

    busy = after((late,), busiest=0.9)
    assert more_processes(busy, None) == 2
    assert more_processes(busy, 1) is None  # somebody said how many
    assert more_processes(after((late,), busiest=0.9, processes=2), None) == 4
    assert more_processes(after((late,), busiest=0.9, processes=4), None) is None
    assert more_processes(after((late,), busiest=0.2), None) is None  # others keep the machine busy
    assert more_processes(after((), busiest=0.9), None) is None
    told = measured_again(busy, 2)
    assert not told.blocks
    assert "--client-processes 2" in told.mend


def test_a_rung_is_measured_again_where_they_are_asked_for(
    scripted: Callable[..., Scripted], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[int] = []

    def more(rung: Rung, _asked: int | None) -> int | None:
        asked.append(rung.client.processes)
        return 2 if rung.client.processes == 1 else None

    monkeypatch.setattr("assay.bench.run.more_processes", more)
    server = scripted(lambda *_: GOOD)
    levels = [Level(requests=8, concurrency=4), Level(requests=9, concurrency=4)]
    rungs = list(measure(server.where, chat(), levels))
    assert asked == [1, 2, 2]  # the next rung begins with as many
    assert [len(records) for _, records in rungs] == [8, 9]
    assert [[each.code == "client-processes" for each in rung.doubts].count(True) for rung, _ in rungs] == [
        1,
        0,
    ]
    assert len(set(server.requests)) == 8 + 8 + 9  # other prompts
