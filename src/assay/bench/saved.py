"""The verb: measures, and keeps each rung on disk as it ends."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from assay._secret import Secret
from assay.bench.level import Level
from assay.bench.record_file import read_records
from assay.bench.records import RequestRecord
from assay.bench.run import Limits, OnProgress, Rung, drive_rungs
from assay.bench.summary import RunInfo, summary_json, write_summary
from assay.errors import InputError


class Output:
    """Where a run goes: `NAME.json`, and `NAME.rungN.records` for each rung beside it."""

    def __init__(self, path: Path, *, detailed: bool = False) -> None:
        self.path = path
        self._detailed = detailed
        self.rungs: list[Rung] = []
        """Those that are on disk."""
        self._details: list[Sequence[RequestRecord]] = []
        if path.is_dir():
            raise InputError(f"{path} is a folder", hint="--result-filename names a file")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            part = path.with_name(f"{path.name}.part")
            part.touch()
            part.unlink()
        except OSError as error:
            raise InputError(f"{path.parent}: {error.strerror}", hint="--result-dir names a folder") from None

    def add(self, info: RunInfo, rung: Rung) -> None:
        """Keep one more rung, whose records are there; all before it stays whole whatever happens."""
        self.rungs.append(rung)
        if self._detailed:
            self._details.append(tuple(read_records(self.records_path(rung.number)).records))
        write_summary(self.path, summary_json(info, self.rungs, self._details))

    @property
    def page_path(self) -> Path:
        """Where a page of the run goes: never over the summary."""
        path = self.path.with_suffix(".html")
        return path if path != self.path else self.path.with_name(f"{self.path.name}.html")

    def records_path(self, number: int) -> Path:
        """The compact file of one rung."""
        return self.path.with_name(f"{self.path.stem}.rung{number}.records")


def bench(
    info: RunInfo,
    levels: Sequence[Level],
    output: Output,
    *,
    key: Secret | None = None,
    limits: Limits | None = None,
    progress: OnProgress | None = None,
) -> Iterator[Rung]:
    """Measure the levels in order; each rung is on disk when it is yielded, and once it has ended.

    Raises:
        InputError: the target, the workload or a level is wrong; before anything is sent.
        NotReady: no connection can be opened.
        TooManyFailures: of a rung that came to its end, no request was answered.
    """
    limits = limits or Limits()
    if limits.scratch is None:
        limits = msgspec.structs.replace(limits, scratch=str(output.path.parent))

    yield from drive_rungs(
        info.where,
        info.workload,
        levels,
        output.records_path,
        key=key,
        limits=limits,
        progress=progress,
        keep=lambda rung: output.add(info, rung),
    )
