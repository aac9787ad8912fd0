"""The interpreter on small programs: known values as Python has them, unknown ones joined, never guessed."""

from __future__ import annotations

import sys
from pathlib import Path
from textwrap import dedent
from types import ModuleType
from typing import Any

import pytest

from assay.facts import Fact, Facts
from assay.flow.interpreter import Interpreter
from assay.flow.report import is_plain, plain
from assay.flow.resolve import make_interpreter
from assay.flow.values import Choice, OutOfFuel, Raised, Unknown
from assay.source import Modules


def interpreter(folder: Path, text: str, facts: Facts | None = None) -> Interpreter:
    (folder / "engine.py").write_text(dedent(text))
    return make_interpreter(Modules(folder), facts or Facts())


def run(folder: Path, text: str, facts: Facts | None = None) -> Any:
    """What `main()` of a program returns."""
    i = interpreter(folder, text, facts)
    state = i.modules.state("engine")
    assert state is not None
    i.begin(200_000)
    return i.force(i.call(i.modules.lookup(state, "main"), [], {}))


PROGRAMS = {
    "loops": """
        def main():
            found = []
            for at, word in enumerate("a bb ccc dddd".split()):
                if word == "bb":
                    continue
                if len(word) > 3:
                    break
                found.append((at, word.upper()))
            else:
                found.append("never")
            while len(found) < 4:
                found += [len(found)]
            return found
    """,
    "classes": """
        import dataclasses
        from enum import Enum, IntEnum, auto

        class Kind(str, Enum):
            ONE = "one"
            TWO = "two"

            def is_one(self):
                return self == Kind.ONE

        class Level(IntEnum):
            LOW = auto()
            HIGH = auto()

        class Base:
            def __init__(self, x, *rest, scale=2, **named):
                self.x, self.rest, self.scale, self.named = x, rest, scale, named

            @property
            def scaled(self):
                return self.x * self.scale

            @classmethod
            def made(cls, x):
                return cls(x, 1, 2, extra=True)

            @staticmethod
            def three():
                return 3

        class Child(Base):
            def __init__(self, x, *rest, **named):
                super().__init__(x + 1, *rest, **named)

        @dataclasses.dataclass
        class Record:
            a: int
            b: list = dataclasses.field(default_factory=list)
            c: str = "c"

            def __post_init__(self):
                self.b.append(self.a)

        def main():
            child = Child.made(4)
            record = Record(7)
            return [child.scaled, child.rest, child.named, Base.three(), record.b, record.c,
                    [f.name for f in dataclasses.fields(Record)], Kind("one").is_one(), Kind.TWO == "two",
                    Kind["TWO"].value, [m.name for m in Level], Level.HIGH > Level.LOW,
                    isinstance(child, Base)]
    """,
    "closures": """
        import functools
        from functools import lru_cache, partial

        calls = []

        @lru_cache(maxsize=None)
        def slow(n):
            calls.append(n)
            return n * 10

        def counter():
            count = 0
            def step(by=1):
                nonlocal count
                count += by
                return count
            return step

        def traced(function):
            @functools.wraps(function)
            def inner(*args, **kwargs):
                return ("traced", function(*args, **kwargs))
            return inner

        @traced
        def added(a, b=2):
            return a + b

        is_big = lru_cache(partial(max, 10))

        def main():
            step = counter()
            step()
            step(by=5)
            return [slow(1), slow(1), calls, step(), added(1), is_big(3), (lambda *a: sum(a))(1, 2, 3)]
    """,
    "exceptions": """
        from contextlib import contextmanager, suppress

        class Mine(ValueError):
            pass

        events = []

        @contextmanager
        def noted(name):
            events.append("in " + name)
            try:
                yield name.upper()
            finally:
                events.append("out " + name)

        def risky(n):
            try:
                if n == 0:
                    raise Mine("zero")
                return 10 // (n - 1)
            except ZeroDivisionError as error:
                return f"divided: {error}"
            except ValueError as error:
                return f"{type(error).__name__}: {error}"
            finally:
                events.append(n)

        def main():
            with noted("x") as name:
                events.append(name)
            with suppress(KeyError):
                {}["missing"]
                events.append("never")
            try:
                assert 1 > 2, f"no: {1}"
            except AssertionError as error:
                events.append(str(error))
            return [risky(0), risky(1), risky(6), events]
    """,
    "expressions": """
        def main():
            data = {"b": [3, 1, 2], **{"a": (1, 2)}}
            first, *middle, last = range(6)
            if (n := len(data)) > 1:
                data["n"] = n
            text = f"{n!r:>4}|{1.5:.2f}|{'x'!r}|{data['a']}"
            return [sorted(data["b"], key=lambda v: -v), {k: v for k, v in data.items() if k != "n"}, middle,
                    {x % 3 for x in range(9)} == {0, 1, 2}, text, 1 < n <= 3, not data, n or 5, None or "x",
                    any(x > 2 for x in data["b"]), "ab" in "cab", [*"xy", *middle][1:3], -n // 2, 2 ** 5,
                    " ".join(map(str, data["b"])), "{}-{}".format(1, "b"), max(data["b"]), "a,b".split(",")]
    """,
    "in place": """
        def grow(items, extra=()):
            items += list(extra)
            items.insert(0, "first")
            return items

        def main():
            items = [1]
            same = items
            grow(items, extra=(2, 3))
            table = {}
            table.setdefault("k", []).append(4)
            table.update(x=1)
            del table["x"]
            return [same, table, items.pop(), list(reversed(items)), dict.fromkeys("ab", 0)]
    """,
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_known_programs_give_what_python_gives(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = ModuleType("engine")
    monkeypatch.setitem(sys.modules, "engine", real)  # dataclasses look their module up
    exec(dedent(PROGRAMS[name]), vars(real))  # noqa: S102 (the test's own text)
    assert plain(run(tmp_path, PROGRAMS[name])) == plain(real.main())


def test_an_undecided_test_keeps_both_values_and_equal_ones_stay_known(tmp_path: Path) -> None:
    text = """
        import outside
        def main():
            a, b, c = 1, 1, []
            if outside.probe():
                a, b = 2, 5
                c.append(1)
            else:
                a = 3
                b = 5
                c.append(1)
            return a, b, c, a == 1, a in (2, 3)
    """
    a, b, c, is_one, is_either = run(tmp_path, text)
    assert isinstance(a, Choice)
    assert {a.yes, a.no} == {2, 3}
    assert b == 5
    assert c == [1]
    assert is_one is False
    assert is_either is True


def test_a_path_that_returns_early_joins_at_the_callers(tmp_path: Path) -> None:
    text = """
        import outside
        state = {}
        def inner():
            if outside.probe():
                state["x"] = 1
                return "early"
            state["x"] = 2
            return "late"
        def main():
            return inner(), state["x"], "y" in state
    """
    value, x, has_y = run(tmp_path, text)
    assert (value.yes, value.no) == ("early", "late")
    assert (x.yes, x.no) == (1, 2)
    assert has_y is False


def test_the_same_undecided_test_is_decided_the_same_way_again(tmp_path: Path) -> None:
    text = """
        import outside
        def main():
            flag = outside.probe
            if flag == 1:
                a = 1
            else:
                a = 2
            if flag == 1:
                return a
            return a - 1
    """
    assert run(tmp_path, text) == 1


def test_a_loop_left_on_one_path_only(tmp_path: Path) -> None:
    text = """
        import outside
        def main():
            seen = 0
            for each in (1, 2, 3):
                seen = each
                if each == 2 and outside.probe():
                    break
            return seen
    """
    value = run(tmp_path, text)
    assert {value.yes, value.no} == {2, 3}


def test_a_handler_joins_with_the_path_that_did_not_raise(tmp_path: Path) -> None:
    text = """
        def main():
            try:
                import fancy
                there = True
            except ImportError:
                there = False
            return there
    """
    value = run(tmp_path, text)
    assert {value.yes, value.no} == {True, False}
    given = Facts(facts=(Fact(name="library:fancy", value={"present": True, "version": None}, source="t"),))
    assert run(tmp_path, text, given) is True
    assert run(tmp_path, text, Facts(libraries_are_complete=True)) is False


def test_a_path_that_may_raise_is_kept_with_its_condition(tmp_path: Path) -> None:
    text = """
        import outside
        def main():
            if outside.probe() > 3:
                raise ValueError("too many")
            return "fine"
    """
    i = interpreter(tmp_path, text)
    state = i.modules.state("engine")
    assert state is not None
    i.begin(10_000)
    assert i.call(i.modules.lookup(state, "main"), [], {}) == "fine"
    ((raised, conditions),) = i.machine.possible
    assert raised.error.attributes["args"] == ("too many",)
    assert "outside.probe()" in conditions[0][0].reason


def test_collections_that_differ_between_paths_are_not_known(tmp_path: Path) -> None:
    text = """
        import outside
        def main():
            items = [1]
            if outside.probe():
                items.append(2)
            return len(items), items
    """
    count, items = run(tmp_path, text)
    assert isinstance(count, Unknown)
    assert not is_plain(items)


def test_loops_over_something_unknown_change_what_they_touch(tmp_path: Path) -> None:
    text = """
        import outside
        def main():
            a, b = 1, 1
            for each in outside.things():
                a = a + 1
            return a, b
    """
    a, b = run(tmp_path, text)
    assert isinstance(a, Choice | Unknown)
    assert b == 1


def test_environment_writes_are_seen_by_later_reads_and_undone_after_the_run(tmp_path: Path) -> None:
    text = """
        import os
        def main():
            before = os.environ.get("A", "none")
            os.environ["A"] = "2"
            return before, os.getenv("A"), "A" in os.environ, os.getenv("B") is None
    """
    facts = Facts(facts=(Fact(name="environment:A", value="1", source="t"),))
    i = interpreter(tmp_path, text, facts)
    state = i.modules.state("engine")
    assert state is not None
    for _ in range(2):
        i.begin(10_000)
        assert i.call(i.modules.lookup(state, "main"), [], {}) == ("1", "2", True, True)
        i.end()


def test_registries_filled_by_decorators_are_full(tmp_path: Path) -> None:
    text = """
        TABLE = {}
        def register(name):
            def put(cls):
                TABLE[name] = cls
                return cls
            return put
        @register("a")
        class A: pass
        def main():
            return sorted(TABLE)
    """
    assert run(tmp_path, text) == ["a"]


def test_nothing_of_the_host_can_be_reached(tmp_path: Path) -> None:
    target = tmp_path / "touched"
    text = f"""
        import os, subprocess, shutil
        def main():
            os.system("touch {target}")
            subprocess.run(["touch", "{target}"])
            eval("open('{target}', 'w')")
            open("{target}", "w").write("x")
            shutil.rmtree("{tmp_path}")
            return ().__class__.__bases__, "".__class__.__mro__
    """
    run(tmp_path, text)
    assert not target.exists()


def test_endless_programs_end(tmp_path: Path) -> None:
    with pytest.raises(OutOfFuel):
        run(tmp_path, "def main():\n    while True:\n        pass\n")
    deep = run(tmp_path, "def f(n):\n    return f(n + 1)\n\ndef main():\n    return f(0)\n")
    assert isinstance(deep, Unknown)
    big = run(tmp_path, "def main():\n    return 'x' * 10 ** 9, 10 ** 10 ** 10, [0] * 10 ** 9\n")
    assert all(isinstance(each, Unknown) for each in big)


def test_an_exception_of_the_program_is_certain(tmp_path: Path) -> None:
    with pytest.raises(Raised) as caught:
        run(tmp_path, "def main():\n    return {}['k']\n")
    assert caught.value.error.cls is KeyError
