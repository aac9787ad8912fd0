"""Our parsing of command lines against CPython's argparse, for random parsers and random command lines."""

from __future__ import annotations

import argparse
import json
import re
import sys
from dataclasses import dataclass, field
from typing import Any, NoReturn

import pytest
from hypothesis import example, given, reject, settings
from hypothesis import strategies as st

from assay.source import Constant, Declarations, Option, Site, parse
from assay.source.declarations import Action, Converter

SITE = Site(file="engine.py", line=1)
SUPPRESS = argparse.SUPPRESS
TYPES: dict[Converter, Any] = {"text": str, "int": int, "float": float, "json": json.loads, "bool": bool}
FLAGS = (
    "--a",
    "--ab",
    "--abc",
    "--a-b",
    "--b",
    "--port",
    "--port-x",
    "--no-a",
    "-a",
    "-b",
    "-1",
    "-p",
    "-ab",
    "-é",
)
WORDS = (
    *FLAGS,
    "--",
    "-",
    "",
    "--a=1",
    "--ab=",
    "--abc=x y",
    "--p",
    "--po=3",
    "-a1",
    "-ab1",
    "-abp",
    "-a=1",
    "-bp",
)
VALUES = (
    "1",
    "x",
    "-2",
    "-2.5",
    "-1e3",
    "a b",
    "-a b",
    "1,2",
    "{}",
    "null",
    "0x1",
    " 7 ",
    "nan",
    "--zz",
    "--zz=1",
)


@dataclass(frozen=True)
class Word:
    """A word of a command line."""

    text: str
    known: bool = True


@dataclass(frozen=True)
class Spec:
    """A declaration, for argparse and for ours."""

    flags: tuple[str, ...]
    action: Action = "store"
    converter: Converter = "text"
    nargs: int | str | None = None
    const: Any = None
    default: Any = None
    choices: tuple[Any, ...] | None = None
    required: bool = False
    dest: str | None = None

    def add(self, parser: argparse.ArgumentParser) -> None:
        """Declare it to argparse."""
        common: dict[str, Any] = {"default": self.default, "required": self.required}
        if self.dest is not None:
            common["dest"] = self.dest
        if self.action == "store_const":
            parser.add_argument(*self.flags, action="store_const", const=self.const, **common)
        elif self.action == "boolean":
            parser.add_argument(*self.flags, action=argparse.BooleanOptionalAction, **common)
        else:
            common |= {"type": TYPES[self.converter], "nargs": self.nargs, "choices": self.choices}
            if self.nargs == "?":
                common["const"] = self.const
            parser.add_argument(
                *self.flags, action="append" if self.action == "append" else "store", **common
            )

    def option(self, action: argparse.Action) -> Option:
        """The same as an option of ours; flags and destination as argparse derived them."""
        takes_none = self.action in ("store_const", "boolean")
        return Option(
            flags=tuple(action.option_strings),
            dest=action.dest,
            field=None,
            action=self.action,
            converter="text" if takes_none else self.converter,
            nargs=0 if takes_none else self.nargs,
            const=Constant(known=True, value=self.const),
            default=Constant(known=True, value=self.default),
            choices=None
            if self.choices is None or takes_none
            else Constant(known=True, value=list(self.choices)),
            required=self.required,
            declared_at=SITE,
            first_line=1,
            last_line=1,
        )


class Refused(Exception):
    """argparse's own error."""


@dataclass
class Parser(argparse.ArgumentParser):
    """An argparse parser that raises."""

    specs: tuple[Spec, ...] = ()
    options: list[Option] = field(default_factory=list)

    def __post_init__(self) -> None:
        argparse.ArgumentParser.__init__(self, add_help=False)
        for spec in self.specs:
            spec.add(self)
            self.options.append(spec.option(self._actions[-1]))

    def error(self, message: str) -> NoReturn:
        """Raise instead of ending the process."""
        raise Refused(message)


