"""Which branches of the engine's handlers the golden deployments take, seen while assay carries them out."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from unittest.mock import patch

from assay.flow import EngineSource, expressions, statements
from assay.flow.expressions import evaluate
from assay.source.declaring.module import Module

MODULE, RECORD = "sglang.srt.server_args", "ServerArgs"
FIRST = ("__post_init__", "check_server_args")
Definition = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Branch:
    """One outcome of one test."""

    line: int
    function: str
    text: str
    outcome: bool

    def __str__(self) -> str:
        return f"{self.line} {self.function}: {self.text[:120]} is {self.outcome}"


@dataclass
class Coverage:
    """The branches that there are, and those that were taken."""

    branches: dict[tuple[int, bool], Branch] = field(default_factory=dict)
    taken: set[tuple[int, bool]] = field(default_factory=set)

    @property
    def share(self) -> float:
        """How much of it was taken."""
        return len(self.taken) / max(1, len(self.branches))

    @property
    def missed(self) -> list[Branch]:
        """What was never taken, in order of the source."""
        return sorted(
            (each for key, each in self.branches.items() if key not in self.taken),
            key=lambda each: (each.line, each.outcome),
        )


@contextmanager
def watching(source: EngineSource) -> Iterator[Coverage]:
    """Notes what each test in the handlers comes out as, while something is resolved."""
    module = source.modules.module(MODULE)
    assert module is not None
    seen = Coverage()
    for function in handlers(module):
        for node in tests_of(function):
            for outcome in (True, False):
                branch = Branch(node.lineno, function.name, module.text(node), outcome)
                seen.branches[id(node), outcome] = branch

    def noting(i: Any, node: ast.expr, frame: Any) -> Any:
        value = evaluate(i, node, frame)
        if (id(node), True) in seen.branches:
            truth = i.truth(value)
            if isinstance(truth, bool):  # an open test says nothing
                seen.taken.add((id(node), truth))
        return value

    with patch.object(expressions, "evaluate", noting), patch.object(statements, "evaluate", noting):
        yield seen


def handlers(module: Module) -> list[Definition]:
    """`__post_init__`, `_handle_*`, `check_server_args`, and what they use of their class and module."""
    record = next(node for node in module.tree.body if isinstance(node, ast.ClassDef) and node.name == RECORD)
    methods = {node.name: node for node in record.body if isinstance(node, Definition)}
    functions = {node.name: node for node in module.tree.body if isinstance(node, Definition)}
    todo = [methods[name] for name in methods if name in FIRST or name.startswith("_handle_")]
    found: list[Definition] = []
    while todo:
        function = todo.pop()
        if function in found:
            continue
        found.append(function)
        for node in ast.walk(function):
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
                if node.value.id in ("self", "cls", RECORD) and node.attr in methods:
                    todo.append(methods[node.attr])
            elif isinstance(node, ast.Name) and node.id in functions:
                todo.append(functions[node.id])
    return found


def tests_of(function: Definition) -> Iterator[ast.expr]:
    """The tests of its `if`, ternaries, `while` and `assert`."""
    for node in ast.walk(function):
        if isinstance(node, ast.If | ast.IfExp | ast.While | ast.Assert):
            yield node.test
