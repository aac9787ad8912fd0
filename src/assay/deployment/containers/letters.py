"""A value whose characters each know the stretch of the file that they come from, while it is expanded."""

from __future__ import annotations

import bisect
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from assay.deployment.text import UserFile, Word

if TYPE_CHECKING:
    from assay.deployment.containers.yaml_text import YamlScalar

_ESCAPE = re.compile(r"\\(?:x.{2}|u.{4}|U.{8}|.)")

LITERAL = "."
"""Mark of a character that the user wrote where it is."""
VALUE = "="
"""Mark of a character that a variable's value or default gave."""
UNKNOWN = "?"
"""Mark of a character of a reference whose value only shows at run time; kept as written."""


@dataclass(slots=True)
class Letters:
    """Characters with their places. `starts[i]` and `stops[i]` bound what is written for `text[i]`."""

    file: UserFile
    text: str = ""
    starts: list[int] = field(default_factory=list)
    stops: list[int] = field(default_factory=list)
    marks: str = ""
    voids: list[tuple[int, int]] = field(default_factory=list)
    """Stretches of the file that gave nothing."""

    @classmethod
    def of(cls, scalar: YamlScalar) -> Letters:
        """The characters of a scalar as they are written."""
        written = scalar.written()
        source, text, offsets = scalar.file.text, written.text, written.offsets
        stops = []
        for char, at in zip(text, offsets, strict=False):
            escape = _ESCAPE.match(source, at) if scalar.style == "double" else None
            twice = char == "'" and scalar.style == "single"
            stops.append(escape.end() if escape else at + 2 if twice else at + 1)
        return cls(scalar.file, text, list(offsets[:-1]), stops, LITERAL * len(text))

    def __len__(self) -> int:
        return len(self.text)

    def part(self, start: int, end: int, mark: str | None = None) -> Letters:
        """`text[start:end]`, with another mark if one is given."""
        return Letters(
            self.file,
            self.text[start:end],
            self.starts[start:end],
            self.stops[start:end],
            mark * (end - start) if mark else self.marks[start:end],
        )

    def value(self, start: int, end: int, text: str) -> Letters:
        """`text`, as what `text[start:end]` stands for."""
        first, last = self.starts[start], self.stops[end - 1]
        count = len(text)
        voids = [] if text else [(first, last)]
        return Letters(self.file, text, [first] * count, [last] * count, VALUE * count, voids)

    def word(self, kept: range | list[int], start: int, end: int, *, alone: bool = True) -> Word:
        """The word made of the characters `kept`, written as all of `text[start:end]`.

        `alone` is False where the stretch of the file holds more than the word.
        """
        text = "".join(self.text[index] for index in kept)
        marks = {self.marks[index] for index in kept}
        first, last = self.starts[start], max(self.stops[start:end])
        offsets = (*(self.starts[index] for index in kept), last)
        before = bisect.bisect_right(self.voids, (last, last))
        touched = before > 0 and self.voids[before - 1][1] >= first
        return Word(
            text=text,
            file=self.file,
            start=first,
            end=last,
            offsets=offsets,
            syntax="yaml",
            known=UNKNOWN not in marks,
            editable=alone and VALUE not in marks and not touched,
        )


def joined(file: UserFile, parts: list[Letters]) -> Letters:
    """Several stretches of one value after each other."""
    whole = Letters(file)
    whole.text = "".join(part.text for part in parts)
    whole.marks = "".join(part.marks for part in parts)
    for part in parts:
        whole.starts += part.starts
        whole.stops += part.stops
        whole.voids += part.voids
    return whole
