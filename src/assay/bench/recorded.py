"""From what the workers recorded to a file of records and what is left in memory of each request."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec

from assay.bench.arrival_figures import ArrivalFigures
from assay.bench.job import Report
from assay.bench.level import Level
from assay.bench.parse import parsed
from assay.bench.record_file import RecordFile, RecordWriter
from assay.bench.records import RequestRecord
from assay.bench.requests import Prompt
from assay.bench.spool import Spool

STEP_NS = 200_000
"""A change of the clock's offset below this is our own error of reading it."""


class Recorded(msgspec.Struct, frozen=True):
    """A rung's requests, without their arrivals but the first and the last."""

    warmups: tuple[RequestRecord, ...]
    records: tuple[RequestRecord, ...]
    """The timed ones, in the order in which they were to be sent."""
    arrivals: ArrivalFigures
    """What all arrivals add up to."""


def recorded(
    spools: Sequence[Path],
    report: Report,
    prompts: Sequence[Prompt],
    level: Level,
    *,
    secrets: Sequence[str],
    into: Path,
) -> Recorded:
    """Read what was recorded, one exchange at a time; write the timed requests in full to the file `into`."""
    spool = Spool(spools if report.began_ns else ())
    arrivals = ArrivalFigures(level, spool.sent_ns(level.warmups))
    offset = None if abs(report.offset_moved_ns) > STEP_NS else report.offset_ns
    found: tuple[list[RequestRecord], list[RequestRecord]] = ([], [])
    head = RecordFile(rung=level.name, began_ns=report.began_ns, ended_ns=report.ended_ns)
    with RecordWriter(into, head) as file:
        for exchange in spool.exchanges():
            record = parsed(exchange, offset, secrets)
            prompt, timed = prompts[exchange.index], exchange.index >= level.warmups
            record.turn = prompt.turn
            record.asked_prompt_tokens, record.asked_output_tokens = prompt.asked_tokens, prompt.output_tokens
            if timed:
                arrivals.take(record)
                file.add(record)
            found[timed].append(record.light())
    return Recorded(warmups=tuple(found[0]), records=tuple(found[1]), arrivals=arrivals)
