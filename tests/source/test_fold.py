"""Constant folding: what is known, what is not, and that nothing grows beyond its bounds."""

from __future__ import annotations

import ast
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from assay.source.declaring.fold import Folder
from assay.source.declaring.module import Modules
from assay.source.declaring.values import Scope

WriteTree = Callable[[dict[str, str]], Path]
NOT_KNOWN = object()

MODULE = '''
    import argparse, dataclasses, enum, os, sys
    from enum import Enum
    from other import SHARED, Colour as Paint
    A = ["x", "y"]
    A.append("z")
    A.extend(["v"])
    A += ["w"]
    A.keys
    B = [*A, "more"]
    B_ALIAS = B
    D = {"k": Detector, "l": Detector}
    D["m"] = 1
    FIRST, SECOND = 1, 2
    if os.environ.get("X"):
        MAYBE = 1
    else:
        MAYBE = 2
    CHANGED = ["a"]
    if os.environ.get("X"):
        CHANGED.append("b")
    ODD = ["a"]
    ODD.frobnicate()
    LOOP_A = LOOP_B
    LOOP_B = LOOP_A
    def more(choices):
        A.extend(choices)
    def three():
        """Three."""
        return 1 + 2
    class Base:
        inherited: int = 7
        over = 1
    @dataclasses.dataclass
    class Args(Base):
        """Doc."""
        port: int = 30000
        over: int = 2
        double: int = port * 2
        names: list = dataclasses.field(default_factory=list)
        copied: list = dataclasses.field(default_factory=lambda: list(A))
        given: int = dataclasses.field(default=5)
        machine: bool = dataclasses.field(default_factory=lambda: os.cpu_count())
    class Level(enum.IntEnum):
        LOW = 0
        HIGH = 1
    class Mode(Enum):
        FAST = "fast"
        SLOW = "slow"
        @property
        def x(self): ...
    class Kind(str, Enum):
        ONE = "one"
'''
OTHER = """
    SHARED = ("s", "t")
    class Colour:
        names = {"red": 1}
"""

CASES: list[tuple[str, Any]] = [
    ("A", ["x", "y", "z", "v", "w"]),
    ("B", ["x", "y", "z", "v", "w", "more"]),
    ("B_ALIAS[0] + B_ALIAS[-1]", "xmore"),
    ("list(D.keys())", ["k", "l", "m"]),
    ("sorted(D)", ["k", "l", "m"]),
    ("len(D.values())", 3),
    ("D", NOT_KNOWN),
    ("D['k']", NOT_KNOWN),
    ("D['m']", 1),
    ("FIRST + SECOND", 3),
    ("MAYBE", NOT_KNOWN),
    ("CHANGED", NOT_KNOWN),
    ("ODD", NOT_KNOWN),
    ("LOOP_A", NOT_KNOWN),
    ("nowhere", NOT_KNOWN),
    ("list(SHARED)", ["s", "t"]),
    ("list(Paint.names.keys())", ["red"]),
    ("Args.port", 30000),
    ("Args.inherited", 7),
    ("Args.over", 2),
    ("Args.double", 60000),
    ("Args.names", []),
    ("Args.copied", ["x", "y", "z", "v", "w"]),
    ("Args.given", 5),
    ("Args.machine", NOT_KNOWN),
    ("Args.missing", NOT_KNOWN),
    ("Args.__doc__", "Doc."),
    ("Args.__name__", "Args"),
    ("three()", 3),
    ("three.__doc__", "Three."),
    ("more(1)", NOT_KNOWN),
    ("Level.HIGH", 1),
    ("Kind.ONE", "one"),
    ("Mode.FAST", NOT_KNOWN),
    ("Mode.FAST.value", "fast"),
    ("Mode['SLOW'].value", "slow"),
    ("[e.value for e in Mode]", ["fast", "slow"]),
    ("[m.name.lower() for m in Level]", ["low", "high"]),
    ("[n for n in A if n != 'x']", ["y", "z", "v", "w"]),
    ("{n for n in 'ba'}", ["a", "b"]),
    ("argparse.SUPPRESS", "==SUPPRESS=="),
    ("sys.maxsize", 2**63 - 1),
    ("os.path.expanduser('~')", NOT_KNOWN),
    ("1 if FIRST else nowhere", 1),
    ("FIRST or nowhere", 1),
    ("not FIRST", False),
    ("1 < 2 < 3", True),
    ("'x' in A and 'q' not in A", True),
    ("2 ** 31", 2**31),
    ("10 * 1000 * 1000", 10**7),
    ("-1", -1),
    ("7 // 2 + 7 % 2", 4),
    ("1 / 0", NOT_KNOWN),
    ("'a' 'b' + f'{FIRST}-{A[:2]!r:>14}'", "ab1-    ['x', 'y']"),
    ("'%s=%d' % ('a', 1)", "a=1"),
    ("'{}-{x}'.format(1, x=2)", "1-2"),
    ("', '.join(A).upper()", "X, Y, Z, V, W"),
    ("'a,b'.split(',')", ["a", "b"]),
    ("{'a': [1, {'b': None}]}", {"a": [1, {"b": None}]}),
    ("{1, 2} | {3}", [1, 2, 3]),
    ("'\\ud800'", "?"),
    ("b'bytes'", NOT_KNOWN),
    ("1j", NOT_KNOWN),
    ("...", NOT_KNOWN),
    ("lambda: 1", NOT_KNOWN),
    ("(yield)", NOT_KNOWN),
    ("__import__('os')", NOT_KNOWN),
    ("open('/etc/passwd').read()", NOT_KNOWN),
    ("'{0.__class__}'.format(A)", NOT_KNOWN),
    ("int('12') + float('1.5')", 13.5),
]


