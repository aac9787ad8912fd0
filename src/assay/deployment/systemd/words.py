"""systemd's word splitting: quotes, escapes and the commands of an `ExecStart=`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from assay.deployment.systemd.unit_file import BLANKS
from assay.deployment.text import Written

if TYPE_CHECKING:
    from collections.abc import Iterator

Mode = Literal["command", "assignments", "variable"]
"""Which of systemd's word rules: of `ExecStart=`, which keeps unknown escapes; of `Environment=`, which does
not take them; of a `$NAME` that is split, which drops each backslash and does not mind an open quote."""

_PLAIN = {
    "": re.compile(r"[^ \t\n\r'\"\\]+"),
    "'": re.compile(r"[^'\\]+"),
    '"': re.compile(r'[^"\\]+'),
}
_ESCAPE = re.compile(
    r"\\(?:(?P<one>[abfnrtv\\\"'s])|x(?P<x>[0-9A-Fa-f]{2})|(?P<o>[0-3][0-7]{2})"
    r"|u(?P<u>[0-9A-Fa-f]{4})|U(?P<U>[0-9A-Fa-f]{8}))"
)
_ONE = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v", "s": " "}
_SEMICOLON = re.compile(r";(?=[ \t\n\r]|\Z)")
_PLAIN_SEMICOLON = re.compile(r"\\;(?=[ \t\n\r]|\Z)")


@dataclass(frozen=True, slots=True)
class Token:
    """One word after quotes and escapes, before `%` and `$`."""

    written: Written
    """Its text."""
    start: int
    """Index of its first character (a quote included) in the text that it was split from."""
    end: int
    """Index after its last."""
    file_start: int
    """Offset of its first character in the file."""
    file_end: int
    """Offset after its last."""
    quotes: tuple[tuple[int, int], ...] = ()
    """Indices of the opening and closing quotes that vanish."""
    unknown_escapes: tuple[int, ...] = ()
    """Indices of backslashes that begin no known escape and are kept."""


class BadWord(Exception):
    """A word that systemd cannot split off; `at` is the index where the trouble begins."""

    def __init__(self, reason: Literal["quotes", "escape"], start: int, at: int) -> None:
        super().__init__(reason)
        self.reason = reason
        self.start = start
        self.at = at


class WordReader:
    """Splits words off a text, one by one, as `extract_first_word` of systemd 252 does."""

    def __init__(self, source: Written, mode: Mode) -> None:
        self.source = source
        self.at = 0
        self._mode = mode
        self._chars: list[str] = []
        self._offsets: list[int] = []
        self._kept: list[int] = []
        self._stop = 0

    def skip_blanks(self) -> None:
        """Go to the next character that is no blank."""
        text = self.source.text
        while self.at < len(text) and text[self.at] in BLANKS:
            self.at += 1

    def literal(self, length: int, skip: int) -> Token:
        """The next characters as a word of its own, without their first `skip`."""
        start, self.at = self.at, self.at + length
        offsets = self.source.offsets
        written = self.source.part(start + skip, self.at)
        return Token(written, start, self.at, offsets[start], offsets[self.at])

    def next(self) -> Token | None:
        """The next word, or None at the end.

        Raises:
            BadWord: quotes are unbalanced, or the mode does not take an escape.
        """
        self.skip_blanks()
        text, start, quote, opened = self.source.text, self.at, "", 0
        if start == len(text):
            return None
        self._chars, self._offsets, self._kept, self._stop = [], [], [], start
        quotes: list[tuple[int, int]] = []
        while self.at < len(text):
            char = text[self.at]
            if match := _PLAIN[quote].match(text, self.at):
                self._copy(match.end())
            elif char == "\\":
                self._escape(start, quote)
            elif quote:
                quotes.append((opened, self.at))
                quote, self.at = "", self.at + 1
            elif char in "'\"":
                quote, opened = char, self.at
                self.at += 1
                self._stop = max(self._stop, self.at if not self._chars else 0)
            else:
                break
        if quote and self._mode != "variable":
            raise BadWord("quotes", start, opened)
        return self._token(start, quotes)

    def _token(self, start: int, quotes: list[tuple[int, int]]) -> Token:
        text, offsets = _joined_bytes("".join(self._chars), self._offsets)
        ends = (*offsets, self.source.offsets[self._stop])
        written = Written(file=self.source.file, text=text, offsets=ends)
        file_end = self.source.offsets[self.at]
        kept = tuple(self._kept)
        return Token(written, start, self.at, self.source.offsets[start], file_end, tuple(quotes), kept)

    def _copy(self, end: int) -> None:
        self._put(self.source.text[self.at : end], self.source.offsets[self.at : end], end)

    def _put(self, text: str, offsets: tuple[int, ...], end: int) -> None:
        self._chars.append(text)
        self._offsets.extend(offsets)
        self.at = self._stop = end

    def _escape(self, start: int, quote: str) -> None:
        text, at = self.source.text, self.at
        if self._mode == "variable":
            self.at += 1
            if self.at < len(text):
                self._copy(self.at + 1)
            return
        if (value := _unescaped(text, at)) is not None:
            char, length = value
            self._put(char, (self.source.offsets[at],) * len(char), at + length)
            return
        if self._mode == "assignments":
            raise BadWord("escape", start, at)
        if at + 1 == len(text) and quote:
            raise BadWord("quotes", start, at)
        self._kept.append(at)
        self._copy(min(at + 2, len(text)))


def _unescaped(text: str, at: int) -> tuple[str, int] | None:
    """What the escape at a backslash stands for (bytes over 127 as surrogates), and its length."""
    match = _ESCAPE.match(text, at)
    if match is None:
        return None
    if one := match["one"]:
        return _ONE.get(one, one), 2
    code = int(match["o"], 8) if match["o"] else int(match["x"] or match["u"] or match["U"], 16)
    if code == 0 or (match["U"] and not _is_character(code)):
        return None
    if match["o"] or match["x"]:
        return (chr(code) if code < 0x80 else chr(0xDC00 + code)), match.end() - at
    char = chr(code).encode("utf-8", "surrogatepass").decode("utf-8", "surrogateescape")
    return char, match.end() - at


def _is_character(code: int) -> bool:
    return code < 0x110000 and not (
        0xD800 <= code < 0xE000 or 0xFDD0 <= code <= 0xFDEF or code & 0xFFFE == 0xFFFE
    )


def _joined_bytes(text: str, offsets: list[int]) -> tuple[str, list[int]]:
    """Bytes that were written as escapes, put together to the characters that they are."""
    if text.isascii() or not any("\udc80" <= char <= "\udcff" for char in text):
        return text, offsets
    joined = text.encode("utf-8", "surrogateescape").decode("utf-8", "surrogateescape")
    starts: list[int] = []
    at = 0
    for char in joined:
        starts.append(offsets[at])
        raw = "\udc80" <= text[at] <= "\udcff"
        at += len(char.encode("utf-8", "surrogateescape")) if raw else 1
    return joined, starts


@dataclass(frozen=True, slots=True)
class Command:
    """One command of an `ExecStart=`, as tokens."""

    tokens: tuple[Token, ...]
    """Its words, the program first."""
    end: int
    """Index after it in the value; of the `;` if one ended it."""
    bad: BadWord | None = None
    """Why the rest could not be split."""


def read_commands(value: Written) -> Iterator[Command]:
    r"""Split the value of an `ExecStart=` into commands, which `;` as a word of its own separates.

    >>> from assay.deployment.text import UserFile
    >>> value = Written.whole(UserFile(path="a", text="/bin/a 'b  c'd \\; ; /bin/e"))
    >>> [[token.written.text for token in command.tokens] for command in read_commands(value)]
    [['/bin/a', 'b  cd', ';'], ['/bin/e']]
    """
    reader = WordReader(value, "command")
    more = True
    while more:
        tokens: list[Token] = []
        bad = None
        more = False
        try:
            while (token := _next(reader, first=not tokens)) is not None:
                if token.written.text == ";" and (not tokens or token.end - token.start == 1):
                    more = True
                    break
                tokens.append(token)
        except BadWord as error:
            bad = error
        end = token.start if more and token is not None else reader.at
        if tokens or bad:
            yield Command(tuple(tokens), end, bad)


def _next(reader: WordReader, *, first: bool) -> Token | None:
    if first:
        return reader.next()
    reader.skip_blanks()
    if _SEMICOLON.match(reader.source.text, reader.at):
        return reader.literal(1, 0)
    if _PLAIN_SEMICOLON.match(reader.source.text, reader.at):
        return reader.literal(2, 1)
    return reader.next()


_SAFE = re.compile(r"[^ '\"\\\x00-\x20\x7f\udc80-\udcff]+")


def quote_systemd(text: str, *, dollars: bool = True) -> str:
    r"""Write a word for `ExecStart=` so that the process gets exactly `text`.

    Not for its first word, where systemd knows no `$$` and reads prefixes such as `-`. For `Environment=`,
    and after the prefix `:`, where systemd expands no `$`, give `dollars=False`.

    >>> print(quote_systemd('{"a": 1}'), quote_systemd("50%"), quote_systemd("$HOME"), quote_systemd(""))
    '{"a": 1}' 50%% $$HOME ""
    """
    doubled = text.replace("%", "%%")
    if dollars:
        doubled = doubled.replace("$", "$$")
    if _SAFE.fullmatch(doubled) and doubled[0] not in ";#":
        return doubled
    escaped = "".join(_escaped_control(char) for char in doubled.replace("\\", "\\\\"))
    if '"' in escaped and "'" not in escaped:
        return f"'{escaped}'"
    return '"' + escaped.replace('"', '\\"') + '"'


def _escaped_control(char: str) -> str:
    if "\udc80" <= char <= "\udcff":
        return f"\\x{ord(char) - 0xDC00:02x}"
    return f"\\x{ord(char):02x}" if ord(char) < 0x20 or char == "\x7f" else char
