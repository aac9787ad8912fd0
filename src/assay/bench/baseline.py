"""A rung against earlier runs of the same deployment: does it differ by more than their noise? Pure."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from assay.bench.compare import run_figures
from assay.bench.doubt import Doubt
from assay.bench.results import RunFile
from assay.stats import t_quantile

if TYPE_CHECKING:
    from assay.bench.run import Rung

_FEWEST = 3
"""Fewer runs do not show how far starts differ."""
_LEAST = 0.02
_UNKNOWN = 0.10
"""Taken for the noise where it is not known; starts rarely differ by more."""
_MISSED = 0.01
"""How often chance alone raises this doubt, by Student's interval for one more run."""


def off_baseline(rung: Rung, earlier: Sequence[RunFile]) -> Iterator[Doubt]:
    """The same load gave something else in earlier runs of fresh starts."""
    name = "median_ttft_ms" if rung.level.open else "output_throughput"
    now = rung.metrics.ttft_ms.median if rung.level.open else rung.metrics.output_throughput
    before = [each for each in run_figures(earlier, rung.level.name, name) if each > 0]
    if not before or not now or rung.ended != "complete":
        return
    logs = [math.log(each) for each in before]
    mean = math.fsum(logs) / len(logs)
    reach, known = _UNKNOWN, len(logs) >= _FEWEST
    if known:
        spread = math.sqrt(math.fsum((each - mean) ** 2 for each in logs) / (len(logs) - 1))
        quantile = t_quantile(1 - _MISSED / 2, len(logs) - 1)
        reach = max(_LEAST, quantile * spread * math.sqrt(1 + 1 / len(logs)))
    apart = math.log(now) - mean
    if abs(apart) > reach:
        runs = f"{len(logs)} earlier run{'s' if len(logs) > 1 else ''}"
        noise = f"their noise reaches {math.expm1(reach):.1%}" if known else "too few to know their noise"
        yield Doubt(
            code="off-baseline",
            blocks=known,
            text=f"{name} is {math.expm1(apart):+.1%} to {runs} at this load; {noise}",
            mend="find what changed: machine, command or engine; else measure a new baseline",
        )
