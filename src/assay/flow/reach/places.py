"""What the text of a function tells before it is followed."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from typing import Any

_ONLY_LOOK = frozenset({"any", "all", "len", "max", "min", "isinstance"})
"""Functions that only look at the collection that they are given."""

_DEFINES = re.compile(r"\b(?:def|lambda)\b")


def defines_functions(function: Any, lines: Sequence[str]) -> bool:
    """Whether functions are defined inside of it, which see its local names; `lines` are its module's."""
    inner = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
    first = min(each.lineno for each in (function, *getattr(function, "decorator_list", ())))
    own = lines[first - 1 : function.end_lineno]  # the words are looked for first: a walk takes longer
    if sum(len(_DEFINES.findall(line)) for line in own) < 2:
        return False
    return any(isinstance(each, inner) for each in ast.walk(function) if each is not function)


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
