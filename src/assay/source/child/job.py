"""The process with limits in which untrusted source is read: `python -m assay.source.child.job JOB`.

The request comes on stdin: four numbers (`LIMITS` below) and the job's own bytes. stdout gets one byte and
the reply: `=` and the job's bytes, `!` and an AssayError as msgpack (class name, message, hint, details), or
`m` when memory or the stack ran out. stderr gets a line `file N of M PATH` for each file that is begun.
"""

from __future__ import annotations

import importlib
import os
import struct
import sys
from typing import Protocol

# "module:function"; a function takes (request, note) and returns the reply
JOBS = {
    "check": "assay.source.child.check:run",
    "declarations": "assay.source.declaring.reader:read_declarations_job",
}
LIMITS = struct.Struct("<4q")
"""Memory in bytes, CPU seconds, recursion depth, length of the request."""


class Note(Protocol):
    """Tells that a file is about to be read."""

    def __call__(self, file: str, total: int | None = None) -> None:
        """`total` is how many files there will be, where that is known."""


def no_note(file: str, total: int | None = None) -> None:
    """Tells nobody."""


class Job(Protocol):
    """What the child can be asked to do."""

    def __call__(self, request: bytes, note: Note) -> bytes:
        """Its reply to a request; AssayErrors pass to the parent as they are."""


def main(job: str) -> int:
    """Do one job."""
    memory, cpu, depth, length = LIMITS.unpack(_read(LIMITS.size))
    request = _read(length)
    module, _, name = JOBS[job].partition(":")
    function: Job = getattr(importlib.import_module(module), name)
    # only now: our own modules may be compiled and take what they need
    _limit(memory, cpu)
    sys.setrecursionlimit(depth)
    _write(_answer(function, request))
    return 0


def _answer(function: Job, request: bytes) -> bytes:
    from assay.errors import AssayError

    try:
        return b"=" + function(request, _Notes())
    except (MemoryError, RecursionError) as error:
        return b"m" + type(error).__name__.encode()
    except AssayError as error:
        import msgspec

        return b"!" + msgspec.msgpack.encode(
            (type(error).__name__, error.message, error.hint, list(error.details))
        )


def _limit(memory: int, cpu: int) -> None:
    """Set what the platform has; macOS refuses some of it, where the parent's clock remains."""
    import contextlib
    import resource

    # a second between soft and hard: the first signal says why, the second cannot be ignored
    wanted = (
        (resource.RLIMIT_AS, memory, memory),
        (resource.RLIMIT_CPU, cpu, cpu + 1),
        (resource.RLIMIT_FSIZE, 0, 0),
        (resource.RLIMIT_CORE, 0, 0),
    )
    for kind, soft, hard in wanted:
        with contextlib.suppress(ValueError, OSError):
            most = resource.getrlimit(kind)[1]
            if most == resource.RLIM_INFINITY:
                resource.setrlimit(kind, (soft, hard))
            else:
                resource.setrlimit(kind, (min(soft, most), min(hard, most)))


class _Notes:
    """Writes each note at once: the last one is what is known after a crash. A new total counts anew."""

    def __init__(self) -> None:
        self._count = 0
        self._total: int | None = None

    def __call__(self, file: str, total: int | None = None) -> None:
        self._count = self._count + 1 if total == self._total else 1
        self._total = total
        shown = file.encode("utf-8", "surrogateescape").replace(b"\n", b"?")
        os.write(2, b"file %d of %d " % (self._count, total or 0) + shown[:2000] + b"\n")


def _read(length: int) -> bytes:
    data = sys.stdin.buffer.read(length)
    if len(data) != length:
        sys.exit("the request was cut off")
    return data


def _write(reply: bytes) -> None:
    sys.stdout.buffer.write(reply)
    sys.stdout.buffer.flush()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
