"""Reads one shell word at a time: quotes, escapes, `$'…'`, parameters, substitutions."""

from __future__ import annotations

import contextlib
import re
from typing import TYPE_CHECKING

from assay.deployment.launch import Fault
from assay.deployment.shell.syntax import Literal, Opaque, Parameter, Piece, WordNode
from assay.deployment.text import Edit, Place
from assay.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from assay.deployment.shell.syntax import Block
    from assay.deployment.text import Written

DEPTH_LIMIT = 30
"""Levels of nesting that are read; more is no script that a person wrote."""

FAULT_LIMIT = 200
"""Faults noted in one script; to place each costs time."""

_PLAIN = re.compile(r"[^ \t\n;&|()<>\\'\"$`]+")
_PLAIN_IN_DOUBLE = re.compile(r"[^\"\\$`]+")
_PLAIN_IN_BRACES = re.compile(r"[^}\\'\"$`]+")
_PLAIN_IN_QUOTED_BRACES = re.compile(r"[^}\\\"$`]+")
_STOPS = frozenset(" \t\n;&|()<>")
_SHORT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*|[0-9@*#?$!-]")
_LONG = re.compile(
    r"(?P<mark>[#!]?)(?P<name>[A-Za-z_][A-Za-z0-9_]*|[0-9]+|[@*#?$!-])(?:\[(?P<index>[^\]\n]*)\])?"
)
_OPERATOR = re.compile(r":?[-=+?]|##?|%%?|[:/^,@]")
_BROKEN = re.compile(r"\\[ \t\r]+(?=\n)")
_SIMPLE_ESCAPES = dict(zip("abeEfnrtv\\'\"?", "\a\b\x1b\x1b\f\n\r\t\v\\'\"?", strict=True))
_ANSI = re.compile(
    r"\\(?:([0-7]{1,3})|x([0-9A-Fa-f]{1,2})|u([0-9A-Fa-f]{1,4})|U([0-9A-Fa-f]{1,8})|c(.)|(.))", re.S
)


class Lexer:
    """A position in a shell text, and the words read from there.

    `nested` reads the commands of `$(`, up to its closing parenthesis; faults gather in `faults`.
    """

    def __init__(self, written: Written, nested: Callable[[], Block]) -> None:
        self.written = written
        self.text = written.text
        self.end = len(written.text)
        self.at = 0
        self.faults: list[Fault] = []
        self._nested = nested
        self._depth = 0
        self._notable = FAULT_LIMIT

    @contextlib.contextmanager
    def deeper(self) -> Iterator[None]:
        """One level of nesting.

        Raises:
            InputError: there are too many.
        """
        self._depth += 1
        if self._depth > DEPTH_LIMIT:
            place = self.place(self.at, self.at)
            raise InputError(
                f"{place.file}:{place.line}: brackets or commands are nested more than {DEPTH_LIMIT} deep"
            )
        try:
            yield
        finally:
            self._depth -= 1

    def place(self, start: int, end: int) -> Place:
        """The place of `text[start:end]` in the user's file."""
        offsets = self.written.offsets
        return self.written.file.place(offsets[start], offsets[end])

    def raw(self, start: int, end: int) -> str:
        """What stands in the user's file for `text[start:end]`."""
        offsets = self.written.offsets
        return self.written.file.text[offsets[start] : offsets[end]]

    def edit(self, start: int, end: int, text: str) -> Edit:
        """The edit that replaces `text[start:end]`."""
        offsets = self.written.offsets
        return Edit(file=self.written.file.path, start=offsets[start], end=offsets[end], text=text)

    def word(self) -> WordNode:
        """The word that begins here."""
        start = self.at
        pieces: list[Piece] = []
        while self.at < self.end:
            if self.text[self.at] in _STOPS and not self._at_process_substitution():
                break
            self._piece(pieces, _PLAIN, splits=False)
        return WordNode(tuple(pieces), start, self.at)

    def arithmetic_end(self, start: int) -> int | None:
        """Offset after the `))` that closes the `((` before `start`; None if it is none."""
        depth = 2
        for match in re.compile(r"[()]").finditer(self.text, start):
            depth += 1 if match[0] == "(" else -1
            if depth == 1 and self.text[match.end() : match.end() + 1] != ")":
                return None
            if depth == 0:
                return match.end()
        return None

    def may_note(self) -> bool:
        """Whether one more fault may be noted; counts it."""
        self._notable -= 1
        return self._notable >= 0

    def unbalanced(self, start: int, what: str) -> None:
        """Note that what opens at `start` is never closed."""
        if not self.may_note():
            return
        self.faults.append(
            Fault(
                kind="unbalanced-quotes",
                place=self.place(start, min(start + len(what), self.end)),
                message=f"{what} is opened here and never closed: the shell refuses the script",
                refused=True,
                help="close it where the value ends",
            )
        )

    def _at_process_substitution(self) -> bool:
        return self.text.startswith(("<(", ">("), self.at)

    def _piece(self, pieces: list[Piece], plain: re.Pattern[str], *, splits: bool) -> None:
        character = self.text[self.at]
        if character == "\\":
            self._escape(pieces)
        elif character == "'":
            self._single(pieces)
        elif character == '"':
            self._double(pieces)
        elif character == "$":
            self._dollar(pieces, quoted=False)
        elif character == "`":
            self._backquote(pieces, quoted=False)
        elif plain is _PLAIN and self._at_process_substitution():
            self._substitution(pieces, quoted=True)
        else:
            self._plain(pieces, plain, quoted=False, splits=splits)

    def _plain(
        self, pieces: list[Piece], plain: re.Pattern[str], *, quoted: bool, splits: bool = False
    ) -> None:
        match = plain.match(self.text, self.at)
        end = match.end() if match else self.at + 1
        pieces.append(Literal(self.text[self.at : end], self.at, end, quoted, splits))
        self.at = end

    def _escape(self, pieces: list[Piece]) -> None:
        start = self.at
        if (broken := _BROKEN.match(self.text, start)) and self.may_note():
            self._broken_continuation(start, broken.end())
        if start + 1 >= self.end:
            pieces.append(Literal("\\", start, start + 1, quoted=True))
        elif self.text[start + 1] != "\n":
            pieces.append(Literal(self.text[start + 1], start + 1, start + 2, quoted=True))
        self.at = min(start + 2, self.end)

    def _broken_continuation(self, start: int, end: int) -> None:
        what = "a carriage return" if "\r" in self.text[start:end] else "a blank"
        self.faults.append(
            Fault(
                kind="broken-continuation",
                place=self.place(start, end),
                message=f"{what} after the backslash: the line is not continued, and the command gets "
                f"{self.text[start + 1]!r} as an argument",
                help="let the backslash be the last character of the line",
                edits=(self.edit(start + 1, end, ""),),
            )
        )

    def _single(self, pieces: list[Piece]) -> None:
        start = self.at
        end = self.text.find("'", start + 1)
        if end < 0:
            self._rest(pieces, start, "'")
            return
        pieces.append(Literal(self.text[start + 1 : end], start + 1, end, quoted=True))
        self.at = end + 1

    def _rest(self, pieces: list[Piece], start: int, what: str) -> None:
        """What opened at `start` has no end: all that follows is taken as one unknown piece."""
        self.unbalanced(start, what)
        pieces.append(Opaque(self.at, self.end, quoted=True))
        self.at = self.end

    def _double(self, pieces: list[Piece]) -> None:
        start = self.at
        count = len(pieces)
        self.at += 1
        while self.at < self.end and self.text[self.at] != '"':
            self._piece_in_double(pieces, _PLAIN_IN_DOUBLE, '$`"\\')
        if self.at >= self.end:
            self._rest(pieces, start, '"')
            return
        if len(pieces) == count:
            pieces.append(Literal("", self.at, self.at, quoted=True))
        self.at += 1

    def _piece_in_double(self, pieces: list[Piece], plain: re.Pattern[str], escapable: str) -> None:
        character = self.text[self.at]
        following = self.text[self.at + 1 : self.at + 2]
        if character == "\\" and following == "\n":
            self.at += 2
        elif character == "\\" and following and following in escapable:
            pieces.append(Literal(following, self.at + 1, self.at + 2, quoted=True))
            self.at += 2
        elif character == "$":
            self._dollar(pieces, quoted=True)
        elif character == "`":
            self._backquote(pieces, quoted=True)
        else:
            self._plain(pieces, plain, quoted=True)

    def _dollar(self, pieces: list[Piece], *, quoted: bool) -> None:
        following = self.text[self.at + 1 : self.at + 2]
        if following == "(":
            self._substitution(pieces, quoted=quoted)
        elif following == "{":
            with self.deeper():
                self._braces(pieces, quoted=quoted)
        elif following == "'" and not quoted:
            self._ansi(pieces)
        elif following == '"' and not quoted:
            self.at += 1
            self._double(pieces)
        elif match := _SHORT.match(self.text, self.at + 1):
            pieces.append(Parameter(match[0], "", (), None, quoted, self.at, match.end()))
            self.at = match.end()
        else:
            pieces.append(Literal("$", self.at, self.at + 1, quoted=True))
            self.at += 1

    def _substitution(self, pieces: list[Piece], *, quoted: bool) -> None:
        start = self.at
        if self.text.startswith("$((", start) and (end := self.arithmetic_end(start + 3)):
            pieces.append(Opaque(start, end, quoted))
            self.at = end
            return
        self.at += 2
        with self.deeper():
            body = self._nested()
        if self.at >= self.end:
            self._rest(pieces, start, self.text[start : start + 2])
            return
        self.at += 1
        pieces.append(Opaque(start, self.at, quoted, body))

    def _backquote(self, pieces: list[Piece], *, quoted: bool) -> None:
        start = self.at
        end = start + 1
        while end < self.end and self.text[end] != "`":
            end += 2 if self.text[end] == "\\" else 1
        if end >= self.end:
            self._rest(pieces, start, "`")
            return
        pieces.append(Opaque(start, end + 1, quoted))
        self.at = end + 1

    def _ansi(self, pieces: list[Piece]) -> None:
        start = self.at
        self.at += 2
        count = len(pieces)
        while self.at < self.end and self.text[self.at] != "'":
            match = _ANSI.match(self.text, self.at)
            if match is None:
                end = next((i for i in range(self.at + 1, self.end) if self.text[i] in "\\'"), self.end)
                pieces.append(Literal(self.text[self.at : end], self.at, end, quoted=True))
                self.at = end
                continue
            pieces.append(_decoded(match))
            self.at = match.end()
        if self.at >= self.end:
            self._rest(pieces, start, "$'")
            return
        if len(pieces) == count:
            pieces.append(Literal("", self.at, self.at, quoted=True))
        self.at += 1

    def _braces(self, pieces: list[Piece], *, quoted: bool) -> None:
        start = self.at
        name, operator, index = "", "other", None
        self.at += 2
        if match := _LONG.match(self.text, self.at):
            name, index = match["name"], match["index"]
            self.at = match.end()
            operator = {"#": "length", "!": "other", "": ""}[match["mark"]]
        if not operator and (match := _OPERATOR.match(self.text, self.at)):
            operator = match[0]
            self.at = match.end()
        argument: list[Piece] = []
        quotes = quoted and operator[:1] not in ("#", "%", "/")
        while self.at < self.end and self.text[self.at] != "}":
            self._piece_in_braces(argument, quoted=quotes)
        if self.at >= self.end:
            self._rest(pieces, start, "${")
            return
        self.at += 1
        if argument and operator in ("", "length"):
            operator = "other"
        pieces.append(Parameter(name, operator, tuple(argument), index, quoted, start, self.at))

    def _piece_in_braces(self, argument: list[Piece], *, quoted: bool) -> None:
        if not quoted:
            self._piece(argument, _PLAIN_IN_BRACES, splits=True)
        elif self.text[self.at] == '"':
            self._double(argument)
        else:
            self._piece_in_double(argument, _PLAIN_IN_QUOTED_BRACES, '$`"\\}')


def _decoded(match: re.Match[str]) -> Piece:
    """One escape of `$'…'`; bytes beyond ASCII and zero bytes are left unknown."""
    octal, *hexadecimal, control, other = match.groups()
    if other is not None:
        text = _SIMPLE_ESCAPES.get(other, "\\" + other)
        return Literal(text, match.start(), match.end(), quoted=True)
    if control is not None:
        number, limit = ord(control.upper()) ^ 0x40, 0x80
    elif octal is not None:
        number, limit = int(octal, 8), 0x80
    else:
        number = int(next(digits for digits in hexadecimal if digits is not None), 16)
        limit = 0x80 if hexadecimal[0] is not None else 0xD800
    if not 0 < number < limit:
        return Opaque(match.start(), match.end(), quoted=True)
    return Literal(chr(number), match.start(), match.end(), quoted=True)
