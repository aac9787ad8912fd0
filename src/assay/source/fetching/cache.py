"""Where fetched trees and what was derived from them are kept between runs.

    CACHE/CACHEDIR.TAG      tells backup programs that all this can be made again
    CACHE/v1/               the layout's version; another version never looks in here
      trees/DIGEST/         an unpacked tree: the package folder and the wheel's dist-info
      records/KIND/KEY      small records; KEY is the SHA-256 of what the record is about
        sources/            release, wheel file or image -> the Tree that it unpacked to
        tables/             folder -> (size, times, inode, SHA-256) of each of its files
        derived/            (digest, name, schema) -> what was made from that tree
      scratch/NAME/         unfinished work of one process, which holds a lock on NAME/lock

A record is a line that names the format, the SHA-256 of the rest, and the rest: one that does not agree
with itself counts as absent. Finished things appear by rename, so that two processes, or one that was
killed, never leave half of anything; what a killed one left in `scratch` is removed by a later one. A whole
cache may be deleted at any time.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import hashlib
import os
import shutil
import stat
from pathlib import Path
from typing import TYPE_CHECKING

from assay._value import Value
from assay.errors import SourceError
from assay.source.fetching.folders import expanded

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_MAGIC = b"assay record 1\n"
_RECORD_LIMIT_BYTES = 512 << 20
_LOCK = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_TAG = b"Signature: 8a477f597d28d172789f06886806bc55\n# made by assay; can be deleted at any time\n"


class Cache:
    """One cache folder, made when it is first written to."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._base = folder / "v1"

    def cached(self, digest: str, name: str, schema: str) -> bytes | None:
        """What was stored for the tree of that digest under that name and schema, or None."""
        return self.load("derived", f"{digest} {name} {schema}")

    def store(self, digest: str, name: str, schema: str, payload: bytes) -> None:
        """Keep something made from the tree of that digest."""
        self.save("derived", f"{digest} {name} {schema}", payload)

    def load(self, kind: str, key: str) -> bytes | None:
        """The record, or None where there is none that agrees with itself."""
        try:
            data = _plain_bytes(self._record(kind, key))
        except OSError:
            return None
        head = len(_MAGIC) + 32
        if data[: len(_MAGIC)] != _MAGIC or hashlib.sha256(data[head:]).digest() != data[len(_MAGIC) : head]:
            return None
        return data[head:]

    def save(self, kind: str, key: str, payload: bytes) -> None:
        """Write a record whole or not at all; a cache that cannot be written is only slower."""
        path = self._record(kind, key)
        with contextlib.suppress(OSError):
            self._make(path.parent)
            unfinished = path.with_name(f"{path.name}.{os.urandom(6).hex()}")
            try:
                _write_new(unfinished, _MAGIC + hashlib.sha256(payload).digest() + payload)
                unfinished.replace(path)
            finally:
                unfinished.unlink(missing_ok=True)

    def _record(self, kind: str, key: str) -> Path:
        name = hashlib.sha256(key.encode("utf-8", "surrogateescape")).hexdigest()
        return self._base / "records" / kind / name

    def tree_folder(self, digest: str) -> Path:
        """Where the unpacked tree of that digest is or would be."""
        return self._base / "trees" / digest

    def keep_tree(self, unpacked: Path, digest: str) -> bool:
        """Move a finished tree, which lies in a scratch folder, to its place.

        False if one is there already: another process was faster. Its files are then still to be checked.
        """
        self._make(self._base / "trees")
        try:
            unpacked.rename(self.tree_folder(digest))
        except OSError as error:
            if error.errno not in (errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR):
                raise
            return False
        return True

    def drop_tree(self, digest: str) -> None:
        """Remove a tree that was found not to be what it should be."""
        with self.scratch() as scratch, contextlib.suppress(FileNotFoundError):
            self.tree_folder(digest).rename(scratch / "dropped")

    @contextlib.contextmanager
    def scratch(self) -> Iterator[Path]:
        """A folder for unfinished work, removed at the end; OSErrors in here become SourceErrors."""
        with self._plain_errors():
            with self._gate() as parent:
                _sweep(parent)
                folder = parent / os.urandom(8).hex()
                folder.mkdir(mode=0o700)
                lock = os.open(folder / "lock", _LOCK, 0o600)
                fcntl.flock(lock, fcntl.LOCK_EX)
            try:
                yield folder
            finally:
                shutil.rmtree(folder, ignore_errors=True)
                os.close(lock)

    @contextlib.contextmanager
    def _gate(self) -> Iterator[Path]:
        """The scratch folder's parent, while no other process makes or sweeps one."""
        parent = self._base / "scratch"
        self._make(parent)
        gate = os.open(parent / "gate", _LOCK, 0o600)
        try:
            fcntl.flock(gate, fcntl.LOCK_EX)
            yield parent
        finally:
            os.close(gate)

    def _make(self, folder: Path) -> None:
        inside = [folder, *folder.parents]
        for part in inside[: inside.index(self.folder)]:
            if part.is_symlink():  # the cache itself may be one, its user's wish
                raise OSError(errno.ELOOP, "a link, which assay does not write through", str(part))
        if folder.is_dir():
            return
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with contextlib.suppress(FileExistsError):
            _write_new(self.folder / "CACHEDIR.TAG", _TAG)

    @contextlib.contextmanager
    def _plain_errors(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            reason = error.strerror or str(error)
            named = error.filename if isinstance(error.filename, str) else ""
            if named and not named.startswith(str(self.folder)):
                raise SourceError(f"cannot use {named}: {reason}") from error
            full = error.errno in (errno.ENOSPC, errno.EDQUOT)
            raise SourceError(
                f"cannot write to the cache {named or self.folder}: {reason}",
                hint="make room there, or name another folder for the cache"
                if full
                else "name a folder for the cache that you may write to",
            ) from error


def _write_new(path: Path, data: bytes) -> None:
    """Write a file that is not there yet, not even as a link."""
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644), "wb") as stream:
        stream.write(data)


def _plain_bytes(path: Path) -> bytes:
    """A file's content; pipes, devices and what is too large to be ours are none."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
    with open(descriptor, "rb") as stream:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode) or status.st_size > _RECORD_LIMIT_BYTES:
            raise OSError(errno.EINVAL, "not a record", str(path))
        return stream.read(_RECORD_LIMIT_BYTES)


def _sweep(parent: Path) -> None:
    """Remove the scratch folders whose process is gone."""
    for entry in os.scandir(parent):
        if not entry.is_dir(follow_symlinks=False):
            continue
        with contextlib.suppress(OSError):
            lock = os.open(os.path.join(entry.path, "lock"), _LOCK, 0o600)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(entry.path, ignore_errors=True)
            finally:
                os.close(lock)


class Omitted(Value):
    """A file of the tree that a reader does not get to see, and so a limit of what may be said."""

    file: str
    """Path from the tree's root."""
    reason: str
    """Why, in a few words."""
    sha256: str = ""
    """Digest of its contents where they could be read."""


def default_cache(environment: Mapping[str, str]) -> Path:
    """The folder that ASSAY_CACHE names, or the one that the platform has for caches."""
    if environment.get("ASSAY_CACHE"):
        return expanded(environment["ASSAY_CACHE"])
    import platformdirs  # only here: a folder is usually named, or remembered by the caller

    return Path(platformdirs.user_cache_dir("assay", appauthor=False))
