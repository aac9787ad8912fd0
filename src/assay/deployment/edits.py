"""Edits on the words of a command line: words taken out, put in, replaced; all others stay as written."""

from __future__ import annotations

import itertools
import re
from typing import TYPE_CHECKING

from assay.deployment.text import Edit, Word

if TYPE_CHECKING:
    from collections.abc import Sequence

    from assay.deployment.text import Syntax

_CONTINUED = re.compile(r"[ \t]*\\[ \t]*\r?\n")
_BLANKS = re.compile(r"[ \t]*")


def removal(words: Sequence[Word]) -> tuple[Edit, ...]:
    """Edits that take neighbouring words out of a command line, or none where that is not plain.

    Lines that would be left with nothing but a continuation go as a whole.
    """
    first, last = words[0], words[-1]
    if any(not word.editable or word.file != first.file for word in words):
        return ()
    if first.syntax == "yaml" and first.file.text[: first.start].rstrip(" '\"").endswith("-"):
        return _list_items(words)
    if first.syntax == "yaml" and first.file.text[: first.start].rstrip()[-1:] in (",", "["):
        return _flow_items(words)
    if first.syntax not in ("systemd", "shell", "yaml", "toml"):
        return ()
    span = _span(first.file.text, first.start, last.end, first.syntax)
    return () if span is None else (Edit(file=first.file.path, start=span[0], end=span[1], text=""),)


def _span(text: str, start: int, end: int, syntax: Syntax) -> tuple[int, int] | None:
    """What to cut so that neither a blank line nor a dangling continuation is left."""
    line = text.rfind("\n", 0, start) + 1
    alone = not text[line:start].strip(" \t")
    if not alone:
        while start > line and text[start - 1] in " \t":
            start -= 1
        return start, end
    if match := _CONTINUED.match(text, end):
        return line, match.end()
    rest = text[end : (text + "\n").index("\n", end)]
    if rest.strip(" \t\r"):
        blanks = _BLANKS.match(text, end)
        return start, blanks.end() if blanks else end
    at = _before_continuation(text, line)
    if at is not None:
        return at, end
    if text[:line].strip() and syntax != "systemd":  # lines go on by themselves: a list, a folded text
        return line, end + len(rest) + 1
    return None


def _before_continuation(text: str, line: int) -> int | None:
    """Where the blanks and backslash begin that continue into the line at `line`; None if it is no more."""
    at = line - 1
    if at > 0 and text[at - 1] == "\r":
        at -= 1
    if at < 1 or text[at - 1] != "\\":
        return None
    at -= 1
    while at > 0 and text[at - 1] in " \t":
        at -= 1
    return at


def _list_items(words: Sequence[Word]) -> tuple[Edit, ...]:
    """Whole lines of a YAML block sequence, one item each."""
    edits = []
    for word in words:
        text = word.file.text
        line = text.rfind("\n", 0, word.start) + 1
        end = text.find("\n", word.end)
        end = len(text) if end < 0 else end + 1
        if not re.fullmatch(r"[ \t]*-[ \t]+", text[line : word.start]) or text[word.end : end].strip():
            return ()
        edits.append(Edit(file=word.file.path, start=line, end=end, text=""))
    return tuple(edits)


def _flow_items(words: Sequence[Word]) -> tuple[Edit, ...]:
    """Neighbours of a YAML list in brackets, with the comma behind them or, at its end, before them."""
    text, start, end = words[0].file.text, words[0].start, words[-1].end
    pairs = itertools.pairwise(words)
    if any(text[one.end : other.start].strip() != "," for one, other in pairs):
        return ()
    if behind := re.compile(r"\s*,[ \t]*").match(text, end):
        end = behind.end()
        line = text.rfind("\n", 0, start) + 1
        if not text[line:start].strip() and text[end : end + 1] == "\n":
            start, end = line, end + 1
    elif re.compile(r"\s*\]").match(text, end) and (before := re.search(r"\s*,\s*\Z", text[:start])):
        start = before.start()
    else:
        return ()
    return (Edit(file=words[0].file.path, start=start, end=end, text=""),)


def flag_replacement(word: Word, written: str, flag: str) -> tuple[Edit, ...]:
    """Replace the flag at the beginning of a word, or nothing where it is not written plainly."""
    start, end = word.offsets[0], word.offsets[len(written)]
    if not word.editable or word.file.text[start:end] != written:
        return ()
    return (Edit(file=word.file.path, start=start, end=end, text=flag),)


def apply_edits(text: str, edits: Sequence[Edit]) -> str:
    """The text with all edits made; of edits that overlap, the earlier one in the file.

    >>> apply_edits("one two three", [Edit(file="f", start=4, end=7, text="2")])
    'one 2 three'
    """
    pieces: list[str] = []
    at = 0
    for edit in sorted(edits, key=lambda edit: (edit.start, edit.end)):
        if edit.start < at:
            continue
        pieces += [text[at : edit.start], edit.text]
        at = edit.end
    return "".join([*pieces, text[at:]])
