"""Writing edits back into files without losing anything."""

from __future__ import annotations

import difflib
import errno
import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from assay.deployment import Edit, UserFile, apply_edits, read_user_file, read_yaml
from assay.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


def write_edits(files: Sequence[UserFile], edits: Sequence[Edit]) -> tuple[str, ...]:
    """Write the edits into their files, each replaced as a whole or not at all.

    Returns the unified diff of each file that changed. Mode and owner stay; a link stays a link.

    Raises:
        InputError: a file changed since it was read, cannot be written, or could no longer be read after.
    """
    diffs = []
    for file, new in _changed(files, edits):
        _check_still_reads(file, new)
        diffs.append(difference(file, new))
        _replace(Path(file.path), file, new)
    return tuple(diffs)


def preview_edits(files: Sequence[UserFile], edits: Sequence[Edit]) -> tuple[str, ...]:
    """The unified diffs that `write_edits` would return; nothing is written."""
    return tuple(difference(file, new) for file, new in _changed(files, edits))


def _changed(files: Sequence[UserFile], edits: Sequence[Edit]) -> Iterator[tuple[UserFile, str]]:
    """Each file whose text the edits change, and its new text."""
    for file in files:
        new = apply_edits(file.text, [edit for edit in edits if edit.file == file.path])
        if new != file.text:
            yield file, new


def _check_still_reads(file: UserFile, new: str) -> None:
    """No edit of ours may break a file, so one that would is our fault and is not written."""
    if Path(file.path).suffix in (".yaml", ".yml"):
        try:
            read_yaml(UserFile(path=file.path, text=new))
        except InputError as error:
            raise InputError(
                f"the fixes would leave {file.path} unreadable; nothing was written to it",
                hint="mend it by hand, and report this",
                details=(error.message,),
            ) from error


def difference(file: UserFile, new: str) -> str:
    """A unified diff from the file as read to its new text."""
    lines = difflib.unified_diff(
        file.text.splitlines(keepends=True), new.splitlines(keepends=True), file.path, file.path
    )
    return "".join(line if line.endswith("\n") else line + "\n" for line in lines)


def _replace(path: Path, file: UserFile, new: str) -> None:
    if read_user_file(path).text != file.text:
        raise InputError(f"{path} changed while assay was reading it; nothing was written to it")
    target = path.resolve()
    mark = b"\xef\xbb\xbf" if target.read_bytes().startswith(b"\xef\xbb\xbf") else b""
    try:
        status = target.stat()
        if not os.access(target, os.W_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        if status.st_nlink > 1:  # to replace one of its names would silently leave the others as they were
            raise OSError(errno.EMLINK, f"it has {status.st_nlink} names (hard links)")
        descriptor, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.", suffix=".assay")
        try:
            with os.fdopen(descriptor, "wb") as stream:
                stream.write(mark + new.encode("utf-8", errors="surrogateescape"))
                stream.flush()
                os.fsync(stream.fileno())
            os.chmod(name, status.st_mode & 0o7777)
            if (status.st_uid, status.st_gid) != (os.geteuid(), os.getegid()):
                os.chown(name, status.st_uid, status.st_gid)
            os.replace(name, target)
        except BaseException:
            os.unlink(name)
            raise
    except OSError as error:
        raise InputError(f"cannot write {path}: {error.strerror}; it is as it was") from error
