"""What must hold for a node to be reached within its function.

Only what is certain is told, so that the worst that can happen is fewer conditions than there are: a loop
over an iterable gives none, nor does an exit inside `with`, which may swallow the exception.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from assay.source.searching.index import FunctionNode, Index, Try

How = Literal[
    "if",
    "else",
    "early-exit",
    "and",
    "or",
    "ifexp",
    "while",
    "assert",
    "handler",
    "comprehension",
    "case",
]
_MAX_DEPTH = 60


@dataclass(frozen=True, eq=False)
class Condition:
    """A test, and how it must come out."""

    test: ast.expr | None
    """None where no expression tells it: an exception was caught (`handler`), a pattern matched (`case`)."""
    holds: bool
    how: How


def conditions(index: Index, node: ast.AST) -> tuple[Condition, ...]:
    """What must hold, outermost first, within the innermost function around the node or else its module."""
    if isinstance(node, ast.arg):
        return ()
    steps: list[list[Condition]] = []
    for parent, child in index.ancestors(node):
        steps.append(list(_step(index, parent, child)))
        if isinstance(parent, FunctionNode) and isinstance(child, ast.stmt):
            break
    return tuple(condition for step in reversed(steps) for condition in step)


def _step(index: Index, parent: ast.AST, child: ast.AST) -> Iterator[Condition]:
    """What it takes to get from a node to its child."""
    place = index.place(parent, child)
    if place is not None:
        yield from _into_block(parent, place[0])
        block: list[ast.stmt] = getattr(parent, place[0])
        yield from passed(block[: place[1]])
    elif isinstance(parent, ast.BoolOp):
        is_and = isinstance(parent.op, ast.And)
        for value in parent.values[: _at(parent.values, child)]:
            yield Condition(value, is_and, "and" if is_and else "or")
    elif isinstance(parent, ast.IfExp) and child is not parent.test:
        yield Condition(parent.test, child is parent.body, "ifexp")
    elif isinstance(parent, ast.Assert) and child is parent.msg:
        yield Condition(parent.test, holds=False, how="assert")
    elif isinstance(parent, ast.ExceptHandler):
        yield Condition(None, holds=True, how="handler")
    elif isinstance(parent, ast.match_case) and child is parent.guard:
        yield Condition(None, holds=True, how="case")
    else:
        yield from _in_comprehension(parent, child)


def _into_block(parent: ast.AST, block: str) -> Iterator[Condition]:
    """What it takes to enter a block of a statement."""
    if isinstance(parent, ast.If | ast.While):
        inside: How = "if" if isinstance(parent, ast.If) else "while"
        yield Condition(parent.test, block == "body", inside if block == "body" else "else")
    elif isinstance(parent, ast.ExceptHandler):
        yield Condition(None, holds=True, how="handler")
    elif isinstance(parent, ast.match_case):
        yield Condition(None, holds=True, how="case")
        if parent.guard is not None:
            yield Condition(parent.guard, holds=True, how="if")
    elif isinstance(parent, Try) and block == "orelse":
        yield from passed(parent.body)


def _in_comprehension(parent: ast.AST, child: ast.AST) -> Iterator[Condition]:
    tests: Iterable[ast.expr] = ()
    if isinstance(parent, ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp):
        at = _at(parent.generators, child)
        tests = (test for generator in parent.generators[:at] for test in generator.ifs)
    elif isinstance(parent, ast.comprehension) and child not in (parent.target, parent.iter):
        tests = parent.ifs[: _at(parent.ifs, child)]
    for test in tests:
        yield Condition(test, holds=True, how="comprehension")


def _at(nodes: Sequence[ast.AST], child: ast.AST) -> int:
    """Index of a node among others; their number if it is none of them."""
    return next((at for at, node in enumerate(nodes) if node is child), len(nodes))


def passed(statements: Iterable[ast.stmt]) -> Iterator[Condition]:
    """What is known once execution has come past these statements."""
    pending = list(statements)[::-1]
    while pending:
        statement = pending.pop()
        if isinstance(statement, ast.Assert):
            yield Condition(statement.test, holds=True, how="assert")
        elif isinstance(statement, ast.If):
            body, orelse = _exits(statement.body), _exits(statement.orelse)
            if body != orelse:
                yield Condition(statement.test, holds=orelse, how="early-exit")
                pending += reversed(statement.orelse if body else statement.body)


def _exits(block: list[ast.stmt], depth: int = 0) -> bool:
    """Whether execution never comes past the end of a block; false where that is not certain."""
    return depth < _MAX_DEPTH and any(_leaves(statement, depth + 1) for statement in block)


def _leaves(statement: ast.stmt, depth: int) -> bool:
    if isinstance(statement, ast.Return | ast.Raise | ast.Continue | ast.Break):
        return True
    if isinstance(statement, ast.If):
        return _exits(statement.body, depth) and _exits(statement.orelse, depth)
    if isinstance(statement, Try):
        caught = all(_exits(handler.body, depth) for handler in statement.handlers)
        through = _exits(statement.body, depth) or _exits(statement.orelse, depth)
        return (caught and through) or _exits(statement.finalbody, depth)
    return False
