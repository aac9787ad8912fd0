"""What is asked: lengths, shared beginnings, conversations, files; and in which order it goes out."""

from __future__ import annotations

import json
import random
import statistics
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path

import pytest
from tests.bench.servers import HEAD, FakeLLM, Scripted, Step, said, streamed, usage

from assay.bench import (
    Level,
    Limits,
    OwnPrompts,
    Prompts,
    RandomPrompts,
    RequestRecord,
    Rung,
    Sending,
    SharedPrefixPrompts,
    ShareGptPrompts,
    TracePrompts,
    WordFit,
    Workload,
    measure,
    trace_length,
)
from assay.bench.datasets import sharegpt_prompts, trace_prompts
from assay.bench.level import due_times_ns
from assay.bench.prompts import random_prompts, shared_prefix_prompts
from assay.bench.words import Shape, drawn
from assay.errors import WorkloadError

Begin = Callable[..., Scripted]


@pytest.mark.parametrize(
    ("shape", "spread", "deviation"),
    [("uniform", 0.5, 0.29), ("normal", 0.2, 0.2), ("lognormal", 0.8, 0.8), ("exponential", 0.0, 1.0)],
)
def test_lengths_have_the_mean_and_the_spread_of_their_distribution(
    shape: Shape, spread: float, deviation: float
) -> None:
    draw = random.Random(1)
    lengths = [drawn(draw, 1000, spread, shape) for _ in range(20000)]
    assert statistics.fmean(lengths) == pytest.approx(1000, rel=0.02)
    assert statistics.pstdev(lengths) / 1000 == pytest.approx(deviation, rel=0.08)
    assert min(lengths) >= 1


def test_a_common_prefix_is_common_within_a_rung_only() -> None:
    asked = RandomPrompts(input_tokens=10, prefix_tokens=20)
    first, second = (random_prompts(asked, seed=seed, count=20) for seed in ("0/1", "0/2"))
    starts = [{tuple(each.text.split()[:20]) for each in prompts} for prompts in (first, second)]
    assert [len(each) for each in starts] == [1, 1]
    assert starts[0] != starts[1]
    assert len({tuple(each.text.split()[20:24]) for each in first}) == 20
    assert {(len(each.text.split()), each.asked_tokens) for each in first} == {(30, 30)}


def test_groups_share_their_beginnings() -> None:
    asked = SharedPrefixPrompts(groups=5, prefix_tokens=30, question_tokens=8, output_tokens=3)
    prompts = shared_prefix_prompts(asked, seed="0/1", count=50)
    groups = Counter(tuple(each.text.split()[:30]) for each in prompts)
    assert sorted(groups.values()) == [10] * 5
    assert len({each.text for each in prompts}) == 50
    assert {(len(each.text.split()), each.asked_tokens) for each in prompts} == {(38, 38)}
    order = [tuple(each.text.split()[:30]) for each in prompts]
    assert order != sorted(order, key=order.index)  # not one group after the other


def test_a_conversation_grows_turn_by_turn() -> None:
    asked = RandomPrompts(input_tokens=10, output_tokens=4, turns=3, fit=WordFit(tokens_per_word=2.0))
    prompts = random_prompts(asked, seed="0", count=7)
    assert [each.turn for each in prompts] == [1, 2, 3, 1, 2, 3, 1]
    assert [each.asked_tokens for each in prompts[:3]] == [10, 24, 38]
    for before, after in pairwise(prompts[:3]):
        assert after.messages[: len(before.messages)] == before.messages
        assert [each["role"] for each in after.messages[-2:]] == ["assistant", "user"]
    assert prompts[3].messages[0] != prompts[0].messages[0]
    endless = RandomPrompts(input_tokens=1, output_tokens=1, turns=10**6)
    assert len(random_prompts(endless, seed="0", count=5)) == 5  # no more than asked for is made


def sharegpt(path: Path) -> Path:
    """A file with conversations of several kinds."""
    long = "word " * 2000
    whole = [
        [("human", f"question {number} is this one"), ("gpt", "an answer of forty characters, more or less")]
        * 2
        for number in range(6)
    ]
    odd = [
        [("human", "hi"), ("gpt", "ho")],
        [("gpt", "first"), ("human", "then")],
        [("human", long), ("gpt", long)],
    ]
    document = [
        {"id": "x", "conversations": [{"from": who, "value": text} for who, text in each]}
        for each in (*whole, *odd, [])
    ]
    path.write_text(json.dumps(document))
    return path


def test_sharegpt_conversations_are_those_of_fitting_length(tmp_path: Path) -> None:
    path = str(sharegpt(tmp_path / "s.json"))
    found = sharegpt_prompts(ShareGptPrompts(path=path), seed="0")
    assert sorted(each[0].text for each in found) == [f"question {number} is this one" for number in range(6)]
    assert {each[0].output_tokens for each in found} == {10}
    assert found != sharegpt_prompts(ShareGptPrompts(path=path), seed="1")
    turns = sharegpt_prompts(ShareGptPrompts(path=path, turns=2, output_tokens=7), seed="0")
    assert {len(each) for each in turns} == {2}
    assert [len(each.messages) for each in turns[0]] == [1, 3]
    assert {each.output_tokens for each in turns[0]} == {7}


