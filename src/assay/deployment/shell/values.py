"""Values of shell variables that know where each character is written, and the words made of them."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from assay.deployment.text import Word, Written

if TYPE_CHECKING:
    from collections.abc import Iterable

    from assay.deployment.launch import Fault, Variable
    from assay.deployment.text import Syntax

_GLOB = re.compile(r"[*?]")


@dataclass(frozen=True, slots=True)
class Unit:
    """A value, array element or word that stands in the user's text as one shell word."""

    start: int
    end: int
    size: int
    """Characters of its whole text; -1 if it is not literal from end to end."""


@dataclass(frozen=True, slots=True)
class Run:
    """Characters written one after the other: `source.text[start:end]` after quotes and escapes."""

    text: str
    source: Written
    start: int
    end: int
    unit: Unit
    known: bool = True
    spreads: bool = False
    """True if it is unknown and may stand for no word at all, or for several."""

    def part(self, start: int, end: int) -> Run:
        """`text[start:end]` as a run of its own."""
        if self.end - self.start != len(self.text):
            return replace(self, text=self.text[start:end])
        return replace(self, text=self.text[start:end], start=self.start + start, end=self.start + end)

    def offsets(self) -> tuple[int, ...]:
        """Where each character stands in the file."""
        if self.end - self.start == len(self.text):
            return self.source.offsets[self.start : self.end]
        return (self.source.offsets[self.start],) * len(self.text)


@dataclass(frozen=True, slots=True)
class Part:
    """A run inside a word that is being made."""

    run: Run
    quoted: bool
    anchor: int
    """Where the piece that it comes from stands in the command's own text."""
    direct: bool
    """True if it is written in the command itself, False if it comes from a variable."""


@dataclass(frozen=True, slots=True)
class Var:
    """A shell variable as far as the text tells."""

    name: str
    elements: tuple[tuple[Run, ...], ...] | None
    """One value, several of an array, none when unset; None where only the run shows it."""
    source: Written
    start: int
    end: int
    array: bool = False
    exported: bool = False
    faults: tuple[Fault, ...] = ()

    def same_value(self, other: Var) -> bool:
        """Whether both hold the same, wherever it is written."""
        if self.elements is None or other.elements is None:
            return self is other
        return (self.array, self.exported, _texts(self.elements)) == (
            other.array,
            other.exported,
            _texts(other.elements),
        )

    def unknown(self) -> Var:
        """The same variable with a value that only shows at run time."""
        return replace(self, elements=None)


def _texts(elements: tuple[tuple[Run, ...], ...]) -> list[tuple[str, bool]]:
    return [(text_of(element), all(run.known for run in element)) for element in elements]


def text_of(runs: Iterable[Run]) -> str:
    """The characters of several runs."""
    return "".join(run.text for run in runs)


def from_variable(variable: Variable) -> Var:
    """An environment variable, its characters placed where its file shows them, else at its assignment."""
    file, value = variable.file, variable.value
    raw = file.text[variable.start : variable.end]
    found = raw.rfind(value) if value else -1
    if found >= 0:
        offsets = tuple(range(variable.start + found, variable.start + found + len(value) + 1))
    else:
        offsets = (variable.start,) * len(value) + (variable.end,)
    source = Written(file=file, text=value, offsets=offsets)
    runs = (Run(value, source, 0, len(value), Unit(0, len(value), -1)),) if value else ()
    whole = Written(file=file, text=raw, offsets=tuple(range(variable.start, variable.end + 1)))
    return Var(variable.name, (runs,) if variable.known else None, whole, 0, len(raw), exported=True)


def from_word(word: Word) -> tuple[Run, ...]:
    """A word as a value, such as an argument of `bash -c`."""
    size = len(word.text)
    return (Run(word.text, word.written(), 0, size, Unit(0, size, -1), word.known),)


@dataclass(frozen=True, slots=True)
class WordPlace:
    """Where a word of a command is written, and what may be done there."""

    source: Written
    start: int
    end: int
    alone: bool
    """True if it makes exactly one word of a command."""
    literal: bool
    """True if that word is literal text, quotes and escapes apart."""
    syntax: Syntax
    editable: bool
    """Whether the text may be edited at all, as opposed to a script inside other quotes."""

    def word(self, parts: list[Part]) -> Word:
        """The word that those parts make."""
        if parts and not any(part.direct for part in parts):
            if _one_unit(parts):
                return self._from_variable(parts)
        elif not self.alone and parts and all(part.direct for part in parts):
            return self._word(parts, parts[0].run.start, parts[-1].run.end)
        return self._word(parts, self.start, self.end)

    def _word(self, parts: list[Part], start: int, end: int) -> Word:
        outer = self.source.offsets
        offsets: list[int] = []
        last = _end(self.source, end)
        for part in parts:
            offsets += part.run.offsets() if part.direct else (outer[part.anchor],) * len(part.run.text)
        return Word(
            text=text_of(part.run for part in parts),
            file=self.source.file,
            start=outer[start],
            end=last,
            offsets=(*offsets, last),
            syntax=self.syntax,
            known=_known(parts),
            editable=self.alone and self.literal and self.editable,
        )

    def _from_variable(self, parts: list[Part]) -> Word:
        first, last = parts[0].run, parts[-1].run
        offsets = [offset for part in parts for offset in part.run.offsets()]
        text = text_of(part.run for part in parts)
        whole = first.unit.size == len(text) and all(part.quoted for part in parts)
        start, end = (first.unit.start, first.unit.end) if whole else (first.start, last.end)
        return Word(
            text=text,
            file=first.source.file,
            start=first.source.offsets[start],
            end=_end(first.source, end),
            offsets=(*offsets, _end(first.source, end)),
            syntax=self.syntax,
            known=_known(parts),
            editable=whole and self.editable and first.source is self.source,
        )


def _end(source: Written, end: int) -> int:
    """Offset in the file of the end of `source.text[:end]`, without the quotes around a nested script."""
    last = source.offsets[end]
    if end and end == len(source.text):
        return min(last, source.offsets[end - 1] + 1)
    return last


def _one_unit(parts: list[Part]) -> bool:
    first = parts[0].run
    positions = [part.run.start for part in parts]
    return positions == sorted(positions) and all(
        part.run.unit is first.unit and part.run.source is first.source for part in parts
    )


def _known(parts: list[Part]) -> bool:
    """False if a part is unknown or the shell would look for files of that name."""
    if not all(part.run.known for part in parts):
        return False
    bare = "".join("x" * len(part.run.text) if part.quoted else part.run.text for part in parts)
    return not _GLOB.search(bare) and not 0 <= bare.find("[") < bare.rfind("]") - 1


def as_value(parts: list[Part]) -> tuple[Run, ...]:
    """A word's text as the value of an array element or of a positional parameter."""
    if _known(parts) or not all(part.run.known for part in parts):
        return tuple(part.run for part in parts)
    return tuple(replace(part.run, known=False, spreads=True) for part in parts)
