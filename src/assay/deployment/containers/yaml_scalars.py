"""Where each character of a YAML scalar stands in its file: folding, quotes, escapes, indentation."""

from __future__ import annotations

import re
from typing import Literal

from yaml.scanner import Scanner

Style = Literal["plain", "single", "double", "literal", "folded"]
"""How a scalar is written: without quotes, in one of the two kinds of quotes, after `|` or after `>`."""

_BREAK = re.compile("\r\n|[\r\n\x85\u2028\u2029]")
_BLANKS = re.compile("[ \t]*")
_RUN = re.compile("[^ \t\r\n\x85\u2028\u2029'\"\\\\]+")
_HEADER = re.compile("[|>]([-+0-9]*)[ \t]*(?:#[^\r\n\x85\u2028\u2029]*)?(?:\r\n|[\r\n\x85\u2028\u2029]|$)")
_LINE = re.compile("[^\r\n\x85\u2028\u2029]*")
_NEAR = 200  # how far an approximate place may be looked for


class _Pieces:
    """The characters found so far, each with its offset."""

    def __init__(self) -> None:
        self.parts: list[str] = []
        self.offsets: list[int] = []

    def add(self, text: str, offset: int) -> None:
        """Add characters that all come from one place."""
        self.parts.append(text)
        self.offsets += [offset] * len(text)

    def run(self, source: str, start: int, end: int) -> None:
        """Add characters that stand for themselves."""
        self.parts.append(source[start:end])
        self.offsets += range(start, end)


def locate(source: str, start: int, end: int, style: Style, value: str) -> tuple[int, ...]:
    """The offset in `source` of each character of `value`, and of its end.

    `source[start:end]` is the scalar, quotes and block header included; `value` is what YAML makes of it.
    Should this reading of the scalar differ from YAML's own, the offsets are approximate.
    """
    pieces = _Pieces()
    stop = end
    if style == "plain":
        _plain(source, start, end, pieces)
    elif style in ("literal", "folded"):
        _block(source, start, value, pieces)
        stop = max([end, *(at + 1 for at in pieces.offsets[-1:])])
    else:
        stop = end - 1
        _quoted(source, start + 1, stop, pieces)
    if "".join(pieces.parts) != value:
        return _approximate(source, start, end, value)
    return (*pieces.offsets, stop)


def _approximate(source: str, start: int, end: int, value: str) -> tuple[int, ...]:
    offsets = []
    at = start
    for char in value:
        found = source.find(char, at, min(end, at + _NEAR))
        at = found if found >= 0 else at
        offsets.append(at)
        at = at + 1 if found >= 0 else at
    return (*offsets, end)


def _plain(source: str, at: int, end: int, pieces: _Pieces) -> None:
    while at < end:
        stop = at
        while stop < end and source[stop] not in " \t\r\n\x85\u2028\u2029":
            stop += 1
        pieces.run(source, at, stop)
        at = _space(source, stop, end, pieces) if stop < end else stop


def _quoted(source: str, at: int, end: int, pieces: _Pieces) -> None:
    double = source[at - 1] == '"'
    while at < end:
        char = source[at]
        if run := _RUN.match(source, at, end):
            pieces.run(source, at, run.end())
            at = run.end()
        elif char == "\\" and double:
            at = _escape(source, at, end, pieces)
        elif char in "'\"\\":
            pieces.add(char, at)
            at += 2 if char == "'" and not double else 1
        else:
            at = _space(source, at, end, pieces)


def _escape(source: str, at: int, end: int, pieces: _Pieces) -> int:
    code = source[at + 1 : at + 2]
    if code in Scanner.ESCAPE_REPLACEMENTS:
        pieces.add(Scanner.ESCAPE_REPLACEMENTS[code], at)
        return at + 2
    if code in Scanner.ESCAPE_CODES:
        stop = at + 2 + Scanner.ESCAPE_CODES[code]
        digits = source[at + 2 : stop]
        if re.fullmatch("[0-9A-Fa-f]+", digits) and int(digits, 16) <= 0x10FFFF:
            pieces.add(chr(int(digits, 16)), at)
        return stop
    if joined := _BREAK.match(source, at + 1, end):
        return _breaks(source, joined.end(), end, pieces)
    return at + 2


