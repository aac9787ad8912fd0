"""Environment variables that the engine does not know, misspelt or removed, on real releases."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from assay.deployment import parse_engine, read_target
from assay.diagnostics import Choice, lint

pytestmark = pytest.mark.registry


@pytest.mark.parametrize(
    ("version", "variable", "said"),
    [
        ("0.5.23", "SGLANG_ENABLE_SPEC_V2", "0.5.4.post1 to 0.5.13.post1 declared it"),
        ("0.5.10", "SGLANG_USE_CPU_ENGIN", "did you mean `SGLANG_USE_CPU_ENGINE`?"),
        ("0.5.23", "SGLANG_USE_CPU_ENGIN", "did you mean `SGLANG_USE_CPU_ENGINE`?"),
        ("0.5.10", "SGLANG_RUST_SERVER", "and later declared it"),
        ("0.5.23", "SGLANG_RUST_SERVER", ""),
        ("0.5.10", "SGLANG_ENABLE_SPEC_V2", ""),
    ],
)
def test_variables_of_sglang(
    engine_tree: Callable[[str], Path], tmp_path: Path, version: str, variable: str, said: str
) -> None:
    unit = tmp_path / "llm.service"
    unit.write_text(
        f"[Service]\nEnvironment={variable}=1\n"
        "ExecStart=/opt/venv/bin/python -m sglang.launch_server --model-path m\n"
    )
    tree = engine_tree(version)
    read = read_target(unit, environment={}, home=tmp_path)
    engine = Choice(engine=parse_engine(str(tree)), reason="the test")
    (result,) = lint(str(unit), read.launches, engine=engine, cache=tree.with_name("lint-cache"))
    found = [each for each in result.diagnostics if each.code == "ASY201"]
    assert len(found) == bool(said)
    if said:
        assert said in f"{found[0].message} {found[0].help}"


@pytest.mark.parametrize(
    ("large", "variable", "said"),
    [
        ("native.so", "SGLANG_USE_CPU_ENGIN", "did you mean `SGLANG_USE_CPU_ENGINE`?"),
        ("native.so", "SGLANG_RUST_SERVER", "no Python file"),
        ("native.so", "SGLANG_NOTHING_LIKE_THIS_AT_ALL", ""),
        ("table.py", "SGLANG_USE_CPU_ENGIN", ""),
    ],
)
def test_a_library_too_large_to_be_searched_hides_no_misspelling(
    engine_tree: Callable[[str], Path], tmp_path: Path, large: str, variable: str, said: str
) -> None:
    fork = tmp_path / "fork"
    shutil.copytree(engine_tree("0.5.10") / "sglang", fork / "sglang")
    with (fork / "sglang" / large).open("wb") as stream:
        stream.truncate(40 << 20)
    unit = tmp_path / "llm.service"
    unit.write_text(
        f"[Service]\nEnvironment={variable}=1\n"
        "ExecStart=/opt/venv/bin/python -m sglang.launch_server --model-path m\n"
    )
    launches = read_target(unit, environment={}, home=tmp_path).launches
    engine = Choice(engine=parse_engine(str(fork)), reason="the test")
    (result,) = lint(str(unit), launches, engine=engine, cache=tmp_path / "cache")
    found = [each for each in result.diagnostics if each.code == "ASY201"]
    assert len(found) == bool(said)
    if found:
        assert said in f"{found[0].help}"
        assert found[0].label == "no Python file names it"
