"""How changes read."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from assay.drift.change import ChangeKind
    from assay.source import Option, Problem

_NAMES = {
    "text": "text",
    "int": "a whole number",
    "float": "a number",
    "bool": "text that counts as true",
    "json": "JSON",
    "json-list": "JSON",
    "json-object": "a JSON object",
    "json-config": "a JSON object",
    "json-or-text": "text or JSON",
    "unit-int": "a number with a unit",
    "unit-int-or-auto": "a number with a unit, or auto",
    "si-int": "a number with a unit",
    "nullable-text": "text",
    "folded-text": "text",
}
_MOST_CANDIDATES = 8
_COUNTS = {"?": "at most one of ", "+": "several of ", "*": "any number of "}


def said_of_problem(kind: ChangeKind, flag: str, problem: Problem, newer: str) -> str:
    """Why the newer version refuses the command."""
    if kind == "gone":
        return f"{newer} has no option `{flag}`"
    if kind == "ambiguous":
        named = ", ".join(f"`{each}`" for each in problem.candidates[:_MOST_CANDIDATES])
        more = len(problem.candidates) - _MOST_CANDIDATES
        return f"in {newer} `{flag}` may stand for {named}{f' and {more} more' if more > 0 else ''}"
    return f"{newer} refuses it: {problem.message}"


def kind_of(option: Option) -> str:
    """What the option takes, in words."""
    if option.action == "boolean":
        return "no value, and has an opposite"
    if option.action == "refused":
        return "nothing: it stops the engine"
    if option.action not in ("store", "append"):
        return "no value"
    what = _NAMES.get(option.converter, f"what `{option.type_text}` accepts")
    if isinstance(option.nargs, int):
        return f"{option.nargs} of {what}"
    return _COUNTS.get(option.nargs or "", "") + what


def choices_said(before: set[str], now: set[str]) -> str:
    """Which choices are gone, and which are new."""
    gone, new = sorted(before - now), sorted(now - before)
    parts = [f"no longer {', '.join(gone)}"] if gone else []
    return "; ".join([*parts, *([f"new: {', '.join(new)}"] if new else [])])
