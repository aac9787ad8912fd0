"""Reads all bytes of a tree once and notes which words of interest stand where: a veto against "dead"."""

from __future__ import annotations

import os
import re
import stat
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from assay.source.child.job import Note
from assay.source.declarations import Declarations, Option, Site
from assay.source.declaring.module import MAX_LINE_TEXT, clean

MAX_MENTIONS = 5
MAX_BYTES = 64 << 20
_WORD = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_"
_BLANKED = bytes(byte if byte in _WORD + b"-" else 0x20 for byte in range(256))
_LINE_END = re.compile(rb"\n")
_MAX_PARTS = 16
_SKIPPED_FOLDERS = frozenset({"__pycache__", ".git"})


@dataclass
class _Search:
    """One option's words, the lines that do not count, and what was found."""

    words: frozenset[bytes]
    own_lines: Mapping[str, tuple[tuple[int, int], ...]]
    """By file, first and last line of what declares the option."""
    found: list[Site] = field(default_factory=list)

    def is_own(self, file: str, line: int) -> bool:
        """Whether that line belongs to the option's own declarations."""
        return any(first <= line <= last for first, last in self.own_lines.get(file, ()))


def add_mentions(
    declarations: Declarations, root: Path, package: str, prefixes: tuple[str, ...], note: Note
) -> Declarations:
    """The declarations with `mentions` and `environment_words` filled from all files of the package.

    `note` is told of each file before it is read.
    """
    own: dict[str, list[Option]] = {}
    for option in declarations.options:
        own.setdefault(option.dest, []).append(option)
    positional = declarations.positional
    searches = [_search(declarations, option, own[option.dest]) for option in declarations.options]
    searches += [_search(declarations, positional, [positional])] if positional else []
    scan = _Scan(searches, tuple(prefix.encode() for prefix in prefixes))
    paths = list(_files(root / package))
    for path in paths:
        file = path.relative_to(root).as_posix()
        note(file, len(paths))
        if path.stat().st_size > MAX_BYTES:
            scan.unsearched.append(file)
        else:
            scan.read(file, path.read_bytes())
    options = [
        msgspec.structs.replace(option, mentions=tuple(search.found))
        for option, search in zip(declarations.options, searches, strict=False)
    ]
    if positional:
        positional = msgspec.structs.replace(positional, mentions=tuple(searches[-1].found))
    return msgspec.structs.replace(
        declarations,
        options=tuple(options),
        positional=positional,
        environment_words=tuple(sorted(word.decode() for word in scan.environment)),
        unsearched=tuple(scan.unsearched),
    )


class _Scan:
    """The state of one pass over the files."""

    def __init__(self, searches: list[_Search], prefixes: tuple[bytes, ...]) -> None:
        self._open: dict[bytes, list[_Search]] = {}
        for search in searches:
            for word in search.words:
                self._open.setdefault(word, []).append(search)
        self._prefixes = prefixes
        self._dashed: dict[bytes, tuple[bytes, ...]] = {}
        self.environment: set[bytes] = set()
        self.unsearched: list[str] = []

    def read(self, file: str, data: bytes) -> None:
        """Note what one file holds."""
        tokens = set(data.translate(_BLANKED).split())
        wanted = tokens & self._open.keys()
        dashed = [token for token in tokens if b"-" in token] if b"-" in data else []
        wanted.update(*map(self._parts, dashed))
        if any(prefix in data for prefix in self._prefixes):
            parts = [part for token in dashed for part in token.split(b"-")]
            self.environment.update(word for word in (*tokens, *parts) if word.startswith(self._prefixes))
        if wanted:
            ends = [match.start() for match in _LINE_END.finditer(data)]
            for word in sorted(wanted & self._open.keys()):
                self._locate(file, data, word, ends)

    def _parts(self, token: bytes) -> tuple[bytes, ...]:
        """The words of interest between the dashes of a token, joined by dashes or alone."""
        if token not in self._dashed:
            pieces = token.strip(b"-").split(b"-")[:_MAX_PARTS]
            spans = ((i, j) for i in range(len(pieces)) for j in range(i + 1, len(pieces) + 1))
            runs = {b"-".join(pieces[i:j]) for i, j in spans}
            self._dashed[token] = tuple(runs & self._open.keys())
        return self._dashed[token]

    def _locate(self, file: str, data: bytes, word: bytes, ends: list[int]) -> None:
        """Add the lines that hold the word to the searches that still want some."""
        searches = self._open[word]
        for line, start in _lines_with(data, word, ends):
            searches = [search for search in searches if len(search.found) < MAX_MENTIONS]
            if not searches:
                break
            for search in searches:
                if not search.is_own(file, line) and all(
                    site.file != file or site.line != line for site in search.found
                ):
                    search.found.append(Site(file=file, line=line, text=_line_text(data, start)))
        if all(len(search.found) >= MAX_MENTIONS for search in self._open[word]):
            del self._open[word]


def _lines_with(data: bytes, word: bytes, ends: list[int]) -> Iterator[tuple[int, int]]:
    """Number of each line that holds the whole word, and an offset in it; `ends` has the line ends."""
    at = data.find(word)
    while at >= 0:
        end = at + len(word)
        following = end
        if (at == 0 or data[at - 1] not in _WORD) and (end == len(data) or data[end] not in _WORD):
            line = bisect_left(ends, at)
            yield line + 1, at
            if line == len(ends):
                return
            following = ends[line]
        at = data.find(word, following)


def _line_text(data: bytes, at: int) -> str:
    start = max(data.rfind(b"\n", 0, at) + 1, at - MAX_LINE_TEXT // 2)
    end = data.find(b"\n", at)
    line = data[start : end if end >= 0 else len(data)][: MAX_LINE_TEXT * 4]
    return clean(line.decode(errors="replace").strip()[:MAX_LINE_TEXT])


def _search(declarations: Declarations, option: Option, same: Sequence[Option]) -> _Search:
    """What to search for an option; declarations of all flags for the same destination are its own too."""
    names = {option.dest, *([option.field] if option.field else [])}
    words = {*names, *(flag.lstrip("-") for flag in option.flags)}
    words |= {word.replace("-", "_") for word in words} | {word.replace("_", "-") for word in names}
    own: dict[str, list[tuple[int, int]]] = {}
    for other in same:
        own.setdefault(other.declared_at.file, []).append((other.first_line, other.last_line))
    for field_ in declarations.fields:
        if field_.name == option.field:
            own.setdefault(field_.declared_at.file, []).append(
                (field_.declared_at.line, field_.declared_at.line)
            )
    for site in declarations.renamings:
        if any(f".{name} = " in site.text for name in names):
            own.setdefault(site.file, []).append((site.line, site.line))
    for site in declarations.listings:
        if any(f'"{name}"' in site.text for name in names):
            own.setdefault(site.file, []).append((site.line, site.line))
    return _Search(
        words=frozenset(word.encode() for word in words if len(word) > 1),
        own_lines={file: tuple(lines) for file, lines in own.items()},
    )


def _files(folder: Path) -> Iterator[Path]:
    """Regular files below a folder, those of Python first; links and names that are no text are left out."""
    found: list[Path] = []
    for parent, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if name not in _SKIPPED_FOLDERS and clean(name) == name)
        found.extend(Path(parent, name) for name in sorted(names) if clean(name) == name)
    for path in sorted(found, key=lambda path: path.suffix != ".py"):
        if stat.S_ISREG(path.lstat().st_mode):
            yield path
