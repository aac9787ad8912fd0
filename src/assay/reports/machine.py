"""Lint results for machines: assay's own JSON, SARIF 2.1.0, and GitHub's annotation commands."""

from __future__ import annotations

import json
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import msgspec

from assay.diagnostics import BY_CODE, RULES, Diagnostic, LintResult, mask, secret_spans
from assay.reports.distinct import distinct
from assay.reports.harmless import printable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from assay.deployment import Edit, Place, UserFile

LINT_SCHEMA = "assay.lint/1"
"""Name of the JSON document's shape; a change that could break a reader raises the number."""

_SARIF_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_SARIF_LEVELS = {"error": "error", "warning": "warning", "note": "note"}
_GITHUB_LEVELS = {"error": "error", "warning": "warning", "note": "notice"}


def lint_json(results: Sequence[LintResult]) -> str:
    """assay's own JSON, documented in `docs/reference/lint-json.md`."""
    document = {"schema": LINT_SCHEMA, "results": [_result(result) for result in results]}
    return as_json(document)


def as_json(document: Any) -> str:
    """ASCII only: escapes of terminals and turned text stay harmless, and any locale can print it."""
    plain = json.dumps(document, indent=2, ensure_ascii=False).encode("utf-8", "replace").decode()
    return "".join(char if char.isascii() and char != "\x7f" else json.dumps(char)[1:-1] for char in plain)


def _result(result: LintResult) -> dict[str, Any]:
    found = [_diagnostic(found, result) for found in result.diagnostics]
    counts = {
        f"{severity}s": sum(item["severity"] == severity for item in found)
        for severity in ("error", "warning", "note")
    }
    return {
        "target": result.target,
        "server": result.server,
        "engine": msgspec.to_builtins(result.engine),
        "counts": counts,
        "unknown_words": result.unknown_words,
        "unread": list(result.unread),
        "diagnostics": found,
    }


def _diagnostic(found: Diagnostic, result: LintResult) -> dict[str, Any]:
    item: dict[str, Any] = msgspec.to_builtins(found)
    item["name"] = BY_CODE[found.code].name
    for key in ("message", "label", "help"):
        item[key] = mask(item[key], result.secrets)
    item["option"] = mask(found.option, result.secrets) if found.option is not None else None
    if found.fix is not None:
        item["fix"] = _fix(found, result)
    return item


def _fix(found: Diagnostic, result: LintResult) -> dict[str, Any] | None:
    """The fix with places beside offsets; none if its text holds a secret."""
    if found.fix is None or any(secret_spans(edit.text, result.secrets) for edit in found.fix.edits):
        return None
    edits = []
    for edit in found.fix.edits:
        place = _edit_place(edit, result.files)
        if place is not None:
            edits.append({**msgspec.to_builtins(edit), "place": msgspec.to_builtins(place)})
    return {"title": found.fix.title, "edits": edits}


def _edit_place(edit: Edit, files: Sequence[UserFile]) -> Place | None:
    for file in files:
        if file.path == edit.file:
            return file.place(edit.start, edit.end)
    return None


def lint_sarif(results: Sequence[LintResult], *, version: str) -> str:
    """SARIF 2.1.0, as code scanning services read it."""
    rules = [
        {
            "id": rule.code,
            "name": rule.name,
            "shortDescription": {"text": rule.finds},
            "fullDescription": {"text": f"{rule.finds} {rule.matters}"},
            "help": {"text": f"Evidence: {rule.evidence} Not seen: {rule.limits}"},
            "defaultConfiguration": {"level": _SARIF_LEVELS[rule.severity]},
        }
        for rule in RULES
    ]
    driver = {"name": "assay", "version": version}
    run = {
        "tool": {"driver": {**driver, "rules": rules}},
        "columnKind": "unicodeCodePoints",
        "results": [_sarif_result(found, result) for found, result in distinct(results)],
    }
    document = {"$schema": _SARIF_SCHEMA, "version": "2.1.0", "runs": [run]}
    return as_json(document)


def _sarif_result(found: Diagnostic, result: LintResult) -> dict[str, Any]:
    help_text = f"\n{_sentence(found.help)}" if found.help else ""
    item: dict[str, Any] = {
        "ruleId": found.code,
        "ruleIndex": [rule.code for rule in RULES].index(found.code),
        "level": _SARIF_LEVELS[found.severity],
        "message": {"text": mask(found.message + help_text, result.secrets)},
        "locations": [{"physicalLocation": _sarif_location(found.place)}],
    }
    if found.evidence:
        item["relatedLocations"] = [
            {
                "id": number,
                "message": {"text": evidence.says},
                "physicalLocation": {
                    "artifactLocation": {
                        "uri": _quoted(evidence.site.file),
                        "uriBaseId": "ENGINE",
                    },
                    "region": {"startLine": evidence.site.line},
                },
            }
            for number, evidence in enumerate(found.evidence)
        ]
    fix = _fix(found, result)
    if fix and fix["edits"]:
        item["fixes"] = [_sarif_fix(found, result)]
    return item


def _sarif_location(place: Place) -> dict[str, Any]:
    return {"artifactLocation": {"uri": _uri(place.file)}, "region": _region(place)}


def _region(place: Place) -> dict[str, int]:
    return {
        "startLine": place.line,
        "startColumn": place.column,
        "endLine": place.end_line,
        "endColumn": place.end_column,
    }


def _uri(path: str) -> str:
    return ("file://" if path.startswith("/") else "") + _quoted(PurePosixPath(path).as_posix())


def _quoted(path: str) -> str:
    return quote(path.encode("utf-8", "surrogateescape"))


def _sarif_fix(found: Diagnostic, result: LintResult) -> dict[str, Any]:
    assert found.fix is not None
    changes: dict[str, list[dict[str, Any]]] = {}
    for edit in found.fix.edits:
        place = _edit_place(edit, result.files)
        if place is not None:
            replacement = {"deletedRegion": _region(place), "insertedContent": {"text": edit.text}}
            changes.setdefault(edit.file, []).append(replacement)
    return {
        "description": {"text": found.fix.title},
        "artifactChanges": [
            {"artifactLocation": {"uri": _uri(file)}, "replacements": replacements}
            for file, replacements in changes.items()
        ],
    }


def lint_github(results: Sequence[LintResult]) -> str:
    """One workflow command a finding, which GitHub shows beside the line."""
    return "\n".join(_annotation(found, result) for found, result in distinct(results))


def _sentence(text: str) -> str:
    """A help text as a sentence of its own."""
    return text[:1].upper() + text[1:]


def _annotation(found: Diagnostic, result: LintResult) -> str:
    place = found.place
    fields = {
        "file": place.file,
        "line": str(place.line),
        "endLine": str(place.end_line),
        "title": f"{found.code} {BY_CODE[found.code].name}",
    }
    if place.line == place.end_line:
        fields |= {"col": str(place.column), "endColumn": str(place.end_column)}
    said = ",".join(f"{key}={_escaped(value, ':,')}" for key, value in fields.items())
    text = mask(f"{found.message}. {_sentence(found.help)}".strip(), result.secrets)
    return f"::{_GITHUB_LEVELS[found.severity]} {said}::{_escaped(text, '')}"


def _escaped(text: str, more: str) -> str:
    """Percent-escapes as the workflow commands want them."""
    for char in "%\r\n" + more:
        text = text.replace(char, f"%{ord(char):02X}")
    return printable(text)
