"""Parts the options of a wrapper from the command that it starts."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import msgspec

from assay.deployment.launch import Variable

if TYPE_CHECKING:
    from collections.abc import Set

    from assay.deployment.text import Word
    from assay.deployment.wrappers.table import Wrapper

_ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=")


@dataclass(slots=True)
class Split:
    """The options of a wrapper."""

    switches: set[str] = field(default_factory=set)
    """Options without a value."""
    values: list[tuple[str, Word]] = field(default_factory=list)
    """Options with their values, in order."""
    end: int = 0
    """Offset of the first word that is neither."""

    def last(self, names: Set[str]) -> Word | None:
        """The last value of those options."""
        return next((value for name, value in reversed(self.values) if name in names), None)


def split_options(words: tuple[Word, ...], start: int, wrapper: Wrapper) -> Split:
    """The options from `start` on. One that the wrapper's table does not know is a switch."""
    split = Split(end=start)
    while split.end < len(words):
        word = words[split.end]
        if word.text == "--":
            split.end += 1
            break
        if not word.text.startswith("-") or (word.text == "-" and "-" not in wrapper.clears):
            break
        split.end += 1
        if word.text.startswith("--") or wrapper.single_dash or word.text == "-":
            _long(words, word, split, wrapper)
        else:
            _short(words, word, split, wrapper)
    split.end = min(split.end, len(words))
    return split


def _long(words: tuple[Word, ...], word: Word, split: Split, wrapper: Wrapper) -> None:
    name, equals, _ = word.text.partition("=")
    if equals:
        split.values.append((name, tail(word, len(name) + 1)))
    elif name in wrapper.pairs:
        split.end += 2
    elif name in wrapper.values:
        _take(words, name, split)
    else:
        split.switches.add(name)


def _short(words: tuple[Word, ...], word: Word, split: Split, wrapper: Wrapper) -> None:
    """A cluster such as `-dit`, `-n5`, `-eNAME=value`."""
    if word.text in wrapper.pairs:
        split.end += 2
        return
    for at in range(1, len(word.text)):
        name = f"-{word.text[at]}"
        if name not in wrapper.values:
            split.switches.add(name)
        elif at + 1 < len(word.text):
            split.values.append((name, tail(word, at + 1 + (word.text[at + 1] == "="))))
            return
        else:
            _take(words, name, split)


def _take(words: tuple[Word, ...], name: str, split: Split) -> None:
    if split.end < len(words):
        split.values.append((name, words[split.end]))
        split.end += 1


def tail(word: Word, start: int, end: int | None = None) -> Word:
    """The word from its character `start` on; no longer a whole word of the file."""
    last = len(word.text) if end is None else end
    return msgspec.structs.replace(
        word,
        text=word.text[start:last],
        start=word.offsets[start],
        end=word.end if end is None else word.offsets[last],
        offsets=word.offsets[start : last + 1],
        editable=False,
    )


def assignment(word: Word) -> Variable | None:
    """The variable that `NAME=value` sets; None if the word is something else."""
    if not _ASSIGNMENT.match(word.text):
        return None
    name, _, value = word.text.partition("=")
    return Variable(name=name, value=value, file=word.file, start=word.start, end=word.end, known=word.known)