@pytest.fixture
def fold(write_tree: WriteTree) -> Callable[[str], Any]:
    """Folds an expression in a module of the tree; NOT_KNOWN where it is not known."""
    tree = Modules(write_tree({"m.py": MODULE, "other.py": OTHER}))
    folder = Folder(tree)
    module = tree.module("m")
    assert module is not None

    def folded(text: str) -> Any:
        expr = ast.parse(f"({text})", mode="eval").body
        constant = folder.constant(expr, Scope(module))
        msgspec.msgpack.encode(constant)
        return constant.value if constant.known else NOT_KNOWN

    return folded


@pytest.mark.parametrize(("text", "value"), CASES, ids=[text for text, _ in CASES])
def test_expressions(fold: Callable[[str], Any], text: str, value: Any) -> None:
    assert fold(text) == value


@pytest.mark.parametrize(
    "text",
    [
        "10 ** 10 ** 10",
        "2 ** 64",
        "1 << 10 ** 9",
        "9 ** 60",
        "'a' * 10 ** 9",
        "10 ** 9 * [1]",
        "[0] * 99999 + [0] * 99999",
        "[[[0] * 1000] * 1000] * 1000",
        "str([['aaaaaaaaaa'] * 1000] * 1000)",
        "'%99999999d' % 1",
        "'%*d' % (10 ** 9, 1)",
        "f'{1:99999999}'",
        "f'{1:{FIRST}00000000}'",
        "'{:99999999}'.format(1)",
        "'{:{}}'.format(1, 10 ** 9)",
        "('a' * 90000).replace('a', 'b' * 90000)",
        "('b' * 90000).join(['a'] * 90000)",
        "list(range(10 ** 12))",
        "[a for a in range(50000) for b in range(50000)]",
        "sum([1] * 100000 for _ in range(100000))",
        "(" * 150 + "1" + ")" * 150 + "+ 1" * 400,
        "-" * 500 + "1",
        "int('9' * 5000)",
        "'a' * 99999 in 'a' * 99999 * 99999",
    ],
)
@pytest.mark.timeout(60)
def test_hostile_expressions_are_not_known_and_end(fold: Callable[[str], Any], text: str) -> None:
    assert fold(text) is NOT_KNOWN


def test_a_tree_of_expensive_expressions_runs_dry(write_tree: WriteTree) -> None:
    lines = [f"X{n} = [a for a in range(99999) for b in range(99999)]" for n in range(300)]
    tree = Modules(write_tree({"m.py": "\n".join(lines)}))
    folder, module = Folder(tree), tree.module("m")
    assert module is not None
    for n in range(300):
        assert not folder.constant(
            ast.Name(f"X{n}", lineno=1, col_offset=0, end_lineno=1), Scope(module)
        ).known
