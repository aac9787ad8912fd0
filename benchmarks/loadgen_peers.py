"""The load generators that `benchmarks/loadgen.py` sets beside assay: how each is called, what it reports.

Each is named NAME=PATH; nothing is installed. PATH is an interpreter (sglang, sglang-rust, aiohttp, assay) or
a program (vllm, guidellm, aiperf, inference-perf). CPU is that of all processes of a run, less that of the
same tool's run of one request.
"""

from __future__ import annotations

import ctypes
import json
import os
import re
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from assay.bench import read_records
from assay.stats import quantile

QUIET = {
    "TOKENIZERS_PARALLELISM": "false",
    "AIPERF_DISABLE_TELEMETRY": "1",
    "DO_NOT_TRACK": "1",
    "VLLM_NO_USAGE_STATS": "1",
}
Truth = Sequence[dict[str, Any]]


@dataclass(frozen=True)
class Load:
    """What every tool is asked to do."""

    url: str
    streams: int
    requests: int
    tokens: int
    folder: Path
    tokenizer: str


@dataclass
class Reported:
    """What a tool says; times in seconds, in the order of `account` where there is one."""

    throughput: float
    ttft: list[float]
    itl: list[list[float]] | None = None
    account: list[dict[str, Any] | None] | None = None
    """The server's account of each request; `None` where the tool keeps nothing to match it by."""


def sglang(path: str, load: Load) -> list[str]:
    return _sglang(path, load, "sglang.benchmark.serving")


def sglang_rust(path: str, load: Load) -> list[str]:
    return _sglang(path, load, "sglang.benchmark.rust_client")


def _sglang(path: str, load: Load, module: str) -> list[str]:
    return [
        *(path, "-W", "ignore", "-m", module, "--backend", "vllm", "--base-url", load.url, "--model", "fake"),
        *("--tokenizer", load.tokenizer, "--dataset-name", "random-ids", "--num-prompts", str(load.requests)),
        *("--random-input-len", "16", "--random-output-len", str(load.tokens), "--random-range-ratio", "1"),
        *("--max-concurrency", str(load.streams), "--output-file", str(load.folder / "out.jsonl")),
        *("--output-details", "--warmup-requests", "0", "--disable-tqdm"),
    ]


def vllm(path: str, load: Load) -> list[str]:
    return [
        *(path, "bench", "serve", "--backend", "openai", "--base-url", load.url, "--model", "fake"),
        *("--tokenizer", load.tokenizer, "--dataset-name", "random", "--random-input-len", "16"),
        *("--random-output-len", str(load.tokens), "--num-prompts", str(load.requests), "--save-result"),
        *("--max-concurrency", str(load.streams), "--save-detailed", "--result-dir", str(load.folder)),
        *("--result-filename", "out.jsonl", "--ignore-eos", "--disable-tqdm"),
        *("--ready-check-timeout-sec", "0"),
    ]


def guidellm(path: str, load: Load) -> list[str]:
    profile = f"kind=concurrent,streams={load.streams}" if load.streams > 1 else "kind=synchronous"
    backend = f"kind=openai_http,target={load.url},model=fake,request_format=/v1/completions"
    return [
        *(path, "run", "--backend", backend, "--profile", profile),
        *("--constraint", f"kind=max_requests,count={load.requests}"),
        *("--tokenizer", f"kind=huggingface_auto,model={load.tokenizer}"),
        *("--data", f"kind=synthetic_text,prompt_tokens=16,output_tokens={load.tokens}"),
        *("--output", f"kind=json,path={load.folder / 'out.json'}", "--disable-console"),
    ]


def aiperf(path: str, load: Load) -> list[str]:
    return [
        *(path, "profile", "--model", "fake", "--url", load.url, "--endpoint-type", "completions"),
        *("--streaming", "--concurrency", str(load.streams), "--request-count", str(load.requests)),
        *("--tokenizer", load.tokenizer, "--isl", "16", "--osl", str(load.tokens), "--ui", "none"),
        *("--artifact-dir", str(load.folder), "--export-level", "records"),
    ]


def inference_perf(path: str, load: Load) -> list[str]:
    def lengths(tokens: int) -> dict[str, int]:
        return {"min": tokens, "max": tokens, "mean": tokens, "std_dev": 0, "total_count": load.requests}

    stage = {"num_requests": load.requests, "concurrency_level": load.streams}
    config = {
        "api": {"type": "completion", "streaming": True},
        "server": {"type": "vllm", "model_name": "fake", "base_url": load.url, "ignore_eos": True},
        "tokenizer": {"pretrained_model_name_or_path": load.tokenizer},
        "data": {
            "type": "random",
            "input_distribution": lengths(16),
            "output_distribution": lengths(load.tokens),
        },
        "load": {"type": "concurrent", "stages": [stage], "num_workers": 1, "worker_max_concurrency": 4096},
        "storage": {"local_storage": {"path": str(load.folder / "out")}},
        "report": {"request_lifecycle": {"summary": True, "per_stage": True, "per_request": True}},
    }
    (load.folder / "config.yml").write_text(json.dumps(config))  # which YAML is made of
    return [path, "-c", str(load.folder / "config.yml")]


