"""Quotes, escapes and `%` in systemd's words that do not give the process what was plainly meant."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from assay.deployment.systemd.fault_list import FaultList, Span, shown
from assay.deployment.systemd.specifiers import MEANINGS, UnitName, Use
from assay.deployment.systemd.specifiers import uses as specifier_uses

if TYPE_CHECKING:
    from collections.abc import Sequence

    from assay.deployment.systemd.words import Token
    from assay.deployment.text import Edit, Written

_LIMIT_JSON = 1 << 16
_ATTEMPTS = 200
_LIMIT_VALUES = 50
_JSON = re.compile(r"(?:[-\w.]+=)?[\[{]")
_BEFORE_JSON = re.compile(r"(?P<outer>[\"']?)(?:[-\w.]+=)?(?P<inner>[\"']?)(?=[\[{])")
_NEEDS_NO_QUOTES = re.compile(r"[\w.-]+")
_SECRET = re.compile(r"(?i)key|token|secret|passw|credential|auth")


def shown_word(text: str, context: str = "") -> str:
    """A word for a message, unless it or what stands before it speaks of a secret."""
    return "a word that may be secret" if _SECRET.search(context + text.partition("=")[0]) else shown(text)


@dataclass(frozen=True, slots=True)
class Group:
    """Adjacent tokens that were written as one JSON value without outer quotes."""

    first: int
    """Index of the first token."""
    last: int
    """Index of the last."""


def span_of(first: Token, last: Token) -> Span:
    """From the first character of one token to the last of another."""
    return Span(first.written.file, first.file_start, last.file_end)


def json_groups(source: Written, tokens: Sequence[Token]) -> list[Group]:
    """Where unquoted JSON loses its quotes or is split at its blanks."""
    groups: list[Group] = []
    ends = {token.end: index for index, token in enumerate(tokens)}
    skip, attempts = -1, 0
    for index, token in enumerate(tokens):
        match = _BEFORE_JSON.match(source.text, token.start, token.end)
        if index <= skip or match is None or attempts >= _ATTEMPTS:
            continue
        attempts += 1
        stop = _json_end(source.text, match.end())
        if stop is None:
            continue
        close = match["inner"] + match["outer"]
        end = stop + len(close) if source.text.startswith(close, stop) else stop
        last = ends.get(end)
        if last is not None and _loses(tokens[index : last + 1], match.end(), stop):
            groups.append(Group(index, last))
            skip = last
    return groups


def _json_end(text: str, start: int) -> int | None:
    try:
        _, length = json.JSONDecoder().raw_decode(text[start : start + _LIMIT_JSON])
    except (ValueError, RecursionError):
        return None
    return start + length


def _loses(tokens: Sequence[Token], start: int, stop: int) -> bool:
    inside = (quote for token in tokens for pair in token.quotes for quote in pair)
    return len(tokens) > 1 or any(start < quote < stop for quote in inside)


def add_json_fault(
    source: Written, tokens: Sequence[Token], faults: FaultList, *, context: str = "", variable: bool = False
) -> None:
    """Note JSON that was written without quotes around it, with the edit that puts them there. In a variable
    that is split, that is plain only where its text stands in a file as it is."""
    span = span_of(tokens[0], tokens[-1])
    raw = source.text[tokens[0].start : tokens[-1].end]
    edits = [span.edit(quoted_raw(raw))]
    if variable:
        edits = [span.edit(f"'{raw}'")] if _bare_in_file(source, tokens[0].start, raw, span) else []
    got = " ".join(shown_word(token.written.text, context) for token in tokens[:8])
    words = f"{len(tokens)} words, " if len(tokens) > 1 else ""
    faults.add(
        "lost-quotes",
        span,
        f"systemd takes the quotes inside away: the process gets {words}{got}",
        advice="put single quotes around the whole word",
        edits=edits,
    )


def _bare_in_file(source: Written, at: int, raw: str, span: Span) -> bool:
    """True in an environment file's bare value, behind its first character: there a quote is a character."""
    before = source.file.text[source.offsets[0] - 1 : source.offsets[0]]
    same = span.file.text[span.start : span.end] == raw
    return same and at > 0 and before not in ("'", '"') and not set("'\\") & set(raw)


def quoted_raw(raw: str) -> str:
    """A word as its writer meant it, in single quotes, where `%` and backslashes stand for themselves."""
    match = _BEFORE_JSON.match(raw)
    if match and (match["inner"] or match["outer"]):
        close = match["inner"] + match["outer"]
        if raw.endswith(close):
            raw = raw[: -len(close)]
        raw = raw[len(match["outer"]) : match.end("inner") - len(match["inner"])] + raw[match.end() :]
    escaped = re.sub(r"%%|%", "%%", raw).replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


def check_quotes(
    source: Written, token: Token, faults: FaultList, *, script: bool, context: str = ""
) -> None:
    """Note quotes in the middle of a word that vanish though nothing needs them."""
    if script or not _vanishes(source.text, token):
        return
    faults.add(
        "lost-quotes",
        span_of(token, token),
        "systemd takes quotes away in the middle of a word too: the process gets "
        + shown_word(token.written.text, context),
        advice="put other quotes around the whole word, or a backslash before each that is to stay",
    )


