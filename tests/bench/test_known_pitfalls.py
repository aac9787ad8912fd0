"""What misleads load generators, as a server that knows the truth (fakellm) plays it."""

from __future__ import annotations

import os
import signal
import socket
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Any

from tests.bench.servers import FakeLLM
from tests.bench.test_known_times import matched, measured

from assay.bench import (
    Level,
    Limits,
    OnProgress,
    RandomPrompts,
    Report,
    RequestRecord,
    Sending,
    Workload,
    measure,
)
from assay.bench.connection import Connection

Begin = Callable[..., FakeLLM]


def completions(tokens: int) -> Workload:
    prompts = RandomPrompts(input_tokens=32, output_tokens=tokens)
    return Workload(sending=Sending(model="fake", endpoint="/v1/completions"), prompts=prompts)


def lateness(records: Sequence[RequestRecord], truth: Sequence[dict[str, Any]]) -> list[int]:
    """From the server's send of each event to its arrival, ns."""
    return [
        got - sent
        for record, true in matched(records, truth)
        for got, sent in zip(record.events_ns, true["t_send"], strict=True)
    ]


@contextmanager
def stopped(pid: Callable[[], int], *, after_s: float, for_s: float) -> Iterator[OnProgress]:
    """Stop a process for a while, some time after the load began; `for_s` of 0 is for good."""

    def stop() -> None:
        found = pid()
        os.kill(found, signal.SIGSTOP)
        if for_s:
            threading.Event().wait(for_s)
            os.kill(found, signal.SIGCONT)

    def going(_level: Level, report: Report) -> None:
        if report.in_flight and timer.ident is None:
            timer.start()

    timer = threading.Timer(after_s, stop)
    yield going
    timer.join()


def worker() -> int:
    """The process that drives the load: our newest child that is no server."""
    children = Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children").read_text().split()
    return next(
        int(each)
        for each in reversed(children)
        if b"bench.worker" in Path(f"/proc/{each}/cmdline").read_bytes()
    )


def test_a_client_that_is_off_the_cpu_makes_no_gap_and_says_that_it_was_late(fakellm: Begin) -> None:
    server = fakellm("--ttft-ms", "200", "--itl-ms", "400")
    with stopped(worker, after_s=0.5, for_s=0.3) as going:
        level = Level(requests=16, concurrency=8)
        [(rung, records)] = list(measure(server.where, completions(6), [level], progress=going))
    truth = server.stop()
    gaps = [
        abs((b - a) - (d - c))
        for record, true in matched(records, truth)
        for (a, b), (c, d) in zip(pairwise(record.events_ns), pairwise(true["t_send"]), strict=True)
    ]
    assert max(gaps) < 100e6  # less than it was away
    assert median(gaps) < 1e6
    waited = max(wait for each in records for wait in each.backlog_ns)
    assert 50e6 < waited < 400e6
    assert rung.client.backlog_p99_ms is not None
    assert rung.client.backlog_p99_ms > 20
    assert "client-backlog" in {doubt.code for doubt in rung.doubts}


def test_connections_stand_before_the_clock_starts(fakellm: Begin) -> None:
    server = fakellm("--ttft-ms", "20", "--itl-ms", "5")
    _, records = measured(server, Level(requests=64, concurrency=32))
    truth = server.stop()
    assert max(each["t_accept"] for each in truth) < min(each["t_request"] for each in truth)
    assert {each.nth_on_connection for each in records} == {1, 2}
    assert [each["nth_on_connection"] for each in truth].count(1) == 32


def test_a_role_that_comes_with_the_head_is_no_first_token(fakellm: Begin) -> None:
    server = fakellm("--ttft-ms", "100", "--itl-ms", "10", "--role-early", "1")
    rung, records = measured(server, Level(requests=8, concurrency=4), endpoint="/v1/chat/completions")
    assert rung.metrics.ttft_ms.least is not None
    assert rung.metrics.ttft_ms.least > 99
    assert all(each.first_byte_ns < each.events_ns[0] - 50e6 for each in records)
    assert median(lateness(records, server.stop())) < 5e6


