#!/usr/bin/env python3
"""Triage of every option in 20 further models on 6 kinds of accelerators: a verdict each, and no exception.

    .venv/bin/python scripts/sweep.py OUT.jsonl [--engine sglang==0.5.10] [--model NAME] [--gpu NAME]
    .venv/bin/python scripts/sweep.py OUT.jsonl --report

Each triage is a process of its own and adds one line of JSON to OUT.jsonl; what is there already is not done
again, so that hours of it may be interrupted. `--report` asks nothing: it prints the lines as Markdown tables
(`docs/reference/sweep.md`), then exceptions, reasons for `unknown` and commands that do not start.
Tensor parallelism is chosen so that the weights fit; a model too large for a machine is served by several.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from assay.deployment.hardware import find_accelerator
from assay.deployment.presets import find_preset, preset_text

ENGINES = ("sglang==0.5.9", "sglang==0.5.10")
GPUS = ("H100 SXM", "H200 SXM", "B200", "L40S", "RTX PRO 6000 Blackwell Workstation", "A100 SXM 80GB")
LIMIT_S = 1800
PER_MACHINE = 8
ROOM = 0.78
"""The share of a device's memory that weights may take."""
VERDICTS = ("effective", "already_on", "no_op", "dead", "incompatible", "unknown")


@dataclass(frozen=True)
class Model:
    """A shipped model."""

    name: str
    kind: str
    gib: float
    """Its weights."""
    words: str = ""
    """What its command needs beside parallelism."""


MODELS = (
    Model("Qwen/Qwen2.5-7B-Instruct", "dense", 15),
    Model("mistralai/Mistral-7B-Instruct-v0.3", "dense", 14),
    Model("microsoft/phi-4", "dense", 29),
    Model("google/gemma-3-27b-it", "multimodal, sliding window", 52),
    Model("mistralai/Mistral-Small-3.1-24B-Instruct-2503", "multimodal", 46),
    Model("Qwen/Qwen2.5-VL-7B-Instruct", "multimodal", 16),
    Model("Qwen/Qwen3-VL-8B-Instruct", "multimodal", 17),
    Model("Qwen/Qwen3-VL-30B-A3B-Instruct", "multimodal MoE", 59),
    Model("meta-llama/Llama-4-Scout-17B-16E-Instruct", "multimodal MoE", 203),
    Model("moonshotai/Kimi-K2.5", "multimodal MoE, MLA, 4 bits", 554, "--trust-remote-code"),
    Model("Qwen/Qwen3-30B-A3B-FP8", "MoE, fp8", 30),
    Model("mistralai/Mixtral-8x7B-v0.1", "MoE", 87),
    Model("MiniMaxAI/MiniMax-M2.5", "MoE, fp8", 215, "--trust-remote-code"),
    Model("XiaomiMiMo/MiMo-V2-Flash", "MoE, fp8, sliding window", 292, "--trust-remote-code"),
    Model("openai/gpt-oss-120b", "MoE, fp4, sliding window", 61),
    Model("Qwen/Qwen3-Next-80B-A3B-Instruct", "hybrid MoE", 152),
    Model("nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-BF16", "hybrid MoE", 59, "--trust-remote-code"),
    Model("Qwen/Qwen3.5-27B", "hybrid, multimodal", 52),
    Model("deepseek-ai/DeepSeek-V3.2", "MoE, MLA, sparse attention, fp8", 642),
    Model("Qwen/Qwen3-Embedding-8B", "embedding", 15, "--is-embedding"),
)


