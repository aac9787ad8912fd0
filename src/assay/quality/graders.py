"""Whether an answer is right: exact text, number, choice, pattern, tool call. Answers are not trusted."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping
from typing import Any, Literal

from assay.errors import InputError

Grader = Literal["exact", "number", "choice", "regex", "tool_call"]
"""How an answer is judged."""

_LONGEST = 20_000
"""Of a longer answer the end is judged: a pattern may take long over text that others wrote."""
_NUMBER = re.compile(r"[-+]?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?(?:[eE][-+]?\d+)?|[-+]?\.\d+")
_SAID = re.compile(r"(?:answer|choice|option)\s*(?:is|:|=)?\s*\(?\**([A-Z])\b", re.IGNORECASE)
_ALONE = re.compile(r"(?<![A-Za-z])\(?\**([A-Z])\**[).:]?(?![A-Za-z'])")


def graded(grader: Grader, answer: str, expected: Any) -> bool:
    """Whether an answer is right.

    `exact` compares text without case, blanks and a full stop at the end; `number` the last number of the
    answer; `choice` the letter that is said to be the answer, else the last that stands alone; `regex`
    searches; `tool_call` wants a JSON object with that `name` and those `arguments`, in any order of keys.

    >>> graded("number", "So 1,200 + 34 = 1,234.", 1234), graded("choice", "The answer is (B).", "B")
    (True, True)
    >>> graded("tool_call", '{"name": "f", "arguments": {"a": 1}}', {"name": "f", "arguments": {"a": 1}})
    True
    """
    return GRADERS[grader](answer[-_LONGEST:], expected)


def _exact(answer: str, expected: Any) -> bool:
    return _plain(answer) == _plain(str(expected))


def _plain(text: str) -> str:
    return " ".join(text.split()).rstrip(".").casefold()


def _number(answer: str, expected: Any) -> bool:
    found = _NUMBER.findall(answer)
    if not found:
        return False
    said = float(found[-1].replace(",", ""))
    return math.isclose(said, float(expected), rel_tol=1e-6, abs_tol=1e-9)


def _choice(answer: str, expected: Any) -> bool:
    found = _SAID.findall(answer) or _ALONE.findall(answer)
    return bool(found) and found[-1].upper() == str(expected).upper()


def _regex(answer: str, expected: Any) -> bool:
    return re.search(str(expected), answer) is not None


def _tool_call(answer: str, expected: Any) -> bool:
    start = answer.find("{")
    while start >= 0:
        try:
            found, _ = json.JSONDecoder().raw_decode(answer, start)
        except (ValueError, RecursionError):
            found = None
        if isinstance(found, dict) and found.get("name") == expected["name"]:
            return bool(_arguments(found) == expected.get("arguments", {}))
        start = answer.find("{", start + 1)
    return False


def _arguments(call: Mapping[str, Any]) -> Any:
    """The arguments of a call; as OpenAI's routes give them, they are JSON in a text."""
    given = call.get("arguments", call.get("parameters", {}))
    if not isinstance(given, str):
        return given
    try:
        return json.loads(given)
    except (ValueError, RecursionError):
        return None


GRADERS: Mapping[Grader, Callable[[str, Any], bool]] = {
    "exact": _exact,
    "number": _number,
    "choice": _choice,
    "regex": _regex,
    "tool_call": _tool_call,
}


def check_expected(grader: Grader, expected: Any, where: str) -> None:
    """Refuse what no answer could fulfil.

    Raises:
        InputError: the expected value does not fit its grader.
    """
    wrong = ""
    if grader == "number" and (isinstance(expected, bool) or not _is_number(expected)):
        wrong = "a number was expected"
    elif grader == "choice" and not (isinstance(expected, str) and re.fullmatch(r"[A-Za-z]", expected)):
        wrong = "one letter was expected"
    elif grader == "tool_call" and not (isinstance(expected, dict) and isinstance(expected.get("name"), str)):
        wrong = 'an object with "name" and "arguments" was expected'
    elif grader in ("exact", "regex") and not isinstance(expected, str):
        wrong = "a text was expected"
    elif grader == "regex":
        try:
            re.compile(expected)
        except re.error as error:
            wrong = f"no regular expression: {error}"
    if wrong:
        raise InputError(f"{where}: expected: {wrong}")


def _is_number(value: Any) -> bool:
    try:
        return math.isfinite(float(value))
    except (TypeError, ValueError):
        return False
