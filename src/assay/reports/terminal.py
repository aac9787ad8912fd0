"""Lint results as text for a terminal: place, source line, caret, reason, help."""

from __future__ import annotations

import bisect
import textwrap
from typing import TYPE_CHECKING

from assay._value import Value
from assay.diagnostics import MASK, LintResult, mask, masked, secret_spans
from assay.reports.distinct import distinct
from assay.reports.harmless import harmless, printable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from assay.deployment import Place, UserFile
    from assay.diagnostics import Diagnostic


class Style(Value):
    """How text is laid out."""

    width: int = 80
    """Columns; no line of ours is longer, except a word that cannot be broken."""
    color: bool = False
    """Whether to use ANSI colours."""


_NEAR = 10_000
"""Of a longer line only so many characters on both sides of a finding are looked at."""
_CODES = {"error": "1;31", "warning": "1;33", "note": "1;36", "gutter": "1;34", "bold": "1", "help": "1;32"}


def lint_text(results: Sequence[LintResult], style: Style) -> str:
    """The findings of all results, each with its place and evidence, then one line of counts."""
    blocks = [diagnostic_text(found, result, style) for found, result in distinct(results)]
    lines = []
    for at, result in enumerate(results):
        lines += _summary(result, results, style)
        if at + 1 == len(results) or results[at + 1].engine != result.engine:
            lines += _checked_against(result, style)
    return "\n".join([*blocks, *lines])


def diagnostic_text(found: Diagnostic, result: LintResult, style: Style) -> str:
    """One finding, in the manner of a compiler.

    The lines are: severity, code and message; place; the line of the user's file with a caret; the
    evidence in the engine's source; what to do.
    """
    gutter = " " * len(str(found.place.line))
    bar = _paint(f"{gutter} |", "gutter", style)
    head = f"{found.severity}[{found.code}]"
    lines = wrapped(f"{head}: {mask(found.message, result.secrets)}", "", "  ", style)
    lines[0] = _paint(head, found.severity, style) + _paint(lines[0][len(head) :], "bold", style)
    lines[1:] = [_paint(line, "bold", style) for line in lines[1:]]
    lines.append(f"{gutter}{_paint('-->', 'gutter', style)} {_where(found.place)}")
    file = next((file for file in result.files if file.path == found.place.file), None)
    if file is not None:
        lines += [bar, *_snippet(found, file, result.secrets, style), bar]
    for evidence in found.evidence:
        lines += wrapped(f"{evidence.site}: {evidence.says}", f"{gutter} = source: ", f"{gutter}   ", style)
        if evidence.site.text:
            quoted = clip(evidence.site.text, style.width - len(gutter) - 5)
            lines.append(f"{gutter}   {_paint('|', 'gutter', style)} {quoted}")
    if found.help:
        lines += wrapped(mask(found.help, result.secrets), f"{gutter} = help: ", f"{gutter}   ", style)
    if found.fix is not None:
        lines += wrapped(f"`--fix` can {found.fix.title}", f"{gutter} = fix: ", f"{gutter}   ", style)
    return "\n".join(_colored_marks(lines, gutter, style)) + "\n"


def _where(place: Place) -> str:
    return printable(f"{place.file}:{place.line}:{place.column}")


def _snippet(found: Diagnostic, file: UserFile, secrets: frozenset[str], style: Style) -> list[str]:
    """The first line of the place and carets under it, clipped around the carets to fit the width."""
    number = str(found.place.line)
    text = file.text.split("\n")[found.place.line - 1].rstrip("\r")
    start = found.place.column - 1
    end = found.place.end_column - 1 if found.place.end_line == found.place.line else len(text)
    text, start, end = _masked_line(text, start, max(end, start + 1), secrets)
    text, start, end = _expanded(text, start, end)
    text, start, end = _window(text, start, end, style.width - len(number) - 3)
    pad = " " * len(number)
    carets = _paint("^" * (end - start), found.severity, style)
    lines = [
        f"{_paint(f'{number} |', 'gutter', style)} {printable(text)}".rstrip(),
        f"{_paint(f'{pad} |', 'gutter', style)} {' ' * start}{carets}",
    ]
    if found.label:
        room = style.width - len(number) - 3
        if end + 1 + len(found.label) <= room:
            lines[1] += " " + _paint(found.label, found.severity, style)
        else:
            indent = max(0, min(start, room - len(found.label)))
            lines.append(
                f"{_paint(f'{pad} |', 'gutter', style)} {' ' * indent}"
                f"{_paint(found.label, found.severity, style)}"
            )
    return lines


def _masked_line(text: str, start: int, end: int, secrets: frozenset[str]) -> tuple[str, int, int]:
    """The line, or what of a very long one is near, without secrets, and where the carets stand in it."""
    spans = secret_spans(text, secrets)
    if len(text) > 2 * _NEAR:
        first = max(0, start - _NEAR)
        text, start, end = text[first : start + _NEAR], start - first, min(end, start + _NEAR) - first
        spans = _cut(spans, first, first + len(text))
    moved_start, moved_end = _moved(start, spans), _moved(end, spans)
    return masked(text, spans), moved_start, max(moved_end, moved_start + 1)


