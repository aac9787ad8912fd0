"""The secrets of one server: values of options and variables, also where a slip tore them apart."""

from __future__ import annotations

import itertools
import re
from typing import TYPE_CHECKING

from assay._masking import is_reference, is_secret_name, may_be_secret_name

if TYPE_CHECKING:
    from collections.abc import Iterator

    from assay.deployment import Variable, Word
    from assay.engines import Server
    from assay.source import Parsed

_LONG_ENOUGH = 3
"""A piece of a secret that stands alone; shorter ones tell nothing, and hiding them would hide all else."""
_SPECIAL = re.compile(r"[%$\\\"'\r\n]")
_PIECES = re.compile(r"\\\r?\n|[\r\n\"']")


def secrets_of(server: Server, parsed: Parsed) -> frozenset[str]:
    """All values that no report may show, as the process gets them and as they are written."""
    values: set[str] = set()
    for variable in server.launch.environment:
        if may_be_secret_name(variable.name):
            values.update(_of_variable(variable))
    for word, flagged in _secret_words(server, parsed):
        values.update(_of_word(word, flagged=flagged))
    values.update([piece for value in values for piece in _unescaped(value)])
    return frozenset(value for value in values if value and not value.isspace())


def _unescaped(value: str) -> Iterator[str]:
    """Pieces that stay the same however the whole is quoted, such as a name behind a dollar sign."""
    if not is_reference(value):
        yield from (piece for piece in _SPECIAL.split(value) if len(piece) > _LONG_ENOUGH)


def _secret_words(server: Server, parsed: Parsed) -> Iterator[tuple[Word, bool]]:
    """Words that hold a secret, and whether the option's own name stands before it in the word."""
    words = server.arguments
    strays = {problem.at for problem in parsed.problems if problem.kind == "stray-word"}
    unknown = {problem.at for problem in parsed.problems if problem.kind in ("unknown-option", "ambiguous")}
    for given in parsed.given:
        if is_secret_name(given.option.dest) and given.at is not None:
            taken = [(at, at == given.at) for at in given.value_at]
            yield from ((words[at], flagged) for at, flagged in taken)
            last = max((at for at, _ in taken), default=given.at)
            yield from ((word, False) for word in _torn_off(words, last + 1, strays))
    for problem in parsed.problems:
        if problem.kind == "missing-value" and problem.option and is_secret_name(problem.option.dest):
            after = words[problem.at + 1 :][:1] if problem.at is not None else ()
            yield from ((word, False) for word in after if not word.text.startswith("--"))
    yield from ((word, False) for word in _members(words))
    for at in unknown:
        if at is not None and may_be_secret_name(words[at].text.partition("=")[0]):
            if "=" in words[at].text:
                yield words[at], True
            yield from ((word, False) for word in _torn_off(words, at + 1, None))


def _members(words: tuple[Word, ...]) -> Iterator[Word]:
    """Values in JSON whose quotes the shell took away: `{token: abc}` becomes words of its own."""
    for word, following in itertools.pairwise(words):
        if word.text.endswith(":") and is_secret_name(word.text):
            yield following


def _torn_off(words: tuple[Word, ...], at: int, strays: set[int | None] | None) -> Iterator[Word]:
    """The words that follow up to the next option: blanks in an unquoted secret make more than one."""
    while at < len(words) and (at in strays if strays is not None else not words[at].text.startswith("--")):
        yield words[at]
        at += 1


def _of_word(word: Word, *, flagged: bool) -> Iterator[str]:
    """The value in it, and as it is written."""
    value, raw = word.text, word.raw if word.editable else ""
    if flagged:
        value, raw = value.partition("=")[2], raw.partition("=")[2]
    yield value
    yield from _written(raw)


def _of_variable(variable: Variable) -> Iterator[str]:
    if variable.known:
        yield variable.value
    raw = variable.file.text[variable.start : variable.end]
    name, assigned, value = raw.partition("=")
    if assigned and variable.name in name:
        yield from _written(value)


def _written(raw: str) -> Iterator[str]:
    """Its lines without quotes: reports show a file line by line."""
    for piece in _PIECES.split(raw):
        if len(piece.strip()) > _LONG_ENOUGH and not piece.startswith(("$", "%")):
            yield piece.strip()
