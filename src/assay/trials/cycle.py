"""The whole cycle once: measure, change under a switch, prove the effect, measure again, keep or go back."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import msgspec

from assay._masking import mask
from assay._value import Value
from assay.bench import Comparison, compare, read_run
from assay.errors import AssayError, HostError, JournalError, MeasurementError, RolloutError
from assay.facts import read_served
from assay.rollout import Look, Outcome, Prepared, apply, come_back, held, promote, rollback
from assay.trials.effect import Effect, Expected, prove_effect
from assay.trials.ground import masked_settings
from assay.trials.ladder import Ladder, Told, climb, fit

if TYPE_CHECKING:
    from assay.facts import Settings
    from assay.rollout import Hold

Choice = Literal["keep", "revert"]
Result = Literal["kept", "reverted", "void"]
"""`kept` it serves with the change, also after a reboot; `reverted` it serves as before; `void` likewise,
because the change did not take, or the arm was not what it should be."""


@dataclass(frozen=True, kw_only=True)
class TryOut:
    """What is tried, and what it is held against."""

    prepared: Prepared
    """The rollout."""
    ladder: Ladder
    """What both arms are asked."""
    expected: Expected
    """What the arms are held against."""


class Tried(Value):
    """What came of it."""

    id: str
    """The trial, and its rollout."""
    result: Result
    """How it ended."""
    downtime_s: float
    """Seconds without a token: of the change, and of going back where that was."""
    effect: Effect
    """What shows that the change took."""
    baseline: str
    """Result file of the arm before."""
    candidate: str = ""
    """Result file of the arm with the change; empty where it was void before it was measured."""
    comparison: Comparison | None = None
    """Of one start each, so never a verdict; None where an arm is void."""


class TryBegan(Value):
    """A trial begins; the plan of its rollout follows."""

    id: str
    """Its name."""
    change: str
    """What is tried."""
    loads: tuple[str, ...]
    """What both arms are asked."""
    folder: str
    """Where the results go."""


OnStep = Callable[[str], None]
Choose = Callable[[Effect, Comparison], Choice]


def try_once(out: TryOut, *, told: Told, choose: Choose, on_step: OnStep = lambda _: None) -> Tried:
    """Carry the cycle out. Until the change is kept, its switch on the machine takes it back without us.

    Args:
        out: what is tried.
        told: hears of rungs, and writes the journal.
        choose: is asked once both arms are measured.
        on_step: hears of each step before it is done.

    Raises:
        MeasurementError: an arm could not be measured; the service is as before.
        ApplyFailed: the change failed and was taken back.
        RestoreFailed: a person must look.
        HostError, JournalError, Refused: before anything was changed.
        KeyboardInterrupt: the service is as before, what was measured stays.
    """
    return _Cycle(out, told, choose, on_step).run()


class _Cycle:
    def __init__(self, out: TryOut, told: Told, choose: Choose, on_step: OnStep) -> None:
        self._out, self._told, self._choose, self._on_step = out, told, choose, on_step
        self._plan = out.prepared.plan
        self._machine = out.prepared.machine
        self._ladder = out.ladder
        self._by: Literal["settings", "metrics"] = "settings"

    def run(self) -> Tried:
        """All of it."""
        plan = self._plan
        self._told.note(
            "try",
            TryBegan(
                id=plan.id,
                change=str(plan.change),
                loads=tuple(level.name for level in self._ladder.levels),
                folder=str(self._ladder.folder),
            ),
        )
        with self._out.prepared.drain.around(self._told.note, self._on_step):
            return self._drained()

    def _drained(self) -> Tried:
        """Both arms, without the traffic of others where hooks see to that."""
        plan = self._plan
        self._on_step("baseline")
        self._ladder = fit(self._ladder)
        before, settings = self._measured_baseline()
        cursor = self._machine.cursor()
        outcome = apply(self._out.prepared, note=self._told.note, on_step=self._on_step)
        try:
            with held(self._machine, plan.patience.trial_s) as hold:
                tried, choice = self._tried(before, settings, cursor, outcome, hold)
        except BaseException as error:
            self._go_back(error)
            raise
        return self._ended(tried, choice)

    def _measured_baseline(self) -> tuple[Path, Settings]:
        """The arm before: one life of the server, from the first rung to the last."""
        start = self._invocation()
        settings = self._settings()
        path = climb(self._ladder, "baseline", id=self._plan.id, invocation=start, told=self._told)
        if self._invocation() != start:
            raise MeasurementError(
                f"{self._plan.layout.unit} was restarted while it was measured; nothing was changed",
                hint="find out why it restarts, then try again",
            )
        return path, settings

    def _tried(
        self, before: Path, settings: Settings, cursor: str, outcome: Outcome, hold: Hold
    ) -> tuple[Tried, Choice]:
        """The arm with the change, under its switch, and what is to become of it."""
        start = self._invocation()
        self._on_step("effect")
        effect = self._effect(settings, cursor)
        self._told.note("effect", effect)
        tried = Tried(
            id=self._plan.id,
            result="void",
            downtime_s=outcome.downtime_s,
            effect=effect,
            baseline=str(before),
        )
        if effect.status == "void":
            return tried, "revert"
        self._on_step("candidate")
        path = climb(self._ladder, "candidate", id=self._plan.id, invocation=start, told=self._told)
        self._still(start, hold)
        comparison = compare([read_run(before)], [read_run(path)])
        choice = self._choose(effect, comparison)
        self._still(start, hold)
        result: Result = "kept" if choice == "keep" else "reverted"
        told = {"result": result, "candidate": str(path), "comparison": comparison}
        return msgspec.structs.replace(tried, **told), choice

    def _still(self, start: str, hold: Hold) -> None:
        """It was one life of the server, and the change is still on trial.

        Raises:
            MeasurementError: it was not.
        """
        if hold.over:
            why = (
                "its switch has fired meanwhile: the machine did not hear of assay in time, or was restarted"
            )
        elif self._invocation() != start:
            why = "the service was started anew meanwhile"
        else:
            return
        raise MeasurementError(
            f"the arm with {self._plan.change} is void: {why}",
            hint="the figures of it that are on disk are not of one start with the change",
        )

    def _effect(self, before: Settings, cursor: str) -> Effect:
        log = tuple(mask(line, self._out.prepared.secrets) for line in self._machine.log(cursor))
        after, by = self._settings(), self._by
        return prove_effect(self._plan.change, before, after, self._out.expected, log=log, by=by)

    def _settings(self) -> Settings:
        """What the server says of itself: by `/server_info`, else by labels of its metrics."""
        service = self._out.prepared.service
        try:
            served = self._machine.patiently(
                lambda: read_served(self._machine.host, service.url, key=service.key)
            )
        except HostError:
            return {}
        self._by = "settings" if served.settings else "metrics"
        return masked_settings(served.settings or served.labels, self._out.prepared.secrets)

    def _invocation(self) -> str:
        return self._machine.state().invocation_id

    def _look(self) -> Look:
        service = self._out.prepared.service
        return Look(
            self._machine.host,
            self._plan.layout.unit,
            url=service.url,
            model=service.model,
            patience=self._plan.patience,
            user=self._plan.layout.user,
        )

    def _ended(self, tried: Tried, choice: Choice) -> Tried:
        if choice == "keep":
            self._keep()
        else:
            done = rollback(self._look(), note=self._told.note, on_step=self._on_step)
            back_s = done.downtime_s if isinstance(done, Outcome) else 0.0
            tried = msgspec.structs.replace(tried, downtime_s=round(tried.downtime_s + back_s, 1))
        with contextlib.suppress(JournalError):
            self._told.note("tried", tried)
        return tried

    def _keep(self) -> None:
        try:
            promote(self._look(), note=self._told.note, on_step=self._on_step)
        except RolloutError:  # it was taken back already, or a person must look
            raise
        except BaseException as error:
            self._go_back(error)
            raise

    def _go_back(self, error: BaseException) -> None:
        """What was interrupted, or could not be measured, does not stay; without us its switch sees to it.

        Raises:
            RestoreFailed: a person must look.
        """
        with contextlib.suppress(JournalError):
            message = mask(error.message if isinstance(error, AssayError) else type(error).__name__)
            self._told.note("broken-off", BrokenOff(id=self._plan.id, message=message))
        come_back(self._look(), self._plan.id, note=self._told.note, on_step=self._on_step)


class BrokenOff(Value):
    """A trial that came to no end."""

    id: str
    """Which."""
    message: str
    """Why."""
