"""Known answers for what misleads load generators, over real sockets: the server follows a script."""

from __future__ import annotations

import socket
import ssl
import subprocess
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec
import pytest
from tests.bench.servers import HEAD, LAST, Scripted, Step, chunk, event, generated, said, streamed, usage

from assay.bench import Level, Limits, RandomPrompts, RequestRecord, Rung, Secret, Sending, Workload, measure
from assay.bench.requests import Endpoint
from assay.errors import NotReady, TooManyFailures

Server = Callable[..., Scripted]


def measured(
    server: Scripted,
    *,
    requests: int = 1,
    concurrency: int = 1,
    tokens: int = 3,
    stall_s: float = 10,
    endpoint: Endpoint = "/v1/chat/completions",
) -> tuple[Rung, tuple[RequestRecord, ...]]:
    sending = Sending(model="m", endpoint=endpoint)
    workload = Workload(sending=sending, prompts=RandomPrompts(input_tokens=8, output_tokens=tokens))
    level = Level(requests=requests, concurrency=concurrency)
    [both] = list(measure(server.where, workload, [level], limits=Limits(stall_s=stall_s)))
    return both


def codes(rung: Rung) -> set[str]:
    return {doubt.code for doubt in rung.doubts}


GOOD = streamed(said("a"), said("b"), said("c", "length"), usage(8, 3))


def test_a_plain_stream(scripted: Server) -> None:
    server = scripted(lambda *_: GOOD)
    rung, records = measured(server, requests=20, concurrency=4)
    assert [each.outcome for each in records] == ["ok"] * 20
    assert len({each.connection for each in records}) == 4
    assert max(each.nth_on_connection for each in records) > 1
    found = rung.metrics
    assert (found.completed, found.failed, found.output_tokens, found.input_tokens) == (20, 0, 60, 160)
    assert found.max_concurrency <= 4
    assert not codes(rung) & {
        "failed-requests",
        "output-length",
        "prompt-length",
        "count-mismatch",
        "no-usage",
    }
    assert len(set(server.requests)) == 20  # no two prompts alike


def test_several_tokens_in_an_event_are_counted_by_the_server(scripted: Server) -> None:
    answer = streamed(said("a b c"), said(" d", "length"), usage(8, 4))
    rung, _ = measured(scripted(lambda *_: answer), tokens=4)
    assert rung.metrics.tokens_per_event == 2.0
    assert rung.metrics.output_tokens == 4


def test_one_token_over_two_events_is_a_mismatch(scripted: Server) -> None:
    answer = streamed(said("a"), said("b"), said("c"), said("d", "length"), usage(8, 3))
    rung, _ = measured(scripted(lambda *_: answer))
    assert "count-mismatch" in codes(rung)
    assert rung.metrics.output_tokens == 3


def test_a_role_is_no_token(scripted: Server) -> None:
    role = event({"choices": [{"delta": {"role": "assistant", "content": ""}, "finish_reason": None}]})
    _, [record] = measured(scripted(lambda *_: streamed(role, said("a", "stop"), usage(8, 3))))
    assert len(record.events_ns) == 1
    assert record.text_chars == 1


@pytest.mark.parametrize("channel", ["reasoning_content", "reasoning"])
def test_reasoning_is_text_of_its_own_kind(scripted: Server, channel: str) -> None:
    counts = usage(8, 3, completion_tokens_details={"reasoning_tokens": 2})
    answer = streamed(said("hm", channel=channel), said("so", channel=channel), said("a", "stop"), counts)
    rung, [record] = measured(scripted(lambda *_: answer))
    assert (record.reasoning_chars, record.text_chars, len(record.events_ns)) == (4, 1, 3)
    assert rung.metrics.reasoning_tokens == 2
    assert record.first_answer_ns == record.events_ns[2]
    assert rung.metrics.ttfo_ms.mean == (record.first_answer_ns - record.sent_ns) / 1e6


CUMULATIVE = [
    generated("a", 1),
    generated("ab", 2),
    generated("ab", 2),
    generated("abcd", 4, {"type": "length"}),
]
INCREMENTAL = [generated("a", 1), generated("a", 2), generated("cd", 4, {"type": "length", "length": 4})]


