"""The line of a study: baseline, search, one confirmation, under a budget; nothing is done twice.

The same entries always lead to the same next start: whatever is drawn is drawn by seed, and time is what
starts were recorded to take. So a study that goes on after a kill walks through its record, and then acts.
"""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

import msgspec

from assay._value import Value
from assay.candidates import Candidate
from assay.decisions import Decision, decide
from assay.errors import JournalError, MeasurementError
from assay.rollout import Change
from assay.search import AnySearch, Arm, Habits, Objective, OptunaSearch, Outcome, Search
from assay.stats import Noise, noise, pooled
from assay.study.budget import Spent
from assay.study.endings import option_ends
from assay.study.entries import (
    Decided,
    Judged,
    Phase,
    Remembered,
    Result,
    StartBegan,
    StartEnded,
    StudyBegan,
    StudyEnded,
)
from assay.study.record import Known, Record
from assay.study.space import alone, arm_of, change_of, changed, is_valid, space_of

BASELINES = 4
"""Starts of the unchanged command before anything else: how far starts differ, and answers do."""
_HARDLY = 0.005
"""A further start that may gain less than this, or than half of what chance moves one, does not pay."""
_CONTRIBUTES = 0.9
"""What gains with a smaller chance, by what the search believes, is no part of what is confirmed."""
_USUAL = 0.0112
"""What starts differ by on many machines: four starts that differ by less may do so by chance."""


class Runner(Protocol):
    """Makes starts for real."""

    def run(self, start: StartBegan, change: Change | None, *, gate: bool) -> StartEnded:
        """One start, measured; also one that fails is an answer. `gate`: its answers are kept, too.

        Raises:
            AssayError: nothing can be said of the arm: the ground, the journal or the client is at fault.
        """

    def judge(self, baselines: Sequence[StartEnded], candidate: StartEnded) -> Judged:
        """Hold the candidate's answers against those of the baseline."""


class Conclusion(Value):
    """What a study came to, before the service is left."""

    result: Result
    """How it ends."""
    arm: Arm
    """What was confirmed; the baseline where nothing was."""
    decision: Decision | None
    """The rule's last answer."""
    message: str = ""
    """Why, where the decision does not say it."""


