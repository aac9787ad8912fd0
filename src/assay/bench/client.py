"""Starts the worker process for a rung, passes on how far it is, and brings its record back."""

from __future__ import annotations

import contextlib
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec

from assay.bench.job import Job, Report
from assay.errors import MeasurementError

OnReport = Callable[[Report], None]


def _nothing(_report: Report) -> None:
    """Who was interrupted wants no progress."""


def drive(job: Job, spool: Path, on_report: OnReport) -> Report:
    """Drive one rung in a process of its own, which records into `spool`; its last report.

    On KeyboardInterrupt the worker is told to stop and its record is kept: the last report then says
    `interrupted`.

    Raises:
        MeasurementError: nothing could be sent, or the worker died.
    """
    command = [sys.executable, "-m", "assay.bench.worker", str(spool)]
    data = msgspec.msgpack.encode(job)
    last: list[Report] = []
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True
    ) as worker:
        assert worker.stdin is not None
        assert worker.stdout is not None
        try:
            worker.stdin.write(len(data).to_bytes(8, "little") + data)
            worker.stdin.flush()
            _follow(worker.stdout, last, on_report)
        except (KeyboardInterrupt, BrokenPipeError):
            _stop(worker, last)
        except BaseException:
            worker.kill()
            raise
        with contextlib.suppress(BrokenPipeError):
            worker.stdin.close()
    if not last:
        raise MeasurementError(
            f"the process that drives the load died (exit code {worker.returncode})",
            hint="memory is the usual reason: fewer requests a rung help",
        )
    return last[-1]


def _follow(stream: Iterator[bytes], last: list[Report], on_report: OnReport) -> None:
    """Pass reports on; the last one is kept even where Ctrl-C comes right after it."""
    for line in stream:
        report = msgspec.json.decode(line, type=Report)
        if report.ended is not None or report.error:
            last.append(report)
        else:
            on_report(report)


def _stop(worker: subprocess.Popen[bytes], last: list[Report]) -> None:
    """Ask the worker to stop, then wait for its last word; a second Ctrl-C ends it at once."""
    assert worker.stdin is not None
    assert worker.stdout is not None
    with contextlib.suppress(BrokenPipeError):
        worker.stdin.close()
    try:
        _follow(worker.stdout, last, _nothing)
    except BaseException:
        worker.kill()
        raise