def _space(source: str, at: int, end: int, pieces: _Pieces) -> int:
    """Whitespace inside a plain or quoted scalar: kept within a line, folded where lines end."""
    blank = _BLANKS.match(source, at, end)
    stop = blank.end() if blank else at
    first = _BREAK.match(source, stop, end)
    if first is None:
        pieces.run(source, at, stop)
        return stop
    if _normal(first[0]) != "\n":
        pieces.add(first[0], first.start())
    mark = len(pieces.offsets)
    after = _breaks(source, first.end(), end, pieces)
    if len(pieces.offsets) == mark and _normal(first[0]) == "\n":
        pieces.add(" ", first.start())
    return after


def _breaks(source: str, at: int, end: int, pieces: _Pieces) -> int:
    """Add each further line break; skip the indentation of the lines between."""
    while True:
        blank = _BLANKS.match(source, at, end)
        at = blank.end() if blank else at
        found = _BREAK.match(source, at, end)
        if found is None:
            return at
        pieces.add(_normal(found[0]), found.start())
        at = found.end()


def _normal(line_break: str) -> str:
    return line_break if line_break in "\u2028\u2029" else "\n"


def _block(source: str, start: int, value: str, pieces: _Pieces) -> None:
    header = _HEADER.match(source, start)
    if header is None:
        return
    keep = "+" in header[1]
    indent = _indentation(source, header.end(), value)
    block = _Block(source, pieces, indent=indent, folded=source[start] == ">")
    tail = block.read(header.end())
    if keep or ("-" not in header[1] and tail[:1] and tail[0][2]):
        for text, offset, _ in tail if keep else tail[:1]:
            pieces.add(text, offset)


def _indentation(source: str, at: int, value: str) -> int:
    """Columns that belong to the indentation, from the first line that holds more than spaces."""
    lines = re.split("[\n\u2028\u2029]", value)
    inner = next((line for line in lines if line.strip(" ")), None)
    widest = 0
    while at < len(source):
        line = _LINE.match(source, at)
        text = line[0] if line else ""
        if text.strip(" "):
            if inner is not None:
                return len(text) - len(text.lstrip(" ")) - len(inner) + len(inner.lstrip(" "))
            break
        widest = max(widest, len(text))
        after = _BREAK.match(source, at + len(text))
        if after is None:
            break
        at = after.end()
    spaces = max(map(len, lines))
    return widest - spaces if spaces else len(source)


class _Block:
    """The lines of one block scalar."""

    def __init__(self, source: str, pieces: _Pieces, *, indent: int, folded: bool) -> None:
        self.source = source
        self.indent = indent
        self.folded = folded
        self.pieces = pieces

    def read(self, at: int) -> list[tuple[str, int, bool]]:
        """Add all content; return the line breaks at its end, each with whether it ends a line of content."""
        breaks, at, column = self._blank_lines(at)
        while column == self.indent and at < len(self.source):
            for text, offset, _ in breaks:
                self.pieces.add(text, offset)
            loose = self.source[at] in " \t"
            line = _LINE.match(self.source, at)
            stop = line.end() if line else at
            self.pieces.run(self.source, at, stop)
            ended = _BREAK.match(self.source, stop)
            breaks, at, column = self._blank_lines(ended.end() if ended else stop)
            last = [(_normal(ended[0]), stop, True)] if ended else []
            if column != self.indent or at >= len(self.source):
                return last + breaks
            self._join(last, loose=loose or self.source[at] in " \t", several=bool(breaks))
        return breaks

    def _join(self, last: list[tuple[str, int, bool]], *, loose: bool, several: bool) -> None:
        for text, offset, _ in last:
            if not self.folded or text != "\n" or loose:
                self.pieces.add(text, offset)
            elif not several:
                self.pieces.add(" ", offset)

    def _blank_lines(self, at: int) -> tuple[list[tuple[str, int, bool]], int, int]:
        breaks: list[tuple[str, int, bool]] = []
        while True:
            column = 0
            while column < self.indent and self.source[at : at + 1] == " ":
                at += 1
                column += 1
            found = _BREAK.match(self.source, at)
            if found is None:
                return breaks, at, column
            breaks.append((_normal(found[0]), found.start(), False))
            at = found.end()
