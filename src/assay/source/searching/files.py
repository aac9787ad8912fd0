"""Which Python files of a tree hold a word, by their bytes."""

from __future__ import annotations

import os
import re
import stat
from bisect import bisect_right
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from assay.source.declaring.module import MAX_BYTES, clean

_WORD = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_")
_CLASS = re.compile(rb"\bclass[\s\\]+([A-Za-z0-9_\x80-\xff]+)")
_SKIPPED_FOLDERS = frozenset({"__pycache__", ".git"})


class Hit(NamedTuple):
    """A match in the text of a file."""

    module: str
    """The dotted name of the module."""
    text: bytes
    """The whole file."""
    at: int
    """Where in it the match begins."""
    groups: tuple[bytes, ...]
    """What the groups of the pattern hold."""


class Files:
    """The Python files below one folder, read when first asked for and kept as one text."""

    def __init__(self, root: Path, folder: str) -> None:
        """`folder` is a path from `root`, with slashes."""
        self._root = root
        self._folder = folder
        self._read = False
        self._data = b""
        self._names: list[str] = []
        self._starts: list[int] = []
        self._unsearched: list[str] = []
        self._held: dict[str, tuple[str, ...]] = {}

    @property
    def unsearched(self) -> tuple[str, ...]:
        """Files that are too large to be searched."""
        self._read_all()
        return tuple(self._unsearched)

    def holding(self, word: str) -> tuple[str, ...]:
        """Dotted names of the modules that hold the word as a whole identifier, by folder and file."""
        if word not in self._held:
            self._read_all()
            searchable = word and "\n" not in word  # files are joined by line ends
            self._held[word] = tuple(self._search(word.encode(errors="replace"))) if searchable else ()
        return self._held[word]

    def matching(self, pattern: re.Pattern[bytes]) -> Iterator[Hit]:
        """Every match in the text of all files."""
        self._read_all()
        for match in pattern.finditer(self._data):
            file = bisect_right(self._starts, match.start()) - 1
            first, end = self._starts[file], self._starts[file + 1]
            yield Hit(self._names[file], self._data[first:end], match.start() - first, match.groups())

    def with_class(self, name: str) -> tuple[str, ...]:
        """Dotted names of the modules that may define a class of that name."""
        return tuple(self._classes.get(name.encode(errors="replace"), ()))

    @cached_property
    def _classes(self) -> dict[bytes, dict[str, None]]:
        """By the name of a class, the modules that may define one: all in one pass over the text."""
        self._read_all()
        found: dict[bytes, dict[str, None]] = {}
        for match in _CLASS.finditer(self._data):
            file = self._names[bisect_right(self._starts, match.start()) - 1]
            found.setdefault(match.group(1), {})[file] = None
        return found

    def _search(self, word: bytes) -> Iterator[str]:
        data = self._data
        at = data.find(word)
        while at >= 0:
            end = at + len(word)
            if data[at - 1] not in _WORD and data[end] not in _WORD:
                file = bisect_right(self._starts, at) - 1
                yield self._names[file]
                end = self._starts[file + 1]
            at = data.find(word, end)

    def _read_all(self) -> None:
        if self._read:
            return
        self._read = True
        pieces, at = [b"\n"], 1
        for name, path in self._modules():
            with path.open("rb") as stream:
                data = stream.read(MAX_BYTES + 1)
            if len(data) > MAX_BYTES:
                self._unsearched.append(path.relative_to(self._root).as_posix())
                continue
            self._names.append(name)
            self._starts.append(at)
            pieces += (data, b"\n")
            at += len(data) + 1
        self._starts.append(at)
        self._data = b"".join(pieces)

    def _modules(self) -> Iterator[tuple[str, Path]]:
        """Dotted name and file; a module beside a package of its name cannot be imported and is left out."""
        for folder, names in self._folders():
            packages = {name for name in os.listdir(folder) if (folder / name / "__init__.py").is_file()}
            dotted = ".".join(folder.relative_to(self._root).parts)
            for name in names:
                stem = name.removesuffix(".py")
                if stem == "__init__":
                    yield dotted, folder / name
                elif stem not in packages:
                    yield f"{dotted}.{stem}" if dotted else stem, folder / name

    def _folders(self) -> Iterator[tuple[Path, list[str]]]:
        """Each folder with its Python files that are no links."""
        for parent, folders, names in os.walk(self._root / self._folder):
            folders[:] = sorted(
                name for name in folders if name not in _SKIPPED_FOLDERS and clean(name) == name
            )
            paths = (Path(parent, name) for name in sorted(names) if clean(name) == name)
            yield (
                Path(parent),
                [path.name for path in paths if path.suffix == ".py" and stat.S_ISREG(path.lstat().st_mode)],
            )
