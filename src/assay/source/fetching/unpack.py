"""Takes an engine's package out of a wheel, which is untrusted input."""

from __future__ import annotations

import contextlib
import re
import stat
import struct
import zipfile
import zlib
from typing import IO, TYPE_CHECKING

from assay.errors import EngineNotFound, SourceError
from assay.source.fetching.names import Names, Unpacked, UnpackLimits, Writer, refused

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from assay.source.progress import Progress

ARCHIVE_LIMIT_BYTES = 4 << 30
"""No engine's wheel is larger."""
_DIRECTORY_LIMIT_BYTES = 128 << 20
_DATA = re.compile(r"[^/]+\.data/(?:purelib|platlib)/(.+)")
_DIST_INFO = re.compile(r"[^/]+\.dist-info/.+")


def unpack_wheel(
    wheel: Path,
    into: Path,
    *,
    packages: tuple[str, ...],
    progress: Progress,
    limits: UnpackLimits | None = None,
) -> Unpacked:
    """Unpack the first of those packages that the wheel has, and its dist-info, below the folder `into`.

    Nothing is written for an entry that is not needed, and nothing before all names and sizes were checked.

    Raises:
        SourceError: the wheel is broken, or is made so as to harm.
        EngineNotFound: it has none of the packages.
    """
    limits = limits or UnpackLimits()
    with _plain_errors(wheel), open(wheel, "rb") as stream:
        _check_directory(wheel, stream, limits)
        with zipfile.ZipFile(stream) as archive:
            entries = _checked(wheel, archive, limits)
            package = _package(wheel, entries, packages)
            return _extract(archive, entries, Writer(wheel.name, into, limits), package, progress)


def _extract(
    archive: zipfile.ZipFile,
    entries: dict[str, zipfile.ZipInfo],
    writer: Writer,
    package: str,
    progress: Progress,
) -> Unpacked:
    wanted = [path for path in entries if path.startswith(f"{package}/") or _DIST_INFO.fullmatch(path)]
    for at, path in enumerate(wanted):
        if at % 64 == 0:
            progress("unpack", at, len(wanted))
        with archive.open(entries[path]) as stream:
            writer.write(path, stream, entries[path].file_size)
    progress("unpack", len(wanted), len(wanted))
    inside = f"{package}/"
    return Unpacked(
        package=package,
        hashes={path: sha256 for path, sha256 in writer.hashes.items() if path.startswith(inside)},
        omitted=tuple(each for each in writer.omitted if each.file.startswith(inside)),
    )


def _package(wheel: Path, entries: dict[str, zipfile.ZipInfo], packages: tuple[str, ...]) -> str:
    for package in packages:
        if f"{package}/__init__.py" in entries:
            return package
    raise EngineNotFound(
        f"{wheel.name} has no package {' or '.join(packages)}",
        hint="name the wheel of the engine itself",
    )


def _checked(wheel: Path, archive: zipfile.ZipFile, limits: UnpackLimits) -> dict[str, zipfile.ZipInfo]:
    """Path -> entry of all files, after every check that needs no unpacking."""
    names = Names(wheel.name, limits)
    entries: dict[str, zipfile.ZipInfo] = {}
    for info in archive.infolist():
        if fault := _fault(info):
            raise refused(wheel.name, fault, info.orig_filename)
        moved = _DATA.fullmatch(info.orig_filename)
        path = names.add(moved[1] if moved else info.orig_filename, folder=info.is_dir())
        if not info.is_dir():
            entries[path] = info
    _check_sizes(wheel, archive, limits)
    return entries


def _fault(info: zipfile.ZipInfo) -> str:
    kind = stat.S_IFMT(info.external_attr >> 16)
    if kind == stat.S_IFLNK:
        return "a symbolic link"
    if kind not in (0, stat.S_IFDIR if info.is_dir() else stat.S_IFREG):
        return "a special file"
    if info.flag_bits & 0x2041:
        return "an encrypted file"
    if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        return f"a file packed by method {info.compress_type}, which wheels do not use"
    return ""


def _check_sizes(wheel: Path, archive: zipfile.ZipFile, limits: UnpackLimits) -> None:
    infos = sorted(archive.infolist(), key=lambda info: info.header_offset)
    total = sum(info.file_size for info in infos)
    packed = sum(info.compress_size for info in infos)
    if total > limits.total_bytes:
        raise refused(wheel.name, f"it unpacks to {total:,} bytes, more than {limits.total_bytes:,}")
    if total > limits.ratio_from_bytes and total > limits.ratio * packed:
        raise refused(wheel.name, f"{packed:,} bytes unpack to {total:,}")
    starts = [info.header_offset for info in infos[1:]] + [archive.start_dir]
    for info, end in zip(infos, starts, strict=False):
        if info.header_offset + 30 + info.compress_size > end:
            raise refused(wheel.name, "two files share the same bytes", info.orig_filename)


def _check_directory(wheel: Path, stream: IO[bytes], limits: UnpackLimits) -> None:
    """Look at the archive's list of files before `zipfile` makes objects of it, which may be very many."""
    size = stream.seek(0, 2)
    if size > ARCHIVE_LIMIT_BYTES:
        raise refused(wheel.name, f"it has {size:,} bytes, more than {ARCHIVE_LIMIT_BYTES:,}")
    start = stream.seek(max(0, size - (1 << 16) - 22 - 76))
    tail = stream.read()
    at = len(tail) - 22 if tail[-22:-18] == b"PK\5\6" and tail[-2:] == b"\0\0" else tail.rfind(b"PK\5\6")
    if at < 0 or len(tail) - at < 22:
        raise zipfile.BadZipFile("no list of files at its end: cut off, or no wheel")
    (length,) = struct.unpack_from("<L", tail, at + 12)
    if tail[at - 20 : at - 16] == b"PK\6\7" and at >= 76:
        at -= 76
        (length,) = struct.unpack_from("<Q", tail, at + 40)
    if length > min(_DIRECTORY_LIMIT_BYTES, start + at):
        raise refused(wheel.name, f"its list of files has {length:,} bytes")
    stream.seek(start + at - length)
    if stream.read(length).count(b"PK\1\2") > limits.entries:
        raise refused(wheel.name, f"it has more than {limits.entries:,} entries")


@contextlib.contextmanager
def _plain_errors(wheel: Path) -> Iterator[None]:
    """What `zipfile` raises on a broken archive, as one error of ours."""
    try:
        yield
    except (
        zipfile.BadZipFile,
        zlib.error,
        struct.error,
        EOFError,
        NotImplementedError,
        RuntimeError,
        ValueError,
        OverflowError,
    ) as error:
        raise SourceError(
            f"{wheel.name} is broken: {error}",
            hint="fetch it again; a download that was cut off looks like this",
        ) from error
