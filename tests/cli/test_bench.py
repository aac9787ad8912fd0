"""The program: what it prints, keeps and returns, and what is left when it is stopped."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest
from tests.bench.servers import HEAD, Scripted, Step, chunk, event, said, streamed, usage

from assay.bench import read_records
from assay.cli import main

KEY = "sk-5f00ba4"
ANSWER = streamed(
    event({"choices": [{"text": "a"}]}),
    event({"choices": [{"text": "b", "finish_reason": "length"}]}),
    usage(8, 2),
)


@pytest.fixture
def server() -> Iterator[Callable[..., Scripted]]:
    running: list[Scripted] = []

    def begin(answer: Callable[[int, int, bytes], Sequence[Step]] = lambda *_: ANSWER) -> Scripted:
        running.append(Scripted(answer))
        return running[-1]

    yield begin
    for each in running:
        each.stop()


def options(server: Scripted, folder: Path, *more: str) -> list[str]:
    return [
        *("bench", "--base-url", server.where.url, "--model", "m", "--result-dir", str(folder)),
        *("--result-filename", "r.json", "--random-input-len", "8", "--random-output-len", "2", *more),
    ]


def test_a_ladder_is_measured_printed_and_kept(
    server: Callable[..., Scripted],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    running = server()
    promises = ("--goodput", "ttft:1000", "tpot:100", "e2el:20000", "--html")
    assert main(options(running, tmp_path, "--max-concurrency", "1,3", "--num-prompts", "6", *promises)) == 0
    shown = capsys.readouterr()
    assert "concurrency 1: 6 completed, 0 failed" in shown.out
    assert "[too-few-requests]" in shown.out
    assert "TTFT: ms from just before the send" in shown.out
    assert max(map(len, shown.out.splitlines())) <= 80
    assert "within ttft 1000, tpot 100, e2el 20000 ms" in shown.out
    assert "r.json" in shown.err
    assert "<h2>concurrency 3</h2>" in (tmp_path / "r.html").read_text()
    document = json.loads((tmp_path / "r.json").read_text())
    assert [rung["max_concurrency"] for rung in document["rungs"]] == [1, 3]
    assert all(f"Bearer {KEY}".encode() in request for request in running.requests)
    kept = (tmp_path / "r.json").read_text() + shown.out + shown.err
    assert KEY not in kept
    assert len(running.requests) == len(set(running.requests)) == 2 + 2 * (6 + 1)
    records = tuple(read_records(tmp_path / "r.rung2.records").records)
    assert [each.index for each in records] == list(range(1, 7))


def test_the_summary_has_the_keys_of_vllm_and_sglang(
    server: Callable[..., Scripted], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    more = ("--request-rate", "200", "--num-prompts", "70", "--save-detailed", "--json")
    assert main(options(server(), tmp_path, *more)) == 0
    shown = json.loads(capsys.readouterr().out)
    [rung] = json.loads((tmp_path / "r.json").read_text())["rungs"]
    keys = "backend model_id request_rate max_concurrency duration completed failed total_input_tokens "
    keys += (
        "total_output_tokens request_throughput output_throughput total_token_throughput total_throughput "
    )
    keys += (
        "input_throughput concurrency max_concurrent_requests input_lens output_lens ttfts itls latencies "
    )
    keys += "start_times errors"
    spreads = [f"{a}_{b}_ms" for a in ("mean", "median", "std", "p90", "p95", "p99") for b in
               ("ttft", "tpot", "itl", "e2el", "e2e_latency")]  # fmt: skip
    assert {*keys.split(), *spreads} <= set(rung)
    assert rung["p90_ttft_ms"] is not None
    assert rung["p99_ttft_ms"] is None
    assert (rung["completed"], rung["total_output_tokens"], len(rung["ttfts"])) == (70, 140, 70)
    assert shown["rungs"][0]["request_rate"] == 200


@pytest.mark.parametrize(
    ("more", "code", "text"),
    [
        (("--max-concurrency", "1,x"), 2, "whole numbers"),
        (("--request-rate", "0"), 2, "more than 0"),
        (("--request-rate", "nan"), 2, "more than 0"),
        (("--request-rate", "1e12"), 2, "num-prompts"),
        (
            ("--ramp-up-strategy", "linear", "--ramp-up-start-rps", "nan", "--ramp-up-end-rps", "2"),
            2,
            "start",
        ),
        (("--ramp-up-strategy", "linear", "--ramp-up-start-rps", "1", "--ramp-up-end-rps", "inf"), 2, "end"),
        (("--dataset-name", "custom"), 2, "--dataset-path"),
        (("--extra-body", "[1]"), 2, "JSON object"),
        (("--header", "x"), 2, "KEY=VALUE"),
        (("--model", "\udcff"), 2, "--model \ufffd: UTF-8"),
        (("--dataset-path", "\udcff"), 2, "--dataset-path \ufffd: UTF-8"),
        (("--base-url", "http://127.0.0.1:1"), 6, "refused"),
    ],
)
def test_what_cannot_be_done_is_said(
    server: Callable[..., Scripted],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    more: tuple[str, ...],
    code: int,
    text: str,
) -> None:
    given = [word for word in options(server(), tmp_path) if more[0] != "--base-url" or word != "--base-url"]
    if more[0] == "--base-url":
        given = [word for word in given if not word.startswith("http")]
    if more[0] == "--model":
        given = [word for word in given if word not in ("--model", "m")]
    assert main([*given, *more]) == code
    assert text in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_a_stall_is_named_and_what_was_measured_is_kept(
    server: Callable[..., Scripted], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    running: Scripted = server(lambda *_: [HEAD, "hang"] if len(running.requests) > 14 else ANSWER)
    more = ("--max-concurrency", "1,2,4", "--num-prompts", "8", "--stall-timeout", "0.5")
    assert main(options(running, tmp_path, *more)) == 6
    assert "nothing came for 0.5 s" in capsys.readouterr().err
    ended = [rung["ended"] for rung in json.loads((tmp_path / "r.json").read_text())["rungs"]]
    assert ended == ["complete", "stalled"]


def test_what_was_measured_is_shown_before_a_rung_of_which_nothing_was_answered(
    server: Callable[..., Scripted], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    refused: Sequence[Step] = [b"HTTP/1.1 500 no\r\ncontent-length: 0\r\n\r\n"]
    running: Scripted = server(lambda *_: refused if len(running.requests) > 7 else ANSWER)
    assert main(options(running, tmp_path, "--max-concurrency", "1,2", "--num-prompts", "4")) == 6
    shown = capsys.readouterr()
    assert "none of 4 requests was answered (concurrency 2)" in shown.err
    assert "results in" in shown.err
    assert "Definitions" in shown.out


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
@pytest.mark.parametrize("processes", ["1", "2"])
def test_finished_rungs_outlive_any_end(
    server: Callable[..., Scripted], tmp_path: Path, number: signal.Signals, processes: str
) -> None:
    running: Scripted = server(
        lambda *_: [HEAD, chunk(said("a")), "hang"] if len(running.requests) > 14 else ANSWER
    )
    ladder = ("--max-concurrency", "1,2", "--num-prompts", "8", "--client-processes", processes)
    with begun(options(running, tmp_path, *ladder)) as process:
        wait_for(process, running, 16)
        os.kill(process.pid, number)
        _, errors = process.communicate(timeout=30)
    ended = [rung["ended"] for rung in json.loads((tmp_path / "r.json").read_text())["rungs"]]
    if number == signal.SIGKILL:
        assert ended == ["complete"]
    else:
        assert process.returncode == 130
        assert ended == ["complete", "interrupted"]
        assert "Traceback" not in errors
    assert len(tuple(read_records(tmp_path / "r.rung1.records").records)) == 8


def test_a_rung_that_has_ended_outlives_ctrl_c_before_it_is_written(
    server: Callable[..., Scripted], tmp_path: Path
) -> None:
    running = server()
    busy = "vllm:num_requests_running 1\n"  # a server that never says that it is done: two seconds' wait
    running.metrics = lambda: busy if len(running.requests) >= 11 else busy.replace("1", "0")
    ladder = ("--max-concurrency", "1,2", "--num-prompts", "8")
    with begun(options(running, tmp_path, *ladder)) as process:
        wait_for(process, running, 11)
        time.sleep(0.5)
        assert not (tmp_path / "r.json").exists()
        os.kill(process.pid, signal.SIGINT)
        printed, errors = process.communicate(timeout=30)
    assert process.returncode == 130
    assert [rung["ended"] for rung in json.loads((tmp_path / "r.json").read_text())["rungs"]] == ["complete"]
    assert "Traceback" not in errors
    assert "results in" in errors
    assert "concurrency 1 " in printed
    assert len(running.requests) == 11


def begun(words: Sequence[str]) -> subprocess.Popen[str]:
    code = (
        "import signal, sys; from assay.cli import main;"
        "signal.signal(signal.SIGINT, signal.default_int_handler);"  # it is ignored below a background job
        "sys.exit(main(sys.argv[1:]))"
    )
    command = [sys.executable, "-c", code, *words]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def wait_for(process: subprocess.Popen[str], running: Scripted, requests: int) -> None:
    until = time.monotonic() + 60
    while len(running.requests) < requests and time.monotonic() < until:
        assert process.poll() is None
        time.sleep(0.01)


def test_the_model_is_asked_for_where_it_is_not_named(
    server: Callable[..., Scripted], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = [
        word for word in options(server(), tmp_path, "--num-prompts", "1") if word not in ("--model", "m")
    ]
    assert main(given) == 6
    assert "/v1/models" in capsys.readouterr().err


def test_runs_of_two_servers_that_tokenise_otherwise_are_the_same_work(
    server: Callable[..., Scripted], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def answer(more: int) -> Callable[[int, int, bytes], Sequence[Step]]:
        def counting(_connection: int, _nth: int, request: bytes) -> Sequence[Step]:
            words = len(json.loads(request.partition(b"\r\n\r\n")[2])["prompt"].split())
            return [*ANSWER[:3], chunk(usage(words + more, 2)), *ANSWER[4:]]

        return counting

    for name, more in (("a", 0), ("b", 3)):
        load = ("--max-concurrency", "2", "--num-prompts", "6")
        assert main(options(server(answer(more)), tmp_path / name, *load)) == 0
    capsys.readouterr()
    main(["compare", str(tmp_path / "a"), str(tmp_path / "b"), "--json"])
    found = json.loads(capsys.readouterr().out)
    codes = {each["code"] for each in found["loads"][0]["objections"]}
    assert not codes & {"workload-differs", "lengths-differ"}


def test_a_folder_in_the_place_of_the_summary_is_said_before_anything_is_sent(
    server: Callable[..., Scripted], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    running = server()
    (tmp_path / "r.json").mkdir()
    assert main(options(running, tmp_path)) == 2
    assert "r.json is a folder" in capsys.readouterr().err
    assert not running.requests
