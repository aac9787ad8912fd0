"""Conditions against the truth: programs are run, and what was reached had its conditions met."""

from __future__ import annotations

import ast
import contextlib
import itertools
import random
import textwrap
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from assay.source import Condition, Modules, Sites

NAMES = "abcd"
NODE = "node()"

SHAPES = [
    "if {0}:\n{1}",
    "if {0}:\n{1}\nelse:\n{2}",
    "if {0}:\n{1}\nelif {3}:\n{2}",
    "if {0}:\n{1}\nelif {3}:\n{2}\nelse:\n{4}",
    "for _ in [1, 2]:\n{1}",
    "for _ in [1, 2]:\n{1}\nelse:\n{2}",
    "while {0}:\n{1}\n    break",
    "while {0}:\n{1}\n    break\nelse:\n{2}",
    "with suppress(E):\n{1}",
    "try:\n{1}\nexcept E:\n{2}",
    "try:\n{1}\nexcept E:\n{2}\nelse:\n{4}",
    "try:\n{1}\nfinally:\n{2}",
    "try:\n{1}\nexcept E:\n{2}\nelse:\n{4}\nfinally:\n    x = 1",
    "match x:\n    case 1 if {0}:\n        x = 2\n    case _:\n        x = 3",
]
LEAVES = [
    "x = {0}",
    "x = {0}",
    "return",
    "raise E",
    "assert {1}, {0}",
    "if {1}: return",
    "if {1}: raise E",
    "for _ in [1, 2]:\n    if {1}: break\n    x = {0}",
    "for _ in [1, 2]:\n    if {1}: continue\n    else: x = {0}\n    x = {0}",
]
EXPRESSIONS = [
    "({0} and {1} and {2})",
    "({0} or {1} or {2})",
    "({0} if {3} else {1})",
    "[{0} for _ in [1] if {3} for _ in [{1}] if {4}]",
    "(lambda: {0})()",
]


class Writer:
    """Writes a program at random."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def test(self) -> str:
        names = self._random.sample(NAMES, 2)
        return self._random.choice(("{0}", "{0}", "not {0}", "({0} and {1})", "({0} or {1})")).format(*names)

    def expression(self, depth: int = 2) -> str:
        kind = self._random.random()
        if depth == 0 or kind < 0.4:
            return NODE if kind < 0.3 else self.test()
        inner = [self.expression(depth - 1) for _ in range(3)]
        return self._random.choice(EXPRESSIONS).format(*inner, self.test(), self.test())

    def block(self, depth: int = 3) -> str:
        statements = [self.statement(depth) for _ in range(self._random.randint(1, 3))]
        return textwrap.indent("\n".join(statements), "    ")

    def statement(self, depth: int) -> str:
        if depth == 0 or self._random.random() < 0.4:
            return self._random.choice(LEAVES).format(self.expression(), self.test())
        blocks = [self.block(depth - 1) for _ in range(3)]
        return self._random.choice(SHAPES).format(self.test(), blocks[0], blocks[1], self.test(), blocks[2])


def numbered(body: str) -> str:
    """The program, with each `node()` told from the others."""
    pieces = body.split(NODE)
    return pieces[0] + "".join(f"node({at}){piece}" for at, piece in enumerate(pieces[1:]))


def found_conditions(folder: Path, text: str) -> dict[int, tuple[Condition, ...]]:
    (folder / "pkg").mkdir(exist_ok=True)
    (folder / "pkg" / "m.py").write_text(text)
    sites = Sites(Modules(folder), "pkg")
    found = {}
    for mention in sites.mentions("node"):
        call = sites.parent(mention.module, mention.node)
        assert isinstance(call, ast.Call)
        assert isinstance(call.args[0], ast.Constant)
        found[int(str(call.args[0].value))] = mention.scope.conditions
    return found


class E(Exception):
    """What the programs raise."""


@given(seed=st.integers(0, 1 << 32))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=300, deadline=None)
def test_what_was_reached_had_its_conditions_met(tmp_path: Path, seed: int) -> None:
    body = Writer(seed).block()
    text = f"def f({', '.join(NAMES)}, x=1):\n{numbered(body)}\n"
    conditions = found_conditions(tmp_path, text)
    reached: set[int] = set()

    def node(at: int) -> bool:
        reached.add(at)
        return True

    space: dict[str, object] = {"E": E, "suppress": contextlib.suppress, "node": node}
    exec(compile(text, "program", "exec"), space)  # noqa: S102 (written above)
    function = space["f"]
    assert callable(function)
    for values in itertools.product((False, True), repeat=len(NAMES)):
        reached.clear()
        with contextlib.suppress(E, AssertionError):
            function(*values)
        truth = {**space, "node": lambda _: True, **dict(zip(NAMES, values, strict=True))}
        for at in set(reached):
            for condition in conditions[at]:
                if condition.test is not None:
                    result = eval(compile(ast.Expression(condition.test), "test", "eval"), truth)  # noqa: S307
                    assert bool(result) is condition.holds, (at, condition.how, ast.unparse(condition.test))
