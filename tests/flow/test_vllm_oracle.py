"""assay resolves vLLM's command lines as vLLM itself does: no setting certain and wrong."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.flow.oracle import Score, golden
from tests.flow.vllm_oracle import score, vllm_source

pytestmark = [pytest.mark.registry, pytest.mark.timeout(400)]
VERSIONS = ("0.24.0", "0.32.0")
MAY_BE_UNKNOWN = 16
"""So many of the deployments rest on a tokenizer, on weights or on an optional library, and may not start."""


@pytest.fixture(scope="module", params=VERSIONS)
def scored(request: pytest.FixtureRequest, vllm_tree: Callable[[str], Path]) -> tuple[str, Score]:
    return request.param, score(f"vllm-{request.param}", vllm_source(vllm_tree(request.param)))


def test_resolution_is_that_of_the_engine(scored: tuple[str, Score]) -> None:
    version, found = scored
    assert len(golden(f"vllm-{version}")["answers"]) >= 100
    assert not found.outcomes, "\n".join(found.outcomes[:20])
    assert not found.wrong, "\n".join(found.wrong[:20])
    assert found.certain >= 0.99, found.unknown.most_common(20)
    assert len(found.unsure) <= MAY_BE_UNKNOWN, "\n".join(found.unsure)


def test_rejections_name_the_line_of_the_engines_traceback(scored: tuple[str, Score]) -> None:
    _, found = scored
    assert not found.lines, "\n".join(found.lines[:20])