def _vanishes(text: str, token: Token) -> bool:
    closed = -1
    for opened, end in token.quotes:
        inside = text[opened + 1 : end]
        if 0 <= closed == opened - 1 and text[closed] == text[opened] and inside:
            return True
        closed = end
        if (
            opened > token.start
            and text[opened - 1] not in "=:,/(@'\""
            and _NEEDS_NO_QUOTES.fullmatch(inside)
        ):
            return True
    match = _BEFORE_JSON.match(text, token.start, token.end)
    unquoted = match is not None and not match["inner"] and not match["outer"] and text[match.end()] == "{"
    return unquoted and bool(token.quotes) and not set("'\"$") & set(token.written.text)


def check_escapes(source: Written, token: Token, faults: FaultList) -> None:
    """Note backslashes that systemd does not know and passes on, with a warning in the journal."""
    for at in token.unknown_escapes:
        escape = source.text[at : at + 2]
        if len(escape) < 2 or escape[1] in " \t":
            continue  # a broken continuation, noted with the lines
        span = Span(source.file, source.offsets[at], source.offsets[at + 2])
        faults.add(
            "unknown-escape",
            span,
            f"systemd knows no escape {shown(escape)}: it warns and passes it on as it is",
            advice="write two backslashes",
            edits=[span._replace(end=span.start).edit("\\")],
        )


_FROM_NAME = frozenset("iIjJnNpP%")
_DATE_RUN = re.compile(r"(?:%[A-Za-z][-:/ T._,]{0,2}){2,}")
_DATES = ("Y m", "y m", "Y b", "y b", "Y B", "y B", "Y j", "d m", "d b", "d B", "H M", "I M", "M S")
_ODD = frozenset("aAbBcfMorRvwW")


def check_percents(
    token: Token, unit: UnitName, faults: FaultList, *, refused: bool, editable: bool = True, what: str = ""
) -> None:
    """Note specifiers in what is plainly a value, those that systemd does not know, and an instance that is
    not there.

    Taken for meant: `%%`; what comes from the unit's name (`%i`, `%n`, `%p` and so on); folders, host, user
    and machine (`%h %t %S %E %L %C %T %V %H %l %m %u %U %g %G %y %Y %D`, and `%d` before a `/`); the rarer
    ones as a whole value (`--arch=%a`) or a whole part of a path. Taken for a value: dates such as `%Y-%m-%d`
    and `%H:%M:%S`, `%s` and `%q`, a letter after a number's percent sign (`50%of`), escapes of a URL, and
    anything but names in JSON.
    """
    text = token.written.text
    if "%" not in text:
        return
    dates = [match.span() for match in _DATE_RUN.finditer(text) if _is_date(match[0])]
    values: list[Use] = []
    json_like, url = bool(_JSON.match(text)), text.find("://")
    for use in specifier_uses(text):
        span, name = _span(token, use), f"`%{use.letter}`"
        if not use.valid:
            then = "refuses the unit" if refused else f"ignores {what or 'the command'}"
            message = f"systemd knows no specifier {name} and {then}"
            edits = _doubled(token, [use]) if editable else []
            advice = "write %% for a percent sign"
            faults.add("percent-specifier", span, message, refused=refused, advice=advice, edits=edits)
        elif use.letter in "iI" and unit.value(use.letter) == "":
            message = f"{unit.id} has no instance, so {name} becomes nothing"
            faults.add("percent-specifier", span, message, advice="name the unit NAME@.service")
        elif use.letter != "%" and (
            _in(dates, use.index) or _is_value(text, use, json_like=json_like, in_url=0 <= url < use.index)
        ):
            values.append(use)
    if values := values[:_LIMIT_VALUES]:
        span = _span(token, values[0])._replace(end=_span(token, values[-1]).end)
        becomes = ", ".join(dict.fromkeys(f"`%{use.letter}` by {MEANINGS[use.letter]}" for use in values))
        edits = _doubled(token, values) if editable else []
        advice = f"write `%%{values[0].letter}` for a percent sign"
        faults.add("percent-specifier", span, f"systemd replaces {becomes}", advice=advice, edits=edits)


def _span(token: Token, use: Use) -> Span:
    offsets = token.written.offsets
    return Span(token.written.file, offsets[use.index], offsets[use.index + 1] + 1)


def _doubled(token: Token, found: Sequence[Use]) -> list[Edit]:
    spans = (_span(token, use) for use in found)
    return [span._replace(end=span.start).edit("%") for span in spans]


def _in(spans: list[tuple[int, int]], index: int) -> bool:
    return any(start <= index < end for start, end in spans[:_LIMIT_VALUES])


def _is_date(run: str) -> bool:
    letters = {use.letter for use in specifier_uses(run)}
    return any(set(pair.split()) <= letters for pair in _DATES)


def _is_value(text: str, use: Use, *, json_like: bool, in_url: bool) -> bool:
    before, after = text[use.index - 1 : use.index], text[use.index + 2 : use.index + 3]
    whole = before in ("", "=", "/") and after in ("", "/")
    if use.letter in _FROM_NAME:
        return False
    if use.letter in "sq" or before.isdigit():
        return True
    if in_url and re.match(r"[A-F][0-9A-F]", use.letter + after):
        return True
    if json_like and not whole:
        return True
    if use.letter == "d":
        return after != "/" and not whole
    return use.letter in _ODD and not whole
