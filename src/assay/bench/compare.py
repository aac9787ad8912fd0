"""Whether B is worse than A, from the result files of both; pure."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Literal

from assay._value import Value
from assay.bench.results import FIGURES, Measurement, Objection, RunFile
from assay.bench.same_work import objections
from assay.errors import InputError
from assay.stats import Change, change

COMPARE_SCHEMA = "assay.compare/1"

Verdict = Literal["better", "same", "not_worse", "worse", "inconclusive"]
"""Of one figure: its interval lies above no change; within the margin on both sides; above minus the margin;
below minus the margin; or none of these, or there is no interval."""

Outcome = Literal["same", "worse", "inconclusive", "doubtful"]
"""Of a load, or of all: `same` is same or better; `doubtful` is that something forbids a verdict."""

EXIT_CODES: dict[Outcome, int] = {"same": 0, "worse": 1, "inconclusive": 2, "doubtful": 3}


class Rule(Value):
    """What a verdict is drawn by; declared before anybody looks at the figures."""

    margin: float = 0.03
    """A loss up to this share is none that matters."""
    error: float = 0.05
    """Probability, on each side, with which an interval misses the truth."""
    metrics: tuple[str, ...] = ()
    """Figures that decide; none: output tokens/s in a closed loop, median TTFT and TPOT in an open one."""
    paired: bool = False
    """Whether run i of A and run i of B belong together, as A B B A does it."""


class Row(Value):
    """One figure at one load."""

    name: str
    """As in `FIGURES`."""
    decides: bool
    """Whether the load's outcome rests on it."""
    change: Change | None
    """B over A; `None` where a run has zero."""
    runs_a: tuple[float, ...]
    """The figure in each run of A, in the order of the files."""
    runs_b: tuple[float, ...]
    """The same of B."""
    verdict: Verdict
    """What the rule says of it."""


class LoadComparison(Value):
    """All figures at one load."""

    load: str
    """The load, as both arms were asked for."""
    rows: tuple[Row, ...]
    """Those that decide first."""
    objections: tuple[Objection, ...]
    """Those that block first."""
    outcome: Outcome
    """What the rule says of the load."""


class Comparison(Value):
    """A against B at every load that both have."""

    a: tuple[RunFile, ...]
    """Runs of A."""
    b: tuple[RunFile, ...]
    """Runs of B."""
    rule: Rule
    """What was applied."""
    loads: tuple[LoadComparison, ...]
    """In the order of A."""
    only_a: tuple[str, ...] = ()
    """Loads that B was not measured at."""
    only_b: tuple[str, ...] = ()
    """Loads that A was not measured at."""
    outcome: Outcome
    """`worse` where a load without objections is worse; else the gravest of the loads; never `same` where B
    lacks a load that A has."""


def compare(a: Sequence[RunFile], b: Sequence[RunFile], rule: Rule | None = None) -> Comparison:
    """Compare two arms.

    Raises:
        InputError: they share a file or no load, or a figure that should decide is in neither.
    """
    rule = rule or Rule()
    shared = {each.digest for each in a} & {each.digest for each in b}
    if shared:
        path = next(each.path for each in b if each.digest in shared)
        raise InputError(f"{path} is in both arms", hint="A and B are different runs")
    loads_a, loads_b = _loads(a), _loads(b)
    both = [load for load in loads_a if load in loads_b]
    if not both:
        raise InputError(
            f"A and B have no load in common: {', '.join(loads_a)} against {', '.join(loads_b)}",
            hint="measure both with the same --max-concurrency or --request-rate",
        )
    loads = tuple(_at(load, a, b, rule) for load in both)
    only_a = tuple(load for load in loads_a if load not in loads_b)
    # a server that cannot carry a load may be why B has none there
    missing: list[Outcome] = ["inconclusive"] if only_a else []
    return Comparison(
        a=tuple(a),
        b=tuple(b),
        rule=rule,
        loads=loads,
        only_a=only_a,
        only_b=tuple(load for load in loads_b if load not in loads_a),
        outcome=_gravest([*missing, *(each.outcome for each in loads)]),
    )


def _loads(runs: Sequence[RunFile]) -> list[str]:
    return list(dict.fromkeys(each.load for run in runs for each in run.measurements))


def _gravest(outcomes: Sequence[Outcome]) -> Outcome:
    order: tuple[Outcome, ...] = ("worse", "doubtful", "inconclusive")
    return next((each for each in order if each in outcomes), "same")


