"""assay resolves command lines as the engine itself does: no field certain and wrong, what raises raises."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.flow.oracle import Score, engine_source, golden, score

from assay.flow import EngineSource

pytestmark = [pytest.mark.registry, pytest.mark.timeout(400)]
VERSIONS = {"0.5.9": 400, "0.5.10": 400, "0.5.12.post1": 400, "0.5.23": 60}
"""Releases, and how many deployments each was asked about at least."""


@pytest.fixture(scope="module", params=VERSIONS)
def scored(request: pytest.FixtureRequest, engine_tree: Callable[[str], Path]) -> tuple[str, Score]:
    source: EngineSource = engine_source(engine_tree(request.param))
    return request.param, score(f"sglang-{request.param}", source)


def test_resolution_is_that_of_the_engine(scored: tuple[str, Score]) -> None:
    version, found = scored
    assert len(golden(f"sglang-{version}")["answers"]) >= VERSIONS[version]
    assert not found.outcomes, "\n".join(found.outcomes[:20])
    assert not found.wrong, "\n".join(found.wrong[:20])
    assert found.certain >= 0.85, found.unknown.most_common(20)
    # what it reaches today; whoever loses some of it should know
    assert found.certain >= 0.999, found.unknown.most_common(20)


def test_rejections_name_the_line_of_the_engines_traceback(scored: tuple[str, Score]) -> None:
    _, found = scored
    assert not found.lines, "\n".join(found.lines[:20])


def test_the_engines_own_environment_variables_are_set_as_it_sets_them(scored: tuple[str, Score]) -> None:
    _, found = scored
    assert not found.environment, "\n".join(found.environment[:20])


def test_models_that_nobody_had_looked_at(engine_tree: Callable[[str], Path]) -> None:
    """Made after everything else worked, of model types that neither table nor interpreter had met."""
    found = score("other-models-0.5.10", engine_source(engine_tree("0.5.10")))
    assert not found.wrong, "\n".join(found.wrong[:20])
    assert found.certain >= 0.99, found.unknown.most_common(20)
    # a flat config.json of Qwen2-VL, which its class takes apart in a way that is not carried out
    assert all("qwen2vl" in line and "assay ('unknown'" in line for line in found.outcomes), found.outcomes[
        :5
    ]
