"""Which options of an engine are worth a trial, and at which values, as data."""

from __future__ import annotations

import functools
import tomllib
from importlib import resources
from typing import Literal

import msgspec

from assay._value import Value
from assay.engines.effects import Effect
from assay.engines.engine import Engine

KnobKind = Literal["switch", "doubling", "steps", "choice"]
"""`switch` on or off; `doubling` a number of which the half, the double and four times are tried; `steps` a
number that is moved by `step`; `choice` one of `values`."""

Risk = Literal["lossless", "numerics", "lossy"]
"""What it does to the answers: nothing; other kernels or another order of sums; less precision than the model
has, which never ships without the user's word."""

Need = Literal["ranks", "experts", "drafts", "prefixes"]
"""What must be there for the option to do anything: several ranks, experts, drafted tokens, requests that
share a prefix."""

RestartCost = Literal["restart", "compile"]
"""What a change of it costs: a start of the server, or one that also compiles for minutes."""


class Knob(Value):
    """One option that may be tried."""

    flag: str
    """Its usual flag."""
    kind: KnobKind
    """How its values are found."""
    effect: Effect
    """What it changes in a step, as for bounds."""
    risk: Risk
    """What it does to the answers."""
    cost: RestartCost = "restart"
    """What a change costs."""
    values: tuple[str, ...] = ()
    """Of a choice, its values; of a number, those that are tried where nobody says what it is now."""
    least: float | None = None
    """Of a number, the smallest that is tried."""
    most: float | None = None
    """The largest."""
    step: float | None = None
    """Of `steps`, by how much it is moved."""
    reaches: Literal["", "concurrency"] = ""
    """`concurrency`: the largest measured number of requests at a time is tried, too."""
    needs: tuple[Need, ...] = ()
    """What the deployment must have."""


class _Table(Value):
    knobs: tuple[Knob, ...]


@functools.cache
def _load(name: str) -> tuple[Knob, ...]:
    file = resources.files("assay.engines").joinpath(f"{name}_knobs.toml")
    return msgspec.convert(tomllib.loads(file.read_text(encoding="utf-8")), _Table).knobs


def knobs(engine: Engine) -> tuple[Knob, ...]:
    """The table of an engine.

    >>> from assay.engines import ENGINES
    >>> knobs(ENGINES["vllm"])[0].flag
    '--max-num-seqs'
    """
    return _load(engine.name)
