"""What the client says of itself: whether it, and not the server, was measured."""

from __future__ import annotations

from typing import Literal

from assay._value import Value


class ClientReport(Value):
    """The client's own part in a rung."""

    cpu_s: float
    """CPU seconds of the processes that drove the load, while the clock ran."""
    processes: int = 1
    """How many these were."""
    busiest: float = 0.0
    """Share of a core that the busiest of them took."""
    events: int
    """Events with text that it received."""
    stamps: Literal["kernel", "read"]
    """Who stamped the arrivals: the kernel as they came, or the client as it read them."""
    unstamped_reads: int
    """Reads that the kernel did not stamp."""
    backlog_p99_ms: float | None
    """Between the kernel's stamp and the read, 99 % of reads; `None` without kernel stamps."""
    lazy_share: float
    """Share of turns in which reads waited up to 1 ms for company, which kernel stamps make harmless."""
    clock_moved_ms: float
    """By how much somebody set the system's clock meanwhile, where that was more than its error."""
