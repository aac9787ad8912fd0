"""The worker process: takes a job on stdin, drives it into a file, reports on stdout."""

from __future__ import annotations

import gc
import os
import resource
import sys
import time

import msgspec

from assay.bench.job import GO, Ended, Job, Report
from assay.bench.loop import Loop

_IN, _OUT = 0, 1


def offset_ns() -> int:
    """CLOCK_REALTIME minus CLOCK_MONOTONIC, from the narrowest of 64 looks."""
    best, found = 1 << 62, 0
    for _ in range(64):
        before = time.monotonic_ns()
        real = time.time_ns()
        after = time.monotonic_ns()
        if after - before < best:
            best, found = after - before, real - (before + after) // 2
    return found


def main() -> int:
    """Drive the job that comes on stdin."""
    size = int.from_bytes(_read(8), "little")
    job = msgspec.msgpack.decode(_read(size), type=Job)
    gc.collect()
    gc.freeze()
    gc.disable()
    _finer_sleeps()
    os.set_blocking(_OUT, False)
    spool = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    try:
        last = _driven(job, spool)
    except OSError as error:
        last = msgspec.structs.replace(_NOTHING, error=error.strerror or str(error))
    os.set_blocking(_OUT, True)
    _say(last)
    return 0


_NOTHING = Report(sent=0, done=0, failed=0, in_flight=0, quiet_s=0.0)


def _driven(job: Job, spool: int) -> Report:
    loop = Loop(job, spool, _say)
    error = loop.connect()
    if error:
        return msgspec.structs.replace(loop.report(), error=error)
    ended = loop.warm() if job.warmups else "complete"
    began = 0
    if ended == "complete":
        began, ended = _word()
    if not began:
        return msgspec.structs.replace(loop.report(), ended=ended)
    offset, cpu = offset_ns(), _cpu_s()
    time.sleep(max(0, began - time.monotonic_ns()) / 1e9)
    ended = loop.timed(began)
    finished, cpu = time.monotonic_ns(), _cpu_s() - cpu
    return msgspec.structs.replace(
        loop.report(),
        ended=ended,
        began_ns=began,
        ended_ns=finished,
        offset_ns=offset,
        offset_moved_ns=offset_ns() - offset,
        cpu_s=cpu,
        busiest=cpu * 1e9 / max(1, finished - began),
    )


def _word() -> tuple[int, Ended]:
    """Say that all is ready, wait for the word; when to begin (0: not at all), else why not."""
    os.set_blocking(_OUT, True)
    _say(msgspec.structs.replace(_NOTHING, ready=True))
    os.set_blocking(_OUT, False)
    if os.read(_IN, 1) != GO:
        return 0, "interrupted"
    return int.from_bytes(_read(8), "little"), "complete"


def _cpu_s() -> float:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def _say(report: Report) -> None:
    """One line; left out while the reader does not keep up (only the last one waits)."""
    try:
        os.write(_OUT, msgspec.json.encode(report) + b"\n")
    except (BlockingIOError, BrokenPipeError):  # who is gone has closed our stdin too, which stops the loop
        return


def _read(size: int) -> bytes:
    parts = []
    while size:
        part = os.read(_IN, min(size, 1 << 20))
        if not part:
            sys.exit(1)
        parts.append(part)
        size -= len(part)
    return b"".join(parts)


def _finer_sleeps() -> None:
    """Ask Linux for timers without its 50 us of slack."""
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None).prctl(29, 1, 0, 0, 0)  # PR_SET_TIMERSLACK


if __name__ == "__main__":
    sys.exit(main())