def main() -> None:
    """Do what is not done yet, or report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("--engine", action="append", help="default: 0.5.9 and 0.5.10")
    parser.add_argument("--model", action="append", help="default: all 20")
    parser.add_argument("--gpu", action="append", help="default: all 6")
    parser.add_argument("--report", action="store_true")
    parser.add_argument("--one", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.report:
        print(report(read(options.out)))
        return
    wanted = [each for each in MODELS if not options.model or each.name in options.model]
    todo = [
        (engine, model, gpu)
        for engine in options.engine or ENGINES
        for model in wanted
        for gpu in options.gpu or GPUS
    ]
    if options.one:
        print(json.dumps(asked(*todo[0])))
        return
    run_all(options.out, todo)


def run_all(out: Path, todo: list[tuple[str, Model, str]]) -> None:
    done = {(each["engine"], each["model"], each["gpu"]) for each in read(out)}
    for at, (engine, model, gpu) in enumerate(todo, 1):
        if (engine, model.name, gpu) in done:
            continue
        record = in_its_own_process(out, engine, model, gpu)
        with out.open("a") as stream:
            stream.write(json.dumps(record) + "\n")
        print(f"{at}/{len(todo)} {engine} {model.name} on {gpu}: {said(record)}", flush=True)


def said(record: dict[str, Any]) -> str:
    if record.get("fault"):
        return str(record["fault"].strip().splitlines()[-1])
    stops = f", does not start: {record['failure']['message'][:100]}" if record["failure"] else ""
    return f"{record['counts']}, {len(record['exceptions'])} exceptions, {record['cpu_s']:.0f} s{stops}"


def in_its_own_process(out: Path, engine: str, model: Model, gpu: str) -> dict[str, Any]:
    question = ["--one", "--engine", engine, "--model", model.name, "--gpu", gpu]
    record: dict[str, Any] = {"engine": engine, "model": model.name, "gpu": gpu}
    try:
        done = subprocess.run(
            [sys.executable, __file__, str(out), *question],
            capture_output=True, text=True, timeout=LIMIT_S, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return {**record, "fault": f"no answer in {LIMIT_S} s"}
    if done.returncode:
        return {**record, "fault": done.stderr[-4000:] or f"ended with {done.returncode}"}
    return {**record, **json.loads(done.stdout)}


# ---------------------------------------------------------------- one triage


def asked(engine: str, model: Model, gpu: str) -> dict[str, Any]:
    """What triage says of one deployment; where it falls, each option by itself."""
    from assay.findings import open_deployment, triage
    from assay.findings.failure import failure_of
    from assay.source import default_cache

    began = time.process_time()
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "deployment.toml"
        file.write_text(deployment(engine, model, gpu))
        opened = open_deployment(file, environment={}, home=Path(folder), cache=default_cache(os.environ))
    exceptions: list[list[str]] = []
    try:
        found: Iterable[Any] = triage(opened.case).findings
    except Exception:  # noqa: BLE001 (any is a finding)
        exceptions.append(["(triage)", traceback.format_exc()[-3000:]])
        found = list(one_by_one(opened.case, exceptions))
    present = failure_of(opened.case.present)
    resolution = opened.case.present.base.resolution
    return {
        "command": command(model, gpu),
        "status": resolution.status,
        "premises": [f"{each.site}: {each.message}"[:300] for each in resolution.possible_rejections],
        "gaps": [each.reason[:200] for each in resolution.gaps],
        "failure": present and failed(present),
        "counts": dict(Counter(each.verdict for each in found)),
        "findings": [row(each) for each in found],
        "exceptions": exceptions,
        "cpu_s": round(time.process_time() - began, 2),
        "peak_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
    }


def row(found: Any) -> list[Any]:
    """A finding as one row: option, value, verdict, sub-kind, deciding line, and why it is unknown."""
    line = f"{found.evidence[0].file}:{found.evidence[0].line}" if found.evidence else ""
    why = [found.summary[:300], list(found.open_atoms[:6])] if found.verdict == "unknown" else []
    return [found.option, found.value, found.verdict, found.subkind, line, *why]


def failed(failure: Any) -> dict[str, Any]:
    lines = [f"{each.file}:{each.line} {each.text} ({each.says})" for each in failure.evidence]
    return {"phase": failure.phase, "message": failure.message, "lines": lines}


def one_by_one(case: Any, exceptions: list[list[str]]) -> Iterator[Any]:
    from assay.findings import ask_any

    for option in case.source.declarations.options:
        if option.action == "help":
            continue
        try:
            yield ask_any(case, option)
        except Exception:  # noqa: BLE001 (any is a finding)
            exceptions.append([option.flags[0], traceback.format_exc()[-3000:]])


def deployment(engine: str, model: Model, gpu: str) -> str:
    """The deployment file."""
    size, nodes = parallelism(model, gpu)
    return "\n".join((
        f'engine = "{engine}"',
        f'command = "{command(model, gpu)}"',
        "[model]",
        f'preset = "{model.name}"',
        "[hardware]",
        f'gpus = "{size if nodes == 1 else PER_MACHINE}x {gpu}"',
        'cuda = "12.8"',
        'driver = "580.95.05"',
        "",
    ))  # fmt: skip


def command(model: Model, gpu: str) -> str:
    size, nodes = parallelism(model, gpu)
    config = json.loads(preset_text(find_preset(model.name)))
    words = [f"python -m sglang.launch_server --model-path {model.name}", model.words]
    if size > 1:
        words.append(f"--tp-size {size}")
    if not blocks_divide(config, size):
        words.append(f"--ep-size {size}")
    if nodes > 1:
        words.append(f"--nnodes {nodes} --node-rank 0 --dist-init-addr 10.0.0.1:5000")
    return " ".join(word for word in words if word)


def parallelism(model: Model, gpu: str) -> tuple[int, int]:
    """The least number of devices that hold the weights and divide the heads, and of machines."""
    memory = (find_accelerator(gpu).memory_mib or 0) / 1024
    config = json.loads(preset_text(find_preset(model.name)))
    for size in (1, 2, 4, 8, 16, 32):
        if size * memory * ROOM >= model.gib and heads_divide(config, size):
            return size, max(1, size // PER_MACHINE)
    raise ValueError(f"{model.name} does not fit on {gpu}")


def heads_divide(config: dict[str, Any], size: int) -> bool:
    text = config.get("text_config", config)
    heads, keys = text["num_attention_heads"], text.get("num_key_value_heads") or text["num_attention_heads"]
    return heads % size == 0 and (keys % size == 0 or size % keys == 0)


def blocks_divide(config: dict[str, Any], size: int) -> bool:
    """Whether an expert's share of a layer holds whole blocks of the quantization."""
    text = config.get("text_config", config)
    block = (config.get("quantization_config") or {}).get("weight_block_size")
    inner = text.get("moe_intermediate_size") or text.get("intermediate_size") or 0
    return not block or (inner // size) % block[0] == 0


# ---------------------------------------------------------------- the report


def read(out: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in out.read_text().splitlines()] if out.exists() else []


def report(records: list[dict[str, Any]]) -> str:
    """Tables, then what should be looked at."""
    parts = []
    for engine in sorted({each["engine"] for each in records}):
        mine = [each for each in records if each["engine"] == engine and not each.get("fault")]
        parts += [f"## {engine}", by_model(mine), total(mine)]
        parts += ["### Why unknown", most(mine, unknown_reasons), "### Subkinds", most(mine, subkinds)]
        parts += ["### Lines that decide many options", "\n".join(deciding(mine))]
    parts += ["## Commands that do not start", *stopped(records), "## Exceptions", *thrown(records)]
    return "\n\n".join(parts)


def by_model(records: list[dict[str, Any]]) -> str:
    lines = ["| model | GPU | command | " + " | ".join(VERDICTS) + " | CPU s | MiB |",
             "| --- | --- | --- |" + " --- |" * (len(VERDICTS) + 2)]  # fmt: skip
    for each in records:
        words = each["command"].partition(each["model"])[2].strip()
        counts = " | ".join(str(each["counts"].get(name, 0)) for name in VERDICTS)
        stops = " (does not start)" if each["failure"] else ""
        lines.append(
            f"| {each['model']} | {each['gpu']} | `{words}`{stops} | {counts} "
            f"| {each['cpu_s']:.0f} | {each['peak_mib']} |"
        )
    return "\n".join(lines)


def total(records: list[dict[str, Any]]) -> str:
    counts: Counter[str] = Counter()
    for each in records:
        counts.update(each["counts"])
    everything = max(1, counts.total())
    cpu = sorted(each["cpu_s"] for each in records) or [0]
    thrown_here = sum(len(each["exceptions"]) for each in records)
    return (
        f"{len(records)} deployments, {everything} verdicts: "
        + ", ".join(f"{name} {count} ({count / everything:.1%})" for name, count in counts.most_common())
        + f". Exceptions: {thrown_here}. CPU seconds: median {cpu[len(cpu) // 2]:.0f}, most {cpu[-1]:.0f}."
    )


def most(records: list[dict[str, Any]], what: Any, limit: int = 40) -> str:
    counts: Counter[str] = Counter(name for each in records for name in what(each))
    return "\n".join(f"- {count}: {name}" for name, count in counts.most_common(limit))


def unknown_reasons(record: dict[str, Any]) -> Iterator[str]:
    for found in record["findings"]:
        if found[2] == "unknown":
            atoms = found[6] or [found[5]]
            for atom in atoms:
                yield f"{found[3]}: {atom}"


def deciding(records: list[dict[str, Any]]) -> Iterator[str]:
    """Lines that decide more than twenty options of one deployment: no engine is written that way."""
    for each in records:
        lines = Counter((found[2], found[4]) for found in each["findings"] if found[4])
        for (verdict, line), count in lines.most_common(3):
            if count > 20:
                yield f"- {each['model']} on {each['gpu']}: {count} options {verdict} by {line}"


def subkinds(record: dict[str, Any]) -> Iterator[str]:
    for found in record["findings"]:
        yield f"{found[2]}: {found[3]}"


def stopped(records: list[dict[str, Any]]) -> Iterator[str]:
    for each in records:
        if each.get("failure"):
            lines = "".join(f"\n  - {line}" for line in each["failure"]["lines"])
            name = f"{each['engine']} {each['model']} on {each['gpu']}"
            yield f"- {name}: {each['failure']['phase']}: {each['failure']['message'][:300]}{lines}"


def thrown(records: list[dict[str, Any]]) -> Iterator[str]:
    for each in records:
        name = f"{each['engine']} {each['model']} on {each['gpu']}"
        for option, text in each.get("exceptions", [["(process)", each.get("fault", "")]]):
            yield f"- {name}: {option}\n\n```\n{text}\n```"


if __name__ == "__main__":
    main()
