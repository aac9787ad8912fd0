"""What must hold for a node to be reached."""

from __future__ import annotations

import ast
import textwrap
from pathlib import Path

import pytest

from assay.source import Modules, Sites


def conditions(tmp_path: Path, body: str) -> list[tuple[str, str | None, bool]]:
    """How, test and outcome of the conditions of the only use of `node` in a function with that body."""
    (tmp_path / "pkg").mkdir()
    text = "if top:\n    def f():\n" + textwrap.indent(textwrap.dedent(body), " " * 8)
    (tmp_path / "pkg" / "m.py").write_text(text)
    (mention,) = Sites(Modules(tmp_path), "pkg").mentions("node")
    return [
        (found.how, ast.unparse(found.test) if found.test else None, found.holds)
        for found in mention.scope.conditions
    ]


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("node", []),
        ("if a: node", [("if", "a", True)]),
        ("if node: pass", []),
        ("if a: pass\nelse: node", [("else", "a", False)]),
        ("if a: pass\nelif b: node", [("else", "a", False), ("if", "b", True)]),
        ("if a: pass\nelif node: pass", [("else", "a", False)]),
        ("while a:\n  node", [("while", "a", True)]),
        ("while a: pass\nelse: node", [("else", "a", False)]),
        ("for x in y:\n  node", []),
        ("with x:\n  if a: node", [("if", "a", True)]),
        ("x = node if a else b", [("ifexp", "a", True)]),
        ("x = b if a else node", [("ifexp", "a", False)]),
        ("x = b if node else c", []),
        ("x = a and b and node and c", [("and", "a", True), ("and", "b", True)]),
        ("x = a or node or b", [("or", "a", False)]),
        ("x = a and (b or not node)", [("and", "a", True), ("or", "b", False)]),
        ("assert a\nnode", [("assert", "a", True)]),
        ("assert a, node", [("assert", "a", False)]),
        ("assert node, a", []),
        ("try: x\nexcept E: node", [("handler", None, True)]),
        ("try: x\nexcept node: pass", [("handler", None, True)]),
        ("try: node\nexcept E: pass", []),
        ("match x:\n  case 1: node", [("case", None, True)]),
        ("match x:\n  case 1 if a: node", [("case", None, True), ("if", "a", True)]),
        ("x = [node for x in y if a if b]", [("comprehension", "a", True), ("comprehension", "b", True)]),
        ("x = [x for x in y if a if node]", [("comprehension", "a", True)]),
        ("x = [x for x in y if a for z in node if b]", [("comprehension", "a", True)]),
        ("x = [x for x in node if a]", []),
        ("x = {k: node for k in y if a}", [("comprehension", "a", True)]),
        ("x = any(node for k in y if a)", [("comprehension", "a", True)]),
        ("x = lambda: a and node", [("and", "a", True)]),
        ("if a: return lambda: node", [("if", "a", True)]),
    ],
)
def test_what_stands_around_a_node(
    tmp_path: Path, body: str, expected: list[tuple[str, str | None, bool]]
) -> None:
    assert conditions(tmp_path, body) == expected


LEFT = ("early-exit", "a", False)


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("if a: return\nnode", [LEFT]),
        ("if a: raise E\nnode", [LEFT]),
        ("for x in y:\n  if a: continue\n  node", [LEFT]),
        ("for x in y:\n  if a: break\n  node", [LEFT]),
        ("if a: return\nif b: node", [LEFT, ("if", "b", True)]),
        ("if b:\n  if a: return\n  node", [("if", "b", True), LEFT]),
        ("if a: pass\nelse: return\nnode", [("early-exit", "a", True)]),
        ("if a: return\nelse: x\nnode", [LEFT]),
        ("if a: return\nelif b: return\nnode", [LEFT, ("early-exit", "b", False)]),
        ("if a: return\nelif b: x\nelse: return\nnode", [LEFT, ("early-exit", "b", True)]),
        ("if a: return\nelse:\n  assert b\nnode", [LEFT, ("assert", "b", True)]),
        ("if a:\n  x\n  if b: return\n  else: raise E\nnode", [LEFT]),
        ("if a:\n  try: x\n  finally: return\nnode", [LEFT]),
        ("if a:\n  try: return x\n  except E: raise F\nnode", [LEFT]),
        ("try:\n  if a: return\nexcept E: pass\nelse: node", [LEFT]),
        ("if a: return\nwith x:\n  node", [LEFT]),
        # what may go on, or has not happened yet
        ("if a: x\nnode", []),
        ("if a:\n  if b: return\nnode", []),
        ("if a: return\nelse: return\nnode", []),
        ("if a:\n  with x: return\nnode", []),
        ("if a:\n  try: return x\n  except E: pass\nnode", []),
        ("if a:\n  for x in y: return\nnode", []),
        ("for x in y:\n  if a: break\nnode", []),
        ("for x in y:\n  if a: break\nelse: node", []),
        ("try:\n  if a: return\nexcept E: node", [("handler", None, True)]),
        ("try:\n  if a: return\nfinally: node", []),
        ("with x:\n  if a: raise E\nnode", []),
        ("node\nif a: return", []),
        ("def g():\n  if a: return\nnode", []),
        ("if a:\n  def g(): return\nnode", []),
    ],
)
def test_what_left_before_a_node(
    tmp_path: Path, body: str, expected: list[tuple[str, str | None, bool]]
) -> None:
    assert conditions(tmp_path, body) == expected


def test_conditions_end_at_the_def(tmp_path: Path) -> None:
    assert conditions(tmp_path, "if a:\n  def g(x=b or c):\n    if d: node") == [("if", "d", True)]


def test_defaults_and_decorators_are_under_the_conditions_of_their_def(tmp_path: Path) -> None:
    assert conditions(tmp_path, "if a: return\ndef g(x=node): pass") == [LEFT]


def test_the_condition_of_a_def_is_told_by_its_own_scope(tmp_path: Path) -> None:
    (tmp_path / "pkg").mkdir()
    (tmp_path / "pkg" / "m.py").write_text("if top:\n    class A:\n        def f(self): word\n")
    sites = Sites(Modules(tmp_path), "pkg")
    (mention,) = sites.mentions("word")
    assert mention.scope.function is not None
    assert mention.scope.conditions == ()
    defined = sites.scope(mention.module, mention.scope.function)
    assert defined.qualname == "A"
    assert [ast.unparse(found.test) for found in defined.conditions if found.test] == ["top"]
    assert sites.parent(mention.module, mention.scope.function) is defined.cls
