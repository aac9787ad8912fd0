"""Asks the questions of a table through the public door, a release and a deployment at a time."""

from __future__ import annotations

import gc
import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from assay.deployment import parse_engine
from assay.findings import Case, Finding, ask, open_deployment
from assay.flow import uncollected

EXAMPLES = Path(__file__).parents[2] / "examples" / "deployments"
NEAR = 3
"""A cited line counts if it is at most so many lines from one that was named by hand."""

Wanted = dict[str, Any]


def opened_case(tree: Path, deployment: str, *, home: Path, cache: Path) -> Case:
    """An example's deployment under a tree of the engine."""
    return open_deployment(
        EXAMPLES / f"{deployment}.toml",
        engine=parse_engine(str(tree)),
        environment={},
        home=home,
        cache=cache,
    ).case


@dataclass(frozen=True)
class Answer:
    """A question with what was wanted and what was found."""

    wanted: Wanted
    found: Finding

    @property
    def is_equal(self) -> bool:
        """Whether the verdict is the one that was found by hand."""
        return bool(self.found.verdict == self.wanted["verdict"])

    @property
    def is_near(self) -> bool:
        """Whether a cited line is near one that was named by hand."""
        return any(self._is_near(each.file, each.line) for each in self.found.evidence)

    @property
    def is_deciding_line_near(self) -> bool:
        """The same for the first line alone."""
        return any(self._is_near(each.file, each.line) for each in self.found.evidence[:1])

    def _is_near(self, file: str, line: int) -> bool:
        named = (place.rpartition(":") for place in self.wanted["lines"])
        return any(name == file and abs(int(at) - line) <= NEAR for name, _, at in named)

    def __str__(self) -> str:
        found, wanted = self.found, self.wanted
        lines = (
            name_of(wanted),
            f"   wanted {wanted['verdict']}, got {found.verdict} ({found.subkind})",
            f"   {found.summary}",
            f"   by hand: {wanted['why']} {' '.join(wanted['lines'])}",
            *(f"   open: {each}" for each in found.open_atoms[:6]),
            *(f"      {each.file}:{each.line} {each.says}" for each in found.evidence[:12]),
        )
        return "\n".join(lines)


def name_of(wanted: Wanted) -> str:
    """What `pytest -k` finds it by."""
    value = json.loads(wanted["value"])
    text = "" if value is True else f"={value if isinstance(value, str) else wanted['value']}"
    return f"{wanted['version']}-{wanted['deployment']}-{wanted['option'].lstrip('-')}{text}"


def group_of(wanted: Wanted) -> tuple[str, str]:
    """Questions of one group share the run that they are compared with."""
    return wanted["version"], wanted["deployment"]


class Scorer:
    """Answers questions; keeps the answers, and the deployment that was asked last."""

    def __init__(self, engine_tree: Callable[[str], Path], home: Path) -> None:
        self._tree, self._home = engine_tree, home
        self._answers: dict[str, Answer] = {}
        self._group: tuple[tuple[str, str], Case] | None = None

    def _case(self, wanted: Wanted) -> Case:
        group = group_of(wanted)
        if self._group is None or self._group[0] != group:
            self._group = None
            gc.collect()
            tree = self._tree(wanted["version"])
            cache = tree.with_name("lint-cache")
            self._group = group, opened_case(tree, wanted["deployment"], home=self._home, cache=cache)
        return self._group[1]

    def answer(self, wanted: Wanted) -> Answer:
        """What is found, asked only once."""
        name = name_of(wanted)
        if name not in self._answers:
            with uncollected():
                found = ask(self._case(wanted), wanted["option"], json.loads(wanted["value"]))
            self._answers[name] = Answer(wanted, found)
        return self._answers[name]


def say(text: str) -> None:
    """Print it; pytest shows it with -s, or when the test fails."""
    sys.stdout.write(f"{text}\n")
