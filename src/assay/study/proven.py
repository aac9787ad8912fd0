"""The range that a change was proven in: what its starts did when a study confirmed it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from assay._value import Value
from assay.bench import RunFile, read_run
from assay.errors import InputError
from assay.journal import Entry
from assay.rollout import Change, Plan
from assay.study.entries import StartEnded
from assay.study.record import Record, decisions, studies
from assay.study.space import change_of


class ProvenLoad(Value):
    """What was seen at one load."""

    concurrency: int
    """Requests in flight."""
    token_ms: float
    """Time per output token, mean of a run, the longest of all runs."""
    ttft_ms: float
    """Time to the first token, likewise."""


class Proven(Value):
    """What a change was seen to do."""

    by: str
    """The study, or the result files."""
    loads: tuple[ProvenLoad, ...] = ()
    """By concurrency, ascending."""
    acceptance: float | None = None
    """Tokens a step of speculation, the fewest of all runs; `None` without speculation."""
    answers: tuple[str, ...] = ()
    """Files of answers of the baseline's starts."""

    def at(self, running: float) -> ProvenLoad | None:
        """The smallest load that was measured with so many requests at a time; `None` beyond the largest."""
        return next((each for each in self.loads if each.concurrency >= max(1.0, running)), None)


def proven_by_runs(runs: Sequence[RunFile], *, by: str, answers: Sequence[str] = ()) -> Proven:
    """The range that these runs span.

    Raises:
        InputError: none of them has a closed load with times per token.
    """
    found: dict[int, list[tuple[float, float]]] = {}
    accepted = []
    for run in runs:
        for each in run.measurements:
            kept = re.fullmatch(r"concurrency (\d+)", each.load)
            times = each.figures.get("mean_tpot_ms"), each.figures.get("mean_ttft_ms")
            if kept is not None and times[0] is not None and times[1] is not None:
                found.setdefault(int(kept[1]), []).append((times[0], times[1]))
            if each.acceptance_length is not None:
                accepted.append(each.acceptance_length)
    if not found:
        raise InputError(
            f"{by}: no load that keeps a number of requests in flight, with times per token",
            hint="results of `assay bench --max-concurrency` with the change have them",
        )
    return Proven(
        by=by,
        loads=tuple(
            ProvenLoad(
                concurrency=concurrency,
                token_ms=max(token for token, _ in times),
                ttft_ms=max(first for _, first in times),
            )
            for concurrency, times in sorted(found.items())
        ),
        acceptance=min(accepted, default=None),
        answers=tuple(answers),
    )


def proven_by_study(entries: Sequence[Entry], rollout: str) -> Proven | None:
    """The range that a study proved the change of that rollout in; `None` where no study shipped that change.

    Args:
        entries: of the service, in order.
        rollout: whose plan stands among them.

    Raises:
        InputError: its result files are not to be read any more.
    """
    plans = [each.value(Plan) for each in entries if each.kind == "plan"]
    change = next((each.change for each in plans if each.id == rollout), None)
    if change is None:
        return None
    for _, began in reversed(studies(entries)):
        record = Record(began, entries)
        confirmed = [
            each
            for each in record.ended.values()
            if each.phase == "confirm_b"
            and each.outcome == "served"
            and _same(change_of(began.candidates.planned, each.arm), change)
        ]
        said = decisions(entries, began.id)
        if confirmed and said and said[-1].decision.outcome == "ship":
            runs = [read_run(Path(each.path)) for each in confirmed]
            return proven_by_runs(runs, by=f"study {began.id}", answers=_answers(record))
    return None


def _answers(record: Record) -> list[str]:
    kept: list[StartEnded] = [each for each in record.ended.values() if each.phase == "baseline"]
    return [each.gate for each in kept if each.gate and Path(each.gate).exists()]


def _same(one: Change | None, other: Change) -> bool:
    return one is not None and set(one.set) == set(other.set) and set(one.unset) == set(other.unset)