def trace(path: Path, *lines: dict[str, object]) -> str:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return str(path)


def test_a_trace_has_its_times_its_lengths_and_its_shared_blocks(tmp_path: Path) -> None:
    path = trace(
        tmp_path / "t.jsonl",
        {"timestamp": 1500, "input_length": 1100, "output_length": 9, "hash_ids": [1, 2, 3]},
        {"timestamp": 1000, "input_length": 600, "output_length": 5, "hash_ids": [1, 7]},
        {"timestamp": 2000.5, "input_length": 40, "output_length": 6},
        {"timestamp": 1800, "prompt": "own", "output_length": 2},
    )
    prompts = trace_prompts(TracePrompts(path=path, slowdown=2), seed="0")
    assert [each.at_s for each in prompts] == [0, 1, 1.6, 2.001]
    assert [each.output_tokens for each in prompts] == [5, 9, 2, 6]
    assert [len(each.text.split()) for each in prompts] == [600, 1100, 1, 40]
    first, second = (each.text.split() for each in prompts[:2])
    assert first[:512] == second[:512]
    assert first[512:600] != second[512:600]
    level = Level(requests=4, arrivals="trace")
    assert due_times_ns(level, "0", prompts) == [0, 10**9, 1_600_000_000, 2_001_000_000]
    assert trace_length(TracePrompts(path=path)) == 4


BAD_LINES: list[dict[str, object]] = [
    {"timestamp": 1, "input_length": 3, "output_length": -2},
    {"timestamp": 1, "prompt": "a", "output_tokens": -2},
    {"timestamp": 1, "prompt": "a", "output_tokens": 10**30},
    {"input_length": 3},
    {"timestamp": 1},
    {"timestamp": 1, "input_length": -3},
    {"timestamp": 1, "input_length": 10**9},
    {"timestamp": 1, "prompt": "a", "messages": [{"role": "user"}]},
    {"timestamp": "x", "input_length": 3},
]


@pytest.mark.parametrize("line", BAD_LINES, ids=str)
def test_a_line_that_is_no_request_is_named(tmp_path: Path, line: dict[str, object]) -> None:
    path = trace(tmp_path / "t.jsonl", {"timestamp": 0, "input_length": 3}, line)
    with pytest.raises(WorkloadError, match=r"t\.jsonl:2"):
        trace_prompts(TracePrompts(path=path), seed="0")


@pytest.mark.parametrize("content", ["", "[", "3", '[{"conversations": 3}]', "[]", "[" * 100000])
def test_a_file_that_is_no_sharegpt_is_refused(tmp_path: Path, content: str) -> None:
    (tmp_path / "s.json").write_text(content)
    with pytest.raises(WorkloadError, match=r"s\.json"):
        sharegpt_prompts(ShareGptPrompts(path=str(tmp_path / "s.json")), seed="0")


@pytest.mark.parametrize(("shape", "ends"), [("linear", (10, 50)), ("exponential", (10, 50))])
def test_a_ramp_goes_from_rate_to_rate(shape: str, ends: tuple[float, float]) -> None:
    first, last = ends
    level = Level(
        requests=2001,
        rate_per_s=first,
        ramp_to_per_s=last,
        arrivals="linear" if shape == "linear" else "exponential",
        burstiness=float("inf"),
    )
    due = due_times_ns(level.checked(), "0")
    assert due is not None
    rates = [1e9 / (b - a) for a, b in pairwise(due)]
    assert [rates[0], rates[-1]] == pytest.approx([first, last], rel=0.01)
    middle = 30 if shape == "linear" else (first * last) ** 0.5
    assert rates[1000] == pytest.approx(middle, rel=0.01)


def answer(_connection: int, _nth: int, _request: bytes) -> Sequence[Step]:
    return streamed(said("a"), said("b", "stop"), usage(8, 2, prompt_tokens_details={"cached_tokens": 7}))


def measured(
    server: Scripted | FakeLLM, prompts: Prompts, level: Level
) -> tuple[Rung, tuple[RequestRecord, ...]]:
    sending = Sending(model="m", endpoint="/v1/chat/completions")
    workload = Workload(sending=sending, prompts=prompts)
    [both] = list(measure(server.where, workload, [level], limits=Limits(stall_s=10)))
    return both


