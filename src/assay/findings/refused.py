"""What the engine's parser refuses: values that are no choice or of another type, options that are gone."""

from __future__ import annotations

from assay.findings import shown
from assay.findings.case import Question
from assay.findings.draft import finding, named, quoted
from assay.findings.finding import Finding
from assay.source import Problem

_SUBKINDS = {
    "bad-choice": "not_a_choice",
    "refused-option": "removed",
    "unknown-option": "missing",
    "config-unsupported": "wrong_type",
}
_PARTS = {"bad-choice": "choices", "bad-value": "type"}
"""The argument of the declaration that shows why."""


def parser_refuses(question: Question) -> Finding | None:
    """The finding, if the parser refuses the option at that value; None if it takes it."""
    if question.wording.refusal:
        site = question.option.site("action")
        shows = shown.evidence(site, "declares what it takes")
        return finding(question, "wrong_type", question.wording.refusal, evidence=shows)
    known = {(each.kind, each.message) for each in question.run.parsed.problems}
    fresh = [each for each in question.parsed.problems if (each.kind, each.message) not in known]
    refused = [each for each in fresh if each.kind != "config-not-read"]
    return _refused(question, refused[0]) if refused else None


def _refused(question: Question, problem: Problem) -> Finding:
    option = question.option
    site = option.site(_PARTS.get(problem.kind, "action"))
    near = f"; nearest: {', '.join(problem.candidates)}" if problem.candidates else ""
    if problem.kind == "prints-help":
        summary = f"{named(question)} prints the help text and ends"
        return finding(question, "rejected_at_start", summary, evidence=shown.evidence(site, "declares it"))
    says = "declares the choices" if problem.kind == "bad-choice" else "declares what it takes"
    return finding(
        question,
        _SUBKINDS.get(problem.kind, "wrong_type"),
        f"the parser refuses {quoted(question.value)}: {problem.message}{near}",
        evidence=shown.evidence(site, says),
    )
