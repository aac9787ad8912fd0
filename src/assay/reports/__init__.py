"""Render results as text, JSON, SARIF or annotations; returns strings, writes nothing."""

from assay.reports.bench import bench_definitions, bench_ladder, bench_text
from assay.reports.harmless import harmless, harmless_lines, printable
from assay.reports.machine import LINT_SCHEMA, lint_github, lint_json, lint_sarif
from assay.reports.terminal import Style, diagnostic_text, lint_text

__all__ = [
    "LINT_SCHEMA",
    "Style",
    "bench_definitions",
    "bench_ladder",
    "bench_text",
    "diagnostic_text",
    "harmless",
    "harmless_lines",
    "lint_github",
    "lint_json",
    "lint_sarif",
    "lint_text",
    "printable",
]
