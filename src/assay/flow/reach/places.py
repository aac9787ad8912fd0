"""Where in a function a collection is written that nothing can change, as it has no name."""

from __future__ import annotations

import ast

_ONLY_LOOK = frozenset({"any", "all", "len", "max", "min", "isinstance"})
"""Functions that only look at the collection that they are given."""


def used_in_place(function: ast.AST) -> frozenset[ast.AST]:
    """The expressions of a function that are compared, looped over or looked at where they stand."""
    found: set[ast.AST] = set()
    for each in ast.walk(function):
        if isinstance(each, ast.Compare):
            found.update(each.comparators)
        elif isinstance(each, ast.For | ast.comprehension):
            found.add(each.iter)
        elif isinstance(each, ast.Call) and isinstance(each.func, ast.Name) and each.func.id in _ONLY_LOOK:
            found.update(each.args)
    return frozenset(found)
