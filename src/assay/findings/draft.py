"""Makes a finding out of a question and what was found about it."""

from __future__ import annotations

from typing import Any

from assay.findings import shown
from assay.findings.case import Question
from assay.findings.finding import BothRuns, Condition, Evidence, Finding, SideEffect
from assay.findings.subkinds import SUBKIND
from assay.flow import Rejection, Resolution


def finding(  # noqa: PLR0913 - one argument for each field of a finding
    question: Question,
    subkind: str,
    summary: str,
    *,
    evidence: tuple[Evidence, ...] = (),
    guards: tuple[Condition, ...] = (),
    open_atoms: tuple[str, ...] = (),
    side_effects: tuple[SideEffect, ...] = (),
    when: tuple[str, ...] = (),
    resolved: BothRuns | None = None,
) -> Finding:
    """A finding of that sub-kind, with the sub-kind's verdict."""
    option = question.option
    return Finding(
        option=named(question),
        field=option.field,
        value=question.shown,
        verdict=SUBKIND[subkind].verdict,
        subkind=subkind,
        summary=summary,
        when=when,
        declared_at=option.declared_at,
        help=option.help,
        evidence=evidence or shown.evidence(option.declared_at, "declares it"),
        guards=guards,
        open_atoms=tuple(dict.fromkeys(open_atoms)),
        side_effects=side_effects,
        resolved=resolved,
    )


def named(question: Question) -> str:
    """The flag that a person would write."""
    long = [flag for flag in question.option.flags if flag.startswith("--")]
    return (long or list(question.option.flags))[0]


def values(question: Question, one: Resolution, other: Resolution | None) -> BothRuns | None:
    """What the option's field holds in both runs."""
    name = question.option.field
    if name is None:
        return None
    return shown.resolved(one.field(name), other.field(name) if other is not None else None)


def raising(rejection: Rejection) -> tuple[Evidence, ...]:
    """The line that raises, then the tests nearest to it."""
    return (
        *shown.evidence(rejection.site, f"raises {rejection.error}"),
        *shown.lines_of_tests(rejection.guards),
    )


def message(rejection: Rejection) -> str:
    """The error's text in one line, or the raising line where the text is not known."""
    text = " ".join(rejection.message.split())
    return text or (rejection.site.text if rejection.site else rejection.error)


def quoted(value: Any) -> str:
    """A value in a sentence."""
    return shown.said(value)