@pytest.mark.parametrize("events", [CUMULATIVE, INCREMENTAL], ids=["cumulative", "incremental"])
def test_sglangs_own_route_is_read(scripted: Server, events: list[bytes]) -> None:
    server = scripted(lambda *_: streamed(*events))
    _, [record] = measured(server, tokens=4, endpoint="/generate")
    assert (record.outcome, record.text_chars, record.finish_reason) == ("ok", 4, "length")
    assert (record.tokens_at_event, record.completion_tokens, record.prompt_tokens) == ([1, 2, 4], 4, 8)
    assert b'"max_new_tokens":4' in server.requests[0]
    assert server.requests[0].startswith(b"POST /generate ")


def test_an_abort_of_sglang_is_an_error(scripted: Server) -> None:
    abort = generated("a", 1, {"type": "abort", "message": "out of memory"})
    good = streamed(generated("a", 1), generated("ab", 2, "stop", spec_accept_length=2.5, cached_tokens=3))
    server: Scripted = scripted(lambda *_: good if len(server.requests) % 2 else streamed(abort))
    rung, records = measured(server, requests=4, endpoint="/generate")
    assert [each.outcome for each in records] == ["ok", "error_in_stream"] * 2
    assert records[1].error == "out of memory"
    assert (rung.metrics.accept_length, rung.metrics.cached_tokens) == (2.5, 6)


FAILING: list[tuple[str, list[Step], str]] = [
    ("error_in_stream", streamed(event({"error": {"message": "out of memory"}})), "out of memory"),
    ("error_in_stream", streamed(said("a"), event({"object": "error", "message": "no KV"})), "no KV"),
    ("empty", streamed(event({"choices": []}), usage(8, 0)), "without any text"),
    ("truncated", [HEAD, chunk(said("a")), "close"], "closed within"),
    ("truncated", [HEAD, chunk(said("a")), LAST, "close"], "without a finish reason"),
    ("garbage", [b"SSH-2.0-OpenSSH_9.2\r\n\r\n", "close"], "no HTTP"),
    ("garbage", [HEAD, b"zz\r\nnot a chunk", "close"], "no HTTP"),
    ("garbage", streamed(said("a"), event("{not json")), "not as expected"),
    ("garbage", streamed(said("a", "stop"), usage(8, 10**400)), "not as expected"),
    ("garbage", streamed(said("a", "stop"), usage(-1, 3)), "not as expected"),
    ("garbage", [HEAD, chunk(b'{"choices": []}'), LAST], "no stream of events"),
    (
        "http_error",
        [b"HTTP/1.1 429 Too Many\r\ncontent-length: 12\r\n\r\nslow down, m"],
        "429: slow down, m",
    ),
]


@pytest.mark.parametrize(("outcome", "steps", "text"), FAILING, ids=lambda value: str(value)[:20])
def test_what_is_no_success_is_named(scripted: Server, outcome: str, steps: list[Step], text: str) -> None:
    server: Scripted = scripted(lambda *_: GOOD if len(server.requests) % 2 else steps)
    rung, records = measured(server, requests=4)
    assert [each.outcome for each in records] == ["ok", outcome] * 2
    assert text in records[1].error
    assert rung.metrics.completed == 2
    assert rung.metrics.ttft_ms.count == 2  # failures are in no latency
    expected = {"error_in_stream": "errors-inside-200", "empty": "empty-streams"}
    assert expected.get(outcome, "failed-requests") in codes(rung)
    assert any(doubt.blocks for doubt in rung.doubts)


def test_none_answered_is_no_measurement(scripted: Server) -> None:
    with pytest.raises(TooManyFailures) as caught:
        measured(scripted(lambda *_: streamed(event({"error": "down"}))), requests=3)
    assert "3 error_in_stream" in caught.value.details[0]


def test_a_connection_closed_between_requests_is_tried_once_more(scripted: Server) -> None:
    def answer(_connection: int, nth: int, _request: bytes) -> Sequence[Step]:
        return GOOD if nth == 1 else ["close"]

    rung, records = measured(scripted(answer), requests=5)
    assert [(each.outcome, each.retries) for each in records] == [("ok", 0)] + [("ok", 1)] * 4
    assert "connections-lost" in codes(rung)


@pytest.mark.parametrize("end", ["close", "reset"])
def test_a_connection_lost_before_any_byte_is_tried_once_only(scripted: Server, end: Step) -> None:
    def answer(connection: int, nth: int, _request: bytes) -> Sequence[Step]:
        return GOOD if (connection, nth) == (1, 1) else [end]

    _, records = measured(scripted(answer), requests=3)
    assert [(each.outcome, each.retries) for each in records] == [
        ("ok", 0),
        ("connection", 1),
        ("connection", 0),
    ]


