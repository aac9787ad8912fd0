"""systemd's `EnvironmentFile=`: its own mixture of shell quotes, without `$` and `%`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from assay.deployment.text import UserFile, Written

_END_OF_LINE = re.compile(r"[\r\n]")
_PLAIN = {
    "value": re.compile(r"[^\\\r\n]+"),
    "before": re.compile(r"[ \t]+"),
    "'": re.compile(r"[^']+"),
    '"': re.compile(r'[^"\\]+'),
}

State = Literal["before", "value", "'", '"']
"""Where in a value: at its start or after a closing quote, in bare text, in quotes."""


@dataclass(frozen=True, slots=True)
class FileAssignment:
    """One `NAME=value` of an environment file, or a line that is none."""

    name: str
    """Left of the `=`; all of the line where there is none."""
    value: Written | None
    """The value after quotes and escapes; None for a line without `=`."""
    start: int
    """Offset of the first character."""
    end: int
    """Offset after the last, line end left out."""
    value_start: int
    """Offset after the `=`."""
    open_quote: int | None = None
    """Offset of a quote that nothing closes, so that the value goes on to the end of the file."""
    after_comment: bool = False
    """True after a comment that ends in a backslash: systemd before 254 skips this line too."""


def parse_environment_file(file: UserFile) -> tuple[FileAssignment, ...]:
    r"""Read an environment file as systemd does; names are not checked.

    >>> file = UserFile(path="a", text="# c\nA={\"m\":1} # x\nB='a b'\"$c\"\\\nd\nexport C=1\n")
    >>> [(line.name, line.value.text) for line in parse_environment_file(file)]
    [('A', '{"m":1} # x'), ('B', 'a b$cd'), ('export C', '1')]
    """
    return tuple(_FileReader(file).lines())


class _FileReader:
    """`parse_env_file_internal` of systemd, with offsets."""

    def __init__(self, file: UserFile) -> None:
        self._file = file
        self._text = file.text
        self._at = 0
        self._chars: list[str] = []
        self._offsets: list[int] = []
        self._stop = 0
        self._bare = 0  # characters of the value that end bare text, to strip blanks from

    def lines(self) -> list[FileAssignment]:
        found: list[FileAssignment] = []
        swallowed = -1
        while self._at < len(self._text):
            char = self._text[self._at]
            if char in " \t\r\n":
                self._at += 1
            elif char in "#;":
                line = self._rest_of_line()
                odd = (len(line) - len(line.rstrip("\\"))) % 2
                swallowed = self._at + 1 if odd else -1
            else:
                indent = self._text[swallowed : self._at] if swallowed >= 0 else "\n"
                found.append(self._assignment(after_comment="\n" not in indent))
        return found

    def _rest_of_line(self) -> str:
        start = self._at
        match = _END_OF_LINE.search(self._text, start)
        self._at = match.start() if match else len(self._text)
        return self._text[start : self._at]

    def _assignment(self, *, after_comment: bool) -> FileAssignment:
        start = self._at
        line = self._rest_of_line()
        name, equals, _ = line[1:].partition("=")
        name = line[:1] + name
        if not equals:
            end = start + len(line.rstrip(" \t"))
            return FileAssignment(name.rstrip(" \t"), None, start, end, end, None, after_comment)
        self._at = value_start = start + len(name) + 1
        open_quote = self._value()
        ends = (*self._offsets, self._stop)
        value = Written(file=self._file, text="".join(self._chars), offsets=ends)
        return FileAssignment(
            name.rstrip(" \t"), value, start, self._at, value_start, open_quote, after_comment
        )

    def _value(self) -> int | None:
        """Read a value to the end of its line; the offset of a quote that stays open."""
        self._chars, self._offsets, self._stop = [], [], self._at
        state: State = "before"
        opened = self._at
        while self._at < len(self._text):
            char = self._text[self._at]
            if match := _PLAIN[state].match(self._text, self._at):
                state = self._plain(state, match.end())
            elif state in ("before", "value") and char in "\r\n":
                break
            elif state == "before" and char in "'\"":
                state, opened = ("'" if char == "'" else '"'), self._at
                self._at += 1
                self._stop = max(self._stop, self._at if not self._chars else self._stop)
            elif char == "\\":
                state = self._escape(state)
            elif state == "before":
                state = "value"
                self._bare = len(self._chars)
            else:
                state, self._at = "before", self._at + 1
        if state == "value":
            self._strip()
        return opened if state in ("'", '"') else None

    def _plain(self, state: State, end: int) -> State:
        if state == "before":
            self._at = end
        else:
            self._copy(self._at, end)
        return state

    def _copy(self, start: int, end: int) -> None:
        self._chars.extend(self._text[start:end])
        self._offsets.extend(range(start, end))
        self._at = self._stop = end

    def _escape(self, state: State) -> State:
        at = self._at
        following = self._text[at + 1 : at + 2]
        self._at = at + 2
        if state == '"':
            if following in ('"', "\\", "`", "$"):
                self._copy(at + 1, at + 2)
            elif following not in ("\n", ""):
                self._copy(at, at + 2)
            return state
        if state == "before":
            state = "value"
        if following and following not in "\r\n":
            self._copy(at + 1, at + 2)
        self._bare = len(self._chars)
        return state

    def _strip(self) -> None:
        """Take blanks off the end of bare text, not those that a backslash or a quote keeps."""
        while len(self._chars) > self._bare and self._chars[-1] in " \t":
            self._chars.pop()
            self._stop = self._offsets.pop()


def quote_environment_file(text: str) -> str:
    r"""Write a value for an `EnvironmentFile` so that the variable gets exactly `text`, also in a shell.

    >>> print(quote_environment_file('{"m": "x"}'), quote_environment_file("it's $1"))
    '{"m": "x"}' "it's \$1"
    """
    if re.fullmatch(r"[A-Za-z0-9_@%+=:,./-]+", text):
        return text
    if "'" not in text:
        return f"'{text}'"
    escaped = re.sub(r'(["\\`$])', r"\\\1", text)
    return f'"{escaped}"'
