"""What a doubt is: a reason not to take the numbers of a rung as they stand."""

from __future__ import annotations

from typing import Literal

from assay._value import Value

Code = Literal[
    "client-backlog",
    "client-processes",
    "late-sends",
    "below-asked-load",
    "prompt-length",
    "output-length",
    "count-mismatch",
    "no-usage",
    "failed-requests",
    "errors-inside-200",
    "empty-streams",
    "too-few-requests",
    "not-steady",
    "prefix-hits",
    "prompts-repeated",
    "read-stamps",
    "clock-stepped",
    "stalled",
    "interrupted",
    "connections-lost",
    "shared-arrivals",
    "foreign-traffic",
    "counters-short",
    "server-restarted",
    "server-queued",
    "preempted",
    "drift",
    "two-groups",
    "endless-stream",
    "other-engine",
    "other-model",
    "synthetic-acceptance",
    "off-baseline",
    "throttled",
    "through-proxy",
    "power-capped",
]


class Doubt(Value):
    """One reason not to take the numbers as they stand."""

    code: Code
    """What kind of doubt."""
    blocks: bool
    """Whether no verdict may rest on this rung; otherwise it is only worth knowing."""
    text: str
    """What was seen, with its numbers."""
    mend: str
    """What to change, with the option."""
