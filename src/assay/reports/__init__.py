"""Render results as text, JSON, SARIF or annotations; returns strings, writes nothing."""

from assay.reports.bench import bench_definitions, bench_ladder, bench_text
from assay.reports.bench_html import bench_html
from assay.reports.bounds import bounds_text
from assay.reports.checks import checks_json, checks_text
from assay.reports.compare import compare_json, compare_text
from assay.reports.decision import decision_text
from assay.reports.drift import DRIFT_SCHEMA, drift_json, drift_text
from assay.reports.explain import explain_text, together_text
from assay.reports.findings_json import TRIAGE_SCHEMA, findings_json, triage_json
from assay.reports.harmless import harmless, harmless_lines, printable
from assay.reports.live import described, live_json, remarks
from assay.reports.machine import LINT_SCHEMA, lint_github, lint_json, lint_sarif
from assay.reports.rollout import (
    intent_json,
    intent_text,
    outcome_json,
    outcome_text,
    plan_json,
    plan_text,
    status_json,
    status_text,
    together,
    watched_json,
    watched_text,
)
from assay.reports.study import (
    HISTORY_SCHEMA,
    TUNE_SCHEMA,
    history_json,
    history_text,
    study_end_text,
    study_json,
    study_plan_text,
    study_show_text,
)
from assay.reports.terminal import Style, diagnostic_text, lint_text
from assay.reports.triage import triage_text
from assay.reports.tried import TRY_SCHEMA, effect_text, planned_text, sifted_text, try_json, try_text

__all__ = [
    "DRIFT_SCHEMA",
    "HISTORY_SCHEMA",
    "LINT_SCHEMA",
    "TRIAGE_SCHEMA",
    "TRY_SCHEMA",
    "TUNE_SCHEMA",
    "Style",
    "bench_definitions",
    "bench_html",
    "bench_ladder",
    "bench_text",
    "bounds_text",
    "checks_json",
    "checks_text",
    "compare_json",
    "compare_text",
    "decision_text",
    "described",
    "diagnostic_text",
    "drift_json",
    "drift_text",
    "effect_text",
    "explain_text",
    "findings_json",
    "harmless",
    "harmless_lines",
    "history_json",
    "history_text",
    "intent_json",
    "intent_text",
    "lint_github",
    "lint_json",
    "lint_sarif",
    "lint_text",
    "live_json",
    "outcome_json",
    "outcome_text",
    "plan_json",
    "plan_text",
    "planned_text",
    "printable",
    "remarks",
    "sifted_text",
    "status_json",
    "status_text",
    "study_end_text",
    "study_json",
    "study_plan_text",
    "study_show_text",
    "together",
    "together_text",
    "triage_json",
    "triage_text",
    "try_json",
    "try_text",
    "watched_json",
    "watched_text",
]