def _cut(spans: Sequence[tuple[int, int]], first: int, last: int) -> tuple[tuple[int, int], ...]:
    """What of the spans lies in that stretch, counted from its beginning."""
    begin = bisect.bisect_right(spans, first, key=lambda span: span[1])
    end = bisect.bisect_left(spans, last, key=lambda span: span[0])
    return tuple((max(one, first) - first, min(other, last) - first) for one, other in spans[begin:end])


def _moved(at: int, spans: Sequence[tuple[int, int]]) -> int:
    """Where offset `at` is after all spans have become the mask."""
    moved = at
    for first, last in spans:
        if at >= last:
            moved += len(MASK) - (last - first)
        elif at > first:
            moved += min(at - first, len(MASK)) - (at - first)
    return moved


def _expanded(text: str, start: int, end: int) -> tuple[str, int, int]:
    """Tabs become four blanks."""
    return (
        text.replace("\t", "    "),
        start + 3 * text.count("\t", 0, start),
        end + 3 * text.count("\t", 0, end),
    )


def _window(text: str, start: int, end: int, width: int) -> tuple[str, int, int]:
    """At most `width` characters of the line around the carets, with `…` where something is left out."""
    if len(text) <= width:
        return text, start, end
    end = min(end, start + width - 2)
    first = max(0, min(start - (width - (end - start)) // 2, len(text) - width))
    shown = text[first : first + width]
    if first > 0:
        shown = "…" + shown[1:]
    if first + width < len(text):
        shown = shown[:-1] + "…"
    return shown, start - first, end - first


def clip(text: str, width: int) -> str:
    """The text in one line, cut to the width."""
    text = printable(text)
    return text if len(text) <= width else text[: max(width - 1, 1)] + "…"


def wrapped(text: str, first: str, rest: str, style: Style) -> list[str]:
    """The text in lines of the style's width, with what stands before the first and the other lines."""
    lines = textwrap.wrap(
        printable(text),
        style.width,
        initial_indent=first,
        subsequent_indent=rest,
        break_long_words=False,
        break_on_hyphens=False,
    )
    return [harmless(line) for line in lines]


def _colored_marks(lines: list[str], gutter: str, style: Style) -> list[str]:
    """The words behind `=` in colour."""
    if not style.color:
        return lines
    return [_colored_mark(line, gutter, style) for line in lines]


def _colored_mark(line: str, gutter: str, style: Style) -> str:
    for word, tone in (("source:", "gutter"), ("help:", "help"), ("fix:", "help")):
        prefix = f"{gutter} = {word}"
        if line.startswith(prefix):
            mark = f"{gutter} {_paint('=', 'gutter', style)} {_paint(word, tone, style)}"
            return mark + line[len(prefix) :]
    return line


def _paint(text: str, tone: str, style: Style) -> str:
    return f"\x1b[{_CODES[tone]}m{text}\x1b[0m" if style.color and text else text


def _named(result: LintResult, results: Sequence[LintResult]) -> str:
    """The target, and where it starts several servers, which of them."""
    others = [other for other in results if other.target == result.target]
    if len(others) == 1:
        return result.target
    if len({other.server for other in others}) == len(others):
        return f"{result.target} ({result.server})"
    at = result.started_at
    return result.target if at is None or at.file != result.target else f"{result.target}:{at.line}"


def _summary(result: LintResult, results: Sequence[LintResult], style: Style) -> list[str]:
    """`llm.service: 2 errors, 1 warning, 1 note; 1 can be mended with --fix`."""
    counts = [
        _count(sum(found.severity == severity for found in result.diagnostics), severity)
        for severity in ("error", "warning", "note")
    ]
    said = ", ".join(count for count in counts if count) or "nothing to report"
    fixes = sum(found.fix is not None for found in result.diagnostics)
    text = f"{_named(result, results)}: {said}"
    if fixes:
        text += f"; {fixes} can be mended with --fix"
    if result.unknown_words:
        text += f"; {_count(result.unknown_words, 'word')} only known at run time, not checked"
    lines = wrapped(text, "", "  ", style)
    if result.unread:
        lines += wrapped(f"not read of the source, and not covered: {result.unread[0]}", "  ", "  ", style)
        if len(result.unread) > 1:
            lines += wrapped(f"and {len(result.unread) - 1} more (`--json` has them all)", "  ", "  ", style)
    return lines


def _checked_against(result: LintResult, style: Style) -> list[str]:
    engine = result.engine
    version = f" {engine.version}" if engine.version else ""
    origin = f"checked against {engine.name}{version} ({engine.origin}; chosen by {engine.chosen_by})"
    return wrapped(origin, "  ", "  ", style)


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}" if number else ""
