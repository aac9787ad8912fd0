"""Parsing of modules and following of names."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Callable
from pathlib import Path

import pytest

from assay.source.declaring.module import Defined, External, Modules, Variable, Whole, parse

WriteTree = Callable[[dict[str, str]], Path]


@pytest.mark.parametrize(
    ("data", "value"),
    [
        (b"x = 'a'", "a"),
        (b"\xef\xbb\xbfx = 'bom'", "bom"),
        (b"# -*- coding: latin-1 -*-\nx = '\xe9'", "é"),
        (b"x = '''a\r\nb'''\r\n", "a\nb"),
    ],
)
def test_bytes_are_read_as_python_reads_them(data: bytes, value: str) -> None:
    parsed = parse(data)
    assert not isinstance(parsed, str)
    assert ast.literal_eval(parsed[0].body[0].value) == value  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "data",
    [
        b"x = " + b"(" * 5000,
        b"x = " + b"[" * 201 + b"]" * 201,
        b"x = " + b"-" * 100_000 + b"1",
        b"x = a" + b".b" * 100_000,
        b"x = 1" + b"+1" * 100_000,
        b"if 1:\n pass\n" + b"elif 1:\n pass\n" * 20_000,
        b"x = 1\0",
        b"x = '\xff'",
        b"# coding: nonsense\nx = 1",
        b"# coding: rot13\nk = 1",
        "x = 1".encode("utf-16"),
        b"x = " + b"9" * 10_000,
        b"def f(:",
        b"#" * (8 << 20) + b"\n",
    ],
)
def test_what_cannot_be_parsed_is_a_reason_and_no_crash(data: bytes) -> None:
    assert isinstance(parse(data), str)


def test_warnings_of_the_source_are_not_ours() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert not isinstance(parse(b"x = '\\d'"), str)


def test_an_unreadable_module_is_a_gap(write_tree: WriteTree) -> None:
    tree = Modules(write_tree({"p/bad.py": "def f(:\n"}))
    assert tree.module("p.bad") is None
    assert [(gap.site.file, "cannot be parsed" in gap.reason) for gap in tree.gaps] == [("p/bad.py", True)]


TREE = {
    "p/a.py": """
        import json
        import p.deep.b as bee
        from .deep import thing, again
        from .deep.b import *
        from p.deep import b
        from elsewhere import outside
        try:
            from p.fast import f
        except ImportError:
            from p.deep.b import f
        if TYPE_CHECKING:
            from p.deep.b import only_for_types
        local: int = 1
        """,
    "p/deep/__init__.py": "from .b import thing\nfrom p.circle import again\n",
    "p/deep/b.py": "thing = 1\nstarred = 2\n_hidden = 3\nonly_for_types = 4\ndef f(): ...\n",
    "p/circle.py": "from p.deep import again\n",
}


def test_names_are_followed_through_imports(write_tree: WriteTree) -> None:
    tree = Modules(write_tree(TREE))
    a, b = tree.module("p.a"), tree.module("p.deep.b")
    assert a is not None
    assert b is not None
    assert tree.lookup(a, "local") == Variable(a, "local")
    assert tree.lookup(a, "thing") == Variable(b, "thing")
    assert tree.lookup(a, "starred") == Variable(b, "starred")
    assert tree.lookup(a, "b") == Whole("p.deep.b")
    assert tree.lookup(a, "bee") == Whole("p.deep.b")
    assert tree.lookup(a, "json") == External("json")
    assert tree.lookup(a, "outside") == External("elsewhere.outside")
    assert tree.lookup(a, "_hidden") is None
    assert tree.lookup(a, "again") is None
    found = tree.lookup(a, "f")
    assert isinstance(found, Defined)
    assert found.node.name == "f"


def test_a_link_out_of_the_tree_is_not_followed(write_tree: WriteTree, tmp_path: Path) -> None:
    root = write_tree({"tree/p/__init__.py": "", "secret.py": "x = 1\n"}) / "tree"
    (root / "p" / "m.py").symlink_to(tmp_path / "secret.py")
    assert Modules(root).module("p.m") is None


@pytest.mark.parametrize("name", ["", ".", "..", "p..a", "p/a", "../p", "p.a ", "p.1"])
def test_odd_names_are_no_modules(write_tree: WriteTree, name: str) -> None:
    assert Modules(write_tree(TREE)).module(name) is None


def test_sites_and_texts(write_tree: WriteTree) -> None:
    tree = Modules(write_tree({"m.py": "x = [\n  'é',  \n  f(1)]  # end\n"}))
    module = tree.module("m")
    assert module is not None
    value = module.tree.body[0].value  # type: ignore[attr-defined]
    assert module.text(value) == "[ 'é', f(1)]"
    assert module.text(value.elts[1]) == "f(1)"
    assert str(module.site(value.elts[1])) == "m.py:3"
    assert module.site(value.elts[1]).text == "f(1)]  # end"
