"""The case that started assay, from its deployment file: what the engine silently decides there."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.flow.oracle import engine_source, words

from assay.deployment import load_deployment
from assay.facts import facts_of
from assay.flow import resolve

pytestmark = [pytest.mark.registry, pytest.mark.timeout(300)]
EXAMPLES = Path(__file__).parents[2] / "examples" / "deployments"


def test_the_hybrid_model_with_speculation(engine_tree: Callable[[str], Path]) -> None:
    deployment = load_deployment(EXAMPLES / "qwen35-sm120-xbuf.toml")
    assert deployment.command.script is not None
    arguments = shlex.split(deployment.command.script.text.replace("\\\n", " "))[3:]
    found = resolve(engine_source(engine_tree("0.5.10")), facts_of(deployment), words(*arguments))
    values = {each.name: each.value if each.known else "unknown" for each in found.fields}
    assert found.rejection is None
    assert values["max_running_requests"] == 48
    assert values["cuda_graph_max_bs"] == 512
    assert values["disable_overlap_schedule"] is True
    assert values["disable_radix_cache"] is False
    assert values["moe_runner_backend"] == "auto"
    assert values["enable_flashinfer_allreduce_fusion"] is False


def test_the_plain_command_is_refused(engine_tree: Callable[[str], Path]) -> None:
    deployment = load_deployment(EXAMPLES / "qwen35-sm120.toml")
    assert deployment.command.script is not None
    arguments = shlex.split(deployment.command.script.text.replace("\\\n", " "))[3:]
    found = resolve(engine_source(engine_tree("0.5.10")), facts_of(deployment), words(*arguments))
    assert found.rejection is not None
    assert found.rejection.function == "_handle_mamba_radix_cache"
    assert str(found.rejection.site) == "sglang/srt/server_args.py:2206"
