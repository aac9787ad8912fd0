"""How a search goes about it, and what it is told: values only."""

from __future__ import annotations

from typing import Literal

import msgspec

from assay._value import Value

Status = Literal["served", "failed", "crashed"]
"""It was measured; it did not start; it started and died under load."""


class Outcome(Value):
    """What became of one start."""

    status: Status
    """How it ended."""
    values: dict[str, float] = msgspec.field(default_factory=dict)
    """Logarithm of the figure at each level; only where it served."""


class Habits(Value):
    """How a search goes about it."""

    noise_sd: float = 0.0112
    """Standard deviation of one start, in logarithms, measured where it can be."""
    baselines: int = 2
    """Starts of the baseline before anything is changed."""
    seed: int = 0
    """Of what is drawn by chance."""
    contributes: float = 0.8
    """What gains with a smaller chance is pruned."""
