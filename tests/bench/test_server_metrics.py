"""What a server says of itself beside the load, with known answers: counters, gauges, traffic of others."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.bench.servers import Scripted, Step, said, streamed, usage
from tests.bench.test_doubts import CLOSED, MS, ONE, client, record

from assay.bench import Level, Limits, RandomPrompts, Rung, Secret, Sending, ServerReport, Workload, measure
from assay.bench.ask import ask
from assay.bench.doubts import drift
from assay.bench.flush import flush_cache
from assay.bench.metrics import metrics
from assay.bench.server_doubts import server_doubts
from assay.bench.server_metrics import parsed_metrics, server_report, traffic_report
from assay.errors import MeasurementError

Begin = Callable[..., Scripted]

VLLM = """# HELP vllm:num_requests_running Number of requests
# TYPE vllm:num_requests_running gauge
vllm:num_requests_running{engine="0",model_name="m"} 3.0
vllm:num_requests_waiting{engine="0",model_name="m"} 1.0
vllm:kv_cache_usage_perc{engine="0"} 0.25
vllm:prompt_tokens_total{engine="0"} 100.0
vllm:generation_tokens_total{engine="0"} 40.0
vllm:prefix_cache_hits_total{engine="0"} 10.0
vllm:request_success_total{engine="0",finished_reason="stop"} 2.0
vllm:request_success_total{engine="0",finished_reason="length"} 5.0
vllm:spec_decode_num_drafts_total{engine="0"} 20.0
vllm:spec_decode_num_accepted_tokens_total{engine="0"} 30.0
vllm:spec_decode_num_accepted_tokens_per_pos_total{engine="0",position="0"} 18.0
vllm:spec_decode_num_accepted_tokens_per_pos_total{engine="0",position="1"} 12.0
process_start_time_seconds 1.7e9
"""
SGLANG = """sglang:num_running_reqs{tp_rank="0",dp_rank="0"} 2.0
sglang:num_running_reqs{tp_rank="1",dp_rank="0"} 2.0
sglang:num_running_reqs{tp_rank="0",dp_rank="1"} 1.0
sglang:num_queue_reqs{tp_rank="0"} 0.0
sglang:prompt_tokens_total{is_streaming="true"} 7.0
sglang:generation_tokens_total{is_streaming="true"} 90.0
sglang:spec_verify_calls_total{} 36.0
sglang:cached_tokens_total{cache_source="device"} 3.0
sglang:cached_tokens_total{cache_source="host"} 4.0
"""


def test_traffic_of_everybody_is_told_from_two_looks() -> None:
    def sample(tokens: int, steps: int, failed: int) -> str:
        return (
            f"sglang:num_running_reqs 3\nsglang:generation_tokens_total {tokens}\n"
            f"sglang:spec_verify_calls_total {steps}\nsglang:inter_token_latency_seconds_sum {tokens / 100}\n"
            f"sglang:inter_token_latency_seconds_count {tokens}\n"
            f'sglang:http_responses_total{{status_code="200",endpoint="/v1/completions"}} {tokens / 10}\n'
            f'sglang:http_responses_total{{status_code="503",endpoint="/v1/completions"}} {failed}\n'
        )

    first, last = parsed_metrics(sample(100, 50, 1)), parsed_metrics(sample(400, 150, 4))
    found = traffic_report(first, last)
    assert found is not None
    assert (found.running, found.answered, found.errors) == (3, 33, 3)
    assert found.token_ms == pytest.approx(10)
    assert found.acceptance_length == pytest.approx(3)
    quiet = traffic_report(first, parsed_metrics(sample(102, 51, 1)))
    assert quiet is not None
    assert (quiet.errors, quiet.token_ms, quiet.acceptance_length) == (0, None, None)
    assert traffic_report(first, {**last, "process_start_time_seconds": 5.0}) is None
    assert traffic_report({}, {"something": 1.0}) is None


def test_labels_are_summed_over_but_for_ranks_that_do_the_same_work() -> None:
    vllm, sglang = parsed_metrics(VLLM), parsed_metrics(SGLANG)
    assert vllm["vllm:request_success_total"] == 7
    assert vllm["vllm:spec_decode_num_accepted_tokens_per_pos_total@1"] == 12
    assert (sglang["sglang:num_running_reqs"], sglang["sglang:cached_tokens_total"]) == (3, 7)


@given(st.text(max_size=200))
def test_no_text_breaks_the_reader(text: str) -> None:
    assert all(isinstance(value, float) for value in parsed_metrics(text).values())
    assert parsed_metrics('b 1e308\nb{x="1"} 1e308\nb{x="2"} 3') == {"b": 3}
    assert "a" not in parsed_metrics(f"a NaN\na +Inf\na{{x={text!r}}} nonsense")


def test_counters_are_what_they_grew_by() -> None:
    first = {name: value / 2 for name, value in parsed_metrics(VLLM).items()}
    first["process_start_time_seconds"] = 1.7e9
    last = parsed_metrics(VLLM)
    report = server_report([first, {**last, "vllm:num_requests_running": 9.0}, last])
    assert report is not None
    assert (report.engine, report.samples, report.running_most, report.held_most) == ("vllm", 3, 9, 10)
    assert (report.requests, report.prompt_tokens, report.output_tokens) == (3.5, 50, 20)
    assert (report.cached_tokens, report.preempted, report.memory_used_most) == (5, None, 0.25)
    assert report.acceptance_length == 2.5
    assert report.acceptance_per_position == (0.9, 0.6)
    assert not report.restarted


def test_sglang_tells_acceptance_by_its_steps() -> None:
    zero = dict.fromkeys(parsed_metrics(SGLANG), 0.0)
    report = server_report([zero, parsed_metrics(SGLANG)])
    assert report is not None
    assert (report.engine, report.acceptance_length) == ("sglang", 2.5)


def test_a_server_that_begins_anew_is_seen() -> None:
    first, last = parsed_metrics(VLLM), parsed_metrics(VLLM)
    for changes in ({"process_start_time_seconds": 1.8e9}, {"vllm:prompt_tokens_total": 3.0}):
        report = server_report([first, {**last, **changes}])
        assert report is not None
        assert report.restarted
        assert codes(report) == {"server-restarted": True}
    assert server_report([{"a": 1.0}, {"a": 2.0}]) is None
    assert server_report([]) is None


WARM = [record(-1, -50)]
OURS = ServerReport(
    engine="vllm",
    samples=5,
    running_mean=0.9,
    running_most=1,
    queued_mean=0,
    queued_most=0,
    held_most=1,
    busy_before=0,
    requests=101,
    prompt_tokens=1010,
    output_tokens=404,
    cached_tokens=0,
    preempted=0,
    memory_used_most=0.2,
    acceptance_length=None,
)


def codes(server: ServerReport, *, failed: bool = False) -> dict[str, bool]:
    records = [msgspec.structs.replace(each) for each in CLOSED]
    if failed:
        records[3].outcome = "truncated"
    found = list(server_doubts(server, records, WARM, metrics(records, ONE)))
    assert all(each.text and each.mend for each in found)
    return {each.code: each.blocks for each in found}


CASES: list[tuple[dict[str, Any], dict[str, bool]]] = [
    ({}, {}),
    ({"output_tokens": 407}, {}),
    ({"output_tokens": 420}, {"foreign-traffic": True}),
    ({"prompt_tokens": 1100}, {"foreign-traffic": True}),
    ({"held_most": 3}, {"foreign-traffic": True}),
    ({"held_most": 2}, {}),
    ({"busy_before": 1}, {"foreign-traffic": True}),
    ({"output_tokens": 200}, {"counters-short": False}),
    ({"prompt_tokens": None, "output_tokens": None}, {}),
    ({"preempted": 2}, {"preempted": False}),
    ({"queued_mean": 0.4}, {"server-queued": False}),
    ({"cached_tokens": 600}, {"prefix-hits": True}),
]


@pytest.mark.parametrize(("changes", "expected"), CASES, ids=str)
def test_what_the_server_counts_is_held_against_ours(
    changes: dict[str, Any], expected: dict[str, bool]
) -> None:
    assert codes(msgspec.structs.replace(OURS, **changes)) == expected


def test_with_failures_requests_are_counted_in_place_of_tokens() -> None:
    server = msgspec.structs.replace(OURS, output_tokens=600)
    assert codes(server, failed=True) == {}
    assert codes(msgspec.structs.replace(server, requests=110), failed=True) == {"foreign-traffic": True}
    assert codes(msgspec.structs.replace(server, requests=50), failed=True) == {}


class Counting:
    """A server that counts as vLLM does, and whose counters somebody else moves too."""

    def __init__(self, begin: Begin, *, foreign: int = 0) -> None:
        self._lock = threading.Lock()
        self.tokens = self.prompts = self.asked = 0
        self._foreign = foreign
        self.server = begin(self._answer)
        self.server.metrics = self._metrics

    def _answer(self, _connection: int, _nth: int, _request: bytes) -> Sequence[Step]:
        with self._lock:
            self.tokens += 2 + self._foreign
            self.prompts += 8
        return streamed(said("a"), said("b", "stop"), usage(8, 2))

    def _metrics(self) -> str:
        self.asked += 1
        return (
            "vllm:num_requests_running 0\nvllm:num_requests_waiting 0\nprocess_start_time_seconds 5\n"
            f"vllm:prompt_tokens_total {self.prompts}\nvllm:generation_tokens_total {self.tokens}\n"
        )


def measured(server: Scripted, *, metrics_path: str = "/metrics") -> Rung:
    sending = Sending(model="m", endpoint="/v1/chat/completions")
    workload = Workload(sending=sending, prompts=RandomPrompts(input_tokens=8, output_tokens=2))
    limits = Limits(metrics=msgspec.structs.replace(server.where, prefix=metrics_path))
    level = Level(requests=20, concurrency=2, warmups=3)
    [(rung, _)] = list(measure(server.where, workload, [level], limits=limits, key=Secret("k")))
    return rung


def test_counters_over_a_socket_are_ours_to_the_token(scripted: Begin) -> None:
    counting = Counting(scripted)
    rung = measured(counting.server)
    assert rung.server is not None
    assert (rung.server.output_tokens, rung.server.prompt_tokens) == (2 * 23, 8 * 23)
    assert rung.server.started == 5
    assert "foreign-traffic" not in {doubt.code for doubt in rung.doubts}


def test_traffic_of_others_blocks(scripted: Begin) -> None:
    rung = measured(Counting(scripted, foreign=1).server)
    assert {doubt.code: doubt.blocks for doubt in rung.doubts}["foreign-traffic"]


def test_a_server_without_metrics_is_measured_all_the_same(scripted: Begin) -> None:
    assert measured(scripted(lambda *_: streamed(said("a", "stop"), usage(8, 1)))).server is None
    counting = Counting(scripted)
    counting.server.metrics = lambda: "garbage {{{ 3\n\x00"
    assert measured(counting.server).server is None


def test_the_cache_is_flushed_or_the_run_stops(scripted: Begin) -> None:
    ok: list[Step] = [b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n"]
    busy: list[Step] = [b"HTTP/1.1 400 Bad\r\ncontent-length: 7\r\n\r\nrunning"]
    gone: list[Step] = [b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n"]
    server: Scripted = scripted(lambda *_: busy if len(server.requests) < 4 else ok)
    flush_cache(server.where, None)
    assert server.requests[0].startswith(b"POST /flush_cache")
    vllm: Scripted = scripted(lambda _c, _n, request: ok if b"/reset_prefix" in request else gone)
    flush_cache(vllm.where, None)
    with pytest.raises(MeasurementError, match="no route for it"):
        flush_cache(scripted(lambda *_: gone).where, None)


def test_a_server_that_repeats_the_key_does_not_get_it_shown(
    scripted: Begin, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("assay.bench.flush._TRIES", 1)

    def echo(_connection: int, _nth: int, request: bytes) -> list[Step]:
        return [b"HTTP/1.1 401 no\r\ncontent-length: %d\r\n\r\n%s" % (len(request), request)]

    with pytest.raises(MeasurementError) as caught:
        flush_cache(scripted(echo).where, Secret("sk-77ab1"))
    assert "Bearer ****" in str(caught.value)
    assert "sk-77ab1" not in str(caught.value)


def test_a_load_measured_twice_shows_drift() -> None:
    def rung(itl_ms: float, number: int) -> Rung:
        records = [record(at, (10 + 4 * itl_ms) * at, itl_ms=itl_ms + at % 3 / 10) for at in range(200)]
        level = Level(requests=200, concurrency=1)
        found = metrics(records, level)
        return Rung(
            number=number,
            level=level,
            ended="complete",
            metrics=found,
            client=client(),
            doubts=(),
            began_ns=0,
            ended_ns=MS,
        )

    assert [doubt.code for doubt in drift([rung(5, 1)], rung(6, 2))] == ["drift"]
    assert list(drift([rung(5, 1)], rung(5, 2))) == []
    assert list(drift([], rung(5, 1))) == []


def test_a_server_that_drips_its_answer_is_not_waited_for(scripted: Begin) -> None:
    letters: list[Step] = [b"x", 0.1]
    drip: list[Step] = [b"HTTP/1.1 200 OK\r\ncontent-length: 9999\r\n\r\n", *(letters * 100)]
    began = time.monotonic()
    with pytest.raises(OSError, match=r".+"):
        ask(scripted(lambda *_: drip).where, "/x", wait_s=0.3)
    assert time.monotonic() - began < 5
    with pytest.raises(OSError, match="header"):
        ask(scripted(lambda *_: drip).where, "/x", key=Secret("a\nb"))
