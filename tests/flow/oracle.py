"""Compares assay's resolution with what the engine itself resolved under faked devices (golden files)."""

from __future__ import annotations

import functools
import gzip
import json
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from assay.engines import ENGINES
from assay.facts import Fact, Facts, library_fact
from assay.flow import EngineSource, Resolution, resolve
from assay.source.declaring import arguments
from assay.source.declaring.module import Modules

REPORTED_OTHERWISE = {"sglang-0.5.23": {"enable_dp_attention"}}
"""Fields that the engine's own report shows otherwise than they are: for old clients `resolved_dict` gives
whether attention runs data-parallel, resolution leaves the option itself at False."""
GOLDEN = Path(__file__).parent / "golden"
PHASES = {"argparse": "parser", "post_init": "resolution", "check": "check"}


@dataclass(frozen=True)
class Text:
    """A word of a command line."""

    text: str
    known: bool = True


@dataclass
class Score:
    """How often assay said the same."""

    equal: int = 0
    wrong: list[str] = field(default_factory=list)
    unknown: Counter[str] = field(default_factory=Counter)
    outcomes: list[str] = field(default_factory=list)
    unsure: list[str] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)
    environment: list[str] = field(default_factory=list)

    @property
    def certain(self) -> float:
        """The share of fields that are certain and equal."""
        return self.equal / max(1, self.equal + len(self.wrong) + self.unknown.total())


@functools.cache
def golden(name: str) -> dict[str, Any]:
    """The golden file of that name: `sglang-0.5.10`."""
    data: dict[str, Any] = json.loads(gzip.decompress((GOLDEN / f"{name}.json.gz").read_bytes()))
    return data


def engine_source(root: Path) -> EngineSource:
    """A tree with its declarations."""
    return EngineSource(root, arguments.read(Modules(root), ENGINES["sglang"]))


def words(*texts: str) -> list[Text]:
    """A command line."""
    return [Text(text) for text in texts]


def facts_of_case(told: dict[str, Any], case: dict[str, Any]) -> Facts:
    """The facts that the oracle's fakes had for a case."""
    host, software = told["hosts"][case["host"]], told["software"]
    absent = (case.get("software") or {}).get("absent", [])
    values = {
        "accelerator.count": host["count"],
        "accelerator.name": host["name"],
        "accelerator.capability": host["capability"],
        "accelerator.memory_mib": host["memory_mib"],
        "cuda.available": True,
        "cuda.version": software["cuda"],
        "cudnn.version": software["cudnn"],
        "hip.version": None,
        "torch.version": f"{software['torch']}+cu{software['cuda'].replace('.', '')}",
        "driver.version": host["driver"],
        "host.platform": "linux",
        "host.system": "Linux",
        "host.machine": "x86_64",
        "transformers.version": told["packages"]["transformers"],
    }
    return Facts(
        facts=(
            *(Fact(name=name, value=value, source="oracle") for name, value in values.items()),
            *(Fact(name=f"model:{n}", value=config, source="oracle") for n, config in told["models"].items()),
            *(library_fact(n, v, "oracle") for n, v in told["packages"].items() if n not in absent),
            *(
                Fact(name=f"environment:{name}", value=value, source="oracle")
                for name, value in (case.get("env") or {}).items()
            ),
        ),
        libraries_are_complete=True,
    )


def score(name: str, source: EngineSource) -> Score:
    """Compare every deployment of a golden file."""
    told, total = golden(name), Score()
    cases = sorted(
        told["answers"], key=lambda case: json.dumps([case["host"], case.get("env"), case.get("software")])
    )
    for case in cases:
        found = resolve(source, facts_of_case(told, case), words(*case["argv"]))
        _compare(total, case, found, REPORTED_OTHERWISE.get(name, set()))
    return total


def _compare(total: Score, case: dict[str, Any], found: Resolution, without: set[str]) -> None:
    label = f"{case['id']} on {case['host']}: {' '.join(case['argv'][1:])}"
    error = case.get("error")
    theirs = ("rejected", PHASES[error[0]]) if error else ("resolved", None)
    mine = (found.status, found.rejection.phase if found.rejection else None)
    if theirs != mine:
        total.outcomes.append(f"{label}: the engine {theirs} {error}, assay {mine} {found.rejection}")
    elif error and found.rejection and found.rejection.site and error[3]:
        # where an open condition may raise before the certain line, both are named
        sites = [each.site for each in (found.rejection, *found.possible_rejections) if each.site]
        file, _, line = error[3].split(" ")[0].rpartition(":")
        near = (at.file.endswith(file) and abs(at.line - int(line)) <= 1 for at in sites)  # tests span lines
        if not any(near):
            total.lines.append(f"{label}: the engine {error[3]}, assay {', '.join(map(str, sites))}")
    for name in case["fields"].keys() - without:
        _compare_field(total, label, found, name, case["fields"][name])
    if not error:
        mine_set = {each.name: each.value for each in found.environment if each.certain}
        for name, value in case["env_set"].items():
            if name.startswith("SGLANG_") and mine_set.get(name) != value:
                total.environment.append(f"{label}: {name} is {value!r}, assay {mine_set.get(name)!r}")


def _compare_field(total: Score, label: str, found: Resolution, name: str, value: Any) -> None:
    mine = found.field(name)
    if value == "<random>":
        return
    if mine is None or not mine.known:
        total.unknown[f"{name}: {mine.reason if mine else 'no such field'}"] += 1
    elif mine.value == value or _close(mine.value, value):
        total.equal += 1
    else:
        total.wrong.append(f"{label}: {name} is {value!r}, assay {mine.value!r} by {mine.provenance.site}")


def _close(one: Any, other: Any) -> bool:
    return isinstance(one, int | float) and isinstance(other, float) and abs(one - other) <= 1e-6
