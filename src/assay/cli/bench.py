"""`assay bench`: load a server, record every request, say how far the numbers can be trusted."""

from __future__ import annotations

import os
import signal
import sys
from datetime import datetime
from typing import TYPE_CHECKING

import msgspec

from assay import __version__
from assay.cli.bench_options import BenchOptions
from assay.errors import InputError, MeasurementError

if TYPE_CHECKING:
    from assay.bench import Output, Rung, RunInfo


def bench(*, options: BenchOptions | None = None) -> int:
    """Measure a running server: latency and throughput at one load or a ladder of loads.

    Each rung is written as it ends: a summary with the keys of vLLM's and
    SGLang's own tools, and a compact file with every request beside it. Exit
    code 0: measured, doubts and all; 6: no number can be drawn.
    """
    from assay import reports  # loaded only when it runs: `--help` stays fast
    from assay.bench import Limits, Output, RunInfo, bench, fitted, served_model
    from assay.cli import bench_plan
    from assay.cli.bench_against import earlier_runs, other_than_meant
    from assay.cli.bench_progress import BenchProgress
    from assay.cli.noting import interrupted_by

    options = options or BenchOptions()
    if not options.stall_timeout > 0:
        raise InputError("--stall-timeout: more than 0 was expected")
    where, key = bench_plan.where(options), bench_plan.api_key(options, os.environ)
    levels = bench_plan.levels(options)
    # what is wrong with it is said before the server is asked anything
    bench_plan.workload(options, options.model or "")
    now = datetime.now().astimezone()
    output = Output(
        options.result_dir / (options.result_filename or f"bench-{now:%Y%m%d-%H%M%S}.json"),
        detailed=options.save_detailed,
    )
    model = options.model or served_model(where, key=key)
    limits = Limits(
        stall_s=options.stall_timeout,
        processes=bench_plan.processes(options),
        metrics=bench_plan.metrics(options, where),
        flush=options.flush_cache,
        gpus=bench_plan.is_here(where) if options.gpu_telemetry is None else options.gpu_telemetry,
        known=other_than_meant(options.deployment, where, key),
    )
    workload = bench_plan.workload(options, model)
    info = RunInfo(
        where=where,
        workload=fitted(where, workload, key=key, limits=limits),
        started=now.isoformat(timespec="seconds"),
        assay=__version__,
    )
    limits = msgspec.structs.replace(limits, baseline=earlier_runs(options.baseline, info))
    stopped: BaseException | None = None
    try:
        with interrupted_by(signal.SIGTERM), BenchProgress(sys.stderr) as progress:
            for rung in bench(info, levels, output, key=key, limits=limits, progress=progress):
                progress.clear()
                if not options.json:
                    print(reports.bench_text(rung), end="\n\n", flush=True)
    except (KeyboardInterrupt, MeasurementError) as error:
        stopped = error
        if not output.rungs:
            raise
    _shown(options, info, output)
    _ended(output.rungs[-1], stopped, options.stall_timeout)
    return 0


def _ended(last: Rung, stopped: BaseException | None, stall_s: float) -> None:
    """Raise what ended the run before its time."""
    if stopped or last.ended == "interrupted":
        raise stopped or KeyboardInterrupt
    if last.ended == "stalled":
        raise MeasurementError(
            f"{last.level.name}: nothing came for {stall_s:g} s; stopped",
            hint="look at the server's log; --stall-timeout if it really needs longer",
        )


def _shown(options: BenchOptions, info: RunInfo, output: Output) -> None:
    """The end of a run: its ladder or JSON, where it lies, and its page."""
    from assay import reports
    from assay.bench import read_records, summary_json

    rungs = output.rungs
    if options.json:
        print(summary_json(info, rungs).decode(), end="")
    else:
        print(reports.bench_ladder(rungs), reports.bench_definitions(), sep="\n\n")
    print(f"assay: results in {reports.harmless(str(output.path))}", file=sys.stderr)
    if options.html:
        page = reports.bench_html(
            info, rungs, lambda rung: tuple(read_records(output.records_path(rung.number)).records)
        )
        output.page_path.write_text(page, encoding="utf-8")
