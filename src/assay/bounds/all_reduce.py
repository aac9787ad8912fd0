"""How long one all-reduce takes, from measured tables; never from a model of the link."""

from __future__ import annotations

import functools
import tomllib
from bisect import bisect_right
from importlib import resources
from typing import Literal

import msgspec

from assay._value import Value

Kernel = Literal["library", "one_shot"]
"""NCCL or RCCL; a kernel in which each rank reads all others at once."""


class AllReduce(Value):
    """Measured latencies on one kind of machine."""

    accelerator: str
    """Name of the accelerator in the shipped table."""
    ranks: int
    """Number of ranks."""
    kernel: Kernel
    """What ran."""
    message_bytes: tuple[int, ...]
    """Sizes, growing; three at least."""
    microseconds: tuple[float, ...]
    """Latency at each of them."""
    source: str
    """Who measured it."""

    def seconds(self, message_bytes: float) -> float:
        """Latency at a size: in proportion between measured ones, beyond them by the last two octaves."""
        sizes, times = self.message_bytes, self.microseconds
        if message_bytes <= sizes[0]:
            return times[0] * 1e-6
        if message_bytes >= sizes[-1]:
            slope = (times[-1] - times[-3]) / (sizes[-1] - sizes[-3])
            return (times[-1] + max(0.0, slope) * (message_bytes - sizes[-1])) * 1e-6
        at = bisect_right(sizes, message_bytes)
        part = (message_bytes - sizes[at - 1]) / (sizes[at] - sizes[at - 1])
        return (times[at - 1] + part * (times[at] - times[at - 1])) * 1e-6


class _Table(Value):
    all_reduce: tuple[AllReduce, ...]


@functools.cache
def _table() -> tuple[AllReduce, ...]:
    text = resources.files("assay.bounds").joinpath("all_reduce.toml").read_text(encoding="utf-8")
    return msgspec.convert(tomllib.loads(text), _Table).all_reduce


def measured_all_reduce(accelerator: str, ranks: int, kernel: Kernel) -> AllReduce | None:
    """The shipped table for a machine, or `None`: then nothing is claimed.

    >>> found = measured_all_reduce("RTX PRO 6000 Blackwell Workstation", 4, "library")
    >>> round(found.seconds(24 * 1024) * 1e6, 2)
    15.15
    """
    wanted = (accelerator, ranks, kernel)
    return next((each for each in _table() if (each.accelerator, each.ranks, each.kernel) == wanted), None)
