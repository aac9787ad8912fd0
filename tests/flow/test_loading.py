"""Which modules may be imported, and which names of a module are replaced from another one."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from assay.flow.reach.loading import Loading
from assay.flow.replacing import replaced_names
from assay.source import Modules, Sites

FILES = {
    "__init__": "",
    "entry": "from pkg import direct\nif True:\n    import pkg.nested\n"
    "try:\n    from .tried import x\nexcept E: pass\n",
    "direct": "from pkg.onward import y\ndef f():\n    import pkg.lazy\n",
    "onward": "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from pkg.typed import T\n"
    "TABLE = ['pkg.named']\n",
    "nested": "class A:\n    from pkg import inner\n",
    "tried": "x = 1\n",
    "typed": "import pkg.round\n",
    "round": "import pkg.about\n",
    "about": "import pkg.round\n",
    "named": "",
    "lazy": "",
    "inner": "",
    "__main__": "import pkg.tool\n",
    "tool": "",
}


@pytest.fixture
def loading(tmp_path: Path) -> Loading:
    folder = tmp_path / "pkg"
    folder.mkdir()
    for name, text in FILES.items():
        (folder / f"{name}.py").write_text(text)
    (folder / "registry").mkdir()
    for name in ("__init__", "one"):
        (folder / "registry" / f"{name}.py").write_text("")
    modules = Modules(tmp_path)
    engine = SimpleNamespace(touched_modules={"pkg.entry": None}, i=SimpleNamespace(ran={}))
    return Loading(cast(Any, engine), Sites(modules, "pkg"), modules, frozenset({"pkg.registry"}))


@pytest.mark.parametrize(
    ("name", "may_be"),
    [
        ("pkg.entry", True),
        ("pkg", True),
        ("pkg.direct", True),
        ("pkg.nested", True),
        ("pkg.tried", True),
        ("pkg.onward", True),
        ("pkg.inner", True),
        ("pkg.named", True),
        ("pkg.registry.one", True),
        ("pkg.lazy", False),
        ("pkg.typed", False),
        ("pkg.round", False),
        ("pkg.about", False),
        ("pkg.tool", False),
        ("pkg.__main__", False),
    ],
)
def test_what_is_imported_with_the_entry(loading: Loading, name: str, may_be: bool) -> None:  # noqa: FBT001
    assert loading.may_be(name) == may_be


def test_an_answer_does_not_depend_on_who_was_asked_before(loading: Loading) -> None:
    names = [f"pkg.{name}" for name in FILES if name != "__init__"]
    forth = {name: loading.may_be(name) for name in names}
    loading._known.clear()
    assert forth == {name: loading.may_be(name) for name in reversed(names)}


@pytest.mark.parametrize(
    "text",
    [
        "def f():\n    import pkg.target as t\n    setattr(t, 'probe', lambda: True)\n",
        "from pkg import target\nsetattr(target, 'probe', None)\n",
        'from pkg import (\n    other,\n    target as t,\n)\nsetattr(\n    t, "probe", None)\n',
        "from . import target\nsetattr(target, 'probe', None)\n",
    ],
)
def test_a_name_that_another_module_replaces(tmp_path: Path, text: str) -> None:
    assert replaced_in(tmp_path, text) == {"pkg.target": frozenset({"probe"})}


@pytest.mark.parametrize(
    "text",
    [
        "def f(target):\n    setattr(target, 'probe', None)\n",
        "import threading\nsetattr(threading, 'probe', None)\n",
        "class A:\n    def f(self): setattr(self, 'probe', 1)\n",
        "from pkg import target\nsetattr(target, name, None)\n",
    ],
)
def test_no_name_of_a_module(tmp_path: Path, text: str) -> None:
    assert replaced_in(tmp_path, text) == {}


def replaced_in(tmp_path: Path, text: str) -> dict[str, frozenset[str]]:
    folder = tmp_path / "pkg"
    folder.mkdir()
    for name, content in {"__init__": "", "target": "def probe(): ...\n", "other": "", "who": text}.items():
        (folder / f"{name}.py").write_text(content)
    modules = Modules(tmp_path)
    return replaced_names(Sites(modules, "pkg"), modules)
