"""Models whose config class comes with them: transformers runs it only if that is allowed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.flow.oracle import engine_source, words

from assay.deployment import load_deployment
from assay.facts import facts_of
from assay.flow import Resolution, resolve

pytestmark = [pytest.mark.registry, pytest.mark.timeout(300)]
NAME = "XiaomiMiMo/MiMo-V2-Flash"


@pytest.fixture
def resolved(engine_tree: Callable[[str], Path], tmp_path: Path) -> Callable[..., Resolution]:
    def get(*more: str) -> Resolution:
        command = ("--model-path", NAME, "--tp-size", "8", *more)
        file = tmp_path / "mimo.toml"
        file.write_text(
            f'engine = "sglang==0.5.10"\ncommand = "python -m sglang.launch_server {" ".join(command)}"\n'
            f'[model]\npreset = "{NAME}"\n[hardware]\ngpus = "8x H100 SXM"\ncuda = "12.8"\n'
        )
        facts = facts_of(load_deployment(file))
        return resolve(engine_source(engine_tree("0.5.10")), facts, words(*command))

    return get


def test_without_leave_it_does_not_start(resolved: Callable[..., Resolution]) -> None:
    found = resolved()
    assert found.rejection is not None
    assert "needs trust_remote_code=True" in found.rejection.message


def test_with_leave_it_starts_on_what_config_json_says(resolved: Callable[..., Resolution]) -> None:
    found = resolved("--trust-remote-code")
    assert found.rejection is None
    assert all(each.when for each in found.possible_rejections)  # what the class sets by default is not known
    length = found.field("context_length")
    assert length is not None
    assert length.known
