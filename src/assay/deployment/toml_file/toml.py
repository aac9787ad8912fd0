"""A TOML file as data, and where each of its keys, values and characters stands."""

from __future__ import annotations

import re
import tomllib
from typing import TYPE_CHECKING, NamedTuple

from assay.deployment.text import Written
from assay.errors import DeploymentError

if TYPE_CHECKING:
    from assay.deployment.text import UserFile

KeyPath = tuple[str | int, ...]
"""Keys and array positions from the top of a file down to one value."""

DEPTH = 32
"""Deeper tables, arrays and dotted keys are refused: no deployment needs them."""


class Span(NamedTuple):
    """Offsets of one value of the file and of its key."""

    key: int
    """Of the first character of the key, or of the value in an array."""
    start: int
    """Of the value's first character, an opening quote included."""
    end: int
    """After the value's last character."""


class Document(NamedTuple):
    """A TOML file that was read."""

    file: UserFile
    data: dict[str, object]
    spans: dict[KeyPath, Span]

    def line(self, path: KeyPath) -> int | None:
        """The line of the key, or of the nearest table around it that is written down."""
        for length in range(len(path), 0, -1):
            if span := self.spans.get(path[:length]):
                return self.file.place(span.key, span.key).line
        return None

    def written(self, path: KeyPath) -> Written:
        """The string at `path`, each character with its place in the file."""
        span = self.spans[path]
        text, offsets = _decode(self.file.text, span.start, span.end)
        return Written(file=self.file, text=text, offsets=offsets)

    def raw(self, path: KeyPath) -> str:
        """The value at `path` as it is spelled in the file."""
        span = self.spans[path]
        return self.file.text[span.start : span.end]


def parse_toml(file: UserFile) -> Document:
    """Parse a TOML file.

    Raises:
        DeploymentError: it is not TOML, not UTF-8, or nested deeper than `DEPTH`.
    """
    try:
        file.text.encode()
    except UnicodeEncodeError as error:
        at = file.place(error.start, error.start).line
        raise _refusal(file, at, "not UTF-8, which TOML must be") from error
    spans = _Scanner(file).scan()
    try:
        data = tomllib.loads(file.text)
    except tomllib.TOMLDecodeError as error:
        message, line = _syntax_message(str(error), file)
        raise _refusal(file, line, message) from error
    except (RecursionError, ValueError) as error:  # ValueError: an integer of more than 4300 digits
        raise _refusal(file, None, "a value that is too deep or too long to read") from error
    return Document(file, data, spans)


def _syntax_message(message: str, file: UserFile) -> tuple[str, int | None]:
    match = re.fullmatch(r"(.*) \((?:at line (\d+), column \d+|at end of document)\)", message, re.DOTALL)
    if match is None:
        return message, None
    line = int(match[2]) if match[2] else file.text.count("\n") + (not file.text.endswith("\n"))
    return match[1][:1].lower() + match[1][1:], line


def _refusal(file: UserFile, line: int | None, message: str) -> DeploymentError:
    where = file.path if line is None else f"{file.path}:{line}"
    return DeploymentError(
        f"{file.path} is not a TOML file that assay reads", details=(f"{where}: {message}",)
    )


# The scanner only has to be right about valid TOML: tomllib judges validity. It takes every valid file, so
# that depth is always bounded before tomllib recurses, and stops quietly at the first thing it cannot take.
# No group is repeated possessively: before Python 3.11.5 that fails (python/cpython issue 106052).
_BLANK = re.compile(r"[ \t]*+")
_SKIP = re.compile(r"(?:[ \t\r\n]++|#[^\n]*+)*")
_BARE = re.compile(r"[A-Za-z0-9_-]++")
_SCALAR = re.compile(r"[^,\]}#\r\n]*+")
_STRING = re.compile(
    r'"""(?:[^"\\]++|\\[\s\S]|"(?!""))*"{3,5}'
    r"|'''(?:[^']++|'(?!''))*'{3,5}"
    r'|"(?:[^"\\\n]++|\\[^\n])*"'
    r"|'[^'\n]*+'"
)


class _Stop(Exception):
    """The text is not TOML here."""


