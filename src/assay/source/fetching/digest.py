"""The identity of a tree: a digest over the paths and contents of its package folder.

The same package gives the same digest from a wheel, a checkout or an environment: byte code, caches of
tools and what lies beside the package folder do not count.
"""

from __future__ import annotations

import hashlib
import os
import stat
import time
from typing import TYPE_CHECKING

import msgspec

from assay._value import Value
from assay.errors import SourceError
from assay.source.fetching.cache import Cache, Omitted

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from assay.source.progress import Progress

FILE_LIMIT_BYTES = 32 << 20
"""A larger file is part of the digest, but no reader sees it."""
ENTRY_LIMIT = 200_000
"""More files than this are no engine's package."""
_UNCOUNTED = {"__pycache__", ".git", ".mypy_cache", ".pytest_cache", ".ruff_cache", ".ipynb_checkpoints"}
_BYTE_CODE = (".pyc", ".pyo")
_FRESH_NS = 2_000_000_000
"""Where a file system keeps whole seconds, a file changed right after it was read looks unchanged."""

_State = tuple[int, int, int, int]


class _Table(Value):
    """What was known of a folder's files when it was last digested."""

    taken_ns: int
    """When reading began."""
    files: dict[str, tuple[int, int, int, int, str]]
    """Path -> size, mtime_ns, ctime_ns, inode, SHA-256."""


def counts(path: str) -> bool:
    """True if the file belongs to the package's contents; `path` has `/` between its parts."""
    *folders, name = path.split("/")
    return not name.endswith(_BYTE_CODE) and not _UNCOUNTED.intersection(folders)


def combine(hashes: Mapping[str, str], omitted: tuple[Omitted, ...]) -> str:
    """The digest of a tree: SHA-256 over its sorted paths, each with the SHA-256 of its contents."""
    lines = {**hashes, **{each.file: each.sha256 or each.reason for each in omitted}}
    text = "".join([f"{lines[path]} {path}\0" for path in sorted(lines)])
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()


def digest_folder(
    root: Path,
    package: str,
    *,
    cache: Cache,
    progress: Progress,
    unpacked: Mapping[str, str] | None = None,
) -> tuple[dict[str, str], tuple[Omitted, ...]]:
    """The SHA-256 of each file of `root/package`, and what was left out.

    Costs one stat for each file that was read before and has not changed since. `unpacked` has the digests of
    files that assay itself has just written.

    Raises:
        SourceError: a file cannot be read, or there are too many.
    """
    key = f"{root} {package}"
    table = _load(cache, key)
    fresh = _Table(taken_ns=time.time_ns(), files={})
    hashes: dict[str, str] = {}
    omitted: list[Omitted] = []
    read = 0
    for path, where, status in _walk(root, package):
        if isinstance(status, str):
            omitted.append(Omitted(file=path, reason=status))
            continue
        state = (status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino)
        sha256 = unpacked.get(path) if unpacked else _known(table, path, state)
        if sha256 is None:
            sha256 = _sha256(where)
            read += 1
            progress("digest", len(fresh.files), None)
        fresh.files[path] = (*state, sha256)
        if status.st_size > FILE_LIMIT_BYTES:
            omitted.append(_too_large(path, status.st_size, sha256))
        else:
            hashes[path] = sha256
    if read or unpacked or table is None or len(table.files) != len(fresh.files):
        if unpacked:
            fresh = msgspec.structs.replace(fresh, taken_ns=fresh.taken_ns + 10 * _FRESH_NS)
        cache.save("tables", key, msgspec.msgpack.encode(fresh))
    return hashes, tuple(omitted)


def _too_large(path: str, size: int, sha256: str) -> Omitted:
    return Omitted(file=path, reason=f"larger than {FILE_LIMIT_BYTES:,} bytes: {size:,}", sha256=sha256)


def _load(cache: Cache, key: str) -> _Table | None:
    data = cache.load("tables", key)
    try:
        return msgspec.msgpack.decode(data, type=_Table) if data is not None else None
    except msgspec.MsgspecError:
        return None


def _known(table: _Table | None, path: str, state: _State) -> str | None:
    entry = table.files.get(path) if table else None
    if table is None or entry is None or entry[:4] != state:
        return None
    settled = max(state[1], state[2]) < table.taken_ns - _FRESH_NS
    return entry[4] if settled else None


def _sha256(path: str) -> str:
    try:
        with open(path, "rb", buffering=0) as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError as error:
        raise SourceError(
            f"cannot read {path}: {error.strerror}", hint="make it readable, or remove it"
        ) from error


def _walk(root: Path, package: str) -> Iterator[tuple[str, str, os.stat_result | str]]:
    """(path from root, path to open, its status or why it cannot be used) of each file of the package."""
    inside = os.path.realpath(root / package) + os.sep
    base = str(root)
    folders = [package]
    seen = 0
    while folders:
        folder = folders.pop()
        for entry in _entries(base, folder):
            path = f"{folder}/{entry.name}"
            if not _is_text(entry.name):
                shown = path.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
                yield shown, entry.path, "its name is not UTF-8"
            elif entry.is_dir(follow_symlinks=False):
                if entry.name not in _UNCOUNTED:
                    folders.append(path)
            elif not entry.name.endswith(_BYTE_CODE):
                seen += 1
                if seen > ENTRY_LIMIT:
                    raise SourceError(
                        f"{root / package} has more than {ENTRY_LIMIT:,} files", hint="is it the package?"
                    )
                yield path, entry.path, _status(entry, inside)


def _is_text(name: str) -> bool:
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def _entries(root: str, folder: str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(f"{root}/{folder}") as entries:
            return list(entries)
    except OSError as error:
        raise SourceError(f"cannot read the folder {root}/{folder}: {error.strerror}") from error


def _status(entry: os.DirEntry[str], inside: str) -> os.stat_result | str:
    try:
        if entry.is_symlink() and not os.path.realpath(entry.path).startswith(inside):
            return "a link that leaves the package"
        status = entry.stat()
    except OSError:
        return "a link that leads nowhere"
    return status if stat.S_ISREG(status.st_mode) else "not a plain file"
