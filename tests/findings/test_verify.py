"""Evidence is checked anew: it holds in the tree it came from, and not in one that was changed."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.findings.conftest import OpenCase

from assay.findings import ask, verify

pytestmark = [pytest.mark.registry, pytest.mark.timeout(300)]
ARGUMENTS = "sglang/srt/server_args.py"


@pytest.fixture
def copied(engine_tree: Callable[[str], Path], tmp_path: Path) -> Path:
    """The tree, with a file of arguments of its own."""
    source = engine_tree("0.5.9")

    def link(one: str, other: str) -> None:
        try:
            os.link(one, other)
        except OSError:
            shutil.copy2(one, other)

    shutil.copytree(source / "sglang" / "srt", tmp_path / "sglang" / "srt", copy_function=link)
    text = (source / ARGUMENTS).read_text()
    (tmp_path / ARGUMENTS).unlink()
    (tmp_path / ARGUMENTS).write_text(text)
    return tmp_path


@pytest.mark.parametrize(
    ("name", "value"),
    [("disable_radix_cache", True), ("num_continuous_decode_steps", 4), ("enable_eplb", True)],
)
def test_it_holds_where_it_came_from(opened: OpenCase, name: str, value: object) -> None:
    of = opened("qwen35-sm120", "0.5.9")
    checks = verify(of.case, ask(of.case, name, value), Path(of.tree.root))
    assert checks
    assert [each for each in checks if not each.holds] == []


def test_a_moved_line_is_noticed(opened: OpenCase, copied: Path) -> None:
    of = opened("qwen35-sm120", "0.5.9")
    found = ask(of.case, "disable_radix_cache", True)
    file = copied / ARGUMENTS
    file.write_text("# one line more\n" + file.read_text())
    assert any(each.what == "line" and not each.holds for each in verify(of.case, found, copied))


def test_a_changed_test_is_noticed(opened: OpenCase, copied: Path) -> None:
    of = opened("qwen35-sm120", "0.5.9")
    found = ask(of.case, "cuda_graph_max_bs", 512)
    file = copied / ARGUMENTS
    file.write_text(file.read_text().replace("if self.tp_size < 4:", "if self.tp_size < 8:"))
    checks = verify(of.case, found, copied)
    assert {each.what for each in checks if not each.holds} == {"line", "test", "verdict"}


def test_no_file_outside_the_tree_is_read(opened: OpenCase, tmp_path: Path) -> None:
    import msgspec

    of = opened("qwen35-sm120", "0.5.9")
    found = ask(of.case, "disable_radix_cache", True)
    (tmp_path / "secret.py").write_text("self.disable_radix_cache = True\n")
    line = msgspec.structs.replace(found.evidence[0], file="../secret.py", line=1)
    inside = tmp_path / "tree"
    inside.mkdir()
    checks = verify(of.case, msgspec.structs.replace(found, evidence=(line,), guards=()), inside)
    assert not checks[0].holds
