"""Faults of an environment file: what systemd ignores there, and what it takes literally."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from assay.deployment.systemd.environment import FROM_MANAGER, NAME
from assay.deployment.systemd.environment_file import FileAssignment, quote_environment_file
from assay.deployment.systemd.fault_list import FaultList, Span, shown
from assay.deployment.systemd.quote_faults import shown_word

if TYPE_CHECKING:
    from assay.deployment.systemd.environment import Environment
    from assay.deployment.text import UserFile

_AFTER_QUOTES = re.compile(r"[ \t]*(?:'[^']*'|\"(?:[^\"\\]|\\.)*\")[ \t]+(?=#)", re.DOTALL)
_REFERENCE = re.compile(r"\$\{?(?P<name>[A-Za-z_][A-Za-z0-9_]*)\}?")


def check_assignment(
    file: UserFile, assignment: FileAssignment, environment: Environment, faults: FaultList
) -> None:
    """Note what is wrong with one line of an environment file."""
    name = Span(file, assignment.start, assignment.start + len(assignment.name))
    if assignment.after_comment:
        message = "the comment before ends in a backslash: systemd before 254 takes this line for part of it"
        faults.add("broken-continuation", name, message, advice="take the backslash away")
    if assignment.value is None:
        message = f"{shown(assignment.name)} sets no variable; systemd ignores the line without a word"
        faults.add("ignored-line", name, message)
    elif not NAME.fullmatch(assignment.name):
        _bad_name(name, assignment.name, faults)
    else:
        _check_value(file, assignment, environment, faults)


def _bad_name(span: Span, name: str, faults: FaultList) -> None:
    match = re.match(r"export[ \t]+(?=[A-Za-z_])", name)
    edits = [span._replace(end=span.start + match.end()).edit("")] if match else []
    message = f"{shown(name)} is no name of a variable; systemd ignores the line"
    faults.add("ignored-line", span, message, advice="write NAME=value" if match else "", edits=edits)


def _check_value(
    file: UserFile, assignment: FileAssignment, environment: Environment, faults: FaultList
) -> None:
    whole = Span(file, assignment.start, assignment.end)
    raw = file.text[assignment.value_start : assignment.end]
    if assignment.open_quote is not None:
        at = assignment.open_quote
        message = f"nothing closes this quote: {assignment.name} gets all the rest of the file"
        faults.add("unbalanced-quotes", Span(file, at, at + 1), message)
    elif match := _comment(raw):
        start = assignment.value_start + match.end()
        edit = Span(file, assignment.value_start + len(raw[: match.end()].rstrip(" \t")), start).edit("\n")
        message = f"no comment here: it becomes part of the value of {assignment.name}"
        advice = "put the comment on a line of its own"
        faults.add("inline-comment", whole._replace(start=start), message, advice=advice, edits=[edit])
    elif (text := _json(raw)) is not None and assignment.value and assignment.value.text != text:
        span = whole._replace(start=assignment.value_start)
        message = f"the first quote inside ends the value's own quotes: {assignment.name} gets " + shown_word(
            assignment.value.text, assignment.name
        )
        edits = [span.edit(quote_environment_file(text))]
        faults.add("lost-quotes", span, message, advice="put single quotes around the JSON", edits=edits)
    _check_dollar(assignment, environment, whole, faults)


def _comment(raw: str) -> re.Match[str] | None:
    if raw.lstrip(" \t")[:1] in ("'", '"'):
        return _AFTER_QUOTES.match(raw)
    return re.search(r"[ \t]+(?=#)", raw)


def _json(raw: str) -> str | None:
    """The JSON that stands in a value's outer quotes as if these were not ended by its own."""
    raw = raw.strip(" \t")
    if raw[:1] not in ("'", '"') or raw[1:2] not in ("{", "["):
        return None
    try:
        _, stop = json.JSONDecoder().raw_decode(raw[1 : 1 << 16])
    except (ValueError, RecursionError):
        return None
    return raw[1 : stop + 1] if raw[stop + 1 :] == raw[0] else None


def _check_dollar(
    assignment: FileAssignment, environment: Environment, span: Span, faults: FaultList
) -> None:
    text = assignment.value.text if assignment.value else ""
    for match in _REFERENCE.finditer(text):
        name = match["name"]
        if name in environment.settings or name in FROM_MANAGER or name in ("PYTHONPATH", "LD_LIBRARY_PATH"):
            message = f"an environment file expands no `$`: {assignment.name} gets {shown(match[0])} as it is"
            faults.add("dollar-expansion", span, message, advice="write the value itself")
            return
