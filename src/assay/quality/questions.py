"""A user's own graded questions: a file of JSON lines."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, get_args

from assay._value import Value
from assay.errors import InputError
from assay.quality.graders import Grader, check_expected, graded

_MOST_BYTES = 64 << 20
_KEYS = {"prompt", "grader", "expected", "category", "max_tokens"}
_USUAL_TOKENS, _MOST_TOKENS = 1024, 65_536


class Question(Value):
    """One question and how its answer is judged."""

    prompt: str
    """What is asked."""
    grader: Grader
    """How the answer is judged."""
    expected: Any
    """What is right: a text, a number, a letter, a pattern, or a call with `name` and `arguments`."""
    category: str = ""
    """The user's own name of a group; nothing is made of it."""
    max_tokens: int = _USUAL_TOKENS
    """Tokens that an answer may have."""

    def right(self, answer: str) -> bool:
        """Whether an answer is right."""
        return graded(self.grader, answer, self.expected)


def read_questions(path: Path) -> tuple[Question, ...]:
    """The questions of a file, one JSON object a line: `prompt`, `grader`, `expected`, `category`,
    `max_tokens`.

    Raises:
        InputError: it cannot be read, or a line is wrong; says which.
    """
    try:
        if path.stat().st_size > _MOST_BYTES:
            raise InputError(f"{path}: larger than {_MOST_BYTES >> 20} MiB")
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path} cannot be read: {error}") from error
    found = tuple(_question(line, f"{path}:{at}") for at, line in enumerate(lines, start=1) if line.strip())
    if not found:
        raise InputError(f"{path}: no questions in it")
    return found


def _question(line: str, where: str) -> Question:
    try:
        document = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{where}: not JSON") from error
    if not isinstance(document, dict) or not isinstance(document.get("prompt"), str):
        raise InputError(f"{where}: an object with a text at `prompt` was expected")
    if unknown := set(document) - _KEYS:
        raise InputError(
            f"{where}: unknown keys {', '.join(sorted(unknown))}", hint=f"known: {', '.join(sorted(_KEYS))}"
        )
    grader = document.get("grader", "exact")
    if grader not in get_args(Grader):
        raise InputError(f"{where}: unknown grader {grader!r}", hint=f"known: {', '.join(get_args(Grader))}")
    tokens = document.get("max_tokens", _USUAL_TOKENS)
    if isinstance(tokens, bool) or not isinstance(tokens, int) or not 1 <= tokens <= _MOST_TOKENS:
        raise InputError(f"{where}: max_tokens: a number from 1 to {_MOST_TOKENS} was expected")
    check_expected(grader, document.get("expected"), where)
    return Question(
        prompt=document["prompt"],
        grader=grader,
        expected=document["expected"],
        category=str(document.get("category", "")),
        max_tokens=tokens,
    )
