"""What is left of the local names where a test has come out one way, and where two ways meet."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from assay.flow.reach.elements import (
    MARKS,
    Doubt,
    Known,
    Obj,
    Thing,
    Value,
    joined,
)
from assay.flow.reach.lifting import known_truth

if TYPE_CHECKING:
    from assay.flow.reach.runner import Runner

Env = dict[str, Value]


def narrowed(run: Runner, test: ast.expr, outcome: bool) -> Env:  # noqa: FBT001
    """The local names, where a test of one has that outcome."""
    env = dict(run.env)
    _narrow(run, test, outcome, env)
    return env


def _narrow(run: Runner, test: ast.expr, outcome: bool, env: Env) -> None:  # noqa: FBT001
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        _narrow(run, test.operand, not outcome, env)
    elif isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And) == outcome:
        for part in test.values:
            _narrow(run, part, outcome, env)
    elif isinstance(test, ast.Name) and test.id in env:
        kept = frozenset(e for e in env[test.id] if not _is_surely(run, e, not outcome))
        if kept - MARKS:
            env[test.id] = kept
    elif isinstance(test, ast.Compare) and len(test.ops) == 1 and isinstance(test.left, ast.Name):
        op, other = test.ops[0], test.comparators[0]
        if not (isinstance(other, ast.Constant) and other.value is None) or test.left.id not in env:
            return
        if isinstance(op, ast.Is | ast.IsNot):
            wants_none = isinstance(op, ast.Is) == outcome
            value = env[test.left.id]
            kept = frozenset(e for e in value if _may_be_none(e) if wants_none or not _is_none(e))
            if not wants_none:
                kept = frozenset(e for e in value if not _is_none(e))
            if kept - MARKS:
                env[test.left.id] = kept


def _is_none(element: Any) -> bool:
    return isinstance(element, Known) and element.value is None


def _may_be_none(element: Any) -> bool:
    return _is_none(element) or isinstance(element, Thing | Doubt) or element in MARKS


def _is_surely(run: Runner, element: Any, outcome: bool) -> bool:  # noqa: FBT001
    if isinstance(element, Known):
        return known_truth(element.value) is outcome
    return isinstance(element, Obj) and outcome


def join_envs(one: Env, other: Env) -> Env:
    """The local names where two ways meet."""
    found = dict(one)
    for name, value in other.items():
        old = found.get(name)
        found[name] = value if old is None else old if old is value else joined(old, value)
    return found
