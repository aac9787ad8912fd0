"""Lint with verdicts: what the command's own options do for its model on its machine."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from assay.deployment import parse_engine
from assay.diagnostics import Diagnostic, lint_file

pytestmark = [pytest.mark.registry, pytest.mark.timeout(400)]
EXAMPLES = Path(__file__).parents[2] / "examples" / "deployments"


@pytest.fixture
def linted(engine_tree: Callable[[str], Path], tmp_path: Path) -> Callable[..., list[Diagnostic]]:
    tree = engine_tree("0.5.10")

    def lint(example: str, *words: str, comment: str = "", verdicts: bool = True) -> list[Diagnostic]:
        text = (EXAMPLES / f"{example}.toml").read_text()
        head = "python -m sglang.launch_server"
        file = tmp_path / "deployment.toml"
        file.write_text(comment + text.replace(head, " ".join([head, *words])))
        (result,) = lint_file(
            file,
            engine=parse_engine(str(tree)),
            environment={},
            home=tmp_path,
            cache=tree.with_name("lint-cache"),
            verdicts=verdicts,
        )
        return [each for each in result.diagnostics if each.severity != "note"]

    return lint


def test_options_that_do_nothing_here_are_named_with_their_lines(
    linted: Callable[..., list[Diagnostic]],
) -> None:
    vain = ("--enable-flashinfer-allreduce-fusion", "--num-continuous-decode-steps 4")
    found = {each.option: each for each in linted("qwen35-sm120-xbuf", *vain)}
    assert {name: each.code for name, each in found.items()} == {
        "--enable-flashinfer-allreduce-fusion": "ASY402",
        "--num-continuous-decode-steps": "ASY111",  # nothing reads it: that needs no machine
    }
    fusion = found["--enable-flashinfer-allreduce-fusion"]
    assert "communicator.py" in fusion.evidence[0].site.file
    assert fusion.place.line == 7  # where the command stands in the file


def test_a_command_that_does_not_start_is_an_error_with_what_mends_it(
    linted: Callable[..., list[Diagnostic]],
) -> None:
    (found,) = linted("qwen35-sm120")
    assert (found.code, found.severity) == ("ASY401", "error")
    assert "extra_buffer" in found.help
    assert found.evidence[0].site.line == 2206


def test_without_the_switch_and_with_a_comment_nothing_is_asked(
    linted: Callable[..., list[Diagnostic]],
) -> None:
    assert linted("qwen35-sm120", verdicts=False) == []
    assert linted("qwen35-sm120", comment="# assay: ignore=ASY401\n") == []
