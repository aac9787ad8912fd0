"""Makes one start for real: the arm on its ground, proof of its effect, the ladder, and its answers."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from assay.bench import read_run
from assay.errors import InputError, MeasurementError, NotReady, TooManyFailures
from assay.quality import Judgement, Paired, Question, ask_answers, judge_answers, read_answers, write_answers
from assay.rollout import StartFailed
from assay.study.entries import Judged, StartBegan, StartEnded
from assay.trials import Expected, Started, climb, fit, prove_effect

if TYPE_CHECKING:
    from assay.bench import RunFile
    from assay.rollout import Change, Failure
    from assay.trials import Effect, Ground, Ladder, Told

_SHOWN = 200
_LEFT_OUT = "--no-quality leaves that out"
_FIGURE = "output_throughput"
"""What decides where so many requests are kept in flight, as `assay compare` has it."""


@dataclass(kw_only=True)
class LiveRunner:
    """Starts the server where the study says."""

    ground: Ground
    """Where."""
    ladder: Ladder
    """What every start is asked."""
    told: Told
    """Who hears of it."""
    expected: Expected = field(default_factory=Expected)
    """What settings are held against."""
    lossy: bool = False
    """The user's word that less precise answers may be shipped."""
    questions: tuple[Question, ...] = ()
    """The user's own, asked of the first start of the baseline and of the first of what is confirmed."""
    clock: Callable[[], float] = time.monotonic
    """Seconds."""
    _baseline: Started | None = None
    """The last start of the unchanged command, with what it said of itself."""
    _fitted: bool = False

    def run(self, start: StartBegan, change: Change | None, *, gate: bool) -> StartEnded:
        """One start, measured; also one that fails is an answer.

        Raises:
            AssayError: nothing can be said of the arm: the ground, the journal or the client is at fault.
        """
        began = self.clock()
        ended = StartEnded(
            id=start.id, number=start.number, phase=start.phase, arm=start.arm, change=start.change,
            outcome="failed", seconds=0.0,
        )  # fmt: skip
        try:
            with self.ground.start(change, start.number) as started:
                ended = self._measured(ended, started, change, gate=gate)
        except StartFailed as error:
            failure = error.failure
            ended = _replaced(
                ended,
                failure=failure.kind,
                message=_one_line(failure),
                lines=failure.lines,
                downtime_s=round(self.clock() - began, 1) if self.ground.ran else 0.0,
            )
        return _replaced(ended, seconds=round(self.clock() - began, 1))

    def _measured(
        self, ended: StartEnded, started: Started, change: Change | None, *, gate: bool
    ) -> StartEnded:
        ended = _replaced(ended, downtime_s=started.downtime_s)
        if change is None:
            self._baseline = started
        else:
            effect = self._effect(change, started)
            self.told.note("effect", effect)
            ended = _replaced(ended, message=effect.message, lines=effect.lines)
            if effect.status == "void":
                return _replaced(ended, outcome="void")
        try:
            path, run = self._climbed(ended, started)
        except MeasurementError as error:
            if self.ground.lives(started) and not isinstance(error, TooManyFailures | NotReady):
                raise
            lines = started.log[-12:]
            return _replaced(ended, outcome="crashed", message=f"under load: {error.message}", lines=lines)
        try:
            answers = self._asked(ended) if gate else ""
        except MeasurementError as error:
            if self.ground.lives(started):
                raise
            message = f"when it was asked for log-probabilities ({_LEFT_OUT}): {error.message}"
            return _replaced(ended, outcome="crashed", message=message)
        if not self.ground.lives(started):
            return _replaced(ended, outcome="crashed", message="it ended while it was measured")
        values = {each.load: each.figures[_FIGURE] for each in run.measurements}
        bad = [load for load, value in values.items() if value <= 0]
        if bad:
            return _replaced(ended, outcome="crashed", message=f"no token at {', '.join(bad)}")
        doubts = dict.fromkeys(
            each.code for one in run.measurements for each in one.objections if each.blocks
        )
        return _replaced(
            ended, outcome="served", values=values, path=str(path), doubts=tuple(doubts), gate=answers
        )

    def _climbed(self, ended: StartEnded, started: Started) -> tuple[Path, RunFile]:
        if not self._fitted:
            self.ladder, self._fitted = fit(self.ladder), True
        name = _free(self.ladder.folder, f"start-{ended.number}")
        path = climb(self.ladder, name, id=ended.id, invocation=started.invocation, told=self.told)
        return path, read_run(path)

    def _effect(self, change: Change, started: Started) -> Effect:
        before = self._baseline.settings if self._baseline is not None else {}
        settings = started.settings if before else {}
        return prove_effect(change, before, settings, self.expected, log=started.log)

    def _asked(self, ended: StartEnded) -> str:
        """Ask for what quality is judged by; where the server does not answer, that is said in the end."""
        path = self.ladder.folder / f"answers-{ended.number}.json"
        model = self.ladder.workload.sending.model
        questions = self.questions if ended.phase == "confirm_b" or ended.number == 1 else ()
        with self.ladder.reach() as where:
            found = ask_answers(where, model, questions=questions, key=self.ladder.key)
        write_answers(path, found)
        return str(path)

    def judge(self, baselines: Sequence[StartEnded], candidate: StartEnded) -> Judged:
        """Hold the candidate's answers against those of the baseline."""
        try:
            known = [read_answers(Path(each.gate)) for each in baselines if each.gate]
            if not known or not candidate.gate:
                return Judged(id=candidate.id, judgement=None, message="no answers were kept to be judged")
            found = judge_answers(known, read_answers(Path(candidate.gate)), lossy=self.lossy)
        except (InputError, ValueError) as error:
            return Judged(id=candidate.id, judgement=None, message=f"not judged: {error}")
        return Judged(id=candidate.id, judgement=found, message=_said(found))


def _replaced(ended: StartEnded, **more: object) -> StartEnded:
    return msgspec.structs.replace(ended, **more)


def _one_line(failure: Failure) -> str:
    """The failure with the line that shows it, or its last one, as far as one line goes."""
    if not failure.lines:
        return failure.message
    shown = failure.lines[0].strip()
    return f"{failure.message}: {shown[-_SHOWN:] if len(shown) > _SHOWN else shown}"


def _said(found: Judgement) -> str:
    told = {"same": "the answers are the same within what the baseline differs from itself"}
    text = told.get(found.verdict, found.verdict.replace("_", " "))
    if found.reasons:
        text += f": {found.reasons[0]}"
    power = []
    if found.smallest_share is not None:
        power.append(f"broken answers from {100 * found.smallest_share:.1f} % on")
    if found.smallest_k3:
        power.append(f"a divergence from {found.smallest_k3:.2g} nats a token on")
    if power:
        text += f" (it would have seen {' and '.join(power)})"
    if found.questions is not None:
        text += f"; {_questions(found.questions)}"
    return text


def _questions(found: Paired) -> str:
    return (
        f"{found.right_b} of {found.questions} questions right, before {found.right_a}: {found.lost} lost, "
        f"{found.gained} gained, so at most {100 * max(found.drop_high, 0):.1f} points are lost (95 %)"
    )


def _free(folder: Path, name: str) -> str:
    """A name that no earlier try of the same start, cut short, has used."""
    found, again = name, 1
    while (folder / f"{found}.json").exists():
        again += 1
        found = f"{name}-{again}"
    return found
