"""Drives the rungs of a run one after the other, and yields each when it ends."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from itertools import count
from pathlib import Path

import msgspec

from assay._secret import Secret
from assay._value import Value
from assay.bench.baseline import off_baseline
from assay.bench.client import OnReport, drive
from assay.bench.client_report import ClientReport
from assay.bench.doubt import Doubt
from assay.bench.doubts import doubts, drift, prompts_repeated, through_proxy
from assay.bench.flush import flush_cache
from assay.bench.gpus import GpuReport, GpuWatch, gpu_doubts, load_nvml
from assay.bench.job import Ended, Report
from assay.bench.jobs import jobs, written
from assay.bench.level import Level, due_times_ns
from assay.bench.metrics import Metrics, combined
from assay.bench.processes import measured_again, more_processes
from assay.bench.prompts import RandomPrompts
from assay.bench.record_file import read_records
from assay.bench.recorded import STEP_NS, Recorded, recorded
from assay.bench.records import RequestRecord
from assay.bench.requests import Sending, Target, request_bytes
from assay.bench.results import RunFile
from assay.bench.server_doubts import server_doubts
from assay.bench.server_metrics import ServerReport
from assay.bench.source import Prompts, Source, shares_prefixes
from assay.bench.undisturbed import undisturbed
from assay.bench.watch import Watch
from assay.errors import NotReady, TooManyFailures


class Workload(Value):
    """What is sent, apart from how fast."""

    sending: Sending
    """Route, model and what all requests share."""
    prompts: Prompts = RandomPrompts()
    """What is asked."""
    seed: int = 0
    """The same seed gives the same prompts, order and send times."""


class Limits(Value):
    """When to give up, what to ask of the server or hold against it, and where to write meanwhile."""

    stall_s: float = 60.0
    """Seconds without a byte from anyone, with requests in flight."""
    connect_s: float = 10.0
    """Seconds until all connections must stand."""
    metrics: Target | None = None
    """Where the server's metrics are, path and all; `None`: nobody asks."""
    flush: bool = False
    """Empty the prefix cache before each rung."""
    gpus: bool = False
    """Ask the GPUs of this machine through NVML, where that is to be had: the server must run here."""
    known: tuple[Doubt, ...] = ()
    """Doubts that hold of every rung, known before anything is sent."""
    baseline: tuple[RunFile, ...] = ()
    """Earlier runs of the same deployment, asked the same."""
    processes: int | None = None
    """How many processes share the load; `None`: one, and more where one proves too slow."""
    scratch: str | None = None
    """Folder for what is recorded before it is parsed (about 250 bytes an event); `None`: the system's."""


class Rung(Value):
    """One rung, measured."""

    number: int
    """1 for the first."""
    level: Level
    """The load that was asked for."""
    ended: Ended
    """Whether it came to its end."""
    metrics: Metrics
    """What it says of the server."""
    client: ClientReport
    """What it says of ourselves."""
    server: ServerReport | None = None
    """What the server said of itself."""
    gpus: tuple[GpuReport, ...] = ()
    """What the GPUs of this machine did, where they were asked."""
    doubts: tuple[Doubt, ...]
    """Why not to take the numbers as they stand."""
    began_ns: int
    """CLOCK_MONOTONIC at the start of the clock."""
    ended_ns: int
    """The same at its end."""


OnProgress = Callable[[Level, Report], None]
Keep = Callable[[Rung], None]


def measure(
    where: Target,
    workload: Workload,
    levels: Sequence[Level],
    *,
    key: Secret | None = None,
    limits: Limits | None = None,
    progress: OnProgress | None = None,
) -> Iterator[tuple[Rung, tuple[RequestRecord, ...]]]:
    """Drive the levels as `drive_rungs` does; each rung is yielded with all its records, held in memory."""
    with _scratch(limits or Limits()) as folder:
        path = folder / "records"
        rungs = drive_rungs(
            where, workload, levels, lambda _: path, key=key, limits=limits, progress=progress
        )
        for rung in rungs:
            yield rung, tuple(read_records(path).records)


