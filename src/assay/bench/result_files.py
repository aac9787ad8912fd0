"""Reads result files, whoever wrote them: assay, vLLM's and SGLang's tools, and three others."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

from assay.bench import peers
from assay.bench.level import load_name
from assay.bench.result_fields import Document, carried, encodable, inside, number, text, whole
from assay.bench.results import FIGURES, Measurement, Objection, RunFile
from assay.bench.summary import SUMMARY_SCHEMA
from assay.errors import InputError

_MOST_BYTES = 512 << 20
_KNOWN = (
    "result files of assay bench, vllm bench serve, sglang.bench_serving, guidellm, aiperf and "
    "inference-perf can be read"
)
_STAGE, _BESIDE_STAGES = (
    "stage_*_lifecycle_metrics.json",
    ("summary_lifecycle_metrics.json", "per_request_lifecycle_metrics.json", "validation.json"),
)
"""inference-perf writes a file for each load, and others that say it all again."""


def read_arm(name: str) -> tuple[RunFile, ...]:
    """The runs of one arm: a file, a folder of them, or several with commas between.

    Raises:
        InputError: something cannot be read, is no result file, or is there twice.
    """
    path = Path(name)
    if path.is_dir():
        files = sorted(
            each for each in path.iterdir() if each.suffix in (".json", ".jsonl") and each.is_file()
        )
        if any(each.match(_STAGE) for each in files):
            files = [each for each in files if each.name not in _BESIDE_STAGES]
        if not files:
            raise InputError(f"{path}: no .json or .jsonl file in it", hint=_KNOWN)
    elif path.exists() or "," not in name:
        files = [path]
    else:
        files = [Path(part) for part in name.split(",") if part]
        if not files:
            raise InputError(f"{name}: names no result file", hint=_KNOWN)
    runs = tuple(read_run(each) for each in files)
    seen: dict[str, str] = {}
    for run in runs:
        if run.digest in seen:
            raise InputError(
                f"{run.path} holds the same bytes as {seen[run.digest]}: one run is no repetition"
            )
        seen[run.digest] = run.path
    return runs


def read_run(path: Path) -> RunFile:
    """One result file.

    Raises:
        InputError: it cannot be read, or nobody that is known wrote it.
    """
    try:
        with path.open("rb") as file:
            data = file.read(_MOST_BYTES + 1)  # devices and pipes have no size
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}", hint=_KNOWN) from None
    if len(data) > _MOST_BYTES:
        raise InputError(
            f"{path}: more than 512 MiB", hint="the summary without per-request arrays is enough"
        )
    documents = _documents(path, data)
    tool = _tool(documents[0])
    if tool is None or any(_tool(each) != tool for each in documents):
        raise InputError(f"{path}: no result file that is known", hint=_KNOWN)
    first = documents[0]
    measurements = tuple(found for each in documents for found in _measurements(tool, each))
    if not measurements:
        raise InputError(f"{path}: a result file of {tool} without any run in it")
    return RunFile(
        path=encodable(str(path)),
        tool=tool,
        version=text(first, "assay")
        or text(first, "metadata", "guidellm_version")
        or text(first, "aiperf_version"),
        date=text(first, "date") or text(first, "start_time") or _epoch(first),
        digest=hashlib.sha256(data).hexdigest(),
        measurements=measurements,
    )


def _epoch(document: Document) -> str:
    """guidellm's start of its first benchmark, as others write it."""
    every = inside(document, "benchmarks")
    seconds = number(every[0], "start_time") if isinstance(every, list) and every else None
    if seconds is None or not 0 <= seconds < 1e11:
        return ""
    return datetime.fromtimestamp(seconds, tz=UTC).isoformat(timespec="seconds")


