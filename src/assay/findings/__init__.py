"""The verdict on an option and a value in a deployment, with evidence that can be checked again."""

from assay.findings.case import Case
from assay.findings.decide import ask
from assay.findings.explain import Changer, Explanation, Rule, explain, explain_any, explain_asked
from assay.findings.failure import Failure, Remedy, failure_of, remedies
from assay.findings.finding import (
    BothRuns,
    Condition,
    Evidence,
    Finding,
    Origin,
    Resolved,
    SideEffect,
    Verdict,
)
from assay.findings.opened import Opened, open_deployment, stated_facts
from assay.findings.subkinds import SUBKIND, SUBKINDS, Subkind
from assay.findings.together import Pair, Together, find_together
from assay.findings.triage import Premise, Todo, Triage, ask_any, triage
from assay.findings.unasked import Unasked
from assay.findings.values import values_to_ask
from assay.findings.verify import Check, verify
from assay.findings.what_if import WhatIf, what_if

__all__ = [
    "SUBKIND",
    "SUBKINDS",
    "BothRuns",
    "Case",
    "Changer",
    "Check",
    "Condition",
    "Evidence",
    "Explanation",
    "Failure",
    "Finding",
    "Opened",
    "Origin",
    "Pair",
    "Premise",
    "Remedy",
    "Resolved",
    "Rule",
    "SideEffect",
    "Subkind",
    "Todo",
    "Together",
    "Triage",
    "Unasked",
    "Verdict",
    "WhatIf",
    "ask",
    "ask_any",
    "explain",
    "explain_any",
    "explain_asked",
    "failure_of",
    "find_together",
    "open_deployment",
    "remedies",
    "stated_facts",
    "triage",
    "values_to_ask",
    "verify",
    "what_if",
]
