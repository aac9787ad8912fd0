"""Expands shell words: braces, parameters, splitting; what only shows at run time stays marked unknown."""

from __future__ import annotations

import fnmatch
import re
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Protocol

from assay.deployment.shell.syntax import Literal, Opaque, Parameter, Piece, WordNode
from assay.deployment.shell.values import Part, Run, Unit, Var, text_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from assay.deployment.shell.syntax import Block
    from assay.deployment.text import Written

BRACE_LIMIT = 256
"""Words that one word's braces may make."""
TRIM_LIMIT = 4096
"""Characters of a value whose beginning or end is taken off."""

_TILDE = re.compile(r"\A~|\A[A-Za-z_][A-Za-z0-9_]*=(?:[^'\"]*:)?~")
_TILDE_IN_VALUE = re.compile(r"(?:^|:)~")
_SPLIT = re.compile(r"[ \t\n]+|[^ \t\n]+")


class Shell(Protocol):
    """What expansion needs of the shell that runs the script."""

    source: Written
    splits_plainly: bool
    """False once `IFS` has been assigned."""

    def lookup(self, name: str) -> Var | None:
        """The variable or positional parameter, None if it may come from outside."""

    def arguments(self) -> tuple[tuple[Run, ...], ...] | None:
        """The positional parameters from 1, None where unknown."""

    def assign(self, var: Var) -> None:
        """Set a variable, for `${X:=word}`."""

    def substitute(self, body: Block) -> None:
        """Run the commands of a command substitution."""

    def compute(self, text: str) -> None:
        """Note what arithmetic may assign."""

    def spend(self, amount: int, what: str) -> None:
        """Count work; raises InputError when a text asks for too much of it."""


class _Fields:
    """Words in the making."""

    def __init__(self) -> None:
        self.done: list[list[Part]] = []
        self._current: list[Part] | None = None

    def touch(self) -> None:
        """Let there be a word, though it may be empty."""
        if self._current is None:
            self._current = []

    def add(self, part: Part) -> None:
        self._current = self._current or []
        self._current.append(part)

    def cut(self) -> None:
        if self._current is not None:
            self.done.append(self._current)
            self._current = None