def test_connection_close_is_obeyed(scripted: Server) -> None:
    head = HEAD.replace(b"\r\n\r\n", b"\r\nconnection: close\r\n\r\n")
    _, records = measured(scripted(lambda *_: [head, *GOOD[1:], "close"]), requests=3)
    assert [(each.outcome, each.retries) for each in records] == [("ok", 0)] * 3


def test_a_stall_ends_the_run_and_keeps_what_was_measured(scripted: Server) -> None:
    server: Scripted = scripted(
        lambda *_: [HEAD, chunk(said("a")), "hang"] if len(server.requests) > 2 else GOOD
    )
    rung, records = measured(server, requests=9, stall_s=0.5)
    assert rung.ended == "stalled"
    assert [each.outcome for each in records] == ["ok", "ok", "unfinished"]
    assert rung.doubts[0].code == "stalled"


def test_ten_megabytes_in_one_event(scripted: Server) -> None:
    text = "x" * 10_000_000
    _, [record] = measured(scripted(lambda *_: streamed(said(text, "stop"), usage(8, 3))))
    assert (record.outcome, record.text_chars, len(record.events_ns)) == ("ok", 10_000_000, 1)


def test_a_head_that_ends_like_a_last_chunk_ends_nothing(scripted: Server) -> None:
    head = HEAD.replace(b"\r\n\r\n", b"\r\nx-rid: 120\r\n\r\n")
    _, [record] = measured(scripted(lambda *_: [head, *GOOD[1:]]))
    assert (record.outcome, len(record.events_ns)) == ("ok", 3)


@pytest.mark.parametrize("end", [[b"0", b"\r\n", b"\r\n"], [b"0\r", b"\n\r\n"]], ids=["3", "2"])
def test_a_last_chunk_in_pieces_is_seen(scripted: Server, end: list[bytes]) -> None:
    rung, _ = measured(scripted(lambda *_: [*GOOD[:-1], *end]), requests=3)
    assert rung.metrics.completed == 3


def test_trailers_are_part_of_the_response(scripted: Server) -> None:
    head = HEAD.replace(b"\r\n\r\n", b"\r\ntrailer: x-time\r\n\r\n")
    rung, _ = measured(scripted(lambda *_: [head, *GOOD[1:-1], b"0\r\nx-time: 3\r\n\r\n"]), requests=3)
    assert rung.metrics.completed == 3


def test_a_body_without_length_ends_with_the_connection(scripted: Server) -> None:
    head = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n"
    answer = [head, said("a"), said("b", "stop"), usage(8, 3), "close"]
    _, records = measured(scripted(lambda *_: answer), requests=3)
    assert [each.outcome for each in records] == ["ok"] * 3


def test_without_usage_there_is_no_token_rate(scripted: Server) -> None:
    rung, _ = measured(scripted(lambda *_: streamed(said("a", "stop"))))
    assert rung.metrics.output_throughput is None
    assert "no-usage" in codes(rung)


def test_lengths_and_prefix_hits_are_doubted(scripted: Server) -> None:
    counts = usage(300, 2, prompt_tokens_details={"cached_tokens": 290})
    rung, _ = measured(scripted(lambda *_: streamed(said("a"), said("b", "stop"), counts)))
    assert {"prompt-length", "output-length", "prefix-hits"} <= codes(rung)


def test_too_few_streams_are_below_the_asked_load(scripted: Server) -> None:
    rung, _ = measured(scripted(lambda *_: GOOD), requests=2, concurrency=4)
    assert "below-asked-load" in codes(rung)


def test_nobody_there_is_not_ready() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    from assay.bench import target

    workload = Workload(sending=Sending(model="m"))
    with pytest.raises(NotReady, match="refused"):
        list(measure(target(f"http://127.0.0.1:{port}"), workload, [Level(requests=1, concurrency=1)]))


def test_a_name_with_several_addresses_is_tried_at_each(scripted: Server) -> None:
    where = msgspec.structs.replace(scripted(lambda *_: GOOD).where, host="localhost")  # listens on 127.0.0.1
    workload = Workload(sending=Sending(model="m", endpoint="/v1/chat/completions"))
    [(rung, _)] = list(measure(where, workload, [Level(requests=4, concurrency=2)]))
    assert rung.metrics.completed == 4


