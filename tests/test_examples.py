"""What the project ships as examples is right: deployments lint clean, the demo's unit shows its faults."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from assay.cli import main
from assay.deployment import parse_engine, read_target
from assay.diagnostics import Choice, lint

pytestmark = pytest.mark.registry

EXAMPLES = Path(__file__).parents[1] / "examples"


def codes(path: Path, tree: Path, home: Path) -> set[str]:
    """The codes of all findings in a file against a release."""
    target = read_target(path, environment={}, home=home)
    engine = Choice(engine=parse_engine(str(tree)), reason="the test")
    (result,) = lint(str(path), target.launches, engine=engine, cache=tree.with_name("lint-cache"))
    return {found.code for found in result.diagnostics}


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("deployments/*.toml")), ids=lambda path: path.stem)
def test_deployments_have_nothing_to_report(
    path: Path,
    engine_tree: Callable[[str], Path],
    vllm_tree: Callable[[str], Path],
    tmp_path: Path,
) -> None:
    tree = vllm_tree("0.32.0") if path.stem.endswith("-vllm") else engine_tree("0.5.10")
    assert codes(path, tree, tmp_path) == set()


def test_the_demos_unit_shows_what_the_demo_is_for(
    engine_tree: Callable[[str], Path], tmp_path: Path
) -> None:
    unit = EXAMPLES / "units" / "llm.service"
    new = codes(unit, engine_tree("0.5.10"), tmp_path)
    assert {"ASY111", "ASY201", "ASY301"} <= new
    assert "ASY105" not in new
    assert "ASY105" in codes(unit, engine_tree("0.5.9"), tmp_path)


def test_the_readmes_sample_is_what_lint_prints(
    engine_tree: Callable[[str], Path], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    tree = engine_tree("0.5.10")
    monkeypatch.chdir(EXAMPLES / "units")
    assert main(["lint", "llm.service", "--engine", str(tree), "--cache", str(tree.with_name("lint-cache"))])
    printed = capsys.readouterr().out
    readme = (EXAMPLES.parent / "README.md").read_text()
    sample = readme.split("```console\n$ assay lint llm.service --engine sglang==0.5.10\n")[1].split("```")[0]
    parts = [part.strip("\n") for part in re.split(r"(?m)^ *…$", sample)]
    assert [part for part in parts if part not in printed] == []
