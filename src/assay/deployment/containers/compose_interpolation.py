"""Compose's `$VAR` and `${VAR:-default}`, put into a value before it is split into words."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from assay.deployment.containers.letters import LITERAL, UNKNOWN, VALUE, Letters, joined

if TYPE_CHECKING:
    from collections.abc import Callable

_NAME = re.compile("[A-Za-z_][A-Za-z0-9_]*")
_OPERATOR = re.compile(":?[-+?]")
_LIMIT_NESTING = 20


@dataclass(slots=True)
class Unset:
    """A plain reference to a variable that is set nowhere."""

    name: str
    start: int
    """Offset of its `$` in the file."""
    end: int
    """Offset after the reference."""


@dataclass(slots=True)
class Interpolated:
    """A value after interpolation."""

    letters: Letters
    unset: list[Unset] = field(default_factory=list)
    error: tuple[str, int, int] | None = None
    """What Compose refuses, with the stretch of the file; None if nothing."""


def interpolate(letters: Letters, look_up: Callable[[str], str | None]) -> Interpolated:
    """Put the values of variables in; a variable that `look_up` does not know stays as written, marked."""
    return _Interpolation(letters, look_up).run()


class _Interpolation:
    """One pass over one value; a default is a pass of its own."""

    def __init__(self, letters: Letters, look_up: Callable[[str], str | None], depth: int = 0) -> None:
        self.letters = letters
        self.look_up = look_up
        self.depth = depth
        self.parts: list[Letters] = []
        self.done = Interpolated(letters)
        self.line_end = -1
        self.last_brace = -1

    def run(self) -> Interpolated:
        text = self.letters.text
        at = 0
        while at < len(text):
            dollar = text.find("$", at)
            stop = dollar if dollar >= 0 else len(text)
            self.parts.append(self.letters.part(at, stop))
            at = self._reference(stop) if stop < len(text) else stop
        self.done.letters = joined(self.letters.file, self.parts)
        return self.done

    def _reference(self, at: int) -> int:
        text = self.letters.text
        if text.startswith("$", at + 1):
            self._put_dollar(at)
            return at + 2
        if name := _NAME.match(text, at + 1):
            self._put(name[0], at, name.end())
            return name.end()
        if text.startswith("{", at + 1):
            return self._braced(at)
        self.parts.append(self.letters.part(at, at + 1))
        return at + 1

    def _put_dollar(self, at: int) -> None:
        letters = self.letters
        starts, stops = [letters.starts[at]], [letters.stops[at + 1]]
        self.parts.append(Letters(letters.file, "$", starts, stops, LITERAL))

    def _put(self, name: str, at: int, end: int) -> None:
        value = self.look_up(name)
        if value is None:
            self._unknown(at, end)
            start, stop = self.letters.starts[at], self.letters.stops[end - 1]
            self.done.unset.append(Unset(name, start, stop))
        else:
            self.parts.append(self.letters.value(at, end, value))

    def _unknown(self, at: int, end: int) -> None:
        self.parts.append(self.letters.part(at, end, UNKNOWN))

    def _braced(self, at: int) -> int:
        text = self.letters.text
        name = _NAME.match(text, at + 2)
        if name and text.startswith("}", name.end()):
            self._put(name[0], at, name.end() + 1)
            return name.end() + 1
        operator = _OPERATOR.match(text, name.end()) if name else None
        close = self._close(at, operator.end()) if operator else -1
        if name is None or operator is None or close < 0 or self.depth >= _LIMIT_NESTING:
            return self._invalid(at)
        self._operate(name[0], operator[0], range(operator.end(), close), at)
        return close + 1

    def _close(self, at: int, after: int) -> int:
        """The brace that ends a reference; Compose looks on the same line, and skips what follows a `{`."""
        text = self.letters.text
        if self.line_end < at:
            end = text.find("\n", at)
            self.line_end = end if end >= 0 else len(text)
            self.last_brace = text.rfind("}", at, self.line_end)
        last = self.last_brace if self.last_brace >= after else -1
        depth, index = 1, at + 3
        while index <= last:
            if text[index] == "}":
                depth -= 1
                if depth == 0:
                    return index
            elif text[index] == "{":
                depth += 1
                index += 1
            index += 1
        return last

    def _operate(self, name: str, operator: str, rest: range, at: int) -> None:
        end = rest.stop + 1
        value = self.look_up(name)
        there = value is not None and (value != "" or not operator.startswith(":"))
        if operator.endswith("-"):
            if there:
                self.parts.append(self.letters.value(at, end, value or ""))
            else:
                self._default(rest, at, end)
        elif operator.endswith("+"):
            if there:
                self._default(rest, at, end)
            elif value is None:
                self._unknown(at, end)
            else:
                self.parts.append(self.letters.value(at, end, ""))
        elif there:
            self.parts.append(self.letters.value(at, end, value or ""))
        elif value is None:
            self._unknown(at, end)
        else:
            self._refuse(f"{name} must not be empty: {self.letters.text[rest.start : rest.stop]}", at, end)

    def _default(self, rest: range, at: int, end: int) -> None:
        inner = _Interpolation(self.letters.part(rest.start, rest.stop), self.look_up, self.depth + 1).run()
        self.done.unset += inner.unset
        self.done.error = self.done.error or inner.error
        if not inner.letters.text:
            self.parts.append(self.letters.value(at, end, ""))
            return
        whole = self.letters.value(at, end, inner.letters.text)
        starts, stops = list(inner.letters.starts), list(inner.letters.stops)
        starts[0], stops[-1] = whole.starts[0], whole.stops[0]  # a word's stretch holds the whole reference
        marks = "".join(mark if mark == UNKNOWN else VALUE for mark in inner.letters.marks)
        self.parts.append(Letters(self.letters.file, inner.letters.text, starts, stops, marks))

    def _invalid(self, at: int) -> int:
        self._refuse("not a variable that Compose can put in", at, at + 2)
        return at + 2

    def _refuse(self, message: str, at: int, end: int) -> None:
        self.parts.append(self.letters.part(at, end))
        place = (message, self.letters.starts[at], self.letters.stops[end - 1])
        self.done.error = self.done.error or place
