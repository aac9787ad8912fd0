"""Deployments whose engine's start-up code is not followed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from assay.deployment import parse_engine
from assay.errors import UnknownIdiom
from assay.findings import open_deployment

EXAMPLE = Path(__file__).parents[2] / "examples/deployments/llama8b-h100.toml"


@pytest.mark.registry
def test_a_generation_that_is_only_declared_is_refused(
    engine_tree: Callable[[str], Path], tmp_path: Path
) -> None:
    engine = parse_engine(str(engine_tree("0.5.23")))
    with pytest.raises(UnknownIdiom, match=r"start-up code of sglang 0\.5\.23 .* not follow yet"):
        open_deployment(EXAMPLE, engine=engine, environment={}, home=tmp_path, cache=tmp_path / "cache")
