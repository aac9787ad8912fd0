"""One rung of the ladder: how many requests, at which load; and when an open loop sends them."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from typing import Literal

from assay._value import Value
from assay.bench.goodput import Slos
from assay.bench.requests import Prompt
from assay.errors import WorkloadError

_MOST_REQUESTS, _MOST_PER_S, _LONGEST_S = 1_000_000, 1e9, 1e8
_LEAST_BURSTINESS = 0.001
"""Below it nearly all requests come at once."""

Arrivals = Literal["gamma", "linear", "exponential", "trace"]
"""How an open loop spaces its sends: around one rate, a rate that grows from request to request, a trace."""


class Level(Value):
    """Load of one rung: a closed loop where `rate_per_s` is `None` and no trace is sent, else an open one."""

    requests: int
    """Timed requests."""
    concurrency: int | None = None
    """At most so many at once; a closed loop keeps so many."""
    rate_per_s: float | None = None
    """Requests a second that are sent whether or not earlier ones were answered; a ramp begins with it."""
    burstiness: float = 1.0
    """Shape of the gamma distribution of gaps: 1 is Poisson, below 1 burstier, infinity constant gaps."""
    arrivals: Arrivals = "gamma"
    """How sends are spaced."""
    ramp_to_per_s: float | None = None
    """Rate at which a ramp ends."""
    warmups: int = 0
    """Requests before the clock starts, in a closed loop."""
    slos: Slos = Slos()
    """What a request must keep to count for goodput."""

    @property
    def open(self) -> bool:
        """Whether requests are sent by the clock."""
        return self.rate_per_s is not None or self.arrivals == "trace"

    @property
    def steady(self) -> bool:
        """Whether the load is meant to stay the same."""
        return self.arrivals == "gamma"

    @property
    def name(self) -> str:
        """As tables show it."""
        if self.arrivals == "gamma":
            return load_name(self.concurrency, self.rate_per_s, self.burstiness)
        rate = f"{self.rate_per_s or 0:g} to {self.ramp_to_per_s or 0:g} req/s, {self.arrivals}"
        parts = ["trace" if self.arrivals == "trace" else rate]
        if self.concurrency:
            parts.append(f"concurrency {self.concurrency}")
        return ", ".join(parts)

    def checked(self) -> Level:
        """The same level.

        Raises:
            WorkloadError: it cannot be driven.
        """
        if not 1 <= self.requests <= _MOST_REQUESTS:
            raise WorkloadError(f"--num-prompts {self.requests}: 1 to {_MOST_REQUESTS} was expected")
        if self.concurrency is None and not self.open:
            raise WorkloadError("neither --max-concurrency nor --request-rate is given")
        if self.concurrency is not None and not 1 <= self.concurrency <= 16384:
            raise WorkloadError(f"--max-concurrency {self.concurrency}: 1 to 16384 was expected")
        first = "--request-rate" if self.steady else "--ramp-up-start-rps"
        for name, rate in ((first, self.rate_per_s), ("--ramp-up-end-rps", self.ramp_to_per_s)):
            if rate is not None and not 0 < rate <= _MOST_PER_S:
                raise WorkloadError(f"{name} {rate:g}: more than 0 and at most {_MOST_PER_S:g} was expected")
            if rate is not None and self.requests / rate > _LONGEST_S:
                raise WorkloadError(f"{name} {rate:g}: {self.requests} requests would take years")
        if (self.arrivals in ("linear", "exponential")) != (self.ramp_to_per_s is not None):
            raise WorkloadError("a ramp needs --ramp-up-strategy, --ramp-up-start-rps and --ramp-up-end-rps")
        if not self.burstiness >= _LEAST_BURSTINESS:
            raise WorkloadError(
                f"--burstiness {self.burstiness:g}: at least {_LEAST_BURSTINESS} was expected"
            )
        return self


def load_name(concurrency: int | None, rate_per_s: float | None, burstiness: float | None = None) -> str:
    """A load as one name, the same for every tool.

    >>> load_name(16, None), load_name(None, 4.0, 0.5), load_name(64, 4.0)
    ('concurrency 16', '4 req/s, burstiness 0.5', '4 req/s, concurrency 64')
    """
    parts = [] if rate_per_s is None else [f"{rate_per_s:g} req/s"]
    if concurrency:
        parts.append(f"concurrency {concurrency}")
    if rate_per_s is not None and burstiness is not None and burstiness != 1:
        parts.append("constant" if math.isinf(burstiness) else f"burstiness {burstiness:g}")
    return ", ".join(parts) or "all at once"


def due_times_ns(level: Level, seed: str, prompts: Sequence[Prompt] = ()) -> list[int] | None:
    """When each request of an open loop is due, from the start of the clock; `None` for a closed loop.

    Gaps around one rate are scaled so that the rate is exactly the one asked for: the luck of the draw is no
    load. On a ramp the gap after request i is drawn for the rate at i, which grows with i as vLLM has it.

    >>> due_times_ns(Level(requests=3, rate_per_s=10, burstiness=float("inf")), "0")
    [0, 100000000, 200000000]
    """
    if level.arrivals == "trace":
        return [round(prompt.at_s * 1e9) for prompt in prompts]
    if level.rate_per_s is None:
        return None
    draw = random.Random(seed)  # noqa: S311 - to be repeated, not to be secret
    shape = level.burstiness
    at, due = 0.0, []
    for number in range(level.requests):
        due.append(at)
        at += (1.0 if math.isinf(shape) else draw.gammavariate(shape, 1 / shape)) / _rate(level, number)
    scale = _mean_span(level) / due[-1] if due[-1] else 1.0
    return [round(at * scale * 1e9) for at in due]


def _mean_span(level: Level) -> float:
    """Seconds from the first to the last send, were every gap the mean one."""
    return math.fsum(1 / _rate(level, number) for number in range(level.requests - 1))


def _rate(level: Level, number: int) -> float:
    """Requests a second around request `number`."""
    first, last = level.rate_per_s or 1.0, level.ramp_to_per_s
    if last is None:
        return first
    share = number / max(1, level.requests - 1)
    if level.arrivals == "exponential":
        return float(first * (last / first) ** share)
    return first + (last - first) * share
