"""Small source trees for the tests of this room."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest

WriteTree = Callable[[dict[str, str]], Path]


@pytest.fixture
def write_tree(tmp_path: Path) -> WriteTree:
    """Writes files by their path from the root of a tree, packages included; returns the root."""

    def write(files: dict[str, str]) -> Path:
        for name, text in files.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            for folder in path.relative_to(tmp_path).parents:
                if folder != Path() and path.suffix == ".py":
                    (tmp_path / folder / "__init__.py").touch()
            path.write_text(textwrap.dedent(text))
        return tmp_path

    return write