@pytest.mark.parametrize("closing", [False, True], ids=["kept alive", "closed each time"])
def test_a_question_waits_for_the_answer_before_it(scripted: Begin, closing: bool) -> None:  # noqa: FBT001
    def closes(*_: object) -> Sequence[Step]:
        head = HEAD.replace(b"\r\n\r\n", b"\r\nconnection: close\r\n\r\n")
        return [head, *answer(1, 1, b"")[1:], "close"]

    server = scripted(closes if closing else answer)
    asked = RandomPrompts(input_tokens=6, output_tokens=2, turns=3)
    rung, records = measured(server, asked, Level(requests=20, concurrency=3, warmups=2))
    assert rung.metrics.completed == 20
    assert [each.turn for each in records] == [1, 2, 3] * 6 + [1, 2]
    for before, after in pairwise(records):
        if after.turn > 1:
            assert after.sent_ns > before.last_byte_ns
            assert closing or after.connection == before.connection
    assert rung.metrics.max_concurrency <= 3
    assert [each.count for each in rung.metrics.ttft_by_turn_ms] == [7, 7, 6]
    assert "prefix-hits" not in {doubt.code for doubt in rung.doubts}  # they are what is measured


def test_a_question_whose_connection_is_lost_does_not_lose_the_next(scripted: Begin) -> None:
    asked = RandomPrompts(input_tokens=6, output_tokens=2, turns=2)
    server: Scripted = scripted(lambda *_: ["close"] if len(server.requests) % 3 == 0 else answer(1, 1, b""))
    rung, records = measured(server, asked, Level(requests=12, concurrency=2))
    assert len(records) == 12
    assert rung.ended == "complete"


def test_conversations_need_a_closed_loop_and_traces_their_own_times(scripted: Begin, tmp_path: Path) -> None:
    server = scripted(answer)
    path = trace(tmp_path / "t.jsonl", {"timestamp": 0, "input_length": 3})
    wrong: list[tuple[Prompts, Level, str]] = [
        (RandomPrompts(turns=2), Level(requests=2, rate_per_s=5), "closed loop"),
        (TracePrompts(path=path), Level(requests=1, rate_per_s=5), "its own times"),
        (RandomPrompts(), Level(requests=1, arrivals="trace"), "its own times"),
        (TracePrompts(path=path), Level(requests=2, arrivals="trace"), "has 1 requests"),
        (RandomPrompts(prefix_tokens=-1), Level(requests=1, concurrency=1), "random-prefix-len"),
        (SharedPrefixPrompts(groups=0), Level(requests=1, concurrency=1), "1 to 4194304"),
    ]
    for prompts, level, message in wrong:
        with pytest.raises(WorkloadError, match=message):
            measured(server, prompts, level)


def test_sharegpt_repeats_are_doubted(scripted: Begin, tmp_path: Path) -> None:
    prompts = ShareGptPrompts(path=str(sharegpt(tmp_path / "s.json")), turns=2)
    rung, records = measured(scripted(answer), prompts, Level(requests=16, concurrency=2))
    assert Counter(each.turn for each in records) == {1: 8, 2: 8}
    assert "prompts-repeated" in {doubt.code for doubt in rung.doubts}
    own = tmp_path / "own.jsonl"
    own.write_text('{"prompt": "a"}\n' * 3)
    rung, _ = measured(scripted(answer), OwnPrompts(path=str(own)), Level(requests=3, concurrency=1))
    assert "prompts-repeated" not in {doubt.code for doubt in rung.doubts}


def test_a_trace_is_sent_at_its_times(fakellm: Callable[..., FakeLLM], tmp_path: Path) -> None:
    server = fakellm("--ttft-ms", "2", "--itl-ms", "1")
    times = [0, 30, 35, 200, 400, 410]
    lines: list[dict[str, object]] = [
        {"timestamp": 7000 + at, "input_length": 20, "output_length": 3} for at in times
    ]
    level = Level(requests=6, arrivals="trace", warmups=1)
    rung, records = measured(server, TracePrompts(path=trace(tmp_path / "t.jsonl", *lines)), level)
    arrived = sorted(each["t_request"] for each in server.stop())[1:]
    first = records[0].due_ns
    for at, got in zip(times, arrived, strict=True):
        assert 0 < got - first - at * 1e6 < 15e6
    assert (rung.level.name, rung.metrics.completed) == ("trace", 6)
    assert "not-steady" not in {doubt.code for doubt in rung.doubts}


def test_a_ladder_may_run_down(scripted: Begin) -> None:
    sending = Sending(model="m", endpoint="/v1/chat/completions")
    workload = Workload(sending=sending, prompts=RandomPrompts(input_tokens=6, output_tokens=2))
    levels = [Level(requests=8, concurrency=each) for each in (4, 2, 1)]
    rungs = [rung for rung, _ in measure(scripted(answer).where, workload, levels)]
    assert [rung.level.concurrency for rung in rungs] == [4, 2, 1]
    by_streams = defaultdict(list)
    for rung in rungs:
        by_streams[rung.level.concurrency].append(rung.metrics.max_concurrency)
    assert all(max(most) <= (streams or 0) for streams, most in by_streams.items())
