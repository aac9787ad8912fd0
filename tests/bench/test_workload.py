"""Prompts, send times and requests: the same for the same seed, and nothing that was not asked for."""

from __future__ import annotations

import json
import math
import statistics
from itertools import pairwise
from pathlib import Path

import pytest

from assay.bench import Level, Prompt, Secret, Sending, target
from assay.bench.datasets import own_prompts
from assay.bench.level import due_times_ns
from assay.bench.prompts import RandomPrompts, random_prompts
from assay.bench.requests import request_bytes
from assay.errors import InputError, WorkloadError


def test_prompts_repeat_with_the_seed_and_with_nothing_else() -> None:
    first, again, other = (
        random_prompts(RandomPrompts(input_tokens=20), seed=seed, count=50) for seed in ("0/1", "0/1", "0/2")
    )
    assert first == again
    assert not {each.text for each in first} & {each.text for each in other}
    starts = {tuple(each.text.split()[:4]) for each in (*first, *other)}
    assert len(starts) == 100  # no two begin alike
    assert {len(each.text.split()) for each in first} == {20}


def test_lengths_spread_evenly_around_what_was_asked() -> None:
    prompts = random_prompts(RandomPrompts(input_tokens=100, spread=0.5), seed="0", count=2000)
    lengths = [each.asked_tokens or 0 for each in prompts]
    assert (min(lengths), max(lengths)) == (50, 150)
    assert statistics.fmean(lengths) == pytest.approx(100, rel=0.03)
    assert [len(each.text.split()) for each in prompts] == lengths


@pytest.mark.parametrize(("burstiness", "spread"), [(1.0, 1.0), (4.0, 0.5), (0.25, 2.0), (float("inf"), 0.0)])
def test_gaps_have_the_mean_and_the_spread_of_their_distribution(burstiness: float, spread: float) -> None:
    due = due_times_ns(Level(requests=20001, rate_per_s=100, burstiness=burstiness), "1")
    assert due is not None
    gaps = [(b - a) / 1e7 for a, b in pairwise(due)]
    assert statistics.fmean(gaps) == pytest.approx(1, rel=0.05)
    assert statistics.pstdev(gaps) == pytest.approx(spread, rel=0.1, abs=1e-6)
    assert due_times_ns(Level(requests=5, concurrency=1), "1") is None


def test_own_prompts_are_read_with_their_lines(tmp_path: Path) -> None:
    path = tmp_path / "p.jsonl"
    path.write_text(
        '{"prompt": "a", "output_tokens": 7}\n\n{"messages": [{"role": "user", "content": "b"}]}\n'
    )
    assert own_prompts(path, output_tokens=3) == [
        Prompt(text="a", output_tokens=7),
        Prompt(messages=({"role": "user", "content": "b"},), output_tokens=3),
    ]
    for bad, said in (
        ("{", ":1: "),
        ('{"prompt": 3}', ":1: "),
        ("{}", 'one of "prompt"'),
        ("", "no prompts"),
    ):
        path.write_text(bad)
        with pytest.raises(WorkloadError, match=said):
            own_prompts(path, output_tokens=3)
    with pytest.raises(WorkloadError, match="No such file"):
        own_prompts(tmp_path / "none", output_tokens=3)


def test_a_request_is_what_was_asked_for() -> None:
    sending = Sending(model="m", extra_body={"top_k": 1, "max_tokens": 9}, headers=(("x-a", "b"),))
    data = request_bytes(
        target("http://[::1]:81/v1/"), sending, Prompt(text="hé", output_tokens=5), Secret("k")
    )
    head, _, body = data.partition(b"\r\n\r\n")
    assert head.startswith(b"POST /v1/chat/completions HTTP/1.1\r\nHost: [::1]:81\r\n")
    assert b"\r\nAuthorization: Bearer k\r\n" in head
    assert head.endswith(b"\r\nx-a: b")
    assert f"Content-Length: {len(body)}".encode() in head
    assert json.loads(body) == {
        "model": "m",
        "messages": [{"role": "user", "content": "hé"}],
        "max_tokens": 9,
        "temperature": 0.0,
        "stream": True,
        "stream_options": {"include_usage": True},
        "ignore_eos": True,
        "top_k": 1,
    }


@pytest.mark.parametrize(("name", "value"), [("a", "b\r\nc: d"), ("a b", "c"), ("", "c"), ("a", "\u4e00")])
def test_headers_smuggle_nothing(name: str, value: str) -> None:
    sending = Sending(model="m", headers=((name, value),))
    with pytest.raises(InputError, match="header"):
        request_bytes(target("http://h"), sending, Prompt(text="a"), None)


@pytest.mark.parametrize(
    "url", ["ftp://h", "http://", "http://h:x", "http://u:p@h", "http://h/a b", "http://h?q"]
)
def test_a_url_that_cannot_be_sent_to_is_refused(url: str) -> None:
    with pytest.raises(InputError, match="--base-url"):
        target(url)


@pytest.mark.parametrize(
    "level",
    [
        Level(requests=0, concurrency=1),
        Level(requests=1),
        Level(requests=1, concurrency=0),
        Level(requests=1, rate_per_s=0),
        Level(requests=1, rate_per_s=float("nan")),
        Level(requests=1, rate_per_s=1, burstiness=0),
        Level(requests=1, rate_per_s=1, burstiness=1e-300),
        Level(requests=10**11, concurrency=1),
        Level(requests=100, rate_per_s=1e-300),
        Level(requests=1, rate_per_s=math.nan),
    ],
)
def test_a_level_that_cannot_be_driven_is_refused(level: Level) -> None:
    with pytest.raises(WorkloadError):
        level.checked()


def test_sglangs_own_route_has_its_own_members() -> None:
    sending = Sending(
        model="m", endpoint="/generate", extra_body={"rid": "x", "sampling_params": {"top_k": 1}}
    )
    data = request_bytes(target("http://h"), sending, Prompt(text="a", output_tokens=5), None)
    head, _, body = data.partition(b"\r\n\r\n")
    assert head.startswith(b"POST /generate HTTP/1.1\r\n")
    assert json.loads(body) == {
        "text": "a",
        "sampling_params": {"temperature": 0.0, "ignore_eos": True, "max_new_tokens": 5, "top_k": 1},
        "stream": True,
        "rid": "x",
    }
    for bad in (Prompt(messages=({"role": "user"},)), Prompt(text="a")):
        wrong = Sending(model="m", endpoint="/generate", extra_body={"sampling_params": 3})
        with pytest.raises(WorkloadError):
            request_bytes(target("http://h"), wrong, bad, None)
