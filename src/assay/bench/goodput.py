"""Goodput: requests that kept every latency that was promised, a second."""

from __future__ import annotations

import math
from collections.abc import Sequence

import msgspec

from assay._value import Value
from assay.bench.records import RequestRecord
from assay.errors import WorkloadError

NAMES = ("ttft", "tpot", "e2el")
"""Latencies that can be promised, as vLLM's and SGLang's `--goodput` name them."""


class Slos(Value):
    """What a request must keep to be good, in ms; `None` promises nothing."""

    ttft: float | None = None
    """Time to first token, at most."""
    tpot: float | None = None
    """Time per output token, at most; that of an answer of one token is 0."""
    e2el: float | None = None
    """End to end, at most."""

    @property
    def given(self) -> dict[str, float]:
        """The promises that there are."""
        return {name: value for name in NAMES if (value := getattr(self, name)) is not None}


class Goodput(Value):
    """How a rung kept its promises."""

    slos_ms: dict[str, float]
    """What was promised."""
    good: int
    """Requests that were answered and kept all of it."""
    request_goodput: float
    """These a second of the duration."""
    attainment: float
    """Their share of all requests that were sent; failed ones kept nothing."""
    attainment_by_metric: dict[str, float]
    """The share that kept each."""


def slos(pairs: Sequence[str]) -> Slos:
    """Read `ttft:500 tpot:50`.

    >>> slos(["ttft:500", "e2el:3000"]).given
    {'ttft': 500.0, 'e2el': 3000.0}

    Raises:
        WorkloadError: a pair is not NAME:MILLISECONDS.
    """
    found: dict[str, float] = {}
    for pair in pairs:
        name, _, text = pair.partition(":")
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if name not in NAMES or name in found or not 0 < value < math.inf:
            raise WorkloadError(
                f"--goodput {pair}: NAME:MILLISECONDS was expected, each name once",
                hint=f"names are {', '.join(NAMES)}, as in --goodput ttft:500 tpot:50",
            )
        found[name] = value
    return msgspec.convert(found, Slos)


def goodput(records: Sequence[RequestRecord], promised: Slos, duration_s: float) -> Goodput | None:
    """How many kept what was promised; `None` where nothing was, or tokens were not counted."""
    limits = promised.given
    done = [each for each in records if each.ok]
    if not limits or not records or not duration_s:
        return None
    if "tpot" in limits and any(each.completion_tokens is None for each in done):
        return None
    kept = [{name for name, limit in limits.items() if _ms(each, name) <= limit} for each in done]
    good = sum(len(each) == len(limits) for each in kept)
    return Goodput(
        slos_ms=limits,
        good=good,
        request_goodput=good / duration_s,
        attainment=good / len(records),
        attainment_by_metric={name: sum(name in each for each in kept) / len(records) for name in limits},
    )


def _ms(each: RequestRecord, name: str) -> float:
    if name == "tpot":
        return each.tpot_ns / 1e6
    return (each.ttft_ns if name == "ttft" else each.e2e_ns) / 1e6
