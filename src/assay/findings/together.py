"""Several options set at once: independent, conflicting, or one that sets the other."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any, Literal

from assay._value import Value
from assay.findings import shown
from assay.findings.case import Case, Run
from assay.findings.draft import message, raising
from assay.findings.finding import Evidence, Finding
from assay.findings.records import equal
from assay.findings.words import added, find_option, less_entries, without, wording
from assay.flow import Resolution, baseline
from assay.source import Option, parse

Relation = Literal["independent", "conflicting", "one_sets_the_other", "unknown"]
"""`independent` each comes out as it does alone; `conflicting` both alone are accepted, together one is
refused or reset; `one_sets_the_other` setting the first makes the engine set the second; `unknown` what one
of them does alone could not be told."""


class Pair(Value):
    """How two options go together."""

    first: str
    """One option, with its value."""
    second: str
    """The other."""
    relation: Relation
    """How they go together."""
    summary: str
    """That in one sentence."""
    evidence: tuple[Evidence, ...] = ()
    """The lines that show it."""


class Together(Value):
    """Several options at once."""

    findings: tuple[Finding, ...]
    """The finding on each alone."""
    pairs: tuple[Pair, ...]
    """How each two go together."""
    starts: bool
    """Whether the command with all of them starts, as far as is known."""
    failure: str = ""
    """The error's text, if it surely does not."""
    evidence: tuple[Evidence, ...] = ()
    """The line that raises then."""


class _Setting(Value):
    option: Option
    value: Any

    def __str__(self) -> str:
        flag = next((each for each in self.option.flags if each.startswith("--")), self.option.flags[0])
        return flag if self.value is True or str(self.value).lower() == "true" else f"{flag} {self.value}"


def find_together(case: Case, asked: Sequence[tuple[str, Any]], findings: Sequence[Finding]) -> Together:
    """How options go together; names that the engine does not have are left out of the pairs.

    Args:
        case: the deployment.
        asked: names and values.
        findings: the finding on each alone, in the same order.
    """
    settings = [
        _Setting(option=option, value=value)
        for name, value in asked
        if (option := find_option(case.source.declarations, name, value)) is not None
    ]
    alone = [_resolved(case, [setting]) for setting in settings]
    every = _resolved(case, settings)
    refused = every.rejection if every.status == "rejected" else None
    pairs = tuple(
        _pair(case, (settings[one], settings[two]), (alone[one], alone[two]))
        for one, two in itertools.combinations(range(len(settings)), 2)
    )
    return Together(
        findings=tuple(findings),
        pairs=pairs,
        starts=every.status != "rejected",
        failure=message(refused) if refused is not None else "",
        evidence=raising(refused) if refused is not None else (),
    )


def _resolved(case: Case, settings: Sequence[_Setting]) -> Resolution:
    """The deployment's command with those options instead of what it says of them."""
    run: Run = case.present
    words, reader = run.words, run.read_config
    for setting in settings:
        parsed = parse(case.source.declarations, words, reader)
        words, reader = without(parsed, words, setting.option), less_entries(reader, parsed, setting.option)
    for setting in settings:
        words = added(words, wording(setting.option, setting.value).words)
    return baseline(case.source, case.facts, words, read_config=reader).resolution


def _pair(case: Case, settings: tuple[_Setting, _Setting], alone: tuple[Resolution, Resolution]) -> Pair:
    both = _resolved(case, settings)
    first, second = str(settings[0]), str(settings[1])

    def made(relation: Relation, summary: str, evidence: tuple[Evidence, ...] = ()) -> Pair:
        return Pair(first=first, second=second, relation=relation, summary=summary, evidence=evidence)

    refused = [each for each in alone if each.status == "rejected"]
    if both.status == "rejected" and both.rejection is not None:
        if refused:
            return made("unknown", "one of them is refused already alone", raising(both.rejection))
        summary = f"each alone is accepted, both are refused: {message(both.rejection)}"
        return made("conflicting", summary, raising(both.rejection))
    if refused:
        return made("one_sets_the_other", f"alone, {_names(settings, alone)} is refused; together both start")
    reset = next(_reset(settings, alone, both), None)
    if reset is not None:
        return made("conflicting", *reset)
    sets = next(_sets(settings, alone), None)
    if sets is not None:
        return made("one_sets_the_other", *sets)
    if "unknown" in (both.status, *(each.status for each in alone)) and not all(
        each.fields for each in (both, *alone)
    ):
        return made("unknown", "the start could not be followed to its end")
    return made("independent", "each comes out as it does alone")


def _names(settings: Sequence[_Setting], alone: Sequence[Resolution]) -> str:
    refused = [str(one) for one, run in zip(settings, alone, strict=True) if run.status == "rejected"]
    return " and ".join(refused)


def _reset(
    settings: Sequence[_Setting], alone: Sequence[Resolution], both: Resolution
) -> Iterator[tuple[str, tuple[Evidence, ...]]]:
    """Options that come out otherwise together than alone."""
    for setting, run in zip(settings, alone, strict=True):
        name = setting.option.field or ""
        before, after = run.field(name), both.field(name)
        if before and after and before.known and after.known and not equal(before.value, after.value):
            summary = f"{name} is {shown.said(before.value)} alone and {shown.said(after.value)} together"
            yield summary, shown.evidence(after.provenance.site, f"sets it to {shown.said(after.value)}")


def _sets(
    settings: Sequence[_Setting], alone: Sequence[Resolution]
) -> Iterator[tuple[str, tuple[Evidence, ...]]]:
    """Options that the other one brings along."""
    for mine, run in ((settings[0], alone[1]), (settings[1], alone[0])):
        other = settings[1] if mine is settings[0] else settings[0]
        held = run.field(mine.option.field or "")
        if held is None or not held.known or held.provenance.how != "set":
            continue
        wanted = str(held.value).lower() == str(mine.value).lower()
        if wanted and f"option {other.option.field}" in _reasons(held.provenance):
            summary = f"{other} makes the engine set {mine.option.field} to {shown.said(held.value)}"
            yield summary, shown.evidence(held.provenance.site, f"sets it to {shown.said(held.value)}")


def _reasons(provenance: Any) -> set[str]:
    return {*provenance.depends_on, *(atom for guard in provenance.guards for atom in guard.decided_by)}
