"""One rung of the ladder: how many requests, at which load; and when an open loop sends them."""

from __future__ import annotations

import math
import random

from assay._value import Value
from assay.bench.goodput import Slos
from assay.errors import WorkloadError


class Level(Value):
    """Load of one rung: a closed loop where `rate_per_s` is `None`, an open one where it is not."""

    requests: int
    """Timed requests."""
    concurrency: int | None = None
    """At most so many at once; a closed loop keeps so many."""
    rate_per_s: float | None = None
    """Requests a second that are sent whether or not earlier ones were answered."""
    burstiness: float = 1.0
    """Shape of the gamma distribution of gaps: 1 is Poisson, below 1 burstier, infinity constant gaps."""
    warmups: int = 0
    """Requests before the clock starts, in a closed loop."""
    slos: Slos = Slos()
    """What a request must keep to count for goodput."""

    @property
    def open(self) -> bool:
        """Whether requests are sent by the clock."""
        return self.rate_per_s is not None

    @property
    def name(self) -> str:
        """As tables show it."""
        cap = f"concurrency {self.concurrency}" if self.concurrency else ""
        if self.rate_per_s is None:
            return cap
        return f"{self.rate_per_s:g} req/s" + (f", {cap}" if cap else "")

    def checked(self) -> Level:
        """The same level.

        Raises:
            WorkloadError: it cannot be driven.
        """
        if self.requests < 1:
            raise WorkloadError("--num-prompts: at least 1 was expected")
        if self.concurrency is None and self.rate_per_s is None:
            raise WorkloadError("neither --max-concurrency nor --request-rate is given")
        if self.concurrency is not None and not 1 <= self.concurrency <= 16384:
            raise WorkloadError(f"--max-concurrency {self.concurrency}: 1 to 16384 was expected")
        if self.rate_per_s is not None and not 0 < self.rate_per_s < math.inf:
            raise WorkloadError(f"--request-rate {self.rate_per_s}: more than 0 was expected")
        if not self.burstiness > 0:
            raise WorkloadError(f"--burstiness {self.burstiness}: more than 0 was expected")
        return self


def due_times_ns(level: Level, seed: str) -> list[int] | None:
    """When each request of an open loop is due, from the start of the clock; `None` for a closed loop.

    Gaps are scaled so that the rate is exactly the one asked for: the luck of the draw is no load.

    >>> due_times_ns(Level(requests=3, rate_per_s=10, burstiness=float("inf")), "0")
    [0, 100000000, 200000000]
    """
    if level.rate_per_s is None:
        return None
    draw = random.Random(seed)  # noqa: S311 - to be repeated, not to be secret
    shape = level.burstiness
    at, due = 0.0, []
    for _ in range(level.requests):
        due.append(at)
        at += 1.0 if math.isinf(shape) else draw.gammavariate(shape, 1 / shape)
    scale = (level.requests - 1) / due[-1] if due[-1] else 1.0
    return [round(at * scale * 1e9 / level.rate_per_s) for at in due]
