"""Deployments whose engine is not followed, or only in its start-up code."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from assay.deployment import parse_engine
from assay.errors import UnknownIdiom
from assay.findings import Case, ask, open_deployment, triage

EXAMPLE = Path(__file__).parents[2] / "examples/deployments/llama8b-h100.toml"


@pytest.mark.registry
def test_a_generation_that_is_only_declared_is_refused(
    engine_tree: Callable[[str], Path], tmp_path: Path
) -> None:
    engine = parse_engine(str(engine_tree("0.5.23")))
    with pytest.raises(UnknownIdiom, match=r"start-up code of sglang 0\.5\.23 .* not follow yet"):
        open_deployment(EXAMPLE, engine=engine, environment={}, home=tmp_path, cache=tmp_path / "cache")


@pytest.fixture(scope="module")
def vllm(vllm_tree: Callable[[str], Path], tmp_path_factory: pytest.TempPathFactory) -> Case:
    """Llama on one H100 under vLLM."""
    folder = tmp_path_factory.mktemp("vllm")
    engine = parse_engine(str(vllm_tree("0.24.0")))
    example = EXAMPLE.with_stem("llama8b-h100-vllm")
    return open_deployment(example, engine=engine, environment={}, home=folder, cache=folder / "cache").case


@pytest.mark.registry
@pytest.mark.parametrize(
    ("option", "value", "verdict"),
    [
        ("--max-num-batched-tokens", 8192, "already_on"),
        ("--max-num-seqs", 1024, "already_on"),
        ("--enable-prefix-caching", True, "already_on"),
        ("--tensor-parallel-size", 3, "incompatible"),
        ("--max-model-len", 1000000, "incompatible"),
        ("--num-scheduler-steps", 8, "incompatible"),
        ("--max-num-batched-tokens", 512, "unknown"),
        ("--long-prefill-token-threshold", 2048, "unknown"),
        ("--override-attention-dtype", "bfloat16", "unknown"),
        ("--port", 9000, "unknown"),
    ],
)
def test_of_vllm_only_start_up_code_is_asked(vllm: Case, option: str, value: object, verdict: str) -> None:
    assert ask(vllm, option, value).verdict == verdict


@pytest.mark.registry
def test_triage_of_vllm_is_refused(vllm: Case) -> None:
    with pytest.raises(UnknownIdiom, match="behind its start-up code"):
        triage(vllm)
