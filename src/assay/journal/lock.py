"""One at a time: a lock beside the journal that knows its owner and its age, and ends with its owner."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import re
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from assay.errors import JournalError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@contextlib.contextmanager
def locked(journal: Path, subject: str, *, who: str) -> Iterator[None]:
    """Hold the lock of one subject, such as `llm.service@gpu1`, of that journal.

    The kernel holds it for the process: it ends with it, also by kill -9. The file stays.

    Raises:
        JournalError: somebody holds it, who and since when stand in the message; or the file cannot be made.
    """
    path = lock_path(journal, subject)
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        stream = os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600), "r+b", buffering=0)
    except OSError as error:
        raise JournalError(f"cannot make the lock {path}: {error.strerror}") from error
    with stream:
        try:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise _held(subject, stream.read(4096)) from None
        except OSError as error:  # as on a network's disk that has no locks
            raise JournalError(
                f"cannot lock {path}: {error.strerror}", hint="name another journal"
            ) from error
        owner = {"who": who, "pid": os.getpid(), "since": datetime.now(UTC).isoformat()}
        stream.truncate()
        with contextlib.suppress(OSError):  # a full disk: the lock holds all the same
            stream.write(json.dumps(owner).encode())
        try:
            yield
        finally:
            stream.truncate(0)


def lock_path(journal: Path, subject: str) -> Path:
    """The file of that lock."""
    slug = re.sub(r"[^\w.-]+", "-", subject)[:60]
    digest = hashlib.sha256(subject.encode()).hexdigest()[:8]
    return journal.with_name(f"{journal.name}.{slug}.{digest}.lock")


def _held(subject: str, text: bytes) -> JournalError:
    try:
        owner = json.loads(text)
        since = datetime.fromisoformat(owner["since"])
        age_s = (datetime.now(UTC) - since).total_seconds()
        by = f"{owner['who']}, process {int(owner['pid'])}, for {age_s:.0f} s"
    except (ValueError, KeyError, TypeError):
        by = "another assay"
    return JournalError(
        f"{subject} is being changed by {by}", hint="wait for it; `assay status` says how far it is"
    )
