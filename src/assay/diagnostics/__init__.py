"""What is wrong with the command line of a deployment, with the place in the user's file; pure."""

from assay._masking import MASK, is_secret_name, mask, masked, may_be_secret_name, secret_spans
from assay.diagnostics.diagnostic import Diagnostic, Evidence, Fix, Severity
from assay.diagnostics.edits import preview_edits, write_edits
from assay.diagnostics.lint import Choice, lint, lint_file, without
from assay.diagnostics.result import EngineSeen, LintResult
from assay.diagnostics.rules import BY_CODE, RULES, Rule
from assay.diagnostics.secret_values import secrets_of

__all__ = [
    "BY_CODE",
    "MASK",
    "RULES",
    "Choice",
    "Diagnostic",
    "EngineSeen",
    "Evidence",
    "Fix",
    "LintResult",
    "Rule",
    "Severity",
    "is_secret_name",
    "lint",
    "lint_file",
    "mask",
    "masked",
    "may_be_secret_name",
    "preview_edits",
    "secret_spans",
    "secrets_of",
    "without",
    "write_edits",
]
