"""The mutations are sound as data: each edit applies, the file still parses, and each changes a verdict."""

from __future__ import annotations

import ast
import json
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

MUTATIONS = tomllib.loads((Path(__file__).parent / "mutations.toml").read_text())["mutation"]
VERDICTS = {"incompatible", "already_on", "dead", "no_op", "effective", "unknown"}


@pytest.mark.registry
@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda mutation: mutation["name"])
def test_each_edit_applies_and_the_file_still_parses(
    mutation: dict[str, Any], engine_tree: Callable[[str], Path]
) -> None:
    texts: dict[str, str] = {}
    for edit in mutation["edits"]:
        original = (engine_tree(mutation["version"]) / edit["file"]).read_text()
        assert original.count(edit["old"]) == edit.get("count", 1)
        texts[edit["file"]] = texts.get(edit["file"], original).replace(edit["old"], edit["new"])
    for text in texts.values():
        ast.parse(text)


def test_each_has_its_own_name_and_changes_a_verdict() -> None:
    assert len({mutation["name"] for mutation in MUTATIONS}) == len(MUTATIONS)
    for mutation in MUTATIONS:
        assert {mutation["before"], mutation["after"]} <= VERDICTS
        assert mutation["before"] != mutation["after"], mutation["name"]
        json.loads(mutation["value"])


def test_they_are_many_and_spread() -> None:
    inside = [
        any(edit["file"].endswith("server_args.py") for edit in mutation["edits"]) for mutation in MUTATIONS
    ]
    assert len(MUTATIONS) >= 70
    assert sum(inside) <= 25
    assert len({mutation["option"] for mutation in MUTATIONS}) >= 45
