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
"""What each local name may stand for."""


def narrowed(run: Runner, test: ast.expr, *, outcome: bool) -> Env:
    """The local names, where a test of one has that outcome."""
    env = dict(run.env)
    _narrow(test, env, outcome=outcome)
    return env


def _narrow(test: ast.expr, env: Env, *, outcome: bool) -> None:
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        _narrow(test.operand, env, outcome=not outcome)
    elif isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And) == outcome:
        for part in test.values:
            _narrow(part, env, outcome=outcome)
    elif isinstance(test, ast.Name) and test.id in env:
        kept = frozenset(e for e in env[test.id] if not _is_surely(e, outcome=not outcome))
        if kept - MARKS:
            env[test.id] = kept
    elif isinstance(test, ast.Compare) and len(test.ops) == 1 and isinstance(test.left, ast.Name):
        _narrow_none(test.ops[0], test.left.id, test.comparators[0], env, outcome=outcome)


def _narrow_none(op: ast.cmpop, name: str, other: ast.expr, env: Env, *, outcome: bool) -> None:
    """Narrow a name that is compared with None."""
    if not (isinstance(other, ast.Constant) and other.value is None) or name not in env:
        return
    if isinstance(op, ast.Is | ast.IsNot):
        wants_none = isinstance(op, ast.Is) == outcome
        kept = frozenset(e for e in env[name] if (_may_be_none(e) if wants_none else not _is_none(e)))
        if kept - MARKS:
            env[name] = kept


def _is_none(element: Any) -> bool:
    return isinstance(element, Known) and element.value is None


def _may_be_none(element: Any) -> bool:
    return _is_none(element) or isinstance(element, Thing | Doubt) or element in MARKS


def _is_surely(element: Any, *, outcome: bool) -> bool:
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
