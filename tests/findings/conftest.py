"""Deployments of the examples under real releases, opened once."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from assay.deployment import parse_engine
from assay.findings import Case, Opened, open_deployment

EXAMPLES = Path(__file__).parents[2] / "examples" / "deployments"
OpenCase = Callable[[str, str], Opened]


@pytest.fixture(scope="session")
def opened(engine_tree: Callable[[str], Path], tmp_path_factory: pytest.TempPathFactory) -> OpenCase:
    """`opened("qwen35-sm120", "0.5.9")` is that example under that release."""
    known: dict[tuple[str, str], Opened] = {}
    home = tmp_path_factory.mktemp("home")

    def get(example: str, version: str) -> Opened:
        if (example, version) not in known:
            tree = engine_tree(version)
            known[example, version] = open_deployment(
                EXAMPLES / f"{example}.toml",
                engine=parse_engine(str(tree)),
                environment={},
                home=home,
                cache=tree.with_name("lint-cache"),
            )
        return known[example, version]

    return get


@pytest.fixture(scope="session")
def case(opened: OpenCase) -> Callable[[str, str], Case]:
    """The same, ready to be asked."""
    return lambda example, version: opened(example, version).case
