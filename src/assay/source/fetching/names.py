"""Which names an archive may hold, and writing its files below one folder and nowhere else."""

from __future__ import annotations

import hashlib
import os
import re
import unicodedata
from typing import IO, TYPE_CHECKING

from assay._value import Value
from assay.errors import SourceError
from assay.source.fetching.cache import Omitted
from assay.source.fetching.digest import ENTRY_LIMIT, FILE_LIMIT_BYTES, counts

if TYPE_CHECKING:
    from pathlib import Path

_CHUNK = 1 << 20
_NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


class UnpackLimits(Value):
    """How much an archive may hold."""

    file_bytes: int = FILE_LIMIT_BYTES
    """A larger file is digested and not kept."""
    total_bytes: int = 2 << 30
    """All files together, unpacked."""
    entries: int = ENTRY_LIMIT
    """Files and folders."""
    ratio: int = 200
    """Unpacked to packed size, once `ratio_from_bytes` are exceeded: real wheels stay below 10."""
    ratio_from_bytes: int = 64 << 20
    """Smaller archives may be packed as tightly as they like."""


class Unpacked(Value):
    """What was taken out of an archive."""

    package: str
    """Its package folder."""
    hashes: dict[str, str]
    """Path -> SHA-256 of each file of the package that was kept."""
    omitted: tuple[Omitted, ...]
    """Files of the package that were not kept."""


def refused(archive: str, why: str, name: str = "") -> SourceError:
    """The error for an archive that assay will not unpack."""
    at = f": {name[:200]!r}" if name else ""
    return SourceError(
        f"{archive} is not safe to unpack: {why}{at}",
        hint="get it again from where it was published; if it stays so, do not install it either",
    )


class Names:
    """Checks the names of one archive as they come.

    Raises:
        SourceError: a name leads out of its folder, or is there twice for some file system.
    """

    def __init__(self, archive: str, limits: UnpackLimits) -> None:
        self._archive = archive
        self._limits = limits
        self._files: dict[str, str] = {}
        self._folders: dict[str, str] = {}
        self._count = 0

    def add(self, name: str, *, folder: bool) -> str:
        """Check the next entry; its path with `/` between the parts."""
        self._count += 1
        if self._count > self._limits.entries:
            raise refused(self._archive, f"it has more than {self._limits.entries:,} entries")
        path = name.rstrip("/") if folder else name
        if fault := _fault(path):
            raise refused(self._archive, fault, name)
        parts = path.split("/")
        for end in range(1, len(parts) + folder):
            self._folder("/".join(parts[:end]))
        if not folder:
            self._file(path)
        return path

    def _file(self, path: str) -> None:
        key = _folded(path)
        if self._files.get(key) == path:
            raise refused(self._archive, "a file is in it twice", path)
        if key in self._files or key in self._folders:
            raise refused(self._archive, "two names differ only in case or are file and folder at once", path)
        self._files[key] = path

    def _folder(self, path: str) -> None:
        if self._folders.get(path) == path:
            return
        key = _folded(path)
        if self._folders.setdefault(key, path) != path or key in self._files:
            raise refused(self._archive, "two names differ only in case or are file and folder at once", path)
        self._folders[path] = path


def _fault(path: str) -> str:
    if path.startswith("/") or re.match(r"[A-Za-z]:", path):
        return "an absolute path"
    if "\\" in path or any(ord(character) < 32 or ord(character) == 127 for character in path):
        return "a name with a backslash or control character"
    parts = path.split("/")
    if ".." in parts:
        return "a path that leads out of it"
    if "" in parts or "." in parts:
        return "a path with an empty part"
    if len(path) > 1000 or any(len(part.encode("utf-8", "surrogatepass")) > 255 for part in parts):
        return "a name too long"
    return ""


def _folded(path: str) -> str:
    return path.casefold() if path.isascii() else unicodedata.normalize("NFC", path.casefold())


class Writer:
    """Writes the files of one archive below `into`, digesting them on the way."""

    def __init__(self, archive: str, into: Path, limits: UnpackLimits) -> None:
        self._archive = archive
        self._into = into
        self._limits = limits
        self._made: set[str] = set()
        self._room = limits.total_bytes
        self.hashes: dict[str, str] = {}
        self.omitted: list[Omitted] = []

    def write(self, path: str, stream: IO[bytes], size: int) -> None:
        """Take one file of `size` bytes, which is checked."""
        if size > self._limits.file_bytes:
            self._digest_only(path, stream, size)
            return
        target = os.path.join(self._into, path)
        folder = os.path.dirname(target)
        if folder not in self._made:
            os.makedirs(folder, mode=0o755, exist_ok=True)
            self._made.add(folder)
        descriptor = os.open(target, _NEW_FILE, 0o644)
        with open(descriptor, "wb", buffering=0) as out:
            sha256 = self._copy(path, stream, size, out)
        if counts(path):
            self.hashes[path] = sha256

    def omit(self, path: str, reason: str) -> None:
        """Note a file that is not taken."""
        if counts(path):
            self.omitted.append(Omitted(file=path, reason=reason))

    def _digest_only(self, path: str, stream: IO[bytes], size: int) -> None:
        sha256 = self._copy(path, stream, size, None)
        reason = f"larger than {self._limits.file_bytes:,} bytes: {size:,}"
        if counts(path):
            self.omitted.append(Omitted(file=path, reason=reason, sha256=sha256))

    def _copy(self, path: str, stream: IO[bytes], size: int, out: IO[bytes] | None) -> str:
        total = hashlib.sha256()
        got = 0
        while data := stream.read(_CHUNK):
            got += len(data)
            self._room -= len(data)
            if self._room < 0:
                raise refused(self._archive, f"it unpacks to more than {self._limits.total_bytes:,} bytes")
            total.update(data)
            if out is not None:
                _write_all(out, data)
        if got != size:
            raise refused(self._archive, f"a file has {got:,} bytes where {size:,} are announced", path)
        return total.hexdigest()


def _write_all(out: IO[bytes], data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[out.write(view) :]