def drive_rungs(  # noqa: PLR0913 - what is measured, within which limits, and who is told
    where: Target,
    workload: Workload,
    levels: Sequence[Level],
    records_at: Callable[[int], Path],
    *,
    key: Secret | None = None,
    limits: Limits | None = None,
    progress: OnProgress | None = None,
    keep: Keep | None = None,
) -> Iterator[Rung]:
    """Drive the levels in order; each rung is yielded as it ends, its records in the file `records_at` names.

    `keep` gets it before: Ctrl-C and SIGTERM that come once a rung has ended wait until it is through.

    Ends after the first rung that stalls or is interrupted (KeyboardInterrupt), which is yielded too.

    Raises:
        InputError: the target, the workload or a level is wrong; before anything is sent.
        NotReady: no connection can be opened.
        TooManyFailures: of a rung that came to its end, no request was answered.
    """
    run = _Run(where, workload, levels, key, limits or Limits(), progress)
    for number, level in enumerate(levels, 1):
        with ExitStack() as ended:
            rung = run.rung(number, level, records_at(number), ended)
            if keep:
                keep(rung)
        yield rung
        if rung.ended != "complete":
            return


class _Run:
    """A run under way."""

    def __init__(
        self,
        where: Target,
        workload: Workload,
        levels: Sequence[Level],
        key: Secret | None,
        limits: Limits,
        progress: OnProgress | None,
    ) -> None:
        self._where, self._workload, self._key, self._limits = where, workload, key, limits
        self._progress = progress
        self._source = Source(workload.prompts, workload.seed, levels)
        self._processes = limits.processes or 1
        self._rungs: list[Rung] = []

    def rung(self, number: int, level: Level, into: Path, ended: ExitStack) -> Rung:
        """Measure a rung, once more by more processes where this client was too slow.

        From the last response on, signals are held back until `ended` is left.
        """
        notes: tuple[Doubt, ...] = ()
        for again in count():
            rung = self._measured(number, level, again, into, ended)
            more = more_processes(rung, self._limits.processes)
            if more is None:
                break
            notes = (*notes, measured_again(rung, more))
            self._processes = more
            ended.close()
        if notes:
            rung = msgspec.structs.replace(rung, doubts=(*rung.doubts, *notes))
        self._rungs.append(rung)
        return rung

    def _measured(self, number: int, level: Level, again: int, into: Path, ended: ExitStack) -> Rung:
        where, limits, sending = self._where, self._limits, self._workload.sending
        prompts, repeated = self._source.rung(number, level, again)
        with _scratch(limits) as folder:
            requests = written(
                folder / "requests", (request_bytes(where, sending, each, self._key) for each in prompts)
            )
            due = due_times_ns(level, f"{self._workload.seed}/{number}/due", prompts[level.warmups :])
            prompts = [msgspec.structs.replace(each, text="", messages=()) for each in prompts]
            processes = min(self._processes, level.concurrency or level.requests, level.requests)
            parts = list(
                jobs(where, level, prompts, requests, due, processes, limits.connect_s, limits.stall_s)
            )
            spools = [folder / f"spool{each.process}" for each in parts]
            if limits.flush:
                flush_cache(where, self._key)
            with _watched(limits, where, self._key) as (watch, gpu_watch):
                report = drive(parts, spools, self._told(level))
                ended.enter_context(undisturbed())
            if report.error:
                raise _not_ready(where, report)
            server, gpus = watch.report(), gpu_watch.report(report.began_ns, report.ended_ns)
            secrets = _secrets(sending, self._key)
            found = recorded(spools, report, prompts, level, secrets=secrets, into=into)
        if not found.records:
            raise _nothing_measured(where, report)
        rung = _rung(number, level, report, found, processes)
        rung = msgspec.structs.replace(rung, server=server, gpus=gpus)
        more = [*prompts_repeated(repeated, level.requests), *_beside(rung, found), *limits.known]
        more += [*through_proxy(where), *drift(self._rungs, rung), *off_baseline(rung, limits.baseline)]
        rung = _doubted(rung, more, shared=shares_prefixes(self._workload.prompts))
        if not rung.metrics.completed and rung.ended == "complete":
            raise _none_answered(where, rung)
        return rung

    def _told(self, level: Level) -> OnReport:
        progress = self._progress
        return lambda report: progress(level, report) if progress else None


