"""What a user wrote, and where: files, places in them, words of a command line and edits."""

from __future__ import annotations

import bisect
import functools
from typing import Literal

from assay._value import Value

Syntax = Literal["systemd", "environment-file", "shell", "yaml", "toml", "argv"]
"""The language that a word is written in: decides how a replacement must be quoted."""


class Place(Value):
    """A stretch of a user's file, end exclusive. Lines and columns count from 1, columns in characters."""

    file: str
    """Path as the user gave it, or a name in angle brackets such as `<command line>`."""
    line: int
    """Line of the first character."""
    column: int
    """Column of the first character."""
    end_line: int
    """Line of the character after the last."""
    end_column: int
    """Column of the character after the last."""


class UserFile(Value):
    """A file of the user's as it was read. Bytes that are not UTF-8 are kept as surrogates, so that writing
    the text back with `errors="surrogateescape"` gives the same bytes."""

    path: str
    """Path as the user gave it, or a name in angle brackets."""
    text: str
    """The whole text, line ends untouched."""

    def place(self, start: int, end: int) -> Place:
        """The place of `text[start:end]`; offsets are in characters.

        >>> UserFile(path="a", text="one\\ntwo").place(4, 7)
        Place(file='a', line=2, column=1, end_line=2, end_column=4)
        """
        starts = _line_starts(self.text)
        first = bisect.bisect_right(starts, start) - 1
        last = bisect.bisect_right(starts, end) - 1
        return Place(
            file=self.path,
            line=first + 1,
            column=start - starts[first] + 1,
            end_line=last + 1,
            end_column=end - starts[last] + 1,
        )


@functools.lru_cache(maxsize=64)
def _line_starts(text: str) -> list[int]:
    starts = [0]
    at = text.find("\n")
    while at >= 0:
        starts.append(at + 1)
        at = text.find("\n", at + 1)
    return starts


class Written(Value):
    """A text and where each of its characters stands in a file: joined lines, a value without its quotes,
    the inside of a quoted script."""

    file: UserFile
    """The file that it was read from."""
    text: str
    """The text after the outer language's own rules (continuations, quotes, escapes)."""
    offsets: tuple[int, ...]
    """`len(text) + 1` offsets into `file.text`, never falling: of each character, and of the end."""

    @classmethod
    def whole(cls, file: UserFile) -> Written:
        """All of a file, character for character."""
        return cls(file=file, text=file.text, offsets=tuple(range(len(file.text) + 1)))

    def part(self, start: int, end: int) -> Written:
        """`text[start:end]`, still knowing where it stands."""
        return Written(file=self.file, text=self.text[start:end], offsets=self.offsets[start : end + 1])


class Word(Value):
    """One word of a command line: what the process gets, and where it is written."""

    text: str
    """What the process gets. Where `known` is false: the word as written."""
    file: UserFile
    """The file it is written in."""
    start: int
    """Offset of its first character in `file.text`, an opening quote included."""
    end: int
    """Offset after its last character, a closing quote included."""
    offsets: tuple[int, ...]
    """As in `Written`, for `text`."""
    syntax: Syntax
    """The language it is written in."""
    known: bool = True
    """False if it depends on something that only shows at run time, such as `$(hostname)` or `%i`."""
    editable: bool = True
    """False if `file.text[start:end]` is not this word alone (from a variable, or a nested script)."""

    @property
    def place(self) -> Place:
        """Where the word stands."""
        return self.file.place(self.start, self.end)

    @property
    def raw(self) -> str:
        """The word as written, quotes included."""
        return self.file.text[self.start : self.end]

    def written(self) -> Written:
        """The word's text as something to be split again, such as the script of `bash -c`."""
        return Written(file=self.file, text=self.text, offsets=self.offsets)


class Edit(Value):
    """A replacement of one stretch of a user's file."""

    file: str
    """Path of the file."""
    start: int
    """Offset of the first character replaced."""
    end: int
    """Offset after the last character replaced; equal to `start` for an insertion."""
    text: str
    """What comes in its place."""