def aiohttp(path: str, load: Load) -> list[str]:
    own = str(Path(__file__).with_name("loadgen_aiohttp.py"))
    numbers = (load.streams, load.requests, load.tokens)
    return [path, own, load.url, *map(str, numbers), str(load.folder / "out.jsonl")]


def assay(path: str, load: Load) -> list[str]:
    return [
        *(path, "-m", "assay", "bench", "--base-url", load.url, "--model", "fake", "--num-warmups", "0"),
        *("--max-concurrency", str(load.streams), "--num-prompts", str(load.requests)),
        *("--random-input-len", "16", "--random-output-len", str(load.tokens), "--metrics-url", "none"),
        *("--result-dir", str(load.folder), "--result-filename", "out.json"),
    ]


def read_flat(load: Load, truth: Truth, words: dict[str, int]) -> Reported:
    """vLLM's and SGLang's tools keep the text, whose first words are the number of the response."""
    found = json.loads((load.folder / "out.jsonl").read_text().splitlines()[-1])
    by_number = {each["rid"]: each for each in truth}
    numbers = [_number(text, words) for text in found["generated_texts"]]
    account = [by_number.get(number) for number in numbers]
    return Reported(found["output_throughput"], found["ttfts"], found["itls"], account)


def _number(text: str, words: dict[str, int]) -> int:
    return sum(words.get(f" {word}", 0) << (6 * at) for at, word in enumerate(text.split()[:4]))


def read_guidellm(load: Load, truth: Truth, words: dict[str, int]) -> Reported:
    """It keeps the first and the last time of a request: its gaps cannot be held against the truth."""
    [found] = json.loads((load.folder / "out.json").read_text())["benchmarks"]
    every = found["requests"]["successful"]
    by_number = {each["rid"]: each for each in truth}
    account = [by_number.get(_number(each.get("output") or "", words)) for each in every]
    ttft = [each["time_to_first_token_ms"] / 1e3 for each in every]
    rate = found["metrics"]["output_tokens_per_second"]["successful"]["mean"]
    return Reported(rate, ttft, None, account)


def read_aiperf(load: Load, _truth: Truth, _words: dict[str, int]) -> Reported:
    """It keeps no text: its requests cannot be matched, only its totals."""
    found = json.loads((load.folder / "profile_export_aiperf.json").read_text())
    return Reported(found["output_token_throughput"]["avg"], [])


def read_inference_perf(load: Load, truth: Truth, words: dict[str, int]) -> Reported:
    """It keeps every event as it came: its text spells the number of the response."""
    stage = json.loads((load.folder / "out" / "stage_0_lifecycle_metrics.json").read_text())
    every = json.loads((load.folder / "out" / "per_request_lifecycle_metrics.json").read_text())
    by_number = {each["rid"]: each for each in truth}
    account, ttft, gaps = [], [], []
    for each in every:
        stamps = each["info"]["response_metrics"]["output_token_times"]
        text = "".join(re.findall(r'"text":\s*"([^"]*)"', each["response"]))
        account.append(by_number.get(_number(text, words)))
        ttft.append(stamps[0] - each["start_time"])
        gaps.append([b - a for a, b in pairwise(stamps)])
    rate = stage["successes"]["throughput"]["output_tokens_per_sec"]
    return Reported(rate, ttft, gaps, account)


def read_assay(load: Load, truth: Truth, _words: dict[str, int]) -> Reported:
    """Connections pair in the order in which they were opened; two requests of its own come before."""
    document = json.loads((load.folder / "out.json").read_text())
    records = tuple(read_records(load.folder / "out.rung1.records").records)
    ours, theirs = defaultdict(list), defaultdict(list)
    for each in sorted(records, key=lambda each: each.sent_ns):
        ours[each.connection].append(each)
    for account in truth:
        theirs[account["t_accept"]].append(account)
    pairs = zip(sorted(ours), sorted(theirs)[-len(ours) :], strict=True)
    matched = [pair for a, b in pairs for pair in zip(ours[a], theirs[b], strict=True)]
    return Reported(
        document["rungs"][0]["output_throughput"],
        [record.ttft_ns / 1e9 for record, _ in matched],
        [[(b - a) / 1e9 for a, b in pairwise(record.events_ns)] for record, _ in matched],
        [account for _, account in matched],
    )