def _documents(path: Path, data: bytes) -> list[Document]:
    """One object, or one a line; Python's reader, since tools write `Infinity` and `NaN`."""
    try:
        try:
            found = [json.loads(data)]
        except json.JSONDecodeError as error:
            if not error.msg.startswith("Extra data"):
                raise
            found = [json.loads(line) for line in data.splitlines() if line.strip()]
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path}: no JSON: {error}", hint=_KNOWN) from None
    if not found or not all(isinstance(each, dict) for each in found):
        raise InputError(f"{path}: no result file that is known", hint=_KNOWN)
    return found


def _tool(document: Document) -> str | None:
    """Who wrote it, by the names that only it uses."""
    schema = text(document, "schema")
    if schema.startswith("assay.bench/"):
        return "assay bench" if schema == SUMMARY_SCHEMA else None
    if isinstance(document.get("benchmarks"), list) and "metadata" in document:
        return "guidellm"
    if "aiperf_version" in document:
        return "aiperf"
    if isinstance(document.get("load_summary"), dict) and isinstance(document.get("successes"), dict):
        return "inference-perf"
    if number(document, "completed") is None or number(document, "duration") is None:
        return None
    if peers.is_sglang(document):
        return "sglang.bench_serving"
    return "vllm bench serve" if "total_token_throughput" in document else None


def _measurements(tool: str, document: Document) -> Iterator[Measurement]:
    if tool == "assay bench":
        yield from _ours(document)
    elif tool == "guidellm":
        yield from peers.guidellm(document)
    elif tool == "aiperf":
        yield peers.aiperf(document)
    elif tool == "inference-perf":
        yield peers.inference_perf(document)
    else:
        yield peers.flat(document)


_FITTED = ("fit", "tokens_per_word", "fixed_tokens")
_WORK = ("endpoint", "prompts", "ignore_eos", "temperature", "extra_body")


def work_of(document: Document) -> dict[str, str]:
    """What a summary of ours says was asked, but for how much and how fast."""
    asked = {name: document.get(name) for name in _WORK}
    prompts = asked["prompts"]
    if isinstance(prompts, dict):  # how many words make a token is the server's matter, not what was asked
        asked["prompts"] = {name: value for name, value in prompts.items() if name not in _FITTED}
    return {name: _short(json.dumps(value, sort_keys=True)) for name, value in asked.items()}


def _ours(document: Document) -> Iterator[Measurement]:
    work = work_of(document)
    rungs = document.get("rungs")
    for rung in rungs if isinstance(rungs, list) else ():
        if isinstance(rung, dict):
            yield _of_rung(document, rung, work)


def _short(text: str) -> str:
    """Texts that differ stay different."""
    return text if len(text) < 400 else f"{hashlib.sha256(text.encode()).hexdigest()[:12]}: {text[:300]}"


def _of_rung(document: Document, rung: Document, work: dict[str, str]) -> Measurement:
    rate, completed = number(rung, "request_rate"), whole(rung, "completed") or 0
    shape = number(rung, "burstiness") if rung.get("burstiness") is not None else math.inf
    return Measurement(
        load=text(rung, "load") or load_name(whole(rung, "max_concurrency"), rate, shape),
        open=rate is not None or text(rung, "request_rate") == "trace",
        figures=carried({name: number(rung, name) for name in FIGURES}, completed),
        completed=completed,
        failed=whole(rung, "failed"),
        input_tokens=whole(rung, "total_input_tokens"),
        output_tokens=whole(rung, "total_output_tokens"),
        work={**work, "num_prompts": str(whole(rung, "num_prompts"))},
        model=text(document, "model_id"),
        seed=str(whole(document, "seed")),
        acceptance_length=number(rung, "accept_length"),
        started=number(rung, "server", "started"),
        objections=tuple(_doubts(rung.get("doubts"))),
    )


def _doubts(every: object) -> Iterator[Objection]:
    for each in every if isinstance(every, Sequence) and not isinstance(every, str) else ():
        yield Objection(
            code=text(each, "code") or "unnamed",
            blocks=inside(each, "blocks") is not False,  # what cannot be read is taken for the worse
            text=text(each, "text"),
            mend=text(each, "mend"),
        )
