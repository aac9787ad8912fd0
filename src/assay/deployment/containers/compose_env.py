"""Environment files as Docker Compose reads them (`.env` and `env_file`)."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from assay.deployment.containers.compose_interpolation import interpolate
from assay.deployment.containers.letters import LITERAL, UNKNOWN, Letters
from assay.deployment.launch import Fault, Variable
from assay.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable

    from assay.deployment.launch import FaultKind
    from assay.deployment.text import UserFile

_LIMIT_VALUES = 1 << 20  # characters that references may give in all
_SPACE = re.compile(r"[ \t\v\f\r\x85\xa0]*")
_EXPORT = re.compile(r"export[ \t\v\f\r]+")
_ESCAPE = re.compile(r"\\(?:([abcfnrtv$\"\\])|0([0-7]{1,3}))")
_ESCAPES = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v", '"': '"', "\\": "\\"}


@dataclass(slots=True)
class EnvironmentFile:
    """What one file sets."""

    variables: list[Variable] = field(default_factory=list)
    """In the order of the file."""
    inherited: list[str] = field(default_factory=list)
    """Names without a value, which are passed on from outside."""
    faults: list[Fault] = field(default_factory=list)
    """What Compose refuses."""


def read_environment_file(file: UserFile, look_up: Callable[[str], str | None]) -> EnvironmentFile:
    """The variables of an environment file, references to `look_up` and to earlier ones put in.

    A line that Compose refuses ends the reading.
    """
    reader = _Reader(file, look_up)
    reader.run()
    return reader.result


def read_raw_environment_file(file: UserFile) -> EnvironmentFile:
    """The variables of an environment file with `format: raw`: no quotes, no references."""
    result = EnvironmentFile()
    at = 0
    for line in file.text.splitlines(keepends=True):
        text = line.strip()
        name, equals, value = text.partition("=")
        start = at + len(line) - len(line.lstrip())
        if text and not text.startswith("#") and equals:
            end = start + len(text)
            result.variables.append(Variable(name=name, value=value, file=file, start=start, end=end))
        at += len(line)
    return result


class _Reader:
    """One pass over a file, after the model of compose-go's dotenv parser."""

    def __init__(self, file: UserFile, look_up: Callable[[str], str | None]) -> None:
        self.file = file
        self.text = file.text
        self.outside = look_up
        self.given = 0
        self.known: dict[str, str] = {}
        self.result = EnvironmentFile()

    def _look_up(self, name: str) -> str | None:
        value = self.outside(name)
        value = value if value is not None else self.known.get(name)
        self.given += len(value or "")
        if self.given > _LIMIT_VALUES:
            raise InputError(f"{self.file.path}: its variables give more than {_LIMIT_VALUES:,} characters")
        return value

    def run(self) -> None:
        at = self._next_statement(0)
        while 0 <= at < len(self.text):
            at = self._statement(at)
            at = self._next_statement(at) if at >= 0 else at

    def _next_statement(self, at: int) -> int:
        while at < len(self.text):
            if self.text[at].isspace():
                at += 1
            elif self.text[at] == "#":
                at = self._line_end(at)
            else:
                break
        return at

    def _line_end(self, at: int) -> int:
        end = self.text.find("\n", at)
        return end if end >= 0 else len(self.text)

    def _statement(self, start: int) -> int:
        export = _EXPORT.match(self.text, start)
        at = begin = export.end() if export else start
        end = self._line_end(at)
        while at < end and self.text[at] not in "=:":
            char = self.text[at]
            if not (char.isspace() or char in "_.-[]" or char.isalnum()):
                return self._refuse(at, f"expected a name and =, found {char!r}")
            at += 1
        name = self.text[begin:at].strip()
        if at == len(self.text):  # Compose overlooks a last line that holds neither = nor a line break
            return at if name else self._refuse(start, "expected a name and =")
        if " " in name:
            return self._refuse(begin, "a name cannot hold a space")
        if at >= end:
            self.result.inherited.append(name)
            return end
        space = _SPACE.match(self.text, at + 1)
        return self._value(name, start, space.end() if space else at + 1)

    def _value(self, name: str, start: int, at: int) -> int:
        if self.text[at : at + 1] in ("'", '"') and at < len(self.text):
            return self._quoted(name, start, at)
        end = self._line_end(at)
        value = self.text[at:end].split(" #")[0].rstrip()
        written = self.text[start : at + len(value)].rstrip()
        self._add(name, start, start + len(written), value, expanded=True)
        return end

    def _quoted(self, name: str, start: int, at: int) -> int:
        quote = self.text[at]
        index, chars = at + 1, []
        while index < len(self.text) and self.text[index] != quote:
            if self.text[index] == "\\" and self.text[index + 1 : index + 2] == quote:
                index += 1
            elif self.text[index] == "\\":
                chars.append("\\")
                index += 1
            chars.append(self.text[index : index + 1])
            index += 1
        if index >= len(self.text):
            return self._refuse(at, f"{quote} is opened here and never closed")
        value = "".join(chars)
        if quote == '"':
            value = _ESCAPE.sub(_unescaped, value)
        self._add(name, start, index + 1, value, expanded=quote == '"')
        return index + 1

    def _add(self, name: str, start: int, end: int, value: str, *, expanded: bool) -> None:
        known = True
        if expanded and "$" in value:
            zeros = [0] * len(value)
            letters = Letters(self.file, value, zeros, list(zeros), LITERAL * len(value))
            done = interpolate(letters, self._look_up).letters
            value, known = done.text, UNKNOWN not in done.marks
        if known:
            self.known[name] = value
        self.result.variables.append(
            Variable(name=name, value=value, file=self.file, start=start, end=end, known=known)
        )

    def _refuse(self, at: int, message: str) -> int:
        place = self.file.place(at, self._line_end(at))
        kind: FaultKind = "unbalanced-quotes" if "closed" in message else "ignored-line"
        message = f"Compose refuses this environment file: {message}"
        self.result.faults.append(Fault(kind=kind, place=place, message=message, refused=True))
        return -1


def _unescaped(match: re.Match[str]) -> str:
    if match[2]:
        return chr(int(match[2], 8)) if int(match[2], 8) < 256 else match[0]
    return "$$" if match[1] == "$" else _ESCAPES.get(match[1], match[0])
