"""The code keeps its shape: short files and functions, rooms used through their door, no idle dependency."""

import ast
import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FILES = sorted((ROOT / "src").rglob("*.py"))
LINES_OF_A_FILE, LINES_OF_A_FUNCTION = 500, 60


@pytest.mark.parametrize("file", FILES, ids=lambda file: "/".join(file.parts[-2:]))
def test_files_and_functions_are_short(file: Path) -> None:
    text = file.read_text()
    assert text.count("\n") <= LINES_OF_A_FILE
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            lines = (node.end_lineno or node.lineno) - node.lineno + 1
            assert lines <= LINES_OF_A_FUNCTION, f"{node.name} has {lines} lines"


@pytest.mark.parametrize("file", FILES, ids=lambda file: "/".join(file.parts[-2:]))
def test_a_module_says_what_it_is_for(file: Path) -> None:
    docstring = ast.get_docstring(ast.parse(file.read_text()))
    assert docstring, "no docstring"
    assert docstring.splitlines()[0].endswith((".", ":", "`."))


MODULES = {"nvidia-ml-py": "pynvml", "pyyaml": "yaml"}
"""Distributions whose module has another name."""


def test_every_dependency_is_imported_and_has_its_reason() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    optional = [line for lines in project["optional-dependencies"].values() for line in lines]
    names = {re.split(r"[<>=!~]", line)[0] for line in (*project["dependencies"], *optional)}
    trees = [ast.parse(file.read_text()) for file in FILES]
    imported = {name.partition(".")[0] for tree in trees for name in _imported(tree)}
    outside = imported - sys.stdlib_module_names - {"assay"}
    assert {MODULES.get(name, name) for name in names} == outside
    record = (ROOT / "docs" / "decisions" / "0002-dependencies.md").read_text().lower()
    assert [name for name in sorted(names) if f"| {name} |" not in record] == []


ROOMS = (
    *("bench", "bounds", "candidates", "cli", "decisions", "deployment", "diagnostics", "engines", "facts"),
    *("findings", "flow", "hosts", "journal", "quality", "reports", "rollout", "search", "source", "stats"),
    *("study", "trials"),
)


@pytest.mark.parametrize("file", FILES, ids=lambda file: "/".join(file.parts[-2:]))
def test_a_room_is_used_through_its_init_only(file: Path) -> None:
    room = file.relative_to(ROOT / "src" / "assay").parts[0]
    for name in _imported(ast.parse(file.read_text())):
        top, _, inside = name.removeprefix("assay.").partition(".")
        assert not (name.startswith("assay.") and inside and top != room and top in ROOMS), name


def _imported(tree: ast.AST) -> Iterator[str]:
    """Dotted names of the modules that a file imports, or imports from."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
