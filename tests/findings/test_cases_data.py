"""The cases are sound as data: known words, lines that exist, no question asked twice."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest

TABLES = tomllib.loads((Path(__file__).parent / "cases.toml").read_text())
CASES = TABLES["case"] + TABLES["fresh"]
VERDICTS = {"incompatible", "already_on", "dead", "no_op", "effective"}
DEPLOYMENTS = {file.stem for file in (Path(__file__).parents[2] / "examples" / "deployments").glob("*.toml")}


def test_no_question_is_asked_twice() -> None:
    questions = [
        (case["version"], case["deployment"], case["option"], case["value"])
        for case in CASES
        if json.loads(case["value"]) is not None
    ]
    assert len(set(questions)) == len(questions) == len(CASES)


def test_words_and_deployments_are_known() -> None:
    assert {case["verdict"] for case in CASES} <= VERDICTS
    assert {case["deployment"] for case in CASES} <= DEPLOYMENTS
    assert all(case["why"] and case["lines"] for case in CASES)


@pytest.mark.registry
@pytest.mark.parametrize("version", sorted({case["version"] for case in CASES}))
def test_every_line_exists(version: str, engine_tree: Callable[[str], Path]) -> None:
    for case in CASES:
        for place in case["lines"] if case["version"] == version else ():
            file, _, line = place.rpartition(":")
            lines = (engine_tree(version) / file).read_text().splitlines()
            assert lines[int(line) - 1].strip(), place
