"""JSON, SARIF and annotations: shape, escapes, secrets."""

import json

import msgspec

from assay.deployment import Edit
from assay.diagnostics import RULES, Fix
from assay.reports import lint_github, lint_json, lint_sarif
from tests.reports.test_terminal import FILE, finding, result


def test_json_has_places_counts_and_edits() -> None:
    document = json.loads(lint_json([result(finding("--tp-siz"))]))
    assert document["schema"] == "assay.lint/1"
    (one,) = document["results"]
    assert one["counts"] == {"errors": 1, "warnings": 0, "notes": 0}
    (found,) = one["diagnostics"]
    assert found["place"] == {
        "file": "llm.service",
        "line": 3,
        "column": 42,
        "end_line": 3,
        "end_column": 50,
    }
    assert found["name"] == "unknown-option"
    assert found["fix"]["edits"][0]["place"]["line"] == 3


def test_an_edit_that_holds_a_secret_is_not_given_out() -> None:
    secret = Fix(title="quote it", edits=(Edit(file=FILE.path, start=0, end=1, text="HF_TOKEN=hf_abcdef"),))
    found = msgspec.structs.replace(finding("--tp-siz"), fix=secret)
    for text in (lint_json([result(found)]), lint_sarif([result(found)], version="0")):
        assert "hf_abcdef" not in text
    assert json.loads(lint_json([result(found)]))["results"][0]["diagnostics"][0]["fix"] is None


def test_sarif_names_rules_places_and_fixes() -> None:
    document = json.loads(lint_sarif([result(finding("--tp-siz"))], version="1.2"))
    assert document["version"] == "2.1.0"
    (run,) = document["runs"]
    assert [rule["id"] for rule in run["tool"]["driver"]["rules"]] == [rule.code for rule in RULES]
    (found,) = run["results"]
    assert run["tool"]["driver"]["rules"][found["ruleIndex"]]["id"] == found["ruleId"] == "ASY101"
    assert found["locations"][0]["physicalLocation"]["region"]["startColumn"] == 42
    assert found["fixes"][0]["artifactChanges"][0]["replacements"][0]["insertedContent"]["text"] == "x"


def test_annotations_escape_what_would_end_them() -> None:
    found = msgspec.structs.replace(finding("--tp-siz"), message="50% of\nit: a, b")
    text = lint_github([result(found)])
    assert text.startswith("::error file=llm.service,line=3,endLine=3,title=ASY101 unknown-option,col=42,")
    assert "::50%25 of%0Ait: a, b. Did you mean" in text
    assert "\n" not in text
