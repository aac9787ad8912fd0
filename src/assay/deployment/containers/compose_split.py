"""A command string split into words as Docker Compose does it: quotes and backslashes, but no shell."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from assay.deployment.containers.letters import LITERAL, UNKNOWN, Letters
from assay.deployment.launch import Fault
from assay.deployment.text import Edit

if TYPE_CHECKING:
    from assay.deployment.launch import FaultKind
    from assay.deployment.text import Word

_SPACE = " \t\r\n"
_CUTS = ";&|<>"
_LIMIT_JSON = 100  # places in one command where JSON is looked for
_LIMIT_FAULTS = 100
_DECODER = json.JSONDecoder()
_JSON_START = re.compile(r"(?:[-A-Za-z0-9_.]+=)?([{\[])")


def split(letters: Letters, style: str) -> tuple[tuple[Word, ...], tuple[Fault, ...]]:
    """The words that Compose makes of a command string, and what its rules do to them.

    Compose uses mattn/go-shellwords 1.0.12: an unquoted `;`, `&`, `|`, `<` or `>` ends the command without a
    word; an unquoted `(` or `)` is refused (1.0.12 lets pairs of `)` pass, newer ones do not); a backslash
    takes the next character as it stands, also within double quotes.
    """
    splitter = _Splitter(letters, style)
    splitter.run()
    return tuple(splitter.words), tuple(splitter.faults)


class _Splitter:
    """The state of go-shellwords between two characters."""

    def __init__(self, letters: Letters, style: str) -> None:
        self.letters = letters
        self.style = style
        self.words: list[Word] = []
        self.faults: list[Fault] = []
        self.kept: list[int] = []
        self.begin = -1  # first character of the word, its quote included
        self.open: dict[str, int] = {}  # which of " ' ` $( are open, and since where
        self.json_until = 0
        self.json_tries = 0

    def run(self) -> None:
        text = self.letters.text
        at = 0
        while at < len(text):
            if self.letters.marks[at] == UNKNOWN:
                self._keep(at)
            elif text[at] == "\\" and "'" not in self.open:
                at += self._escape(at)
            elif text[at] in _SPACE:
                self._space(at)
            elif not self._take(at):
                break
            at += 1
        self._end(min(at, len(text)))
        for quote, opened in self.open.items():
            message = f"Compose refuses the command: {quote} is opened here and never closed"
            self._fault("unbalanced-quotes", opened, opened + 1, message, refused=True)

    def _fault(self, kind: FaultKind, at: int, end: int, message: str, **more: object) -> None:
        if len(self.faults) >= _LIMIT_FAULTS:
            return
        place = self.letters.file.place(self.letters.starts[at], self.letters.stops[end - 1])
        self.faults.append(Fault(kind=kind, place=place, message=message, **more))  # type: ignore[arg-type]

    def _begin(self, at: int) -> None:
        if self.begin < 0:
            self.begin = at
            self._look_for_json(at)
            self._look_for_comment(at)

    def _keep(self, at: int) -> None:
        self._begin(at)
        self.kept.append(at)

    def _space(self, at: int) -> None:
        if self.open:
            self.kept.append(at)
        else:
            self._end(at)

    def _end(self, at: int) -> None:
        if self.begin >= 0:
            self.words.append(self.letters.word(self.kept, self.begin, at, alone=self._alone(at)))
        self.begin, self.kept = -1, []

    def _alone(self, at: int) -> bool:
        """Whether the stretch of the file holds this word only, on one line."""
        stretch = self.letters.file.text[self.letters.starts[self.begin] : self.letters.stops[at - 1]]
        return not re.search("[\r\n]", stretch)

    def _escape(self, at: int) -> int:
        """Take the character after a backslash as it stands; return how many were taken besides."""
        self._begin(at)
        if at + 1 >= len(self.letters):
            message = "the command ends in a backslash, and Compose refuses it"
            self._fault("broken-continuation", at, at + 1, message, refused=True, edits=self._without(at))
            return 1
        self.kept.append(at + 1)
        written = self.letters.file.text[self.letters.starts[at + 1] :][:1]
        if written in ("\n", "\r") and self.letters.text[at + 1] in " \n" and not self.open:
            what = "space" if self.letters.text[at + 1] == " " else "line break"
            message = f"Compose runs no shell: the backslash makes the {what} after it part of a word"
            help_text = "leave the backslash out: a line of a YAML block needs no sign at its end"
            self._fault("broken-continuation", at, at + 1, message, help=help_text, edits=self._without(at))
        return 1

    def _without(self, at: int) -> tuple[Edit, ...]:
        start, end = self.letters.starts[at], self.letters.stops[at]
        if self.letters.marks[at] != LITERAL:
            return ()
        return (Edit(file=self.letters.file.path, start=start, end=end, text=""),)

    def _take(self, at: int) -> bool:
        """One character that is no space or backslash; False if Compose stops there."""
        char = self.letters.text[at]
        if char in "\"'" and not self.open.keys() & ({"$(", "'", '"'} - {char}):
            self._begin(at)
            self._toggle(char, at)
            return True
        if char == "`" and not self.open.keys() & {"$(", "'", '"'}:
            self._toggle(char, at)
        elif char in "()" and not self.open.keys() & {"`", "'", '"'}:
            self._parenthesis(at, char)
        elif char in _CUTS and not self.open:
            self._cut(at, char)
            return False
        self._keep(at)
        return True

    def _toggle(self, quote: str, at: int) -> None:
        if self.open.pop(quote, None) is None:
            self.open[quote] = at

    def _parenthesis(self, at: int, char: str) -> None:
        if char == ")" and "$(" in self.open:
            del self.open["$("]
        elif char == "(" and not self.open and self.kept and self.letters.text[self.kept[-1]] == "$":
            self.open["$("] = at
            message = "Compose runs no shell: it passes $( … ) on as it stands"
            help_text = "run it in a shell: command: [bash, -c, '…'], with $$ for each $"
            self._fault("shell-syntax", at - 1, at + 1, message, help=help_text)
        else:
            message = f"Compose refuses a command string with an unquoted {char}"
            self._fault(
                "shell-syntax", at, at + 1, message, refused=True, help="put the word in single quotes"
            )

    def _cut(self, at: int, char: str) -> None:
        rest = self._as_written(at, len(self.letters)).splitlines()[0].strip()
        message = f"Compose runs no shell: it drops the unquoted {char} and all that follows ({rest[:40]})"
        if char == ">" and self.kept and self.letters.text[self.kept[0]].isdigit():
            self.begin, self.kept = -1, []
        help_text = "put the word in single quotes, or run a shell: command: [bash, -c, '…']"
        self._fault("shell-syntax", at, at + 1, message, help=help_text)

    def _as_written(self, at: int, end: int) -> str:
        """For messages: values of variables may be secrets."""
        return self.letters.file.text[self.letters.starts[at] : self.letters.stops[end - 1]]

    def _look_for_comment(self, at: int) -> None:
        if self.letters.text[at] != "#":
            return
        end = self.letters.text.find("\n", at)
        end = end if end >= 0 else len(self.letters)
        message = "Compose knows no comments inside a command: the words after # become arguments"
        self._fault("inline-comment", at, end, message, help="move the comment out of the command")

    def _look_for_json(self, at: int) -> None:
        found = _JSON_START.match(self.letters.text, at) if at >= self.json_until else None
        if found is None or self.json_tries >= _LIMIT_JSON:
            return
        self.json_tries += 1
        try:
            value, end = _DECODER.raw_decode(self.letters.text, found.start(1))
        except (ValueError, RecursionError):
            return
        text = self.letters.text[found.start(1) : end]
        if '"' not in text or not isinstance(value, dict | list) or self.letters.text[end : end + 1].strip():
            return
        self.json_until = end
        message = (
            f"Compose takes the double quotes out of this JSON: {self._as_written(found.start(1), end)[:60]}"
        )
        help_text = "put the JSON in single quotes"
        edits = self._quoted(found.start(1), end)
        self._fault("lost-quotes", found.start(1), end, message, help=help_text, edits=edits)

    def _quoted(self, at: int, end: int) -> tuple[Edit, ...]:
        if "'" in self.letters.text[at:end] or set(self.letters.marks[at:end]) != {LITERAL}:
            return ()
        mark = "''" if self.style == "single" else "'"
        places = (self.letters.starts[at], self.letters.stops[end - 1])
        return tuple(Edit(file=self.letters.file.path, start=place, end=place, text=mark) for place in places)