class Conductor:
    """Carries a study out."""

    def __init__(
        self,
        record: Record,
        known: Known,
        runner: Runner,
        *,
        note: Callable[[str, Value], None],
        say: Callable[[str], None] = lambda _: None,
        seed: int = 0,
    ) -> None:
        self._record, self._known, self._runner = record, known, runner
        self._note, self._say, self._seed = note, say, seed
        self._began: StudyBegan = record.began
        self._candidates: tuple[Candidate, ...] = record.began.candidates.planned
        self._space = space_of(self._candidates)
        self._starts: list[StartEnded] = []
        self._noted: Counter[str] = Counter()
        self._unfit: set[tuple[int, int]] = set()
        """Candidate and value that failed with nothing else changed."""
        self.spent = Spent(record.began.budget)

    def run(self) -> Conclusion:
        """All of it.

        Raises:
            MeasurementError: the baseline itself does not serve, or cannot be measured.
            AssayError: the ground, the journal or the client is at fault; `--resume` goes on.
        """
        if self._record.cut is not None:
            self._note("start-lost", self._record.cut)
            self._record.lose(self._record.cut)
            self._record.cut = None
        baselines = [self._baseline() for _ in range(BASELINES)]
        search = self._searching(baselines)
        noises = self._noises(baselines)
        self._search(search, noises)
        while True:
            arm = search.pruned(search.best())
            if arm == self._space.baseline:
                return Conclusion(
                    result="nothing_found", arm=arm, decision=None, message="no change is believed to gain"
                )
            found = self._confirmed(arm, baselines, noises)
            if found is not None:
                return found
            self._learn(search, arm, Outcome(status="failed"))

    def ended(self, conclusion: Conclusion) -> StudyEnded:
        """The entry that ends the study; where the service stands is left to be filled in."""
        return StudyEnded(
            id=self._began.id,
            result=conclusion.result,
            change=self._words(conclusion.arm),
            decision=conclusion.decision,
            options=option_ends(self._candidates, self._starts, conclusion, self._last_search),
            starts=len(self._starts),
            hours=round(self.spent.seconds / 3600, 3),
            downtime_s=round(self.spent.downtime_s, 1),
            message=conclusion.message,
        )

    def change(self, conclusion: Conclusion) -> Change | None:
        """What of the command is otherwise in the confirmed arm."""
        return change_of(self._candidates, conclusion.arm)

    def _baseline(self) -> StartEnded:
        found = self._start("baseline", self._space.baseline)
        if found.outcome != "served":
            raise MeasurementError(
                f"the deployment's own command does not serve: {found.message}",
                details=found.lines,
                hint="mend it first: nothing can be held against a baseline that does not start",
            )
        return found

    def _noises(self, baselines: Sequence[StartEnded]) -> dict[str, Noise]:
        """How far starts differ at each load, by these and by those of earlier studies."""
        runs = [baselines, *(starts for _, starts in self._known.baselines)]
        found = {}
        for level in self._began.levels:
            each = [
                noise([start.values[level] for start in starts])
                for starts in runs
                if all(level in start.values for start in starts)
            ]
            every = pooled(one for one in each if one is not None)
            if every is not None:
                found[level] = every
        return found

    def _searching(self, baselines: Sequence[StartEnded]) -> AnySearch:
        primary = self._began.levels[0]
        seen = noise([start.values[primary] for start in baselines])
        self._noise_sd = max(_USUAL, seen.spread if seen is not None else 0.0)
        kind = OptunaSearch if self._began.search == "optuna" else Search
        search = self._last_search = kind(
            self._space,
            Objective(levels=self._began.levels),
            valid=self._is_valid,
            habits=Habits(
                noise_sd=self._noise_sd,
                baselines=len(baselines),
                seed=self._seed,
                contributes=_CONTRIBUTES,
            ),
            first=alone(self._candidates),
        )
        for start in baselines:
            search.tell(start.arm, _outcome(start))
        for study, failure in self._known.failures:
            arm = arm_of(self._candidates, changed(study.candidates.planned, failure.arm))
            if arm is not None and arm not in search.failed:
                self._learn(search, arm, Outcome(status="failed"))
                told = Remembered(
                    id=self._began.id, of=study.id, change=failure.change, message=failure.message
                )
                self._once("remembered", told)
                self._say(f"not tried: {failure.change}: it failed in study {study.id}: {failure.message}")
        return search

    def _is_valid(self, arm: Arm) -> bool:
        """No option is changed twice, and none has a value that failed by itself."""
        return is_valid(self._candidates, arm) and not any(
            (at, level) in self._unfit for at, level in enumerate(arm)
        )

    def _learn(self, search: AnySearch, arm: Arm, outcome: Outcome) -> None:
        """Let the search learn from a start."""
        search.tell(arm, outcome)
        others = [(at, level) for at, level in enumerate(arm) if level != self._space.baseline[at]]
        if outcome.status != "served" and len(others) == 1:
            self._unfit.add(others[0])

    def _search(self, search: AnySearch, noises: Mapping[str, Noise]) -> None:
        """Start arms until the rest of the budget is what the confirmation needs, or no start pays."""
        worth = max(_HARDLY, self._noise_sd / 2)
        forced = len(alone(self._candidates))
        made = 0
        self.spent.reserve(self._began.rule, noises.get(self._began.levels[0]))
        while self.spent.allows_search():
            if made >= forced and search.gain_left() < worth:
                self._say(f"search: no further start is expected to gain {100 * worth:.1f} % more")
                return
            arm = search.ask()
            if arm is None:
                return
            found = self._start("search", arm)
            self._learn(search, arm, _outcome(found))
            made += 1
        self._say("search: the rest of the budget is kept for the confirmation")

    def _confirmed(
        self, arm: Arm, baselines: Sequence[StartEnded], noises: Mapping[str, Noise]
    ) -> Conclusion | None:
        """Pairs of fresh starts until the rule decides; `None` where the arm did not serve once more."""
        primary = self._began.levels[0]
        looks = self.spent.looks(self._began.rule, noises.get(primary))
        if not looks:
            message = "the budget is spent before a confirmation"
            return Conclusion(result="not_shown", arm=self._space.baseline, decision=None, message=message)
        rule = msgspec.structs.replace(self._began.rule, looks=looks)
        b_first = random.Random(f"{self._seed}/{self._began.id}/order").random() < 0.5  # noqa: S311
        levels: dict[str, list[float]] = {level: [] for level in self._began.levels}
        for pair in range(looks[-1]):
            halves = self._pair(arm, b_first=b_first == (pair % 2 == 0), gate=pair == 0)
            if halves is None:
                return None
            for level, differences in levels.items():
                differences.append(math.log(halves[1].values[level] / halves[0].values[level]))
            if pair == 0 and (bad := self._judged(arm, baselines, halves[1])) is not None:
                return bad
            last = pair + 1 == looks[-1]
            decision = decide(levels, primary, rule, known=noises, complete=last)
            self._decided(arm, decision, pair + 1)
            if decision.outcome != "go_on":
                return self._concluded(arm, decision)
        raise AssertionError("the last look decides")

    def _pair(self, arm: Arm, *, b_first: bool, gate: bool) -> tuple[StartEnded, StartEnded] | None:
        """One start of each; A first, or B."""
        halves: dict[str, StartEnded] = {}
        order: tuple[Phase, Phase] = ("confirm_b", "confirm_a") if b_first else ("confirm_a", "confirm_b")
        for phase in order:
            of = arm if phase == "confirm_b" else self._space.baseline
            found = halves[phase] = self._start(phase, of, gate=gate and phase == "confirm_b")
            if found.outcome != "served" and phase == "confirm_b":
                self._say(f"it failed in the confirmation: {found.message}")
                return None
            if found.outcome != "served":
                raise MeasurementError(
                    f"the deployment's own command does not serve any more: {found.message}",
                    details=found.lines,
                )
        return halves["confirm_a"], halves["confirm_b"]

    def _judged(self, arm: Arm, baselines: Sequence[StartEnded], candidate: StartEnded) -> Conclusion | None:
        """What ends the confirmation because of the answers' quality; `None` where they are as good."""
        if not self._began.gate:
            return None
        judged = self._record.judged
        if judged is None:
            judged = self._record.judged = self._runner.judge(baselines, candidate)
            self._note("judged", judged)
        self._say(f"quality: {judged.message}")
        if judged.judgement is None or judged.judgement.verdict in ("same", "numerics_changed"):
            return None
        return Conclusion(result="damaged", arm=arm, decision=None, message=judged.message)

    def _decided(self, arm: Arm, decision: Decision, pairs: int) -> None:
        """Write down what the rule says, where that is new."""
        self._once("decision", Decided(id=self._began.id, change=self._words(arm), decision=decision))
        self._say(f"confirmation: after pair {pairs}: {decision.outcome.replace('_', ' ')}")

    def _once(self, kind: str, value: Value) -> None:
        """Write an entry that may have been written before the study was cut short."""
        self._noted[kind] += 1
        if self._noted[kind] > self._record.counts[kind]:
            self._note(kind, value)

    def _concluded(self, arm: Arm, decision: Decision) -> Conclusion:
        results: dict[str, Result] = {"ship": "shipped", "revert": "reverted"}
        return Conclusion(result=results.get(decision.outcome, "not_shown"), arm=arm, decision=decision)

    def _start(self, phase: Phase, arm: Arm, *, gate: bool = False) -> StartEnded:
        """The next start: as it was recorded, or made now."""
        number = len(self._starts) + 1
        change = self._words(arm)
        found = self._record.ended.get(number)
        if found is None:
            found = self._made(number, phase, arm, gate=self._began.gate and (gate or phase == "baseline"))
        elif (found.phase, found.arm) != (phase, arm):
            raise JournalError(
                f"study {self._began.id}: start {number} was {found.phase} ({found.change or 'no change'}), "
                f"and would now be {phase} ({change or 'no change'})",
                hint="it was begun by another version of assay: begin a new study",
            )
        self._starts.append(found)
        self.spent.add(found, lost_s=self._record.lost_s.get(number, 0.0))
        return found

    def _made(self, number: int, phase: Phase, arm: Arm, *, gate: bool) -> StartEnded:
        change = self._words(arm)
        began = StartBegan(id=self._began.id, number=number, phase=phase, arm=arm, change=change)
        self._say(f"start {number}, {_PHASES[phase]}: {change or 'as it is'} ({self.spent})")
        self._note("start", began)
        found = self._runner.run(began, change_of(self._candidates, arm), gate=gate)
        self._note("start-ended", found)
        self._say(f"start {number}: {_in_words(found, self._began.levels[0])}")
        return found

    def _words(self, arm: Arm) -> str:
        """An arm as a person reads it."""
        return ", ".join(f"{name} {value}" for name, value in changed(self._candidates, arm))


_PHASES: dict[Phase, str] = {
    "baseline": "baseline",
    "search": "search",
    "confirm_a": "confirmation, A",
    "confirm_b": "confirmation, B",
}


def _outcome(start: StartEnded) -> Outcome:
    if start.outcome == "served":
        values = {level: math.log(value) for level, value in start.values.items()}
        return Outcome(status="served", values=values)
    return Outcome(status="crashed" if start.outcome == "crashed" else "failed")


def _in_words(start: StartEnded, primary: str) -> str:
    if start.outcome != "served":
        return f"{start.outcome}: {start.message}"
    return f"{start.values[primary]:.4g} tok/s at {primary}, {start.seconds:.0f} s"
