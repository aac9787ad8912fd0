"""Finds the test by which run B goes another way than run A."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import Any

from assay.flow.reach.context import Path


def differing(path: Path | None, seen: Mapping[Any, Any], base: Mapping[Any, Any]) -> Path | None:
    """The first test on a way that comes out otherwise in run B, or may."""
    for each in path.tests() if path is not None else ():
        for node in _parts(each.node):
            now, then = seen.get((node, "test")), base.get((node, "test"))
            if (node, "fork") in seen or (now is not None and then is not None and now != then):
                return each
            if then is None and now is not None and node is each.node and base:
                return each
    return None


def _parts(node: ast.expr) -> list[ast.expr]:
    return [each for each in ast.walk(node) if isinstance(each, ast.expr)]
