"""Which modules hold a word, and what each of its occurrences does."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest

from assay.source import Modules, Sites

WriteTree = Callable[[dict[str, str]], Path]


def sites(root: Path, under: str | None = None) -> Sites:
    return Sites(Modules(root), "pkg", under)


def kinds(tmp_path: Path, text: str) -> list[tuple[int, str]]:
    """Line and kind of each occurrence of `word`."""
    (tmp_path / "pkg").mkdir(exist_ok=True)
    (tmp_path / "pkg" / "m.py").write_text(textwrap.dedent(text))
    return [
        (mention.module.site(mention.node).line, mention.kind) for mention in sites(tmp_path).mentions("word")
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("print(x.word)", ["attribute-load"]),
        ("x.word = 1", ["attribute-store"]),
        ("x.word: int = 1", ["attribute-store"]),
        ("del x.word", ["attribute-store"]),
        ("x.word += 1", ["attribute-load", "attribute-store"]),
        ("print(word)", ["name-load"]),
        ("word = 1", ["name-store"]),
        ("word: int = 1", ["name-store"]),
        ("word += 1", ["name-load", "name-store"]),
        ("(word := 1)", ["name-store"]),
        ("def f():\n  global word", ["name-store"]),
        ("try: f()\nexcept E as word: pass", ["name-store"]),
        ("match x:\n  case [word]: pass", ["name-store"]),
        ("match x:\n  case {**word}: pass", ["name-store"]),
        ("match x:\n  case C(word=1): pass", ["attribute-load"]),
        ("getattr(x, 'word')", ["string"]),
        ("f('a word.')", ["text"]),
        ("f('--word')", ["text"]),
        ("f('x.word[0]', 'words', 'sword', 'word_2')", ["text"]),
        ("f(f'word')", ["text"]),
        ("f(f'{x} word {y}')", ["text"]),
        ("f(f'{x.word}')", ["attribute-load"]),
        ("f(word=1)", ["keyword"]),
        ("class A(word=1): pass", ["keyword"]),
        ("def f(word): pass", ["parameter"]),
        ("def f(*, word=1): pass", ["parameter"]),
        ("def f(*word): pass", ["parameter"]),
        ("lambda word: 1", ["parameter"]),
        ("def word(): pass", ["definition"]),
        ("async def word(): pass", ["definition"]),
        ("class word: pass", ["definition"]),
        ("class A:\n  word: int = 1", ["field"]),
        ("class A:\n  word = 1", ["name-store"]),
        ("import word", ["import"]),
        ("import a.word as b", ["import"]),
        ("from a import word", ["import"]),
        ("from a import b as word", ["import"]),
        ("from a.word import b", ["import"]),
        ("import word as word", ["import"]),
        ("'word'", []),
        ("def f():\n  'a word'", []),
        ("x = 1  # word", []),
        ("x = words.sword + b'word'.y", []),
    ],
)
def test_what_an_occurrence_does(tmp_path: Path, text: str, expected: list[str]) -> None:
    assert [kind for _, kind in kinds(tmp_path, text)] == expected


def test_occurrences_come_in_the_order_of_the_source(tmp_path: Path) -> None:
    text = """
        from a import word
        class A:
            word: int = 1
            def f(self, word):
                self.word = word
        """
    found = kinds(tmp_path, text)
    assert found == [
        (2, "import"),
        (4, "field"),
        (5, "parameter"),
        (6, "attribute-store"),
        (6, "name-load"),
    ]


def test_a_scope_is_the_innermost_def_and_its_class(write_tree: WriteTree) -> None:
    text = """
        word0 = word
        class A:
            x: int = word
            @deco(word)
            def method(self, default=word) -> word:
                def inner(word):
                    return lambda: [word for _ in y]
                class Local:
                    y = word
                    def deep(self):
                        return word
        """
    root = write_tree({"pkg/m.py": text})
    found = [
        (scope.qualname, scope.function and scope.function.name, scope.cls and scope.cls.name)
        for scope in (mention.scope for mention in sites(root).mentions("word"))
    ]
    assert found == [
        ("<module>", None, None),
        ("A", None, "A"),
        ("A", None, "A"),
        ("A", None, "A"),
        ("A", None, "A"),
        ("A.method.<locals>.inner", "inner", "A"),
        ("A.method.<locals>.inner", "inner", "A"),
        ("A.method.<locals>.Local", "method", "Local"),
        ("A.method.<locals>.Local.deep", "deep", "Local"),
    ]


def test_modules_that_hold_a_word(write_tree: WriteTree, tmp_path: Path) -> None:
    root = write_tree(
        {
            "pkg/a.py": "# word",
            "pkg/b.py": "words = sword = word_ = 1",
            "pkg/c/__init__.py": "x.word",
            "pkg/c/d.py": "f('a-word')",
            "pkg/broken.py": "word = (",
            "pkg/data.txt": "word",
            "other/e.py": "word",
            "pkg/__pycache__/f.py": "word",
        }
    )
    (tmp_path / "pkg" / "link.py").symlink_to(tmp_path / "pkg" / "a.py")
    found = sites(root)
    assert found.holding("word") == ("pkg.a", "pkg.broken", "pkg.c", "pkg.c.d")
    assert found.unread("word") == ("pkg.broken",)
    assert [mention.module.name for mention in found.mentions("word")] == ["pkg.c", "pkg.c.d"]
    assert sites(root, "pkg/c").holding("word") == ("pkg.c", "pkg.c.d")
    assert found.holding("") == found.holding("no_such") == found.holding("word\n") == ()


def test_files_too_large_are_told(write_tree: WriteTree) -> None:
    root = write_tree({"pkg/big.py": "word = 1\n" + "#" * (2 << 20), "pkg/a.py": "word = 1"})
    found = sites(root)
    assert found.holding("word") == ("pkg.a",)
    assert found.unsearched == ("pkg/big.py",)


def test_a_module_that_a_package_hides_is_not_searched(write_tree: WriteTree) -> None:
    root = write_tree({"pkg/a.py": "word", "pkg/a/__init__.py": "x"})
    assert sites(root).holding("word") == ()


def test_a_tree_as_deep_as_can_be_parsed_is_walked(write_tree: WriteTree) -> None:
    chain = "x" + ".word" * 400
    ladder = "if a:\n    pass\n" + "".join(f"elif b{n}:\n    pass\n" for n in range(300)) + "word\n"
    root = write_tree({"pkg/a.py": chain, "pkg/b.py": ladder})
    found = sites(root).mentions("word")
    assert len(found) == 401
    assert found[-1].scope.conditions == ()
