"""Compares the declarations of two versions, and what their parsers make of one command."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import msgspec

from assay.drift.change import Change, ChangeKind
from assay.drift.successors import flags_of, stated, successor
from assay.drift.variables import changed_variables, differs
from assay.drift.wording import choices_said, kind_of, said_of_problem

if TYPE_CHECKING:
    from assay.drift.change import Successor
    from assay.engines import OptionHistory
    from assay.source import Constant, Declarations, Given, Option, Parsed, Problem, Site

_ORDER = {"fails": 0, "differs": 1, "warns": 2, "none": 3}
_OF_PROBLEM: dict[str, ChangeKind] = {
    "unknown-option": "gone",
    "ambiguous": "ambiguous",
    "bad-choice": "value",
    "bad-value": "value",
    "missing-value": "value",
    "extra-value": "value",
    "refused-option": "refused",
}
_NOTHING_WRONG = ("config-not-read",)


@dataclass(frozen=True)
class Side:
    """One version: what it declares, and what it makes of the command."""

    declarations: Declarations
    parsed: Parsed
    name: str
    """For messages: `sglang 0.5.10`."""

    def given(self) -> dict[str, Given]:
        """By field, or destination where it ends in none, the last occurrence of each option."""
        return {key_of(each.option): each for each in self.parsed.given}


def key_of(option: Option) -> str:
    """What options of two versions have in common: the field that they set."""
    return option.field or option.dest


def compare(
    older: Side, newer: Side, words: Sequence[str], variables: Sequence[str], history: OptionHistory
) -> tuple[Change, ...]:
    """All that is otherwise in the newer version, what the command would fail with first.

    Args:
        older: the version that the command is for.
        newer: the version that it may go to.
        words: the words of the command's arguments, as both were parsed from.
        variables: names of the engine's own variables that the command's environment has.
        history: which flags releases call replaced by others.
    """
    comparing = _Comparing(older, newer, words, history)
    found = [
        *comparing.of_the_command(),
        *comparing.of_other_options(),
        *changed_variables(older.declarations, newer.declarations, newer.name, variables),
    ]
    return in_order(found)


def in_order(changes: Iterable[Change]) -> tuple[Change, ...]:
    """What the command would fail with first."""
    return tuple(sorted(changes, key=lambda change: (_ORDER[change.effect], change.name)))


class _Comparing:
    def __init__(self, older: Side, newer: Side, words: Sequence[str], history: OptionHistory) -> None:
        self._older, self._newer, self._words, self._history = older, newer, words, history
        self._now = flags_of(newer.declarations)
        self._before = flags_of(older.declarations)
        self._told: set[str] = set()
        """Keys of options of which a change was told."""

    def of_the_command(self) -> Iterator[Change]:
        """What becomes of the words that the command has."""
        for problem in self._newer.parsed.problems:
            if problem.kind not in _NOTHING_WRONG:
                yield self._failing(problem)
        given = self._newer.given()
        for key, before in self._older.given().items():
            if key in self._told:
                continue
            now = given.get(key)
            if now is None:
                now = next((each for each in given.values() if each.at == before.at and each.at), None)
            if now is not None:
                yield from self._read_otherwise(key, before, now)

    def _failing(self, problem: Problem) -> Change:
        written = "" if problem.at is None else self._words[problem.at]
        missing = problem.option.flags[0] if problem.option and not written else ""
        flag = written.partition("=")[0] or missing
        before = self._older_option(problem, flag)
        kind = _OF_PROBLEM.get(problem.kind, "other")
        if before is None and kind == "gone":
            kind = "other"
        now = problem.option
        says = said_of_problem(kind, flag, problem, self._newer.name)
        if self._failed_before(problem):
            says = f"{says}; the older version refuses it, too: that is no matter of the upgrade"
        if before is not None:
            self._told.add(key_of(before))
        return Change(
            kind=kind,
            name=before.flags[0] if before else flag,
            written=written,
            effect="fails",
            says=says,
            successor=self._successor(before)
            if before and kind in ("gone", "ambiguous", "refused")
            else None,
            older=before.declared_at if before else None,
            newer=now.declared_at if now else None,
        )

    def _failed_before(self, problem: Problem) -> bool:
        """Whether the older version refuses the same word for the same reason, if in other terms."""
        return any(
            (each.kind, each.at) == (problem.kind, problem.at)
            and (problem.at is not None or each.message == problem.message)
            for each in self._older.parsed.problems
        )

    def _older_option(self, problem: Problem, flag: str) -> Option | None:
        """What the older version took the word for."""
        for given in self._older.parsed.given:
            if given.at is not None and given.at == problem.at:
                return given.option
        return self._before.get(flag)

    def _successor(self, option: Option) -> Successor | None:
        return successor(option, self._older.declarations, self._newer.declarations, self._history)

    def _read_otherwise(self, key: str, before: Given, now: Given) -> Iterator[Change]:
        written = "" if before.at is None else self._words[before.at]
        name = before.option.flags[0]
        older, newer = before.option.declared_at, now.option.declared_at
        is_same = key_of(now.option) == key  # else the values are of two fields, and not comparable
        if is_same and now.value.known and before.value.known and now.value.value != before.value.value:
            self._told.add(key)
            yield Change(
                kind="reading",
                name=name,
                written=written,
                effect="differs",
                says=f"{self._newer.name} reads another value from the same words",
                before=before.value,
                after=now.value,
                older=older,
                newer=newer,
            )
        if now.option.deprecated and not before.option.deprecated:
            self._told.add(key)
            yield Change(
                kind="deprecated",
                name=name,
                written=written,
                effect="warns",
                says=f"{self._newer.name} calls `{now.flag}` deprecated",
                successor=stated(now.option, now.flag) if now.option.replaced_by else None,
                older=older,
                newer=newer,
            )

    def of_other_options(self) -> Iterator[Change]:
        """What became of all options, whether the command has them or not."""
        newer = {key_of(option): option for option in reversed(self._newer.declarations.options)}
        older = {key_of(option): option for option in reversed(self._older.declarations.options)}
        given = self._older.given()
        for key, option in reversed(older.items()):
            kept = next((self._now[flag] for flag in option.flags if flag in self._now), newer.get(key))
            if kept is None or not any(flag in self._now for flag in option.flags):
                if key not in self._told:
                    yield self._gone(option)
            elif option.action != "help" and key not in self._told:
                yield from self._changed(option, kept, is_given=key in given)
        for option in self._newer.declarations.options:
            if key_of(option) not in older and not any(flag in self._before for flag in option.flags):
                says = f"{self._older.name} does not have it"
                yield _change("new", option, says, newer=option.declared_at, after=option.default)

    def _gone(self, option: Option) -> Change:
        says = f"{self._newer.name} has no such option"
        change = _change("gone", option, says, older=option.declared_at, before=option.default)
        return msgspec.structs.replace(change, successor=self._successor(option))

    def _changed(self, before: Option, now: Option, *, is_given: bool) -> Iterator[Change]:
        older, newer = before.site("default"), now.site("default")
        if key_of(before) == key_of(now) and differs(before.default, now.default):
            yield Change(
                kind="default",
                name=now.flags[0],
                effect="none" if is_given else "differs",
                says="another default" + (", which the command sets itself" if is_given else ""),
                before=before.default,
                after=now.default,
                older=older,
                newer=newer,
            )
        if (one := _set_of(before.choices)) != (other := _set_of(now.choices)) and None not in (one, other):
            yield Change(
                kind="choices",
                name=now.flags[0],
                effect="none",
                says=choices_said(one or set(), other or set()),
                older=before.site("choices"),
                newer=now.site("choices"),
            )
        if (before.converter, before.nargs, before.action) != (now.converter, now.nargs, now.action):
            was, is_now = kind_of(before), kind_of(now)
            if was != is_now:
                yield _change("type", now, f"took {was}, takes {is_now}", older=older, newer=newer)


def _change(  # noqa: PLR0913 - one for each field
    kind: ChangeKind,
    option: Option,
    says: str,
    *,
    older: Site | None = None,
    newer: Site | None = None,
    before: Constant | None = None,
    after: Constant | None = None,
) -> Change:
    return Change(
        kind=kind,
        name=option.flags[0],
        effect="none",
        says=says,
        older=older,
        newer=newer,
        before=before,
        after=after,
    )


def _set_of(choices: Constant | None) -> set[str] | None:
    """The choices as text; None where there are none, or they are not known."""
    if choices is None or not choices.known:
        return None
    return {str(choice) for choice in choices.value}
