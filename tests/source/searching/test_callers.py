"""What may lead to a function."""

from __future__ import annotations

import ast
from collections.abc import Callable
from pathlib import Path

import pytest

from assay.source import Modules, Sites

WriteTree = Callable[[dict[str, str]], Path]


def callers(root: Path, qualname: str, module: str = "pkg.m") -> list[str]:
    """`kind module:line` of each caller of a function in that module."""
    modules = Modules(root)
    sites = Sites(modules, "pkg")
    parsed = modules.module(module)
    assert parsed is not None
    for node in ast.walk(parsed.tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            outer = sites.scope(parsed, node).qualname
            if (node.name if outer == "<module>" else f"{outer}.{node.name}") == qualname:
                found = sites.callers(parsed, node)
                return [
                    f"{call.kind} {call.module.name.removeprefix('pkg.')}:{call.module.site(call.node).line}"
                    for call in found
                ]
    raise AssertionError(f"no {qualname}")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("from pkg.m import f\nf()", ["call n:2"]),
        ("from .m import f\nf()", ["call n:2"]),
        ("from pkg.m import f as g\ng()", ["call n:2"]),
        ("from pkg.m import *\nf()", ["call n:2"]),
        ("from pkg import m\nm.f()", ["call n:2"]),
        ("import pkg.m as q\nq.f()", ["call n:2"]),
        ("def g():\n  from pkg.m import f\n  return f()", ["call n:3"]),
        ("from pkg.m import f\nTABLE = {'a': f}", ["reference n:2"]),
        ("from pkg.m import f\nProcess(target=f)", ["reference n:2"]),
        ("from pkg.m import f\n@f\ndef g(): pass", ["reference n:2"]),
        ("from pkg.m import f\npartial(f, 1)()", ["reference n:2"]),
        ("import pkg.m\ngetattr(pkg.m, 'f')", ["string n:2"]),
        ("from somewhere.else_ import f\nf()", []),
        ("from pkg.other import f\nf()", []),
        ("try:\n  from pkg.other import f\nexcept E:\n  from pkg.m import f\nf()", ["call n:5"]),
        ("from torch import *\nf()", []),
        ("def g(f): f()", []),
        ("x.f = 1", []),
        ("from pkg.m import f\n__all__ = ['f']", []),
        ("f", []),
    ],
)
def test_a_function_of_a_module(write_tree: WriteTree, text: str, expected: list[str]) -> None:
    files = {"pkg/m.py": "def f(): pass", "pkg/other.py": "def f(): pass", "pkg/n.py": text}
    assert callers(write_tree(files), "f") == expected


def test_an_alias_that_is_imported_again(write_tree: WriteTree) -> None:
    files = {
        "pkg/m.py": "def f(): pass\nf()",
        "pkg/n.py": "from pkg.m import f as g",
        "pkg/o.py": "from pkg.n import g\ng()",
        "pkg/p.py": "from pkg.q import g\ng()",
        "pkg/q.py": "def g(): pass\ng()",
        "pkg/r.py": "from pkg import n\nn.g()",
    }
    assert callers(write_tree(files), "f") == ["call m:2", "call o:2", "call r:2"]


def test_a_function_in_a_function_is_seen_in_it_only(write_tree: WriteTree) -> None:
    text = """
        def outer():
            def f(): f()
            x.f()
            return f
        f()
        """
    assert callers(write_tree({"pkg/m.py": text}), "outer.f") == ["call m:3", "reference m:5"]


def test_a_decorator_gets_what_it_decorates(write_tree: WriteTree) -> None:
    text = """
        @register("f")
        def f(): pass
        class A:
            @staticmethod
            def g(): pass
        """
    root = write_tree({"pkg/m.py": text})
    assert callers(root, "f") == ["decorator m:2", "string m:2"]
    assert callers(root, "A.g") == []


def test_a_method_is_any_attribute_of_its_name(write_tree: WriteTree) -> None:
    text = """
        class A:
            def f(self): pass
            g = f
        class B(A):
            def f(self): super().f()
        anything.f()
        call_later(b.f)
        f()
        getattr(a, "f")
        """
    root = write_tree({"pkg/m.py": text})
    expected = ["reference m:4", "call m:6", "call m:7", "reference m:8", "string m:10"]
    assert callers(root, "A.f") == expected
    assert callers(root, "B.f") == expected[1:]


def test_a_property_is_called_by_its_access(write_tree: WriteTree) -> None:
    text = """
        class A:
            @property
            def f(self): pass
            @f.setter
            def f(self, value): pass
        a.f
        a.f = 1
        a.f()
        """
    found = callers(write_tree({"pkg/m.py": text}), "A.f")
    assert found == ["reference m:5", "property m:7", "property m:9"]