def _at(load: str, a: Sequence[RunFile], b: Sequence[RunFile], rule: Rule) -> LoadComparison:
    runs_a, runs_b = list(_runs(a, load)), list(_runs(b, load))
    if rule.paired and len(runs_a) != len(runs_b):
        raise InputError(f"--paired: {load} has {len(runs_a)} runs of A and {len(runs_b)} of B")
    names = [name for name in FIGURES if all(_has(run, name) for run in (*runs_a, *runs_b))]
    deciding = _deciding(load, names, rule, is_open=runs_a[0][0].open)
    rows = [_row(name, runs_a, runs_b, rule, decides=name in deciding) for name in names]
    found = tuple(objections(a, b, load))
    return LoadComparison(
        load=load,
        rows=tuple(sorted(rows, key=lambda row: not row.decides)),
        objections=found,
        outcome=_outcome([row for row in rows if row.decides], found),
    )


def _runs(files: Sequence[RunFile], load: str) -> Iterator[tuple[Measurement, ...]]:
    """Each run at a load; parts of one file of ours are one run, since one server answered them all."""
    for file in files:
        here = tuple(each for each in file.measurements if each.load == load)
        if file.tool == "assay bench":
            yield from [here] if here else []
        else:
            yield from ((each,) for each in here)


def _has(run: tuple[Measurement, ...], name: str) -> bool:
    return all(name in each.figures for each in run)


def _deciding(load: str, names: Sequence[str], rule: Rule, *, is_open: bool) -> tuple[str, ...]:
    for name in rule.metrics:
        if name not in FIGURES:
            raise InputError(f"--metric {name}: no figure of that name", hint=f"known: {', '.join(FIGURES)}")
        if name not in names:
            raise InputError(
                f"--metric {name}: not in every run at {load}",
                hint=f"in every run: {', '.join(names) or 'none'}",
            )
    if rule.metrics:
        return rule.metrics
    if not is_open:
        return next(((name,) for name in ("output_throughput", "request_throughput") if name in names), ())
    return tuple(name for name in ("median_ttft_ms", "median_tpot_ms") if name in names)


def _row(
    name: str,
    a: Sequence[tuple[Measurement, ...]],
    b: Sequence[tuple[Measurement, ...]],
    rule: Rule,
    *,
    decides: bool,
) -> Row:
    values_a, values_b = (tuple(_figure(run, name) for run in arm) for arm in (a, b))
    found = None
    if min(*values_a, *values_b) > 0:
        found = change(values_a, values_b, error=rule.error, paired=rule.paired)
    verdict = _verdict(found, rule.margin, more_is_better=FIGURES[name]) if found else "inconclusive"
    return Row(
        name=name,
        decides=decides,
        change=found,
        runs_a=values_a,
        runs_b=values_b,
        verdict=verdict,
    )


def run_figures(files: Sequence[RunFile], load: str, name: str) -> tuple[float, ...]:
    """A figure of each run at a load, in the order of the files; empty where a run lacks it."""
    runs = list(_runs(files, load))
    return tuple(_figure(run, name) for run in runs) if all(_has(run, name) for run in runs) else ()


def _figure(run: tuple[Measurement, ...], name: str) -> float:
    """Geometric mean of a run's parts; 0 where one of them is not above it."""
    values = [each.figures[name] for each in run]
    if min(values) <= 0:
        return 0.0
    return math.exp(math.fsum(math.log(each) for each in values) / len(values))


def _verdict(found: Change, margin: float, *, more_is_better: bool) -> Verdict:
    if found.low is None or found.high is None:
        return "inconclusive"
    low, high = (found.low, found.high) if more_is_better else (1 / found.high, 1 / found.low)
    if high < 1 - margin:
        return "worse"
    if 1 - margin < low and high < 1 / (1 - margin):
        return "same"
    if low > 1:
        return "better"
    return "not_worse" if low > 1 - margin else "inconclusive"


def _outcome(deciding: Sequence[Row], found: Sequence[Objection]) -> Outcome:
    if any(each.blocks for each in found):
        return "doubtful"
    if any(row.verdict == "worse" for row in deciding):
        return "worse"
    if not deciding or any(row.verdict == "inconclusive" for row in deciding):
        return "inconclusive"
    return "same"
