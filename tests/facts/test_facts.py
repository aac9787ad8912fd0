"""Facts that a deployment states."""

from __future__ import annotations

from pathlib import Path

from assay.deployment import load_deployment
from assay.facts import Fact, Facts, facts_of

EXAMPLE = Path(__file__).parents[2] / "examples" / "deployments" / "qwen35-sm120-xbuf.toml"


def test_the_facts_of_a_deployment_file() -> None:
    facts = facts_of(load_deployment(EXAMPLE), environment={"SGLANG_X": "1"})
    told = {name: fact.value for name, fact in facts.by_name.items()}
    assert told["accelerator.capability"] == [12, 0]
    assert told["accelerator.count"] == 4
    assert told["cuda.version"] == "12.8"
    assert told["environment:SGLANG_X"] == "1"
    assert told["library:sgl-kernel"] == {"present": True, "version": None}
    assert told["model:Qwen/Qwen3.5-122B-A10B"]["model_type"] == "qwen3_5_moe"
    assert all(fact.source for fact in facts.facts)


def test_the_last_of_two_facts_counts() -> None:
    facts = Facts(facts=(Fact(name="a", value=1, source="x"), Fact(name="a", value=2, source="y")))
    found = facts.find("a")
    assert found is not None
    assert found.value == 2
    assert facts.find("b") is None
