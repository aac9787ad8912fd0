"""The code keeps its shape: files stay readable in one go, functions fit a screen."""

import ast
from pathlib import Path

import pytest

FILES = sorted((Path(__file__).parents[1] / "src").rglob("*.py"))
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