def specs() -> st.SearchStrategy[tuple[Spec, ...]]:
    """A few declarations whose flags do not collide."""
    one = st.builds(
        Spec,
        flags=st.lists(st.sampled_from(FLAGS), min_size=1, max_size=2, unique=True).map(tuple),
        action=st.sampled_from(["store", "store", "store", "append", "store_const", "boolean"]),
        converter=st.sampled_from(sorted(TYPES)),
        nargs=st.sampled_from([None, None, None, "?", "*", "+", 1, 2]),
        const=st.sampled_from([None, "1", "x", 3]),
        default=st.sampled_from([None, None, "1", "d", 5, SUPPRESS]),
        choices=st.sampled_from([None, None, (1, 2, "x"), ("1", "x", 1.5)]),
        required=st.sampled_from([False, False, False, True]),
        dest=st.sampled_from([None, None, None, "shared"]),
    )
    return st.lists(one, min_size=1, max_size=4).map(tuple).filter(declarable)


def declarable(candidates: tuple[Spec, ...]) -> bool:
    """Whether argparse takes these declarations together."""
    try:
        Parser(specs=candidates)
    except (argparse.ArgumentError, ValueError, TypeError):
        return False
    return True


def kind_of(message: str) -> str:
    """Our name for argparse's error."""
    kinds = {
        "ambiguous option": "ambiguous",
        "unrecognized arguments": "leftover",
        "the following arguments are required": "missing-required",
        "invalid choice": "bad-choice",
        "ignored explicit argument": "extra-value",
        "expected": "missing-value",
        "invalid ": "bad-value",
    }
    return next(kind for start, kind in kinds.items() if re.search(rf"(^|: ){start}", message))


def outcome_of_argparse(candidates: tuple[Spec, ...], argv: list[str]) -> tuple[str, Any]:
    """The namespace, or the kind of error."""
    try:
        return "namespace", vars(Parser(specs=candidates).parse_args(argv))
    except Refused as error:
        return "error", kind_of(str(error))
    except (AttributeError, TypeError):
        reject()  # argparse itself fails, for instance when it appends to a text


def outcome_of_ours(candidates: tuple[Spec, ...], argv: list[str]) -> tuple[str, Any]:
    """The same of our parser, by its first problem."""
    declarations = Declarations(
        idiom="test",
        arguments_class="Arguments",
        declared_at=SITE,
        options=tuple(Parser(specs=candidates).options),
        fields=(),
        environment=(),
        environment_words=(),
    )
    parsed = parse(declarations, [Word(text) for text in argv])
    if parsed.problems:
        kind = parsed.problems[0].kind
        kind_or_group = {"stray-word": "leftover", "unknown-option": "leftover", "bad-default": "bad-value"}
        return "error", kind_or_group.get(kind, kind)
    return "namespace", {dest: constant.value for dest, constant in parsed.namespace.items()}


@settings(max_examples=500, deadline=None, derandomize=True)
@given(specs(), st.lists(st.sampled_from([*WORDS, *VALUES]), max_size=6))
@example((Spec(("-a",), "store_const", const=1), Spec(("-b",))), ["-ab", "5"])
@example((Spec(("-a",), "store_const", const=1), Spec(("-b",), nargs=2)), ["-ab5"])
@example((Spec(("--a",), nargs=2),), ["--a=5"])
@example((Spec(("-1",), "store_const", const=1), Spec(("--b",))), ["--b", "-2"])
def test_same_namespace_or_same_error(candidates: tuple[Spec, ...], argv: list[str]) -> None:
    if sys.version_info >= (3, 12) and any(word.endswith("--") or word == "--" for word in argv):
        pytest.skip("later versions of argparse treat `--` in another way")
    expected, ours = outcome_of_argparse(candidates, argv), outcome_of_ours(candidates, argv)
    assert repr(ours) == repr(expected) or same(ours, expected)


def same(ours: tuple[str, Any], expected: tuple[str, Any]) -> bool:
    """Equal but for the order of a namespace's names."""
    return ours[0] == expected[0] == "namespace" and sorted(map(repr, ours[1].items())) == sorted(
        map(repr, expected[1].items())
    )