class Expander:
    """Expands words in one shell's state."""

    def __init__(self, shell: Shell) -> None:
        self._shell = shell

    def fields(self, word: WordNode) -> list[list[Part]]:
        """The words that a word makes: none, one or several, each as its parts."""
        done: list[list[Part]] = []
        for pieces in self._braces(list(word.pieces)):
            fields = _Fields()
            unit = _unit(word, pieces)
            for piece in _tilde(pieces, _TILDE):
                self._piece(piece, fields, unit)
            fields.cut()
            if fields.done == [[]] and _may_vanish(pieces):
                self._piece(Opaque(pieces[0].start, pieces[-1].end, quoted=False), fields, unit)
                fields.cut()
                del fields.done[0]
            done += fields.done
        self._shell.spend(sum(len(part.run.text) + 1 for field in done for part in field) + 1, "this word")
        return done

    def _braces(self, pieces: list[Piece]) -> list[list[Piece]]:
        """Brace expansion: `a{b,c}` gives `ab` and `ac`."""
        if not any(isinstance(piece, Literal) and not piece.quoted and "{" in piece.text for piece in pieces):
            return [pieces]
        done: list[list[Piece]] = []
        waiting = [_single_characters(pieces)]
        while waiting and len(done) + len(waiting) <= BRACE_LIMIT:
            current = waiting.pop()
            self._shell.spend(len(current), "this word")
            alternatives = _first_braces(current, self._shell.spend)
            if alternatives is None:
                done.append([_renamed(piece, current[at + 1 : at + 2]) for at, piece in enumerate(current)])
            else:
                waiting += reversed(alternatives)
        return [[Opaque(pieces[0].start, pieces[-1].end, quoted=True)]] if waiting else done

    def scalar(self, word: WordNode) -> tuple[Run, ...]:
        """The value that an assignment gives: not split, braces kept."""
        fields = _Fields()
        unit = _unit(word, list(word.pieces))
        for piece in _tilde(list(word.pieces), _TILDE_IN_VALUE):
            self._piece(_quoted(piece), fields, unit)
        fields.cut()
        runs = tuple(part.run for field in fields.done for part in field)
        self._shell.spend(sum(len(run.text) + 1 for run in runs), "this value")
        return runs

    def _piece(self, piece: Piece, fields: _Fields, unit: Unit) -> None:
        source = self._shell.source
        if isinstance(piece, Parameter):
            self._parameter(piece, fields, unit)
            return
        if isinstance(piece, Opaque):
            if piece.body is not None:
                self._shell.substitute(piece.body)
            text = source.text[piece.start : piece.end]
            if text.startswith("$(("):
                self._shell.compute(text)
            spreads = not piece.quoted
            run = Run(text, source, piece.start, piece.end, unit, known=False, spreads=spreads)
        else:
            run = Run(piece.text, source, piece.start, piece.end, unit)
        part = Part(run, piece.quoted, piece.start, direct=True)
        if isinstance(piece, Literal) and piece.splits:
            self._split(part, fields)
        elif run.text or not run.known:
            fields.add(part)
        else:
            fields.touch()

    def _split(self, part: Part, fields: _Fields) -> None:
        if not part.run.known:
            fields.add(replace(part, run=replace(part.run, spreads=True)))
            return
        if not self._shell.splits_plainly:
            part = replace(part, run=replace(part.run, known=False, spreads=True))
        for match in _SPLIT.finditer(part.run.text):
            if match[0][0] in " \t\n":
                fields.cut()
            else:
                fields.add(replace(part, run=part.run.part(*match.span())))

    def _values(self, values: tuple[tuple[Run, ...], ...], piece: Parameter, fields: _Fields) -> None:
        """Put values into the words, one word for each, split unless quoted."""
        for number, runs in enumerate(values):
            if number and piece.quoted and piece.index == "*":
                fields.add(Part(self._made(" ", piece), True, piece.start, direct=False))
            elif number:
                fields.cut()
            if piece.quoted:
                fields.touch()
            for run in runs:
                part = Part(run, piece.quoted, piece.start, direct=False)
                if piece.quoted:
                    fields.add(part)
                else:
                    self._split(part, fields)

    def _parameter(self, piece: Parameter, fields: _Fields, unit: Unit) -> None:
        if piece.name in ("@", "*"):
            piece = replace(piece, index=piece.name)
        var = self._variable(piece)
        values = _selected(var, piece)
        match piece.operator.removeprefix(":"):
            case "":
                self._plain(values, piece, fields, unit)
            case "-" | "=":
                self._default(values, var, piece, fields, unit)
            case "+":
                self._alternative(values, piece, fields, unit)
            case "?":
                self._plain(values if values and _filled(values, piece) else None, piece, fields, unit)
            case "#" | "##" | "%" | "%%" if values is not None and len(values) == 1:
                self._trimmed(values[0], piece, fields, unit)
            case "length" if values is not None and all(run.known for value in values for run in value):
                number = (
                    len(values) if piece.index in ("@", "*") else len(text_of(values[0])) if values else 0
                )
                fields.add(Part(self._made(str(number), piece), True, piece.start, direct=False))
            case _:
                self._unknown(piece, fields, unit)

    def _variable(self, piece: Parameter) -> Var | None:
        if piece.name not in ("@", "*"):
            if piece.operator == "other" or (piece.name == "#" and piece.operator):
                return None
            return self._shell.lookup(piece.name)
        arguments = self._shell.arguments()
        if arguments is None:
            return None
        return Var(piece.name, arguments, self._shell.source, piece.start, piece.end, array=True)

    def _plain(
        self, values: tuple[tuple[Run, ...], ...] | None, piece: Parameter, fields: _Fields, unit: Unit
    ) -> None:
        if piece.operator == ":" or values is None:
            self._unknown(piece, fields, unit)
            return
        self._values(values, piece, fields)
        if piece.quoted and not values and piece.index not in ("@",):
            fields.touch()

    def _default(
        self,
        values: tuple[tuple[Run, ...], ...] | None,
        var: Var | None,
        piece: Parameter,
        fields: _Fields,
        unit: Unit,
    ) -> None:
        """`${X:-word}`; a variable that nothing in the text sets is taken as unset."""
        if values is None and var is not None:
            self._unknown(piece, fields, unit)
        elif values is not None and _filled(values, piece):
            self._values(values, piece, fields)
        else:
            self._argument(piece, fields, unit)
            if piece.operator.endswith("=") and piece.name.isidentifier():
                value = self.scalar(WordNode(piece.argument, piece.start, piece.end))
                unit = Unit(piece.start, piece.end, -1)
                value = tuple(replace(run, unit=unit) for run in value)
                self._shell.assign(Var(piece.name, (value,), self._shell.source, piece.start, piece.end))

    def _alternative(
        self, values: tuple[tuple[Run, ...], ...] | None, piece: Parameter, fields: _Fields, unit: Unit
    ) -> None:
        """`${X:+word}`; whether there is a word at all is unknown where the variable is."""
        filled = None if values is None else _filled(values, piece)
        if filled is None or any(not run.known for value in values or () for run in value):
            self._unknown(piece, fields, unit)
        elif filled:
            self._argument(piece, fields, unit)
        elif piece.quoted and piece.index != "@":
            fields.touch()

    def _argument(self, piece: Parameter, fields: _Fields, unit: Unit) -> None:
        if piece.quoted and not piece.argument:
            fields.touch()
        for argument in piece.argument:
            self._piece(argument, fields, unit)

    def _trimmed(self, value: tuple[Run, ...], piece: Parameter, fields: _Fields, unit: Unit) -> None:
        """`${X##*/}` and its like, for patterns with at most one star."""
        pattern = _pattern(piece.argument)
        text = text_of(value)
        if pattern is None or len(text) > TRIM_LIMIT or not all(run.known for run in value):
            self._unknown(piece, fields, unit)
            return
        self._shell.spend(len(text) ** 2 // 64 + 1, "this pattern")
        start, end = _trim(text, pattern, piece.operator)
        self._values((_slice(value, start, end),), piece, fields)

    def _unknown(self, piece: Parameter, fields: _Fields, unit: Unit) -> None:
        text = self._shell.source.text[piece.start : piece.end]
        spreads = not piece.quoted or piece.index == "@"
        run = Run(text, self._shell.source, piece.start, piece.end, unit, known=False, spreads=spreads)
        fields.add(Part(run, piece.quoted, piece.start, direct=True))

    def _made(self, text: str, piece: Parameter) -> Run:
        return Run(text, self._shell.source, piece.start, piece.end, Unit(piece.start, piece.end, -1))


def _may_vanish(pieces: list[Piece]) -> bool:
    """An empty word with an empty `"…${X[@]}…"` in it: bash drops it if all of it stands in the same quotes
    and keeps it otherwise; which, is not looked at."""
    every = [piece for piece in pieces if isinstance(piece, Parameter) and piece.quoted]
    return len(pieces) > 1 and any("@" in (piece.index, piece.name) for piece in every)


def _unit(word: WordNode, pieces: list[Piece]) -> Unit:
    size = 0
    for piece in pieces:
        if not isinstance(piece, Literal):
            return Unit(word.start, word.end, -1)
        size += len(piece.text)
    return Unit(word.start, word.end, size)


def _quoted(piece: Piece) -> Piece:
    if isinstance(piece, Literal):
        return replace(piece, quoted=True, splits=False)
    if isinstance(piece, Parameter):
        argument = tuple(_quoted(inner) for inner in piece.argument)
        index = "*" if piece.index == "@" else piece.index
        name = "*" if piece.name == "@" else piece.name
        return replace(piece, quoted=True, argument=argument, index=index, name=name)
    return piece


def _tilde(pieces: list[Piece], pattern: re.Pattern[str]) -> list[Piece]:
    """A word that begins with `~` becomes unknown: it depends on whose home that is."""
    first = pieces[0] if pieces else None
    if isinstance(first, Literal) and not first.quoted and pattern.search(first.text):
        return [Opaque(first.start, first.end, quoted=True), *pieces[1:]]
    return pieces


def _selected(var: Var | None, piece: Parameter) -> tuple[tuple[Run, ...], ...] | None:
    """The values that `$X`, `${X[@]}` or `${X[2]}` stands for; empty if unset, None if unknown."""
    if var is None or var.elements is None:
        return None
    if piece.index in ("@", "*"):
        return var.elements
    if piece.index is None or piece.index == "0":
        return var.elements[:1]
    if any(run.spreads for element in var.elements for run in element):
        return None
    if piece.index.isascii() and piece.index.isdigit() and len(piece.index) < 9:
        return var.elements[int(piece.index) : int(piece.index) + 1]
    return None


def _filled(values: tuple[tuple[Run, ...], ...], piece: Parameter) -> bool:
    """Whether `${X:-…}` or `${X-…}` uses the value."""
    if not piece.operator.startswith(":"):
        return bool(values)
    return any(run.text for value in values for run in value) or len(values) > 1


def _slice(value: tuple[Run, ...], start: int, end: int) -> tuple[Run, ...]:
    runs: list[Run] = []
    at = 0
    for run in value:
        first, last = max(start - at, 0), min(end - at, len(run.text))
        if first < last:
            runs.append(run.part(first, last))
        at += len(run.text)
    return tuple(runs)


def _pattern(argument: tuple[Piece, ...]) -> str | None:
    """A pattern of literal text and at most one star, as `fnmatch` writes it; None for any other."""
    pattern = ""
    for piece in argument:
        if not isinstance(piece, Literal):
            return None
        if not piece.quoted and set(piece.text) & set("?[~"):
            return None
        pattern += re.sub(r"[*?[]", r"[\g<0>]", piece.text) if piece.quoted else piece.text
    return pattern if re.sub(r"\[\*\]", "", pattern).count("*") <= 1 else None


def _trim(text: str, pattern: str, operator: str) -> tuple[int, int]:
    """The stretch that is left of the text."""
    matches = re.compile(fnmatch.translate(pattern)).match
    lengths = range(len(text) + 1)
    if len(operator) == 2:
        lengths = lengths[::-1]
    for length in lengths:
        if operator[0] == "#" and matches(text[:length]):
            return length, len(text)
        if operator[0] == "%" and matches(text[len(text) - length :]):
            return 0, len(text) - length
    return 0, len(text)


def _single_characters(pieces: list[Piece]) -> list[Piece]:
    """The pieces with each unquoted brace and comma on its own."""
    single: list[Piece] = []
    for piece in pieces:
        if not isinstance(piece, Literal) or piece.quoted:
            single.append(piece)
            continue
        for match in re.finditer(r"[{},]|[^{},]+", piece.text):
            start, end = piece.start + match.start(), piece.start + match.end()
            single.append(replace(piece, text=match[0], start=start, end=end))
    return single


def _renamed(piece: Piece, rest: list[Piece]) -> Piece:
    """`$A{b,c}` asks for `$Ab` and `$Ac`: left unknown."""
    following = rest[0] if rest else None
    if (
        isinstance(piece, Parameter)
        and piece.end - piece.start == len(piece.name) + 1
        and isinstance(following, Literal)
        and not following.quoted
        and following.start != piece.end
        and re.match(r"\w", following.text)
    ):
        return Opaque(piece.start, piece.end, piece.quoted)
    return piece


def _is(piece: Piece, text: str) -> bool:
    return isinstance(piece, Literal) and not piece.quoted and piece.text == text


def _first_braces(pieces: list[Piece], spend: Callable[[int, str], None]) -> list[list[Piece]] | None:
    """The first pair of braces that expands, expanded; None if there is none."""
    for start, piece in enumerate(pieces):
        if not _is(piece, "{") or (start == 0 and _is(pieces[-1 if len(pieces) == 1 else 1], "}")):
            continue
        spend(len(pieces), "this word")
        marks = _marks(pieces, start)
        if marks is None:
            continue
        before, after = pieces[:start], pieces[marks[-1] + 1 :]
        if len(marks) > 2:
            return [[*before, *pieces[low + 1 : high], *after] for low, high in pairwise(marks)]
        return [[*before, Opaque(piece.start, pieces[marks[-1]].end, quoted=True), *after]]
    return None


def _marks(pieces: list[Piece], start: int) -> list[int] | None:
    """Offsets of the brace at `start`, of its commas and of the brace that closes it.

    As bash has it, a closing brace counts only after a comma or two dots; with dots alone there are two.
    """
    marks = [start]
    level, dots = 0, False
    for at in range(start + 1, len(pieces)):
        piece = pieces[at]
        if _is(piece, "{"):
            level += 1
        elif _is(piece, "}"):
            if not level and (dots or len(marks) > 1):
                return [*marks, at]
            level = max(level - 1, 0)
        elif _is(piece, ",") and not level:
            marks.append(at)
        elif not level and isinstance(piece, Literal) and not piece.quoted and ".." in piece.text:
            dots = True
    return None
