"""Runs as result files hold them: ours, and those of the tools that users know, under one set of names."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from assay._value import Value

FIGURES: Mapping[str, bool] = {
    "output_throughput": True,
    "total_token_throughput": True,
    "request_throughput": True,
    "request_goodput": True,
    **{
        f"{what}_{name}_ms": False
        for name in ("ttft", "tpot", "itl", "e2el")
        for what in ("mean", "median", "p90", "p95", "p99")
    },
}
"""Figures that runs are compared by, as vLLM names them; whether more is better."""


class Objection(Value):
    """One reason not to take a figure, or a comparison, as it stands."""

    code: str
    """What kind: a doubt of `assay bench`, or one of the comparison."""
    blocks: bool
    """Whether no verdict may rest on it."""
    text: str
    """What was seen."""
    mend: str = ""
    """What to do about it."""


class Measurement(Value):
    """One run at one load."""

    load: str
    """The load that was asked for, such as `concurrency 16` or `4 req/s`."""
    open: bool
    """Whether requests came by the clock: throughput is then what was sent."""
    figures: dict[str, float]
    """By the names of `FIGURES`; those that the sample does not carry are left out."""
    completed: int
    """Requests that were answered."""
    failed: int | None = None
    """Requests that were not; `None` where the tool does not say."""
    input_tokens: int | None = None
    """Prompt tokens of completed requests."""
    output_tokens: int | None = None
    """Output tokens of completed requests."""
    work: dict[str, str] = msgspec.field(default_factory=dict)
    """What was asked for, beside the load: what both arms must share."""
    model: str = ""
    """The model's name, as the server or the tool gives it."""
    seed: str = ""
    """Of the prompts, where the tool says."""
    acceptance_length: float | None = None
    """Tokens that a step of speculative decoding gave, where it was asked for; only of files of ours."""
    started: float | None = None
    """When the server's process began, seconds since 1970, where it was asked and said so."""
    objections: tuple[Objection, ...] = ()
    """What makes this run doubtful by itself."""


class RunFile(Value):
    """One result file."""

    path: str
    """Where it lies."""
    tool: str
    """Who wrote it."""
    version: str = ""
    """Its version, where the file says."""
    date: str = ""
    """When the run began, ISO 8601, where the file says."""
    digest: str
    """SHA-256 of the file."""
    measurements: tuple[Measurement, ...]
    """In the file's order; several at one load are repeats, or parts of one run in a file of ours."""
