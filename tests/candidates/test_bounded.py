"""Bounds of deployments: what resolution says counts, and what has none says why."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from assay.bounds import Measured
from assay.candidates import Asked, bounds
from assay.deployment import parse_engine
from assay.findings import Opened, Triage, open_deployment

pytestmark = [pytest.mark.registry, pytest.mark.timeout(300)]
EXAMPLES = Path(__file__).parents[2] / "examples" / "deployments"

Open = Callable[..., Opened]


@pytest.fixture
def opened(engine_tree: Callable[[str], Path], tmp_path: Path) -> Open:
    def of(name: str, *more: str) -> Opened:
        folder = engine_tree("0.5.10")
        text = (EXAMPLES / f"{name}.toml").read_text()
        path = tmp_path / "served.toml"
        path.write_text(text.replace('-8B-Instruct"\n', f'-8B-Instruct {" ".join(more)}"\n', 1))
        return open_deployment(
            path,
            engine=parse_engine(str(folder)),
            environment={},
            home=tmp_path,
            cache=folder.with_name("lint-cache"),
        )

    return of


NOTHING_ASKED = Triage(
    failure=None, remedies=(), premises=(), counts={}, in_vain=(), unasked=(), todo=(), findings=()
)


def test_the_floor_follows_what_the_command_resolves_to(opened: Open) -> None:
    plain = bounds(opened("llama8b-h100"), NOTHING_ASKED, Asked(concurrency=(8,)))
    [step] = plain.steps
    assert 1e3 * step.floor_s == pytest.approx(1e3 * (7.5e9 * 2 + 8 * 2000 * 131072) / 3.35e12, rel=0.05)
    for words, smaller in ((("--quantization", "fp8"), 0.6), (("--kv-cache-dtype", "fp8_e5m2"), 0.99)):
        case = opened("llama8b-h100", *words)
        [other] = bounds(case, NOTHING_ASKED, Asked(concurrency=(8,))).steps
        assert other.floor_s < smaller * step.floor_s


def test_a_measurement_faster_than_the_floor_is_a_doubt(opened: Open) -> None:
    case = opened("llama8b-h100")
    found = bounds(
        case, NOTHING_ASKED, Asked(concurrency=(), measured=(Measured(concurrency=1, tokens_per_s=900),))
    )
    assert [each for each in found.doubts if "less than its floor" in each]
    slower = Asked(concurrency=(), measured=(Measured(concurrency=1, tokens_per_s=150),))
    assert bounds(case, NOTHING_ASKED, slower).doubts == ()
