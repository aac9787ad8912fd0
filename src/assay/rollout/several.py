"""Several rollouts as one: carried out in their order, and all of them or none."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from typing import TYPE_CHECKING

from assay._value import Value
from assay.errors import AssayError, RestoreFailed
from assay.rollout import scripts
from assay.rollout.after import Look, come_back
from assay.rollout.apply import Note, OnStep, apply
from assay.rollout.holding import held
from assay.rollout.plan import Outcome, Plan

if TYPE_CHECKING:
    from assay.rollout.prepare import Prepared


class JointPlan(Value):
    """Rollouts that belong together: of several units, of one machine or of several."""

    id: str
    """Name of all of it."""
    plans: tuple[Plan, ...]
    """In the order in which they are carried out; they are taken back from the last one to the first."""
    trial_s: int
    """How long all of them then stay without being promoted."""


def apply_all(
    parts: Sequence[tuple[Prepared, Note]], *, id: str, trial_s: int, on_step: OnStep = lambda _: None
) -> tuple[Outcome, ...]:
    """Carry out one after the other; if one fails, those before it are taken back, the last one first.

    Each comes with what writes into the journal about it; the first of these gets the plan of all. Their
    plans have the length of the switch as that of their trial: while the others are at it, each trial is
    renewed from here, and goes back by itself when assay dies. In the end all have `trial_s`.

    Raises:
        ApplyFailed: nothing of it is left, and all services were seen to serve as before.
        RestoreFailed: of one of them that could not be seen; the details say what a person must do.
        Refused, JournalError, HostError: as of one; those before were taken back.
    """
    parts[0][1]("joint-plan", JointPlan(id=id, plans=tuple(each.plan for each, _ in parts), trial_s=trial_s))
    outcomes: list[Outcome] = []
    done: list[tuple[Prepared, Note]] = []
    with contextlib.ExitStack() as stack:
        try:
            for part, note in parts:
                outcomes.append(apply(part, note=note, on_step=_named(part, on_step)))
                done.append((part, note))
                stack.enter_context(held(part.machine, part.plan.patience.trial_s))
            for part, _ in parts:
                start = part.machine.state().invocation_id
                part.machine.act(scripts.LENGTHEN, "lengthen", str(trial_s), start)
        except BaseException as error:
            _back(done, error, on_step)
            raise
    return tuple(outcomes)


def _named(part: Prepared, on_step: OnStep) -> OnStep:
    return lambda step: on_step(f"{part.plan.layout.unit} on {part.plan.host}: {step}")


def _back(done: Sequence[tuple[Prepared, Note]], error: BaseException, on_step: OnStep) -> None:
    """Take back what was done, all of it, whatever fails on the way.

    Raises:
        RestoreFailed: one of them was not seen to serve as before.
    """
    failed: list[str] = []
    for part, note in reversed(done):
        plan = part.plan
        try:
            look = Look(
                part.machine.host, plan.layout.unit, url=part.service.url, model=part.service.model,
                patience=plan.patience, user=plan.layout.user,
            )  # fmt: skip
            look.drain = part.drain
            come_back(look, plan.id, note=note, on_step=_named(part, on_step))
        except AssayError as second:
            failed += [f"{plan.host}: {plan.layout.unit}: {second.message}", *second.details]
    if failed:
        told = error.message if isinstance(error, AssayError) else type(error).__name__
        raise RestoreFailed(
            f"not all of the services were seen to serve as before, after: {told}", details=tuple(failed)
        ) from error