def test_an_idle_open_loop_is_no_stall(scripted: Server) -> None:
    sending = Sending(model="m", endpoint="/v1/chat/completions")
    workload = Workload(sending=sending, prompts=RandomPrompts(input_tokens=8, output_tokens=3))
    level = Level(requests=3, rate_per_s=1.5, burstiness=float("inf"))
    server = scripted(lambda *_: [*GOOD, "close"])
    [(rung, _)] = list(measure(server.where, workload, [level], limits=Limits(stall_s=0.5)))
    assert (rung.ended, rung.metrics.completed) == ("complete", 3)


def test_the_key_goes_to_the_server_and_nowhere_else(scripted: Server) -> None:
    def answer(_connection: int, nth: int, request: bytes) -> Sequence[Step]:
        said_back = request.split(b"Bearer ")[1].split(b"\r")[0].decode()
        own = request.split(b"x-own: Token ")[1].split(b"\r")[0].decode()
        return (
            GOOD if nth == 1 else streamed(event({"error": f"key {said_back} is over its limit, {own} too"}))
        )

    key = Secret("sk-77ab1")
    headers = (("x-own", "Token tk-9901c"), ("x-level", "3"))
    workload = Workload(sending=Sending(model="m", endpoint="/v1/chat/completions", headers=headers))
    level = Level(requests=3, concurrency=1)
    [(rung, records)] = list(measure(scripted(answer).where, workload, [level], key=key))
    assert rung.metrics.failed == 2
    assert "sk-77ab1" not in f"{rung}{records}{key}"
    assert "tk-9901c" not in f"{rung}{records}"
    assert "key *** is over its limit, *** too" in records[1].error


def test_tls_keeps_the_kernels_stamps(scripted: Server, tmp_path: Path) -> None:
    command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"]
    files = ["-keyout", str(tmp_path / "key"), "-out", str(tmp_path / "cert")]
    try:
        subprocess.run(
            [*command, "-nodes", "-days", "2", "-subj", "/CN=localhost", *files],
            check=True,
            capture_output=True,
            timeout=60,
        )
    except FileNotFoundError:
        pytest.skip("no openssl to make a certificate: TLS was NOT tested")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "cert", tmp_path / "key")
    rung, records = measured(scripted(lambda *_: GOOD, context), requests=6, concurrency=2)
    assert [each.outcome for each in records] == ["ok"] * 6
    assert rung.client.stamps == "kernel"


def test_pings_are_no_progress(scripted: Server) -> None:
    pings = [step for _ in range(40) for step in (chunk(b": ping\n\n"), 0.05)]
    server: Scripted = scripted(
        lambda *_: [HEAD, chunk(said("a")), *pings, "hang"] if len(server.requests) > 2 else GOOD
    )
    rung, records = measured(server, requests=9, stall_s=0.6)
    assert rung.ended == "stalled"
    assert [each.outcome for each in records] == ["ok", "ok", "unfinished"]


def test_one_silent_stream_is_cut_and_the_others_go_on(scripted: Server) -> None:
    def answer(connection: int, _nth: int, _request: bytes) -> Sequence[Step]:
        if connection == 1:
            return [HEAD, chunk(said("a")), "hang"]
        return [HEAD, 0.05, *GOOD[1:]]

    rung, records = measured(scripted(answer), requests=60, concurrency=3, stall_s=0.5)
    assert rung.ended == "complete"
    outcomes = Counter(each.outcome for each in records)
    assert outcomes == {"ok": 59, "silent": 1}
    assert next(each for each in records if not each.ok).error.startswith("nothing came for")


def test_a_stream_without_end_is_cut(scripted: Server) -> None:
    def answer(_connection: int, nth: int, _request: bytes) -> Sequence[Step]:
        return GOOD if nth == 1 else [HEAD, *[chunk(said("a" * 60000))] * 20000]

    rung, records = measured(scripted(answer), requests=2, stall_s=10)
    assert [each.outcome for each in records] == ["ok", "endless"]
    assert "and no end" in records[1].error
    assert "endless-stream" in codes(rung)


def test_a_drip_without_end_is_cut(scripted: Server) -> None:
    def answer(_connection: int, nth: int, _request: bytes) -> Sequence[Step]:
        return (
            GOOD if nth == 1 else [HEAD, *[step for _ in range(6000) for step in (chunk(said("a")), 0.0005)]]
        )

    _, records = measured(scripted(answer), requests=2, stall_s=10)
    assert [each.outcome for each in records] == ["ok", "endless"]
