"""What triage knows of a command's own options: which do nothing in this deployment, and what stops it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from assay.diagnostics.case import Case, diagnostic
from assay.diagnostics.diagnostic import Evidence
from assay.findings import ask_any, failure_of, remedies
from assay.source import Site, no_progress

if TYPE_CHECKING:
    from assay import findings
    from assay.diagnostics.diagnostic import Diagnostic
    from assay.source import Given, Progress

_MOST_LINES = 3
_CODES = {"no_op": "ASY402", "dead": "ASY402", "incompatible": "ASY403"}
_OTHERS = frozenset({"ASY101", "ASY104", "ASY110", "ASY111"})
"""Findings after which the verdict on an option is no news."""


def verdicts(
    case: Case, deployment: findings.Case, found: tuple[Diagnostic, ...], progress: Progress = no_progress
) -> Iterator[Diagnostic]:
    """Findings that need the model and the machine.

    Args:
        case: the server's command line.
        deployment: the same deployment, ready to be asked.
        found: what the command line alone has shown; such an option is not asked about again.
        progress: told how far the questions have come.
    """
    if any(each.severity == "error" for each in found):
        return  # the parser refuses the command: nothing is resolved
    failure = failure_of(deployment.present)
    if failure is not None:
        yield _stopped(case, deployment, failure)
        return
    known = {each.option for each in found if each.code in _OTHERS}
    given = {each.option.dest: each for each in case.parsed.given if each.option.flags[0] not in known}
    for at, each in enumerate(given.values()):
        progress("asking about each option of the command", at, len(given))
        yield from _verdict(case, each, ask_any(deployment, each.option))


def _verdict(case: Case, given: Given, finding: findings.Finding) -> Iterator[Diagnostic]:
    code = _CODES.get(finding.verdict)
    if code is None or (finding.verdict == "incompatible" and finding.subkind != "overridden"):
        return
    in_vain = finding.verdict != "incompatible"
    yield diagnostic(
        code,
        finding.summary,
        case.place(given.at, given.config),
        label="does nothing here" if in_vain else "set back",
        evidence=_lines(finding.evidence),
        help="`assay explain` says what would change that" if in_vain else "",
        option=given.option.flags[0],
    )


def _stopped(case: Case, deployment: findings.Case, failure: findings.Failure) -> Diagnostic:
    cures = " or ".join(f"`{each}`" for each in remedies(deployment, failure)[:_MOST_LINES])
    return diagnostic(
        "ASY401",
        f"this command does not start here: {' '.join(failure.message.split())}",
        case.place(None),
        label="stops" if failure.phase != "worker" else "a worker stops",
        evidence=_lines(failure.evidence),
        help=f"it starts with {cures}" if cures else "",
    )


def _lines(evidence: tuple[findings.Evidence, ...]) -> tuple[Evidence, ...]:
    return tuple(
        Evidence(site=Site(file=each.file, line=each.line, text=each.text), says=each.says)
        for each in evidence[:_MOST_LINES]
    )