class _Scanner:
    def __init__(self, file: UserFile) -> None:
        self.file = file
        self.text = file.text
        self.at = 0
        self.spans: dict[KeyPath, Span] = {}
        self.arrays: dict[KeyPath, int] = {}

    def scan(self) -> dict[KeyPath, Span]:
        table: KeyPath = ()
        try:
            while self.skip(_SKIP) < len(self.text):
                if self.text[self.at] == "[":
                    table = self.header()
                else:
                    self.pair(table, 0)
        except _Stop:
            pass
        return self.spans

    def skip(self, pattern: re.Pattern[str]) -> int:
        if match := pattern.match(self.text, self.at):
            self.at = match.end()
        return self.at

    def take(self, token: str) -> bool:
        if self.text.startswith(token, self.at):
            self.at += len(token)
            return True
        return False

    def expect(self, token: str) -> None:
        if not self.take(token):
            raise _Stop

    def header(self) -> KeyPath:
        start = self.at
        brackets = "[[" if self.take("[[") else "["
        self.at = start + len(brackets)
        keys = self.keys()
        self.expect("]" * len(brackets))
        path: KeyPath = ()
        for index, key in enumerate(keys):
            path = (*path, key)
            last = index == len(keys) - 1
            if last and brackets == "[[":
                self.arrays[path] = self.arrays.get(path, -1) + 1
                self.spans.setdefault(path, Span(start, start, self.at))
            if path in self.arrays:
                path = (*path, self.arrays[path])
            self.spans.setdefault(path, Span(start, start, self.at))
        return path

    def keys(self) -> tuple[str, ...]:
        keys: list[str] = []
        while True:
            self.skip(_BLANK)
            if len(keys) == DEPTH:
                raise self.too_deep()
            keys.append(self.key())
            self.skip(_BLANK)
            if not self.take("."):
                return tuple(keys)

    def key(self) -> str:
        start = self.at
        if self.skip(_BARE) > start:
            return self.text[start : self.at]
        if self.skip(_STRING) > start:
            return _decode(self.text, start, self.at)[0]
        raise _Stop

    def pair(self, table: KeyPath, depth: int) -> None:
        start = self.at
        keys = self.keys()
        self.expect("=")
        self.skip(_BLANK)
        for length in range(1, len(keys)):
            self.spans.setdefault((*table, *keys[:length]), Span(start, start, self.at))
        self.value((*table, *keys), start, depth)

    def value(self, path: KeyPath, key: int, depth: int) -> None:
        if depth == DEPTH:
            raise self.too_deep()
        start = self.at
        self.spans[path] = Span(key, start, start)
        if self.take("["):
            self.array(path, depth)
        elif self.take("{"):
            self.inline_table(path, depth)
        elif self.skip(_STRING) == start:
            self.at = start + len(self.text[start : self.skip(_SCALAR)].rstrip())
        self.spans[path] = Span(key, start, self.at)

    def array(self, path: KeyPath, depth: int) -> None:
        index = 0
        while True:
            self.skip(_SKIP)
            if self.take("]"):
                return
            start = self.at
            self.value((*path, index), start, depth + 1)
            index += 1
            self.skip(_SKIP)
            if not self.take(","):
                self.expect("]")
                return

    def inline_table(self, path: KeyPath, depth: int) -> None:
        while True:
            self.skip(_SKIP)
            if self.take("}"):
                return
            self.pair(path, depth + 1)
            self.skip(_SKIP)
            if not self.take(","):
                self.expect("}")
                return

    def too_deep(self) -> DeploymentError:
        line = self.file.place(self.at, self.at).line
        return _refusal(self.file, line, f"nested deeper than {DEPTH} levels")


_ESCAPES = {"b": "\b", "t": "\t", "n": "\n", "f": "\f", "r": "\r", "e": "\x1b", '"': '"', "\\": "\\"}
_BASIC = re.compile(
    r"(?P<fold>\\[ \t]*\r?\n[ \t\r\n]*)"
    r"|\\(?:u(?P<u>[0-9A-Fa-f]{4})|U(?P<U>[0-9A-Fa-f]{8})|x(?P<x>[0-9A-Fa-f]{2})|(?P<one>.))"
    r"|(?P<line>\r\n)|(?P<plain>[\s\S])"
)
_LITERAL = re.compile(r"(?P<u>(?!))|(?P<U>(?!))|(?P<x>(?!))|(?P<one>(?!))|(?P<line>\r\n)|(?P<plain>[\s\S])")


def _decode(text: str, start: int, end: int) -> tuple[str, tuple[int, ...]]:
    """The content of the TOML string `text[start:end]`, and the offset of each of its characters."""
    quote = text[start]
    width = 3 if text.startswith(quote * 3, start) and end - start >= 6 else 1
    at, stop = start + width, end - width
    if width == 3:  # a line end right after the opening quotes is left out
        at += 2 if text.startswith("\r\n", at) else text.startswith("\n", at)
    pattern = _BASIC if quote == '"' else _LITERAL
    pieces = [(match.start(), _piece(match)) for match in pattern.finditer(text, at, stop)]
    kept = [(offset, piece) for offset, piece in pieces if piece]
    return "".join(piece for _, piece in kept), (*(offset for offset, _ in kept), stop)


def _piece(match: re.Match[str]) -> str:
    if match["plain"]:
        return match["plain"]
    if match["line"]:
        return "\n"
    if code := match["u"] or match["U"] or match["x"]:
        return chr(min(int(code, 16), 0x10FFFF))
    return _ESCAPES.get(match["one"] or "", match["one"] or "")