def test_what_nagle_holds_back_is_shown_and_is_the_servers(fakellm: Begin) -> None:
    level = Level(requests=32, concurrency=16)
    late = {}
    for nodelay in ("1", "0"):
        server = fakellm("--ttft-ms", "20", "--itl-ms", "10", "--nodelay", nodelay)
        _, records = measured(server, level, tokens=64)
        found = lateness(records, server.stop())
        assert min(found) > 0
        late[nodelay] = sum(each > 5e6 for each in found)
    assert late["0"] > late["1"] + 4  # about 1 % of 2,048 waits for the next acknowledgement


def test_our_own_requests_are_not_held_back() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        connection = Connection(1, socket.AF_INET, listener.getsockname(), None)
        assert connection.sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
        connection.close()


def test_a_race_with_a_server_that_closes_is_counted_and_costs_no_request(fakellm: Begin) -> None:
    server = fakellm("--ttft-ms", "1", "--itl-ms", "1", "--idle-close-ms", "50")
    level = Level(requests=40, rate_per_s=19.2, burstiness=float("inf"))  # just when it closes
    rung, records = measured(server, level, tokens=2)
    assert (rung.metrics.completed, rung.metrics.failed) == (40, 0)
    assert len(server.stop()) == 40
    lost = sum(each.retries for each in records)
    assert ("connections-lost" in {doubt.code for doubt in rung.doubts}) == (lost > 0)
    assert max((each.e2e_ns for each in records if not each.retries), default=0) < 1e9


def test_a_server_that_stalls_ends_the_run(fakellm: Begin) -> None:
    server = fakellm("--ttft-ms", "20", "--itl-ms", "20")
    level = Level(requests=64, concurrency=4)
    with stopped(lambda: server.pid, after_s=0.5, for_s=0) as going:
        run = measure(server.where, completions(200), [level], limits=Limits(stall_s=1), progress=going)
        [(rung, records)] = list(run)
    assert rung.ended == "stalled"
    assert [each.outcome for each in records] == ["unfinished"] * 4
    assert all(each.events_ns for each in records)
    os.kill(server.pid, signal.SIGCONT)


def test_a_server_that_dies_is_no_answer(fakellm: Begin) -> None:
    server = fakellm("--ttft-ms", "20", "--itl-ms", "20")
    threading.Timer(3.0, os.kill, (server.pid, signal.SIGKILL)).start()
    rung, records = measured(server, Level(requests=60, concurrency=2), tokens=8)
    outcomes = [each.outcome for each in records]
    ok = outcomes.count("ok")
    assert 0 < ok < 60
    assert set(outcomes[ok:]) <= {"truncated", "connection"}
    assert rung.metrics.ttft_ms.count == ok
    assert "failed-requests" in {doubt.code for doubt in rung.doubts if doubt.blocks}


def test_ten_megabytes_in_an_event_are_one_arrival(fakellm: Begin) -> None:
    server = fakellm("--ttft-ms", "20", "--itl-ms", "400", "--pad", "10000000")
    _, [record] = measured(server, Level(requests=1, concurrency=1), tokens=2)
    assert (record.outcome, len(record.events_ns), record.completion_tokens) == ("ok", 2, 2)
    [true] = server.stop()
    assert record.ttft_ns > true["t_send"][0] - true["t_request"] - 5e6  # when the rest of it had left
    assert len(record.backlog_ns) > 100


def test_a_connection_for_each_request_is_no_failure(fakellm: Begin) -> None:
    server = fakellm("--ttft-ms", "20", "--itl-ms", "5", "--close", "1")
    rung, records = measured(server, Level(requests=24, concurrency=4))
    assert rung.metrics.completed == len(server.stop()) == 24
    assert {each.nth_on_connection for each in records} == {1}
    assert sum(each.retries for each in records) == 0
