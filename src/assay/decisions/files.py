"""The rule of a confirmation on result files: which runs are pairs of fresh starts; pure."""

from __future__ import annotations

import math
from collections.abc import Sequence

from assay._value import Value
from assay.bench import FIGURES, Comparison, LoadComparison, RunFile, run_figures
from assay.decisions.decide import decide
from assay.decisions.rule import ConfirmationRule, Decision
from assay.errors import InputError
from assay.stats import Noise, is_used, noise


class NoDecision(Value):
    """Why the rule of a confirmation says nothing of these files."""

    why: str
    """One sentence, with what would let it."""


def decide_files(
    found: Comparison,
    rule: ConfirmationRule | None = None,
    *,
    primary: str | None = None,
    known: Sequence[RunFile] = (),
) -> Decision | NoDecision:
    """Decide by the pairs that a comparison holds.

    Pairs are runs that the comparison was told to pair, or that their dates show to be: in order of time, the
    first and second run hold one of each arm, the third and fourth, and so on, as A B B A does it.

    Args:
        found: a comparison; figures that decide there decide here, each at each load.
        rule: what is applied.
        primary: the load at which the gain must be shown; `None`: the last one of A's.
        known: runs of one unchanged configuration, each of a fresh start: what they say of noise is used.

    Raises:
        InputError: no load of that name, or `known` says nothing of any load that is decided.
    """
    loads = [each.load for each in found.loads]
    primary = loads[-1] if primary is None else primary
    if primary not in loads:
        raise InputError(f"no load {primary!r} in both arms", hint=f"in both: {', '.join(loads)}")
    if against := _against(found) or _against_noise(known, found):
        return NoDecision(why=against)
    levels: dict[str, tuple[float, ...]] = {}
    noises: dict[str, Noise] = {}
    for load in found.loads:
        for name in (row.name for row in load.rows if row.decides):
            level = load.load if _alone(load) else f"{load.load}, {name}"
            differences = _differences(found, load, name)
            if isinstance(differences, str):
                return NoDecision(why=differences)
            levels[level] = differences
            if (seen := _noise(known, load.load, name)) is not None:
                noises[level] = seen
    if known and not any(is_used(each) for each in noises.values()):
        raise InputError(
            f"nothing is learnt of noise at {', '.join(loads)} from the {len(known)} runs for it",
            hint="at least four runs of one configuration there, each of a fresh start and none with zero",
        )
    if len({len(each) for each in levels.values()}) != 1:
        return NoDecision(why="not every load has the same number of pairs")
    first = next(level for level in levels if level == primary or level.startswith(f"{primary}, "))
    return decide(levels, first, rule, known=noises, complete=True)


def _alone(load: LoadComparison) -> bool:
    return sum(row.decides for row in load.rows) == 1


def _against(found: Comparison) -> str:
    """What forbids a decision whatever the figures are."""
    for load in found.loads:
        for each in load.objections:
            if each.blocks:
                return f"{load.load}: {each.text}"
            if each.code == "one-start":
                return f"{load.load}: {each.text}: pairs are of fresh starts"
        if not any(row.decides for row in load.rows):
            return f"{load.load}: no figure that decides"
    return ""


def _against_noise(known: Sequence[RunFile], found: Comparison) -> str:
    """What forbids to take the noise of starts from these runs."""
    for run in known:
        if other := _other_work(run, found):
            return f"{run.path}, which noise is to be learnt from, is not of A's work: {other} differs"
        if any(each.blocks for one in run.measurements for each in one.objections):
            return f"{run.path}, which noise is to be learnt from, is doubtful itself"
    starts = [min(of_run) for run in known if (of_run := [o.started for o in run.measurements if o.started])]
    if len(set(starts)) < len(starts):
        return "runs that noise is to be learnt from are of one start of the server"
    return ""


def _other_work(run: RunFile, found: Comparison) -> str:
    """What tells a run from those of A at the same loads; empty where nothing does."""
    for of_a in found.a:
        if run.tool != of_a.tool:
            return "the tool"
        pairs = [(one, its) for one in run.measurements for its in of_a.measurements if one.load == its.load]
        for one, its in pairs:
            if one.model != its.model:
                return "the model"
            for name in sorted({*one.work, *its.work}):
                if one.work.get(name) != its.work.get(name):
                    return name
    return ""


def _differences(found: Comparison, load: LoadComparison, name: str) -> tuple[float, ...] | str:
    """`log B - log A` of each pair, turned so that more is better; or why there are no pairs."""
    row = next(each for each in load.rows if each.name == name)
    if min(*row.runs_a, *row.runs_b) <= 0:
        return f"{load.load}: {name} is zero in a run"
    pairs = _pairs(found, load.load, len(row.runs_a), len(row.runs_b))
    if isinstance(pairs, str):
        return pairs
    turn = 1 if FIGURES[name] else -1
    return tuple(turn * math.log(row.runs_b[of_b] / row.runs_a[of_a]) for of_a, of_b in pairs)


def _pairs(found: Comparison, load: str, runs_a: int, runs_b: int) -> list[tuple[int, int]] | str:
    """Which run of A and which of B are a pair, by their places."""
    if found.rule.paired:
        return [(at, at) for at in range(runs_a)]
    dates_a, dates_b = (_dates(files, load) for files in (found.a, found.b))
    usable = len(dates_a) == runs_a and len(dates_b) == runs_b and all((*dates_a, *dates_b))
    if runs_a != runs_b or not usable:
        return _UNPAIRED
    ordered = sorted(
        [(date, "a", at) for at, date in enumerate(dates_a)]
        + [(date, "b", at) for at, date in enumerate(dates_b)]
    )
    pairs = []
    for first, second in zip(ordered[::2], ordered[1::2], strict=True):
        if {first[1], second[1]} != {"a", "b"} or first[0] == second[0]:
            return _UNPAIRED
        of_a, of_b = (first, second) if first[1] == "a" else (second, first)
        pairs.append((of_a[2], of_b[2]))
    return pairs


_UNPAIRED = (
    "the runs are no pairs: measure A B B A, or say --paired where run i of A and of B belong together"
)


def _dates(files: Sequence[RunFile], load: str) -> list[str]:
    return [each.date for each in files if any(one.load == load for one in each.measurements)]


def _noise(known: Sequence[RunFile], load: str, name: str) -> Noise | None:
    """The noise of starts at a load, from runs of one configuration; in order of time where dated."""
    ordered = sorted(known, key=lambda run: run.date) if all(run.date for run in known) else known
    values = run_figures(ordered, load, name)
    return noise(values) if values and min(values) > 0 else None