Tool = tuple[Callable[[str, Load], list[str]], Callable[[Load, Truth, dict[str, int]], Reported]]
TOOLS: dict[str, Tool] = {
    "assay": (assay, read_assay),
    "sglang": (sglang, read_flat),
    "sglang-rust": (sglang_rust, read_flat),
    "vllm": (vllm, read_flat),
    "aiohttp": (aiohttp, read_flat),
    "guidellm": (guidellm, read_guidellm),
    "aiperf": (aiperf, read_aiperf),
    "inference-perf": (inference_perf, read_inference_perf),
}


def word_numbers(source: Path) -> dict[str, int]:
    """The words of fakellm, which spell numbers in base 64."""
    table = source.read_text().split("WORDS[64]")[1].split("};")[0]
    return {word: at for at, word in enumerate(re.findall(r'"( [a-z]+)"', table))}


def spent(command: Sequence[str], timeout_s: float) -> dict[str, Any]:
    """CPU seconds of a command and its descendants, their peak memory in MB, and why it failed, or nothing.

    Memory is the largest sum, of ten looks a second, of what each process had had at most until then.
    """
    ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)  # PR_SET_CHILD_SUBREAPER: orphans come to us
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    peak, until, failed = 0, time.monotonic() + timeout_s, ""
    with (
        tempfile.TemporaryFile() as said,
        subprocess.Popen(
            list(command),
            env={**os.environ, **QUIET},  # a tool that wants HF_HUB_OFFLINE gets it from whoever calls
            stdout=subprocess.DEVNULL,
            stderr=said,
            start_new_session=True,
        ) as process,
    ):
        while process.poll() is None and not failed:
            peak = max(peak, _memory_kb(process.pid))
            time.sleep(0.1)
            if time.monotonic() > until:
                os.killpg(process.pid, signal.SIGKILL)
                failed = f"not finished in {timeout_s:g} s"
        if process.wait() and not failed:
            said.seek(0)
            failed = said.read().decode()[-300:].strip() or "failed"
    time.sleep(0.3)
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        pass
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {"cpu_s": cpu_s, "failed": failed, "peak_mb": peak / 1e3}


def _memory_kb(root: int) -> int:
    """What a process and its descendants had in memory at most, summed."""
    children: dict[int, list[int]] = defaultdict(list)
    most = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                lines = (folder / "status").read_text().splitlines()
            except OSError:
                continue
            fields = dict(line.split(":", 1) for line in lines)
            children[int(fields["PPid"])].append(int(folder.name))
            most[int(folder.name)] = int(fields.get("VmHWM", "0").split()[0])
    found, rest = 0, [root]
    while rest:
        each = rest.pop()
        found += most.get(each, 0)
        rest += children[each]
    return found


def figures(reported: Reported, truth: Truth, streams: int) -> dict[str, float]:
    """Errors in ms of what was reported, where it can be matched with what was sent."""
    first, last = min(each["t_request"] for each in truth), max(each["t_done"] for each in truth)
    true_rate = sum(each["tokens"] for each in truth) * 1e9 / (last - first)
    found = {"rate": reported.throughput / true_rate}
    opening = {each["rid"] for each in sorted(truth, key=lambda each: each["t_request"])[:streams]}
    ttft, own, itl = [], [], []
    for at, account in enumerate(reported.account or ()):
        if account is None:
            continue
        sends = account["t_send"]
        if account["rid"] not in opening:
            error = reported.ttft[at] * 1e3 - (sends[0] - account["t_request"]) / 1e6
            ttft.append(error)
            own.append(error - (account["t_request"] - account["t_kernel"]) / 1e6)
        if reported.itl is not None and len(reported.itl[at]) == len(sends) - 1:
            gaps = zip(reported.itl[at], pairwise(sends), strict=True)
            itl += [abs(gap * 1e3 - (b - a) / 1e6) for gap, (a, b) in gaps]
    for name, values in (("ttft", sorted(ttft)), ("own", sorted(own)), ("itl", sorted(itl))):
        if values:
            found |= {f"{name}_p50": quantile(values, 0.5), f"{name}_p99": quantile(values, 0.99)}
    return found


def named(peers: Sequence[str]) -> dict[str, str]:
    """NAME=PATH of the command line, assay first."""
    found = {"assay": sys.executable}
    for peer in peers:
        name, _, path = peer.partition("=")
        if name not in TOOLS or not path:
            sys.exit(f"--peer {peer}: NAME=PATH was expected, NAME one of {', '.join(TOOLS)}")
        found[name] = path
    return found
