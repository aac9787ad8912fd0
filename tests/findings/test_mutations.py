"""One change of an engine's source changes the verdict as it must: nothing is special-cased.

By default a fixed spread is run; ASSAY_MUTATIONS=1 runs all.
"""

from __future__ import annotations

import gc
import json
import os
import shutil
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.findings.scoring import Scorer, group_of, opened_case, say

from assay.findings import ask
from assay.flow import uncollected

Mutation = dict[str, Any]

ALL: list[Mutation] = tomllib.loads((Path(__file__).parent / "mutations.toml").read_text())["mutation"]
SPREAD = 11
"""Of so many mutations one is run by default."""

CHOSEN = sorted(ALL if os.environ.get("ASSAY_MUTATIONS") else ALL[::SPREAD], key=group_of)

KNOWN: dict[str, str] = {
    "request-level-with-logging-on": "wrong before it already, see the case of that option",
    "outlines-is-the-default": "unknown after: what a module does on import with a variable is not followed",
    "cutlass-block-fp8-everywhere": "wrong before it already: which FP8 method a layer has is open",
    "pcie-check-dropped": "wrong before it already: what ranks tell each other while starting counts",
}
"""Mutations after which, or before which, the verdict is wrong, with the cause; one that comes out right
leaves the list.
"""

pytestmark = pytest.mark.registry


@pytest.fixture(scope="module")
def scorer(engine_tree: Callable[[str], Path], tmp_path_factory: pytest.TempPathFactory) -> Scorer:
    return Scorer(engine_tree, tmp_path_factory.mktemp("home"))


@pytest.mark.parametrize("mutation", CHOSEN, ids=lambda mutation: mutation["name"])
@pytest.mark.timeout(600)
def test_the_verdict_follows(
    mutation: Mutation, scorer: Scorer, engine_tree: Callable[[str], Path], tmp_path: Path
) -> None:
    before = scorer.answer({**mutation, "verdict": mutation["before"]}).found
    with mutated(engine_tree(mutation["version"]), mutation, tmp_path / "tree") as tree, uncollected():
        case = opened_case(tree, mutation["deployment"], home=tmp_path, cache=tmp_path / "cache")
        after = ask(case, mutation["option"], json.loads(mutation["value"]))
    del case
    gc.collect()  # hundreds of megabytes, in cycles
    got = {"before": before.verdict, "after": after.verdict}
    wanted = {"before": mutation["before"], "after": mutation["after"]}
    say(f"{mutation['name']}: {got}, wanted {wanted}\n   {before.summary}\n   {after.summary}")
    for each in (*before.evidence[:5], None, *after.evidence[:5]):
        say(f"      {each.file}:{each.line} {each.says}" if each else "      after:")
    say(f"   open: {after.open_atoms[:5]}\n   by hand: {mutation['why']}")
    assert (got != wanted) == (mutation["name"] in KNOWN), (got, wanted)


def test_few_are_known_to_fail() -> None:
    names = {each["name"] for each in ALL}
    assert names >= set(KNOWN)
    assert len(names) - len(KNOWN) >= 60


class mutated:
    """A copy of a tree with a mutation's edits; unchanged files are the same files."""

    def __init__(self, tree: Path, mutation: Mutation, copy: Path) -> None:
        self._tree, self._mutation, self._copy = tree, mutation, copy

    def __enter__(self) -> Path:
        for file in _files(self._tree):
            target = self._copy / file.relative_to(self._tree)
            target.parent.mkdir(parents=True, exist_ok=True)
            os.link(file, target)
        for edit in self._mutation["edits"]:
            file = self._copy / edit["file"]
            text = file.read_text().replace(edit["old"], edit["new"])
            file.unlink()
            file.write_text(text)
        return self._copy

    def __exit__(self, *_: object) -> None:
        shutil.rmtree(self._copy)


def _files(tree: Path) -> Iterator[Path]:
    return (file for file in tree.rglob("*") if file.is_file())
