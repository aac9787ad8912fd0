"""Graders on answers as models write them, questions from files, and paired verdicts."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.errors import InputError
from assay.quality import GRADERS, Grader, graded, paired, read_questions

CASES: list[tuple[Grader, str, Any, bool]] = [
    ("exact", " Paris. ", "paris", True),
    ("exact", "Paris, France", "Paris", False),
    ("number", "First 3, then 4: #### 1,234.50", 1234.5, True),
    ("number", "It is -7.", -7, True),
    ("number", "1e3", 1000, True),
    ("number", "the answer is 12, not 13", 12, False),
    ("number", "none", 1, False),
    ("choice", "The answer is **C**.", "C", True),
    ("choice", "A is wrong and B is wrong.\nAnswer: D", "D", True),
    ("choice", "(b)", "B", False),
    ("choice", "(B)", "b", True),
    ("choice", "I think so", "A", False),
    ("regex", "order #A-17 is shipped", r"#A-\d+", True),
    ("regex", "nothing", r"#A-\d+", False),
    (
        "tool_call",
        'I call {"name": "f", "arguments": {"x": 1}} now',
        {"name": "f", "arguments": {"x": 1}},
        True,
    ),
    ("tool_call", '{"name": "f", "arguments": "{\\"x\\": 1}"}', {"name": "f", "arguments": {"x": 1}}, True),
    ("tool_call", '{"name": "f", "arguments": {"x": 2}}', {"name": "f", "arguments": {"x": 1}}, False),
    ("tool_call", '{"name": "g", "arguments": {}}', {"name": "f", "arguments": {}}, False),
    ("tool_call", "{ {{{ no", {"name": "f"}, False),
]


@pytest.mark.parametrize(("grader", "answer", "expected", "right"), CASES)
def test_answers_as_models_write_them(grader: Grader, answer: str, expected: Any, right: bool) -> None:  # noqa: FBT001
    assert graded(grader, answer, expected) is right


EXPECTED: dict[Grader, Any] = {
    "exact": "x",
    "number": 1,
    "choice": "A",
    "regex": "a+b",
    "tool_call": {"name": "f"},
}


@given(st.sampled_from(sorted(GRADERS)), st.text(max_size=300))
def test_no_answer_breaks_a_grader(grader: Grader, answer: str) -> None:
    assert graded(grader, answer, EXPECTED[grader]) in (True, False)


def test_questions_come_from_lines(tmp_path: Path) -> None:
    path = tmp_path / "own.jsonl"
    lines = [
        {"prompt": "2+2?", "grader": "number", "expected": 4},
        {"prompt": "Capital?", "expected": "Paris"},
    ]
    path.write_text("\n".join(map(json.dumps, lines)) + "\n\n")
    found = read_questions(path)
    assert [each.right(answer) for each, answer in zip(found, ("= 4", "paris"), strict=True)] == [True, True]
    assert found[1].grader == "exact"


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("{", "not JSON"),
        ("[]", "prompt"),
        ('{"prompt": "a", "expected": "b", "weight": 1}', "weight"),
        ('{"prompt": "a", "grader": "judge", "expected": "b"}', "judge"),
        ('{"prompt": "a", "grader": "number", "expected": "many"}', "a number"),
        ('{"prompt": "a", "grader": "choice", "expected": "AB"}', "one letter"),
        ('{"prompt": "a", "grader": "regex", "expected": "("}', "regular expression"),
        ('{"prompt": "a", "grader": "tool_call", "expected": {}}', "name"),
        ('{"prompt": "a"}', "text"),
        ("", "no questions"),
    ],
)
def test_wrong_lines_are_named(tmp_path: Path, line: str, said: str) -> None:
    path = tmp_path / "own.jsonl"
    path.write_text(line)
    with pytest.raises(InputError, match=said):
        read_questions(path)


def test_mcnemar_counts_what_changed() -> None:
    found = paired([True] * 20 + [False] * 5, [True] * 12 + [False] * 8 + [True] * 1 + [False] * 4)
    assert (found.lost, found.gained, found.right_a, found.right_b) == (8, 1, 20, 13)
    assert found.p_worse == pytest.approx(10 / 512)
    with pytest.raises(ValueError, match="same questions"):
        paired([True], [])


def test_the_bound_of_the_drop_holds() -> None:
    draw, missed = random.Random(8), 0
    for _ in range(600):
        right = [draw.random() < 0.7 for _ in range(300)]
        other = [(draw.random() > 0.05) if each else draw.random() < 0.05 for each in right]
        missed += paired(right, other).drop_high < 0.7 * 0.05 - 0.3 * 0.05
    assert missed / 600 < 0.08
