"""Times against a server that knows the truth (fakellm): bounds hold on a busy machine."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from statistics import median
from typing import Any

import pytest
from tests.bench.servers import FakeLLM

from assay.bench import Level, RandomPrompts, RequestRecord, Rung, Sending, Workload, measure
from assay.bench.requests import Endpoint

Begin = Callable[..., FakeLLM]


def measured(
    server: FakeLLM, level: Level, *, tokens: int = 16, endpoint: Endpoint = "/v1/completions"
) -> tuple[Rung, tuple[RequestRecord, ...]]:
    sending = Sending(model="fake", endpoint=endpoint)
    prompts = RandomPrompts(input_tokens=32, output_tokens=tokens)
    [both] = list(measure(server.where, Workload(sending=sending, prompts=prompts), [level]))
    return both


def matched(
    records: Sequence[RequestRecord], truth: Sequence[dict[str, Any]]
) -> Iterator[tuple[RequestRecord, dict[str, Any]]]:
    """Connections pair in the order in which they were opened, and requests on each in theirs."""
    ours, theirs = defaultdict(list), defaultdict(list)
    for record in sorted(records, key=lambda each: each.sent_ns):
        ours[record.connection].append(record)
    for account in truth:
        theirs[account["t_accept"]].append(account)
    for number, accepted in zip(sorted(ours), sorted(theirs), strict=True):
        yield from zip(ours[number], theirs[accepted], strict=True)


@pytest.mark.parametrize("endpoint", ["/v1/completions", "/v1/chat/completions", "/generate"])
def test_arrivals_are_those_of_the_server(fakellm: Begin, endpoint: Endpoint) -> None:
    server = fakellm("--ttft-ms", "40", "--itl-ms", "10")
    rung, records = measured(server, Level(requests=24, concurrency=8), endpoint=endpoint)
    assert rung.client.stamps == "kernel"
    late, gaps = [], []
    for record, true in matched(records, server.stop()):
        assert len(record.events_ns) == len(true["t_send"]) == record.completion_tokens == 16
        assert record.sent_ns < true["t_request"]
        late += [got - sent for got, sent in zip(record.events_ns, true["t_send"], strict=True)]
        pairs = zip(pairwise(record.events_ns), pairwise(true["t_send"]), strict=True)
        gaps += [abs((b - a) - (d - c)) for (a, b), (c, d) in pairs]
    assert min(late) > 0  # nothing arrives before it was sent
    assert median(late) < 1e6
    assert median(gaps) < 0.2e6  # the kernel's stamp, whatever else the machine does; 0.01 ms is seen


def test_throughput_and_latency_are_the_true_ones(fakellm: Begin) -> None:
    server = fakellm("--ttft-ms", "20", "--itl-ms", "5")
    rung, records = measured(server, Level(requests=64, concurrency=16))
    truth = server.stop()
    span = max(each["t_done"] for each in truth) - min(each["t_request"] for each in truth)
    found = rung.metrics
    assert found.output_tokens == sum(each["tokens"] for each in truth) == 64 * 16
    assert found.output_throughput == pytest.approx(64 * 16 * 1e9 / span, rel=0.02)
    assert found.ttft_ms.p90 is not None
    assert found.ttft_ms.p99 is None
    assert found.max_concurrency == 16
    assert {each.prompt_tokens for each in records} != {None}


@pytest.mark.parametrize("incremental", ["0", "1"])
def test_sglangs_own_route_counts_in_every_event(fakellm: Begin, incremental: str) -> None:
    more = ("--tokens-per-event", "1,3,2", "--incremental", incremental)
    server = fakellm("--ttft-ms", "5", "--itl-ms", "5", *more)
    rung, records = measured(server, Level(requests=8, concurrency=2), endpoint="/generate")
    assert rung.metrics.output_tokens == sum(each["tokens"] for each in server.stop()) == 8 * 16
    assert {tuple(each.tokens_at_event) for each in records} == {(1, 4, 6, 7, 10, 12, 13, 16)}
    assert {each.prompt_tokens for each in records} != {None}
    assert not {doubt.code for doubt in rung.doubts} & {"count-mismatch", "no-usage", "output-length"}


def test_several_tokens_an_event_are_seen(fakellm: Begin) -> None:
    server = fakellm("--ttft-ms", "5", "--itl-ms", "20", "--tokens-per-event", "1,3")
    rung, records = measured(server, Level(requests=4, concurrency=2))
    assert rung.metrics.tokens_per_event == 2.0
    assert sum(len(each.events_ns) for each in records) == 4 * 8
    assert rung.metrics.itl_ms.count <= 4 * 7  # less only where a busy machine read two at once


def test_events_of_one_send_are_one_arrival(fakellm: Begin) -> None:
    server = fakellm("--ttft-ms", "5", "--itl-ms", "10", "--events-per-write", "4")
    rung, _ = measured(server, Level(requests=4, concurrency=2))
    assert rung.metrics.shared_arrivals == pytest.approx(0.75)
    assert rung.metrics.itl_ms.least is not None
    assert rung.metrics.itl_ms.least > 1
    assert "shared-arrivals" in {doubt.code for doubt in rung.doubts}


def test_a_server_that_closes_idle_connections_costs_nothing(fakellm: Begin) -> None:
    server = fakellm("--ttft-ms", "1", "--itl-ms", "1", "--idle-close-ms", "20")
    rung, _ = measured(server, Level(requests=20, rate_per_s=20, burstiness=float("inf")), tokens=2)
    assert (rung.metrics.completed, rung.metrics.failed) == (20, 0)


@pytest.mark.parametrize("burstiness", [1.0, float("inf")])
def test_an_open_loop_sends_at_its_rate(fakellm: Begin, burstiness: float) -> None:
    server = fakellm("--ttft-ms", "50", "--itl-ms", "5")
    level = Level(requests=60, rate_per_s=60, burstiness=burstiness, warmups=2)
    rung, records = measured(server, level, tokens=4)
    truth = sorted(each["t_request"] for each in server.stop())[2:]
    due = [each.due_ns for each in records]
    assert due == sorted(due)
    late = [got - wanted for got, wanted in zip(truth, due, strict=True)]
    assert min(late) > 0
    assert median(late) < 3e6
    assert due[-1] - due[0] == pytest.approx(59e9 / 60, rel=1e-6)
    assert rung.metrics.sent_per_s == pytest.approx(60, rel=0.05)
    assert rung.metrics.max_concurrency > 1


def test_a_limit_holds_an_open_loop_back_and_says_so(fakellm: Begin) -> None:
    server = fakellm("--ttft-ms", "50", "--itl-ms", "5")
    rung, _ = measured(server, Level(requests=20, rate_per_s=200, concurrency=2), tokens=2)
    assert rung.metrics.max_concurrency == 2
    assert "below-asked-load" in {doubt.code for doubt in rung.doubts}


def test_many_streams_share_their_reads_and_lose_nothing(fakellm: Begin) -> None:
    server = fakellm("--ttft-ms", "50", "--itl-ms", "20", "--spread", "1")
    rung, records = measured(server, Level(requests=256, concurrency=128), tokens=32)
    assert rung.metrics.completed == 256
    assert sum(len(each.events_ns) for each in records) == 256 * 32
    assert rung.client.lazy_share > 0