@contextmanager
def _scratch(limits: Limits) -> Iterator[Path]:
    """A folder for what is needed only meanwhile."""
    with tempfile.TemporaryDirectory(prefix=".assay-bench-", dir=limits.scratch) as folder:
        yield Path(folder)


@contextmanager
def _watched(limits: Limits, where: Target, key: Secret | None) -> Iterator[tuple[Watch, GpuWatch]]:
    """What is looked at beside the load."""
    with (
        GpuWatch(load_nvml() if limits.gpus else None) as gpus,
        Watch(limits.metrics, key if _same_host(limits.metrics, where) else None) as watch,
    ):
        yield watch, gpus


def _beside(rung: Rung, found: Recorded) -> Iterator[Doubt]:
    """Doubts by what was looked at beside the load."""
    if rung.server:
        yield from server_doubts(rung.server, found.records, found.warmups, rung.metrics)
    yield from gpu_doubts(rung.gpus)


def _doubted(rung: Rung, more: Sequence[Doubt], *, shared: bool) -> Rung:
    """The rung with more doubts; where prompts share prefixes on purpose, hits are none."""
    kept = [each for each in (*rung.doubts, *more) if not (shared and each.code == "prefix-hits")]
    every = tuple(sorted(kept, key=lambda doubt: not doubt.blocks))
    return msgspec.structs.replace(rung, doubts=every)


def _same_host(one: Target | None, other: Target) -> bool:
    """Whether the key may go there."""
    return one is not None and (one.scheme, one.host, one.port) == (other.scheme, other.host, other.port)


def _secrets(sending: Sending, key: Secret | None) -> tuple[str, ...]:
    """What no record may hold, whoever repeats it: the key, and what headers carry."""
    words = [word for _, value in sending.headers for word in (value, *value.split())]
    return (*((key.reveal(),) if key and key.reveal() else ()), *(each for each in words if len(each) >= 6))


def _rung(number: int, level: Level, report: Report, found: Recorded, processes: int) -> Rung:
    arrivals = found.arrivals
    figures = combined(found.records, arrivals, level)
    backlog = arrivals.waits.quantile(0.99)
    moved = abs(report.offset_moved_ns)
    client = ClientReport(
        cpu_s=report.cpu_s,
        processes=processes,
        busiest=report.busiest,
        events=arrivals.received,
        unstamped_reads=arrivals.unstamped_reads,
        backlog_p99_ms=None if backlog is None else backlog / 1e6,
        stamps="read" if backlog is None else "kernel",
        lazy_share=report.lazy_share,
        clock_moved_ms=moved / 1e6 if moved > STEP_NS else 0.0,
    )
    ended = report.ended or "interrupted"
    every = doubts(found.records, level, figures, client, ended)
    return Rung(
        number=number,
        level=level,
        ended=ended,
        metrics=figures,
        client=client,
        doubts=every,
        began_ns=report.began_ns,
        ended_ns=report.ended_ns,
    )


def _not_ready(where: Target, report: Report) -> NotReady:
    return NotReady(f"{where.url}: {report.error}", hint="is the server up, and --base-url its address?")


def _nothing_measured(where: Target, report: Report) -> BaseException:
    """The clock had not started yet when a rung ended."""
    if report.ended == "interrupted":
        return KeyboardInterrupt()
    return NotReady(
        f"{where.url}: nothing came for too long while warming up", hint="look at the server's log"
    )


def _none_answered(where: Target, rung: Rung) -> TooManyFailures:
    said = tuple(f"{each.count} {each.outcome}: {each.example}" for each in rung.metrics.failures)
    return TooManyFailures(
        f"{where.url}: none of {rung.metrics.failed} requests was answered ({rung.level.name})",
        hint="one request by hand (curl) shows the server's answer in full; --model and --endpoint must fit",
        details=said,
    )
