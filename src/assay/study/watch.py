"""Watches a change on trial while its users are served, then keeps it; outside its proven range it goes back.

The switch on the machine stays armed until the watch has ended well: a shorter one, which wants to hear of
this watch, beside the trial's. So whatever ends assay or the link, the service goes back by itself.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import msgspec

from assay._masking import mask
from assay._value import Value
from assay.bench import Sample, Target, answer, metrics_sample, served_model, traffic_report
from assay.errors import ApplyFailed, HostError, JournalError, MeasurementError
from assay.quality import AskedFor, Output, check_outputs, fixed_prompts, read_answers
from assay.rollout import Hold, Intent, Look, Machine, come_back, promote, watched
from assay.study.proven import Proven
from assay.study.watch_rule import Standing, WatchFigure, WatchLook, WatchRule

_AT_A_LOOK = 4
"""Prompts that we ask at each look, one after the other: hardly a load."""
_ANSWER_S = 60.0
_SLICE_S = 1.0


class WatchBegan(Value):
    """A watch begins."""

    id: str
    """The rollout."""
    rule: WatchRule
    """What is no good sign."""
    switch_s: int
    """The machine takes the change back so long after this watch was last heard of."""
    proven: Proven | None
    """The range; `None`: nobody has proven one, so only errors and answers are watched."""


class Watched(Value):
    """How a watch ended."""

    id: str
    """The rollout."""
    result: Literal["kept", "went_back"]
    """What became of the change."""
    message: str
    """Why."""
    watched_s: float
    """How long it was seen."""
    looks: int
    """Looks that saw something."""
    requests: int
    """Requests that were seen."""
    failed: int
    """Those that failed."""
    figures: tuple[WatchFigure, ...]
    """How each figure went."""


@dataclass(frozen=True, kw_only=True)
class WatchPlan:
    """What is watched, and how."""

    rule: WatchRule
    """What is no good sign."""
    switch_s: int
    """How long the machine waits for us."""
    look: Callable[[], Look]
    """Looks at the unit anew."""
    reach: Callable[[Look], AbstractContextManager[Target]]
    """The server as it is to be had from here."""
    proven: Callable[[str], Proven | None]
    """The range of a rollout."""
    note: Callable[[str, Value], None]
    """Writes into the journal."""
    on_step: Callable[[str], None] = lambda _: None
    """Hears of each step."""
    say: Callable[[str], None] = lambda _: None
    """Hears of what a person wants to know."""
    clock: Callable[[], float] = field(default=time.monotonic)
    """Seconds."""


def promote_watched(plan: WatchPlan) -> Watched:
    """Watch the change that is on trial, then keep it.

    Raises:
        ApplyFailed: it left its range, or its trial is over: it was taken back, and serves as before.
        RestoreFailed: that was not seen; the details say what a person must do.
        Refused, NotReady, CommandFailed, JournalError: as `promote` has them. Nothing was changed.
        KeyboardInterrupt: it was taken back.
    """
    look = plan.look()
    intent = promote(look, note=plan.note, dry_run=True)
    assert isinstance(intent, Intent), "a dry run"
    proven = plan.proven(intent.id)
    plan.note("watch", WatchBegan(id=intent.id, rule=plan.rule, switch_s=plan.switch_s, proven=proven))
    plan.say(_told(plan.rule, proven))
    plan.on_step("watch")
    with watched(look.machine, plan.switch_s) as hold:
        watch = _Watch(plan, look, intent.id, proven, hold)
        try:
            watch.until_over()
        except BaseException:
            come_back(plan.look(), intent.id, note=plan.note, on_step=plan.on_step)
            raise
        if watch.standing.leave:
            return watch.gone_back()
        promote(plan.look(), note=plan.note, on_step=plan.on_step)
        return watch.ended("kept", "it stayed in its range")


def _told(rule: WatchRule, proven: Proven | None) -> str:
    minutes = f"{rule.seconds / 60:g} minutes"
    if proven is None:
        return f"watched for {minutes}: errors and answers; no study has proven latencies of this change"
    return f"watched for {minutes}: errors, answers, latency, acceptance; the range is that of {proven.by}"


class _Watch:
    def __init__(self, plan: WatchPlan, look: Look, id: str, proven: Proven | None, hold: Hold) -> None:
        assert look.service is not None, "it is on trial"
        self._plan, self._id, self._hold, self._look = plan, id, hold, look
        self._service, self._model = look.service, look.service.model
        # impatient: a look that cannot see is one that did not see
        self._machine = Machine(look.machine.host, look.machine.layout, id=id, lost_s=0)
        self._invocation = look.state.invocation_id
        self._prompts = fixed_prompts(AskedFor())
        self._at = 0
        self._before = _outputs(proven)
        self._outputs: dict[int, Output] = {}
        self._sample: Sample | None = None
        self._began = plan.clock()
        self.standing = Standing(plan.rule, proven)

    def until_over(self) -> None:
        """Look again and again, until it has gone well for long enough or has to go back."""
        while True:
            found = self.standing.add(self._seen())
            with contextlib.suppress(JournalError):  # a full disk here is no fault of the service
                self._plan.note("watch-look", found)
            for text in (found.unseen and f"not seen: {found.unseen}", *found.out):
                if text:
                    self._plan.say(text)
            if self.standing.leave or self.standing.well:
                return
            self._pause()

    def gone_back(self) -> Watched:
        """Take it back, and say why.

        Raises:
            ApplyFailed: always.
            RestoreFailed: it was not seen to serve as before.
        """
        why = self.standing.leave
        self._plan.say(f"it goes back: {why}")
        come_back(self._plan.look(), self._id, note=self._plan.note, on_step=self._plan.on_step)
        self.ended("went_back", why)
        raise ApplyFailed(
            f"{self._look.called}: the change left the range it was proven in: {why}; it serves as before",
            hint="what each look saw stands in the journal; users may ask for other things than the study",
        )

    def ended(self, result: Literal["kept", "went_back"], message: str) -> Watched:
        """Write down how it ended."""
        asked, failed = self.standing.requests
        found = Watched(
            id=self._id,
            result=result,
            message=mask(message),
            watched_s=round(self.standing.watched_s, 1),
            looks=len(self.standing.looks),
            requests=asked,
            failed=failed,
            figures=self.standing.figures(),
        )
        with contextlib.suppress(JournalError):
            self._plan.note("watched", found)
        return found

    def _pause(self) -> None:
        """Until the next look is due; shorter where the trial is over."""
        until = self._plan.clock() + self._plan.rule.every_s
        while not self._hold.over and (left := until - self._plan.clock()) > 0:
            time.sleep(min(_SLICE_S, left))

    def _seen(self) -> WatchLook:
        """One look; it never raises for what it sees."""
        at_s = round(self._plan.clock() - self._began, 1)
        look = WatchLook(id=self._id, at_s=at_s)
        try:
            if (why := self._over()) != "":
                return msgspec.structs.replace(look, ended=why)
            with self._plan.reach(self._look) as where:
                found = self._asked(look, where)
            why = self._over() if found.failed else ""  # is it the server, or the way to it?
        except (HostError, MeasurementError) as error:
            return msgspec.structs.replace(look, unseen=mask(error.message))
        return msgspec.structs.replace(found, ended=why)

    def _over(self) -> str:
        """Why the trial is over; empty while it goes on."""
        if self._hold.over:
            return "its switch has fired: the machine did not hear of this watch in time, or was restarted"
        state = self._machine.state()
        if state.invocation_id != self._invocation:
            return "it ended by itself, and was started anew"
        if state.active_state != "active":
            return f"it ended by itself, and is {state.active_state}"
        return ""

    def _asked(self, look: WatchLook, where: Target) -> WatchLook:
        key = self._service.key
        if self._model is None:
            self._model = served_model(where, key=key)
        metrics = msgspec.structs.replace(where, prefix=f"{where.prefix}/metrics")
        now = metrics_sample(metrics, key=key)
        took_ms, failed, reason = self._own(where, self._model)
        last = metrics_sample(metrics, key=key)
        first, self._sample = self._sample or now, last
        traffic = traffic_report(first, last) if first is not None and last is not None else None
        errors = int(traffic.errors or 0) if traffic is not None else 0
        answered = int(traffic.answered or 0) if traffic is not None else 0
        return msgspec.structs.replace(
            look,
            asked=max(len(took_ms) + failed, answered),
            failed=max(failed, errors),
            reason=reason,
            running=traffic.running if traffic is not None else None,
            token_ms=traffic.token_ms if traffic is not None else None,
            acceptance=traffic.acceptance_length if traffic is not None else None,
            answer_ms=sum(took_ms) / len(took_ms) if took_ms else None,
            answer_tokens=max((each.tokens for each in self._outputs.values()), default=0),
            faults=self._faults(),
        )

    def _own(self, where: Target, model: str) -> tuple[list[float], int, str]:
        """Ask some prompts; milliseconds of each answer, how many failed, and how."""
        took_ms: list[float] = []
        failed, reason = 0, ""
        for _ in range(_AT_A_LOOK):
            at = self._at = (self._at + 1) % len(self._prompts)
            began = self._plan.clock()
            try:
                said = answer(
                    where, model, self._prompts[at], max_tokens=AskedFor().output_tokens,
                    wait_s=_ANSWER_S, key=self._service.key,
                )  # fmt: skip
            except MeasurementError as error:
                failed, reason = failed + 1, mask(error.message)
                if self._plan.clock() - began > _ANSWER_S / 2:  # the others would hang as long
                    break
                continue
            took_ms.append(1000 * (self._plan.clock() - began))
            self._outputs[at] = Output(
                text=said.text, tokens=said.tokens, finish=said.finish, prompt_tokens=said.prompt_tokens
            )
        return took_ms, failed, reason

    def _faults(self) -> tuple[str, ...]:
        """Damage among the last answers to each prompt, against those of the baseline's starts; without these
        against the first ones of this watch."""
        if not self._before:
            if len(self._outputs) == len(self._prompts):
                self._before, self._outputs = tuple(self._outputs.values()), {}
            return ()
        found = check_outputs(self._before, tuple(self._outputs.values()))
        return tuple(f"{each.code}, {each.seen} of {each.of}" for each in found if each.damaged)


def _outputs(proven: Proven | None) -> Sequence[Output]:
    """Answers of the baseline's starts to the same prompts."""
    kept = () if proven is None else proven.answers
    return tuple(output for each in kept for output in read_answers(Path(each)).outputs)
