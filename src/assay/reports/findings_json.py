"""Findings for machines: triage's document, and the list of findings that `explain` gives."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from assay.diagnostics import MASK, is_secret_name, mask
from assay.reports.bounds import bounds_values
from assay.reports.machine import as_json

if TYPE_CHECKING:
    from collections.abc import Sequence

    from assay.candidates import Bounds
    from assay.findings import Check, Finding, Opened, Together, Triage, WhatIf

TRIAGE_SCHEMA = "assay.triage/1"
"""Name of the JSON document's shape; a change that could break a reader raises the number."""

_VALUES = ("value", "without", "with", "declared")
"""Keys that hold the value of the option beside them."""


def triage_json(opened: Opened, found: Triage, secrets: frozenset[str], bounds: Bounds | None = None) -> str:
    """The document that `docs/reference/findings-json.md` describes."""
    document: dict[str, Any] = {
        "schema": TRIAGE_SCHEMA,
        "target": str(opened.path),
        "engine": {
            "name": opened.tree.engine,
            "version": opened.tree.version,
            "digest": opened.tree.digest,
            "origin": opened.tree.origin,
        },
        **msgspec.to_builtins(found),
    }
    document["in_vain"] = [each.option for each in found.in_vain]
    if bounds is not None:
        document["bounds"] = bounds_values(bounds)
    return as_json(_hidden(document, secrets))


def findings_json(
    findings: Sequence[Finding],
    secrets: frozenset[str],
    *,
    together: Together | None = None,
    checks: Sequence[Sequence[Check]] = (),
    others: Sequence[Sequence[WhatIf]] = (),
) -> str:
    """A list of findings; `checks`, `what_if` and `together` only where they were asked for."""
    items: list[dict[str, Any]] = [msgspec.to_builtins(each) for each in findings]
    for item, each in zip(items, checks, strict=False):
        item["checks"] = msgspec.to_builtins(each)
    for item, answers in zip(items, others, strict=False):
        item["what_if"] = msgspec.to_builtins(answers)
    if together is not None:
        told = msgspec.to_builtins(together)
        del told["findings"]
        for item in items:
            item["together"] = told
    return as_json(_hidden(items, secrets))


def _hidden(value: Any, secrets: frozenset[str]) -> Any:
    """The same without secrets: texts masked, and values of options with a secret's name left out."""
    if isinstance(value, str):
        return mask(value, secrets)
    if isinstance(value, list | tuple):
        return [_hidden(each, secrets) for each in value]
    if not isinstance(value, dict):
        return value
    secret = any(is_secret_name(str(value.get(key) or "")) for key in ("field", "option"))
    shown = {key: _hidden(each, secrets) for key, each in value.items()}
    if secret:
        shown |= {key: MASK for key in _VALUES if isinstance(shown.get(key), str | list)}
        if isinstance(shown.get("resolved"), dict):
            shown["resolved"] = None
    return shown
