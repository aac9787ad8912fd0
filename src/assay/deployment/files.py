"""Reading a user's text files: bounded, with plain errors."""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING

from assay.deployment.text import UserFile
from assay.errors import InputError

if TYPE_CHECKING:
    from pathlib import Path

LIMIT_BYTES = 1 << 20
"""No unit, script, compose or deployment file that people write is larger than this."""


def read_user_file(path: Path, *, limit_bytes: int = LIMIT_BYTES) -> UserFile:
    """Read a text file of the user's; a byte order mark at its start is left out.

    Raises:
        InputError: it is missing, not a plain file, unreadable, larger than `limit_bytes`, or binary.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}") from error
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode):  # Python's `open` refuses a folder, and names its number
        os.close(descriptor)
        kind = "a folder" if stat.S_ISDIR(status.st_mode) else "not a plain file"
        raise InputError(f"cannot read {path}: {kind}")
    with open(descriptor, "rb") as stream:
        if status.st_size > limit_bytes:
            raise InputError(
                f"{path} has {status.st_size:,} bytes, more than the {limit_bytes:,} that assay reads",
                hint="give the file that holds the command line itself",
            )
        try:
            data = stream.read(limit_bytes + 1)
        except OSError as error:  # some files of /proc
            raise InputError(f"cannot read {path}: {error.strerror}") from error
    if b"\0" in data:
        raise InputError(f"{path} is not a text file: it has a zero byte at offset {data.index(0)}")
    text = data.removeprefix(b"\xef\xbb\xbf").decode("utf-8", errors="surrogateescape")
    return UserFile(path=str(path), text=text)
