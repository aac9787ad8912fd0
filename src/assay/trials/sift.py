"""Which options of a change are worth a trial: what cannot matter here, or is refused, is not; pure."""

from __future__ import annotations

from functools import cached_property

import msgspec

from assay._value import Value
from assay.engines import server_of
from assay.errors import Refused
from assay.findings import Case, Evidence, Failure, Finding, ask, explain_any, failure_of
from assay.rollout import Change, Setting, changed_words
from assay.source import ConfigReader

_NOTHING = ("already_on", "dead", "no_op")
"""Verdicts that say: with the option or without it, the engine does the same."""


class Asked(Value):
    """One option of a change, and whether it is tried."""

    flag: str
    """With its dashes."""
    value: str | None
    """Its value; None for a switch, and for an option that is taken away."""
    tried: bool
    """Whether it is part of what is tried."""
    why: str
    """The verdict in a sentence."""
    verdict: str = ""
    """That of triage; empty where it was not triaged."""
    subkind: str = ""
    """Its sub-kind."""
    field: str | None = None
    """The field of the engine's arguments that it ends in."""
    evidence: tuple[Evidence, ...] = ()
    """The lines that show it, the deciding one first."""

    def __str__(self) -> str:
        """As a person would write it."""
        return self.flag if self.value is None else f"{self.flag} {self.value}"


class Sifted(Value):
    """A change after triage."""

    asked: tuple[Asked, ...]
    """Every option of the change, in its order."""
    change: Change | None
    """What of it is tried; None if nothing is left."""
    triaged: bool
    """False if the engine's source was not asked: then everything is tried."""
    why_not: str = ""
    """Why it was not."""


def not_triaged(change: Change, why: str) -> Sifted:
    """Everything is tried, since nobody asked the source."""
    told = "not triaged"
    asked = [Asked(flag=each.flag, value=each.value, tried=True, why=told) for each in change.set]
    asked += [Asked(flag=flag, value=None, tried=True, why=told) for flag in change.unset]
    return Sifted(asked=tuple(asked), change=change, triaged=False, why_not=why)


def case_of(case: Case, words: tuple[str, ...]) -> Case:
    """The same deployment with another command.

    Raises:
        Refused: the words start no server that assay knows.
    """
    server = server_of(words)
    if server is None:
        raise Refused("the command does not start a server that assay knows by itself")
    return case.altered(words=server.arguments, read_config=ConfigReader(server))


def sift(case: Case, words: tuple[str, ...], change: Change) -> Sifted:
    """Ask about each option of a change, the others being set, and leave out what is not worth a restart.

    Args:
        case: the deployment.
        words: the command that runs, program first.
        change: what shall be otherwise.

    What the source calls `unknown` is tried. Where the source says that the command that runs does not
    start, some fact is not so, and nothing is decided by it.
    """
    return Sieve(case, words).sift(change)


class Sieve:
    """Sifts several changes of one command: what they share is followed once."""

    def __init__(self, case: Case, words: tuple[str, ...]) -> None:
        """Raises Refused where the words start no server that assay knows."""
        self._words = words
        self._running = case_of(case, words)

    @cached_property
    def _failure(self) -> Failure | None:
        return failure_of(self._running.present)

    def sift(self, change: Change) -> Sifted:
        """As `sift`."""
        failure, running, words = self._failure, self._running, self._words
        if failure is not None:
            lines = [f" ({each.file}:{each.line})" for each in failure.evidence[:1]]
            return not_triaged(
                change,
                f"by its source the command that runs does not start: {failure.message}{''.join(lines)}; it "
                "runs, so a fact that the deployment file states is not so",
            )
        alone = [_asked(running, words, _only(change, at), 0) for at in range(_size(change))]
        dropped = [each for each in alone if _never(each)]
        left = _without(change, {each.flag for each in dropped})
        if left is None or _size(left) == 1:
            return _sifted(alone, left)
        while left is not None:
            found = _together(running, words, left, alone)
            out = [each for each in found if not each.tried]
            if not out:
                return _sifted([*found, *dropped], left)
            dropped += out
            left = _without(left, {each.flag for each in out})
        return _sifted(dropped, None)


def _never(asked: Asked) -> bool:
    """Whether no other option could make something of it."""
    return asked.verdict == "dead" or asked.subkind in ("missing", "wrong_type", "not_a_choice")


def _sifted(asked: list[Asked], left: Change | None) -> Sifted:
    tried = any(each.tried for each in asked)
    return Sifted(asked=tuple(asked), change=left if tried else None, triaged=True)


def _together(case: Case, words: tuple[str, ...], change: Change, alone: list[Asked]) -> list[Asked]:
    """Each option of the change with the others; where all are refused together, each by itself."""
    if _size(change) == 1:
        [flag] = [*(each.flag for each in change.set), *change.unset]
        return [each for each in alone if each.flag == flag]
    found = [_asked(case, words, change, at) for at in range(_size(change))]
    if any(each.verdict != "incompatible" for each in found):
        return found
    flags = {each.flag for each in found}
    apart = [each for each in alone if each.flag in flags]
    fine = [each.tried for each in apart]
    return apart if any(fine) and not all(fine) else found


def _size(change: Change) -> int:
    return len(change.set) + len(change.unset)


def _only(change: Change, at: int) -> Change:
    """The change of one option of it: first those that are set."""
    if at < len(change.set):
        return Change(set=(change.set[at],))
    return Change(unset=(change.unset[at - len(change.set)],))


def _without(change: Change, flags: set[str]) -> Change | None:
    left = Change(
        set=tuple(each for each in change.set if each.flag not in flags),
        unset=tuple(flag for flag in change.unset if flag not in flags),
    )
    return left if _size(left) else None


def _asked(case: Case, words: tuple[str, ...], change: Change, at: int) -> Asked:
    """One option of the change, while all others of it are set; `case` is that of `words`."""
    others = _without(change, {(*(each.flag for each in change.set), *change.unset)[at]})
    around = case_of(case, changed_words(words, others)) if others else case
    if at >= len(change.set):
        return _taken_away(around, change.unset[at - len(change.set)])
    return _put(around, change.set[at])


def _put(case: Case, setting: Setting) -> Asked:
    found = ask(case, setting.flag, True if setting.value is None else setting.value)
    if found.verdict == "incompatible":
        return _told(setting.flag, setting.value, found, tried=False)
    if found.verdict not in _NOTHING or not _is_given(case, found):
        return _told(setting.flag, setting.value, found, tried=found.verdict not in _NOTHING)
    # the verdict is against leaving the option out, but it is there now, with another value
    now = explain_any(case, setting.flag).finding
    told = _told(setting.flag, setting.value, found, tried=now.verdict not in _NOTHING)
    if not told.tried:
        return told
    return msgspec.structs.replace(told, why=f"{told.why}; but the value that it has now: {now.summary}")


def _is_given(case: Case, found: Finding) -> bool:
    options = case.source.declarations.options
    return any(found.option in each.flags and case.gives(each) for each in options)


def _taken_away(case: Case, flag: str) -> Asked:
    found = explain_any(case, flag).finding
    needed = found.subkind == "required_to_start"
    told = _told(flag, None, found, tried=not needed and found.verdict not in (*_NOTHING, "incompatible"))
    return told if not needed else msgspec.structs.replace(told, verdict="incompatible")


def _told(flag: str, value: str | None, found: Finding, *, tried: bool) -> Asked:
    return Asked(
        flag=flag,
        value=value,
        tried=tried,
        why=found.summary,
        verdict=found.verdict,
        subkind=found.subkind,
        field=found.field,
        evidence=found.evidence[:3],
    )
