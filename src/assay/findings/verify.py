"""Checks a finding's evidence anew: cited lines against the files, tests and verdict by a fresh run."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from assay._value import Value
from assay.findings.case import Case
from assay.findings.decide import ask
from assay.findings.finding import Condition, Evidence, Finding
from assay.findings.source_lines import lines_of
from assay.flow import EngineSource

_LONGEST = 200


class Check(Value):
    """One thing that was checked."""

    what: str
    """`line`, `test` or `verdict`."""
    file: str
    """Its file, or empty."""
    line: int
    """Its line, or 0."""
    holds: bool
    """Whether it is as the finding says."""
    says: str
    """What was compared, and what was found where it differs."""


def verify(case: Case, found: Finding, root: Path) -> tuple[Check, ...]:
    """Everything in a finding that can be checked: each cited line is read from the tree again, and the
    question is asked anew of a source that was parsed afresh, test by test.

    Args:
        case: the deployment that the finding is about.
        found: the finding.
        root: the folder that holds the engine's package.
    """
    fresh = EngineSource(root, case.source.declarations, case.source.engine)
    again = ask(case.anew(fresh), found.option, found.value)
    lines = dict.fromkeys((*found.evidence, *(_cited(guard) for guard in found.guards)))
    return (
        *(_line(each, root) for each in lines if each is not None),
        *_tests(found, again),
        Check(
            what="verdict",
            file="",
            line=0,
            holds=(found.verdict, found.subkind) == (again.verdict, again.subkind),
            says=f"asked anew: {again.verdict} ({again.subkind})",
        ),
    )


def _cited(guard: Condition) -> Evidence | None:
    """The line of a test; its text is the expression's, which may span lines and is checked as a test."""
    return Evidence(file=guard.file, line=guard.line, text="", says=guard.expr) if guard.file else None


def _line(cited: Evidence, root: Path) -> Check:
    text = _read(root, cited.file, cited.line)
    if text is None:
        return Check(what="line", file=cited.file, line=cited.line, holds=False, says="there is no such line")
    holds = not cited.text or text.strip()[:_LONGEST] == cited.text
    return Check(
        what="line",
        file=cited.file,
        line=cited.line,
        holds=holds,
        says=text.strip()[:_LONGEST] if holds else f"the line is now {text.strip()[:_LONGEST]!r}",
    )


def _read(root: Path, file: str, line: int) -> str | None:
    """That line of the tree; nothing outside of it is read."""
    lines = lines_of(root, file)
    return lines[line - 1] if 0 < line <= len(lines) else None


def _tests(found: Finding, again: Finding) -> Iterator[Check]:
    states = {(each.file, each.line, each.expr): each.state for each in again.guards}
    for guard in found.guards:
        state = states.get((guard.file, guard.line, guard.expr), "not met")
        yield Check(
            what="test",
            file=guard.file,
            line=guard.line,
            holds=state == guard.state,
            says=f"`{guard.expr}` is {state}",
        )
