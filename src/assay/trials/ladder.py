"""Measures one arm: the ladder of loads, on one life of the server, each rung on disk as it ends."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

import msgspec

from assay._secret import Secret
from assay._value import Value
from assay.bench import (
    Level,
    Limits,
    OnProgress,
    Output,
    Rung,
    RunInfo,
    Target,
    Workload,
    bench,
    fitted,
    read_run,
    served_model,
)
from assay.errors import MeasurementError

ArmName = str
"""What is measured: `baseline` and `candidate` of a try, `start-7` of a study. Also the name of its file."""
Reach = Callable[[], AbstractContextManager[Target]]
"""Makes the server reachable from here, for the length of a block."""


@dataclass(frozen=True, kw_only=True)
class Ladder:
    """What both arms are asked; the same prompts in the same order."""

    reach: Reach
    """Where the server is to be had while it is measured."""
    workload: Workload
    """What is sent. An empty model name stands for the first that the server names."""
    levels: tuple[Level, ...]
    """The rungs."""
    limits: Limits
    """When to give up."""
    folder: Path
    """Where results go."""
    version: str
    """That of assay."""
    key: Secret | None = None
    """What the server wants to hear."""
    metrics: Callable[[Target], Target | None] = lambda _: None
    """Where the server's metrics are to be had while it is measured; None: nobody asks."""


class MeasuredRung(Value):
    """One rung of an arm, for the journal; the whole of it lies in the file."""

    id: str
    """The trial."""
    arm: ArmName
    """Which arm."""
    invocation: str
    """The start of the service, by systemd's name for it."""
    load: str
    """Of this rung."""
    ended: str
    """`complete`, `stalled` or `interrupted`."""
    completed: int
    """Requests that were answered."""
    failed: int
    """Requests that were not."""
    figures: dict[str, float]
    """As result files name them."""
    doubts: tuple[str, ...]
    """Codes of what makes it doubtful."""
    path: str
    """The result file."""


@dataclass(frozen=True, kw_only=True)
class Told:
    """Who hears of a rung, and of what goes on within it."""

    rung: Callable[[ArmName, Rung], None]
    """A rung has ended, and is on disk."""
    progress: OnProgress
    """Within a rung."""
    note: Callable[[str, Value], None]
    """Writes into the journal."""


def fit(ladder: Ladder) -> Ladder:
    """With the model's name, and prompts fitted to the server's count of tokens: once for both arms.

    Raises:
        NotReady: the server is not to be reached.
    """
    with ladder.reach() as where:
        workload = ladder.workload
        if not workload.sending.model:
            sending = msgspec.structs.replace(workload.sending, model=served_model(where, key=ladder.key))
            workload = msgspec.structs.replace(workload, sending=sending)
        return replace(ladder, workload=fitted(where, workload, key=ladder.key, limits=ladder.limits))


def climb(ladder: Ladder, arm: ArmName, *, id: str, invocation: str, told: Told) -> Path:
    """Measure an arm; its result file is whole after each rung.

    Raises:
        MeasurementError: it came to no end; what was measured stays.
        KeyboardInterrupt: likewise.
    """
    path = ladder.folder / f"{arm}.json"
    output = Output(path)
    with ladder.reach() as where:
        started = datetime.now().astimezone().isoformat(timespec="seconds")
        info = RunInfo(where=where, workload=ladder.workload, started=started, assay=ladder.version)
        limits = msgspec.structs.replace(ladder.limits, metrics=ladder.metrics(where))
        rungs = bench(info, ladder.levels, output, key=ladder.key, limits=limits, progress=told.progress)
        for rung in rungs:
            told.note("measured", _measured(rung, path, arm, id, invocation))
            told.rung(arm, rung)
    _complete(output.rungs, arm, limits)
    return path


def _complete(rungs: Sequence[Rung], arm: ArmName, limits: Limits) -> None:
    last = rungs[-1]
    if last.ended == "interrupted":
        raise KeyboardInterrupt
    if last.ended != "complete":
        raise MeasurementError(
            f"{arm}, {last.level.name}: nothing came for {limits.stall_s:g} s; stopped",
            hint="look at the server's log; --stall-timeout if it really needs longer",
        )


def _measured(rung: Rung, path: Path, arm: ArmName, id: str, invocation: str) -> MeasuredRung:
    return MeasuredRung(
        id=id,
        arm=arm,
        invocation=invocation,
        load=rung.level.name,
        ended=rung.ended,
        completed=rung.metrics.completed,
        failed=rung.metrics.failed,
        figures=read_run(path).measurements[-1].figures,
        doubts=tuple(dict.fromkeys(doubt.code for doubt in rung.doubts)),
        path=str(path),
    )
