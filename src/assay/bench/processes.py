"""Whether a rung is to be measured again by more client processes; pure but for the number of cores."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from assay.bench.doubt import Doubt
from assay.bench.doubts import BUSY

if TYPE_CHECKING:
    from assay.bench.run import Rung

MOST = 8
"""More are started only where somebody asks for them."""


def more_processes(rung: Rung, asked: int | None) -> int | None:
    """How many are to measure it again; `None`: it stands.

    They are asked for where bytes waited so long for a process that no verdict may rest on the rung, and that
    process had been busy itself: on a machine that others keep busy more of them do not help.
    """
    late = any(each.code in ("client-backlog", "late-sends") and each.blocks for each in rung.doubts)
    most = min(MOST, cores(), rung.level.requests, rung.level.concurrency or MOST)
    more = min(2 * rung.client.processes, most)
    slow = late and rung.client.busiest > BUSY and rung.ended == "complete"
    return more if asked is None and slow and more > rung.client.processes else None


def measured_again(rung: Rung, more: int) -> Doubt:
    """The rung was measured before, and that was thrown away."""
    backlog = rung.client.backlog_p99_ms
    waited = "sends were late" if backlog is None else f"bytes waited {backlog:.1f} ms (p99) for the client"
    return Doubt(
        code="client-processes",
        blocks=False,
        text=f"measured again, with other prompts and {more} client processes: with "
        f"{rung.client.processes} {waited}, which took {rung.client.busiest:.0%} of a core",
        mend=f"--client-processes {more} begins with so many",
    )


def cores() -> int:
    """Cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