CLASSES = """
    class A(Base):
        def __init__(self): pass
        def __len__(self): pass
        def forward(self): pass
    class B(A): pass
    class C(A):
        def __init__(self):
            super().__init__()
    class D(C):
        def __init__(self):
            A.__init__(self)
    class Other:
        def __init__(self):
            super().__init__()
    """


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("A()", ["call n:2"]),
        ("B()", ["call n:2"]),
        ("C()", []),
        ("Other()", []),
        ("TABLE = [A]", ["reference n:2"]),
        ("A.make()", ["reference n:2"]),
        ("pkg.m.A()", ["call n:2"]),
        ("if isinstance(x, A) or isinstance(y, (A, C)): pass", []),
        ("if issubclass(y, (A, C)): pass", ["reference n:2"]),
        ("try: f()\nexcept (A, C): pass", []),
        ("def f(a: A) -> 'A': b: A = a", []),
        ("class F:\n  a: A", ["annotation n:3"]),
        ("@app.get('/')\ndef f(a: A): pass", ["annotation n:3"]),
        ("classes['A']", ["string n:2"]),
        ("class E(B): pass\nE()", ["call n:3"]),
        ("X = B\nclass E(X): pass\nE()", ["reference n:2", "call n:4"]),
        ("class E(A, Other): pass\nE()", ["call m:15", "call n:3"]),
        ("class E(A[int]):\n  def __init__(self): super(E, self).__init__()", ["call n:3"]),
    ],
)
def test_what_makes_an_object(write_tree: WriteTree, text: str, expected: list[str]) -> None:
    root = write_tree({"pkg/m.py": CLASSES, "pkg/n.py": f"from pkg.m import A, B, C, Other\n{text}"})
    always = ["reference m:12", "call m:9"]
    assert sorted(callers(root, "A.__init__")) == sorted([*always, *expected])


def test_an_object_is_made_under_the_alias_of_an_import(write_tree: WriteTree) -> None:
    root = write_tree({"pkg/m.py": CLASSES, "pkg/n.py": "from pkg.m import B as Z\nZ()"})
    assert "call n:2" in callers(root, "A.__init__")


def test_what_has_no_name_to_be_called_by_needs_the_object(write_tree: WriteTree) -> None:
    root = write_tree({"pkg/m.py": CLASSES, "pkg/n.py": "from pkg.m import A\nA()\nx.forward()"})
    assert "construction n:2" in callers(root, "A.__len__")
    assert {"call n:3", "construction n:2"} <= set(callers(root, "A.forward"))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[c for c in getmembers(mod) if issubclass(c, Base)]", ["reference n:2"]),
        ("[c() for c in Base.__subclasses__()]", ["reference n:2"]),
        ("Base()", []),
        ("isinstance(x, Base)", []),
    ],
)
def test_classes_that_are_found_without_their_name(
    write_tree: WriteTree, text: str, expected: list[str]
) -> None:
    files = {
        "pkg/base.py": "class Base: pass",
        "pkg/m.py": "from pkg.base import Base as B\nclass A(B):\n  def __init__(self): pass",
        "pkg/n.py": f"from pkg.base import Base\n{text}",
    }
    assert callers(write_tree(files), "A.__init__") == expected


@pytest.mark.parametrize(
    ("head", "expected"),
    [
        ("class Base:\n  def __init_subclass__(cls): add(cls)\nclass A(Base):", ["reference m:3"]),
        ("class A(metaclass=Registering):", ["reference m:1"]),
        ("class A(metaclass=ABCMeta):", []),
    ],
)
def test_classes_that_register_themselves(write_tree: WriteTree, head: str, expected: list[str]) -> None:
    root = write_tree({"pkg/m.py": f"{head}\n  def __init__(self): pass"})
    assert callers(root, "A.__init__") == expected


def test_a_method_that_only_a_library_can_call_needs_the_object(write_tree: WriteTree) -> None:
    text = "class A(x.Outside):\n  def hook(self): pass\nclass B:\n  def hook2(self): pass\nA(), B()"
    root = write_tree({"pkg/m.py": text})
    assert callers(root, "A.hook") == ["construction m:5"]
    assert callers(root, "B.hook2") == []


def test_classes_and_those_that_derive_from_them(write_tree: WriteTree) -> None:
    root = write_tree(
        {
            "pkg/m.py": "class A: pass\nclass B(A): pass",
            "pkg/n.py": "import pkg.m\nclass C(pkg.m.B): pass\nclass D(x.Z): pass",
            "pkg/o.py": "class A: pass\nclass E(A): pass",
            "pkg/p.py": "from pkg.m import A as Y\nclass F(Generic[T], Y): pass",
        }
    )
    sites = Sites(Modules(root), "pkg")
    first, second = sites.classes("A")
    assert (first.module.name, second.module.name) == ("pkg.m", "pkg.o")
    assert {found.node.name for found in sites.subclasses(first.module, first.node)} == {"B", "C", "F"}
    assert {found.node.name for found in sites.subclasses(second.module, second.node)} == {"E"}
    assert sites.classes("Z") == ()


def test_bases_that_go_in_a_circle_end(write_tree: WriteTree) -> None:
    text = "class A(B):\n  def run(self): pass\nclass B(A): pass\nB()"
    assert callers(write_tree({"pkg/m.py": text}), "A.run") == []
