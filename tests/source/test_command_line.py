"""Positions, candidates and problems beyond the first: what the engine's own parser does not give."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pytest

from assay.source import ConfigEntry, Constant, Declarations, Option, Parsed, Site, parse
from assay.source.declarations import ConfigRules

SITE = Site(file="engine.py", line=1)


@dataclass(frozen=True)
class Word:
    """A word of a command line."""

    text: str
    known: bool = True


def option(*flags: str, **more: Any) -> Option:
    """An option of the engine."""
    more.setdefault("default", Constant(known=True))
    dest = more.pop("dest", flags[0].lstrip("-").replace("-", "_"))
    return Option(
        flags=flags,
        dest=dest,
        field=dest,
        **{"action": "store"} | more,
        declared_at=SITE,
        first_line=1,
        last_line=1,
    )


SWITCH: dict[str, Any] = {
    "action": "store_const",
    "action_text": "store_true",
    "nargs": 0,
    "const": Constant(known=True, value=True),
    "default": Constant(known=True, value=False),
}
OPTIONS = (
    option("-h", "--help", action="help", action_text="help", nargs=0, dest="help"),
    option("--model-path", "--model", required=True),
    option("--port", converter="int", default=Constant(known=True, value=30000)),
    option("--backend", choices=Constant(known=True, value=["triton", "flashinfer"])),
    option("--parser", choices=Constant(known=False)),
    option("--sizes", converter="int", nargs="+"),
    option("--opaque", converter="opaque", default=Constant(known=True, value="d")),
    option("--strange", action="opaque"),
    option("--gone", action="refused", nargs=0),
    option("--old", action="ignored", action_text="Old", nargs=0),
    option("--eager", **SWITCH),
    option("--unsure", default=Constant(known=False)),
    option("--config"),
)


def declared(*, rules: ConfigRules = "typed", abbreviations: bool = True) -> Declarations:
    """The declarations of a small engine."""
    return Declarations(
        idiom="test",
        arguments_class="Arguments",
        declared_at=SITE,
        options=OPTIONS,
        fields=(),
        environment=(),
        environment_words=(),
        config_option="--config",
        config_rules=rules,
        abbreviations=abbreviations,
    )


def parsed(line: str | Sequence[Word], entries: Any = None, **more: Any) -> Parsed:
    """A command line, split at blanks, with what its file of arguments holds."""
    words = [Word(text) for text in line.split(" ")] if isinstance(line, str) else line
    return parse(declared(**more), words, None if entries is None else lambda _path: entries)


def problems(result: Parsed) -> list[tuple[str, int | None, tuple[int, ...]]]:
    """Kind and places of each problem."""
    return [(problem.kind, problem.at, problem.value_at) for problem in result.problems]


def test_all_problems_are_told_in_the_engines_order() -> None:
    result = parsed("--bakcend 1 2 --port x --eager=1 --backend tritn --po stray --sizes --gone --p 3 --port")
    assert problems(result) == [
        ("ambiguous", 12, ()),
        ("bad-value", 3, (4,)),
        ("extra-value", 5, ()),
        ("bad-choice", 6, (7,)),
        ("bad-value", 8, (9,)),
        ("missing-value", 10, ()),
        ("refused-option", 11, ()),
        ("missing-value", 14, ()),
        ("missing-required", None, ()),
        ("unknown-option", 0, (1, 2)),
    ]


def test_candidates_are_what_was_probably_meant() -> None:
    result = parsed("--model m --model_path m --prot 1 --backend flash --p 1")
    by_kind = {problem.kind: problem.candidates for problem in result.problems}
    assert by_kind["unknown-option"] == ("--port",)
    assert by_kind["bad-choice"] == ("flashinfer",)
    assert by_kind["ambiguous"] == ("--port", "--parser")
    unknown = [p for p in result.problems if p.kind == "unknown-option"]
    assert unknown[0].candidates[0] == "--model-path"


def test_occurrences_keep_their_places() -> None:
    result = parsed("--port 1 --model=m --sizes 1 2 --eager --por=3")
    assert [(g.flag, g.at, g.value_at, g.value.value) for g in result.given] == [
        ("--port", 0, (1,), 1),
        ("--model", 2, (2,), "m"),
        ("--sizes", 3, (4, 5), [1, 2]),
        ("--eager", 6, (), True),
        ("--port", 7, (7,), 3),
    ]
    assert result.problems == ()
    assert result.complete
    assert result.namespace["port"].value == 3
    assert result.namespace["unsure"].known is False
    assert result.namespace["opaque"].known is False
    assert "help" in result.namespace


@pytest.mark.parametrize(
    ("words", "kinds", "complete"),
    [
        ([Word("--model"), Word("$M", known=False)], [], True),
        ([Word("--model=$M", known=False)], [], True),
        ([Word("--mo=$M", known=False)], ["missing-required"], False),
        ([Word("--model-p=$M", known=False)], [], True),
        ([Word("$ALL", known=False)], [], False),
        ([Word("--model"), Word("m"), Word("$ALL", known=False)], [], False),
        ([Word("--model"), Word("m"), Word("--sizes"), Word("$ALL", known=False)], [], False),
        ([Word("--port"), Word("$P", known=False), Word("--model"), Word("m")], [], True),
        ([Word("--eager=$P", known=False), Word("--model"), Word("m")], ["extra-value"], True),
    ],
)
def test_words_that_only_show_at_run_time(words: list[Word], kinds: list[str], complete: bool) -> None:  # noqa: FBT001
    result = parsed(words)
    assert result.complete is complete
    if complete:
        assert [problem.kind for problem in result.problems] == kinds


def test_a_value_that_is_not_known_makes_its_destination_unknown() -> None:
    result = parsed([Word("--model"), Word("m"), Word("--port"), Word("$P", known=False)])
    assert not result.namespace["port"].known
    assert result.given[1].value_at == (3,)


def test_what_was_not_understood_is_neither_refused_nor_known() -> None:
    result = parsed("--model m --opaque x --strange y --parser z --old")
    assert result.problems == ()
    assert [g.value.known for g in result.given] == [True, False, False, True, False]


def test_without_abbreviations() -> None:
    assert problems(parsed("--model m --por 3", abbreviations=False)) == [("unknown-option", 2, (3,))]


def test_entries_of_the_file_come_first_and_keep_their_place() -> None:
    entries = [
        ConfigEntry(key="port", value=1, position=7),
        ConfigEntry(key="port", value="x", position=8),
        ConfigEntry(key="eager", value=True, position=9),
        ConfigEntry(key="old", value=True, position=10),
        ConfigEntry(key="nonsense", value=[1, 2], position=11),
    ]
    result = parsed("--model m --config c.yaml --port 2", entries)
    assert [(g.flag, g.at, g.config.position if g.config else None) for g in result.given] == [
        ("--port", None, 7),
        ("--port", None, 8),
        ("--eager", None, 9),
        ("--model", 0, None),
        ("--port", 4, None),
    ]
    assert [(p.kind, p.config.position if p.config else None) for p in result.problems] == [
        ("config-unsupported", 10),
        ("bad-value", 8),
        ("unknown-option", 11),
    ]
    assert result.namespace["port"].value == 2


@pytest.mark.parametrize(
    ("line", "entries", "kinds", "complete"),
    [
        ("--model m --config c.yaml", None, [], False),
        ("--config c.yaml", None, [], False),
        ("--model m --config c.yaml", "cannot be read", ["config-unreadable"], False),
        ("--model m --config c.json", [], ["config-not-yaml"], False),
        ("--model m --config", [], ["config-without-file"], True),
        ("--model m --config a.yaml --config b.yaml", [], ["config-repeated"], False),
        ("--model m --config=a.yaml", [], ["config-not-read"], True),
        ("--model m --conf a.yaml", [], ["config-not-read"], True),
        ("--model m --config c.yaml", [ConfigEntry(key=1, value=1)], ["config-key"], True),
    ],
)
def test_the_file_of_arguments(line: str, entries: Any, kinds: list[str], complete: bool) -> None:  # noqa: FBT001
    result = parsed(line, entries)
    assert [problem.kind for problem in result.problems] == kinds
    assert result.complete is complete


def test_older_rules_of_the_file() -> None:
    entries = [ConfigEntry(key="backend", value=True), ConfigEntry(key="old", value=True)]
    assert [p.kind for p in parsed("--model m --config c.yaml", entries, rules="plain").problems] == [
        "missing-value"
    ]
    assert not parsed("--model m --config c.yaml", entries, rules="opaque").complete


@pytest.mark.parametrize(
    ("value", "kind"),
    [("1_000", None), ("９", None), ("9" * 5000, "bad-value"), ("1.0", "bad-value"), ("", "bad-value")],
)
def test_integers_as_python_reads_them(value: str, kind: str | None) -> None:
    assert [p.kind for p in parsed([Word("--model=m"), Word("--port"), Word(value)]).problems] == (
        [kind] if kind else []
    )
