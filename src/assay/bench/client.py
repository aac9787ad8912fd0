"""Starts the worker processes of a rung, sets them off together, and puts what they report into one."""

from __future__ import annotations

import contextlib
import os
import selectors
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import msgspec

from assay.bench.job import GO, STALLED, Ended, Job, Report
from assay.errors import MeasurementError

OnReport = Callable[[Report], None]
_AHEAD_NS = 20_000_000
"""Several processes begin so long after the last of them said that it was ready."""
_PIECE = 1 << 16


def drive(jobs: Sequence[Job], spools: Sequence[Path], on_report: OnReport) -> Report:
    """Drive one rung, each job in a process of its own that records into its spool; what they say at the end.

    Where nothing comes for too long they are stopped: the last report then says `stalled`. On
    KeyboardInterrupt they are stopped and what they recorded is kept: `interrupted`.

    Raises:
        MeasurementError: a worker died.
    """
    with contextlib.ExitStack() as stack:
        workers = [_Worker(job, spool, stack) for job, spool in zip(jobs, spools, strict=True)]
        crew = _Crew(workers, on_report, jobs[0].stall_s)
        try:
            for worker, job in zip(workers, jobs, strict=True):
                worker.begin(job)
            crew.follow()
        except (KeyboardInterrupt, BrokenPipeError):
            crew.stop()
            crew.quiet = True
            crew.follow()  # a second Ctrl-C ends them at once
        for worker in workers:
            worker.stop()
    died = next((each for each in workers if each.last is None or not each.over), None)
    if died is not None and crew.ended == "interrupted" and died.last is None:
        raise KeyboardInterrupt  # before it had even begun
    if died is not None:
        raise MeasurementError(
            f"a process that drives the load died (exit code {died.process.returncode})",
            hint="memory is the usual reason: fewer requests a rung help",
        )
    return crew.together()


class _Worker:
    """One process and what it said last."""

    def __init__(self, job: Job, spool: Path, stack: contextlib.ExitStack) -> None:
        command = [sys.executable, "-m", "assay.bench.worker", str(spool)]
        self.process = stack.enter_context(
            _ended(
                subprocess.Popen(
                    command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True
                )
            )
        )
        self.number = job.process
        self.last: Report | None = None
        self.over = False
        """Whether its last report came."""
        self._begun = b""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self._stdin, self._stdout = self.process.stdin, self.process.stdout

    def fileno(self) -> int:
        """Where it reports."""
        return self._stdout.fileno()

    def begin(self, job: Job) -> None:
        """Give it its job."""
        data = msgspec.msgpack.encode(job)
        self._stdin.write(len(data).to_bytes(8, "little") + data)
        self._stdin.flush()

    def say(self, word: bytes) -> None:
        """Tell it something; who is gone need not hear it."""
        with contextlib.suppress(BrokenPipeError, ValueError):
            self._stdin.write(word)
            self._stdin.flush()

    def stop(self) -> None:
        """Ask it to end, if it has not."""
        with contextlib.suppress(BrokenPipeError):
            self._stdin.close()

    def reports(self) -> list[Report] | None:
        """What it said since; `None` when it is gone."""
        data = os.read(self.fileno(), _PIECE)
        if not data:
            return None
        *lines, self._begun = (self._begun + data).split(b"\n")
        found = [msgspec.json.decode(line, type=Report) for line in lines]
        for report in found:
            self.last = report
            self.over |= report.ended is not None or bool(report.error)
        return found


@contextlib.contextmanager
def _ended(process: subprocess.Popen[bytes]) -> Iterator[subprocess.Popen[bytes]]:
    """A process that is over when the block is left; killed where that is left by an error."""
    with process:
        try:
            yield process
        except BaseException:
            process.kill()
            raise


class _Crew:
    """The workers of a rung."""

    def __init__(self, workers: Sequence[_Worker], on_report: OnReport, stall_s: float) -> None:
        self._workers, self._on_report, self._stall_s = workers, on_report, stall_s
        self.ended: Ended | None = None
        """Why they were stopped."""
        self._gone = False
        self.quiet = False
        """Whether nobody wants to hear of progress any more."""

    def follow(self) -> None:
        """Pass on what they say until all have ended."""
        with selectors.DefaultSelector() as selector:
            for number, worker in enumerate(self._workers):
                if not worker.over:
                    selector.register(worker, selectors.EVENT_READ, number)
            while selector.get_map():
                for key, _ in selector.select():
                    worker = self._workers[key.data]
                    reports = worker.reports()
                    if reports is None:
                        selector.unregister(worker)
                        if not worker.over:
                            self.stop()
                    elif reports:
                        self._heard(worker)

    def _heard(self, worker: _Worker) -> None:
        report = worker.last
        assert report is not None
        if worker.over:
            if report.error or report.ended != "complete":
                self.stop()
            return
        if not self._gone and all(each.last and each.last.ready for each in self._workers):
            self._gone = True
            at = time.monotonic_ns() + (_AHEAD_NS if len(self._workers) > 1 else 0)
            for each in self._workers:
                each.say(GO + at.to_bytes(8, "little"))
        busy = [each.last for each in self._workers if each.last and each.last.in_flight and not each.over]
        quiet_s = min((each.quiet_s for each in busy), default=0.0)
        if quiet_s > self._stall_s:
            self.stop("stalled")
        elif not self.quiet and not report.ready:
            self._on_report(msgspec.structs.replace(self.together(), quiet_s=quiet_s))

    def stop(self, why: Ended = "interrupted") -> None:
        """Tell all to stop."""
        self.ended = self.ended or why
        for each in self._workers:
            if why == "stalled":
                each.say(STALLED)
            each.stop()

    def together(self) -> Report:
        """What they said last, as one."""
        every = [each.last for each in self._workers if each.last]
        began = [each.began_ns for each in every]
        endings = {each.ended for each in every}
        return Report(
            sent=sum(each.sent for each in every),
            done=sum(each.done for each in every),
            failed=sum(each.failed for each in every),
            in_flight=sum(each.in_flight for each in every),
            quiet_s=min((each.quiet_s for each in every), default=0.0),
            silent=sum(each.silent for each in every),
            ended=self.ended or (endings.pop() if len(endings) == 1 else "interrupted"),
            error=next((each.error for each in every if each.error), ""),
            began_ns=min(began) if all(began) else 0,
            ended_ns=max(each.ended_ns for each in every),
            offset_ns=every[0].offset_ns,
            offset_moved_ns=max((each.offset_moved_ns for each in every), key=abs),
            cpu_s=sum(each.cpu_s for each in every),
            busiest=max(each.busiest for each in every),
            lazy_share=sum(each.lazy_share for each in every) / len(every),
        )
