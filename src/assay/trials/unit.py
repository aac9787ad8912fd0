"""A systemd unit as the ground of a study: a change is a rollout under its switch, a baseline a restart."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import msgspec

from assay._masking import mask, secrets_in_words
from assay.deployment import Hooks
from assay.errors import ApplyFailed, HostError
from assay.facts import read_served
from assay.hosts import reach_url
from assay.rollout import (
    Change,
    Failure,
    Hold,
    Look,
    Patience,
    Request,
    Service,
    StartFailed,
    apply,
    changed_words,
    come_back,
    held,
    prepare,
    promote,
    restart,
)
from assay.trials.ground import Ended, Plain, Started, masked_settings

if TYPE_CHECKING:
    from assay._value import Value
    from assay.hosts import Host


_LONG_S = 600
"""For a promotion over a slow link."""


@dataclass(frozen=True, kw_only=True)
class UnitPlan:
    """Which unit, and how it is changed."""

    unit: str
    """Its name."""
    user: bool = False
    """Whether it is of the user's own manager."""
    id: str
    """The study; its rollouts are called after it."""
    who: str
    """Who tunes."""
    note: Callable[[str, Value], None] = field(repr=False)
    """Writes into the journal."""
    why: str = ""
    """For what reason."""
    approved_by: str = ""
    """Who agreed."""
    hooks: Hooks = field(default_factory=Hooks)
    """What takes it out of its balancer, and puts it back."""
    url: str | None = None
    """Where it answers, as seen from its machine; None: as its command says."""
    model: str | None = None
    """The model's name for requests; None: the first that it lists."""
    patience: Patience = field(default_factory=Patience)
    """How long things may take."""
    keep: Callable[[Callable[[], Look]], None] | None = None
    """Keeps the change that is on trial, or takes it back and raises ApplyFailed; None: it is promoted."""


class SystemdUnit:
    """The ground of a service that systemd runs: between two starts it always serves as it did before."""

    def __init__(self, host: Host, plan: UnitPlan) -> None:
        self._host, self._plan = host, plan
        self._hold: Hold | None = None
        self._fresh = ""
        """The invocation of a start of the unchanged unit that nobody has measured."""
        self._undrain: Callable[[], None] = lambda: None
        self._look_ = self._look()
        self.ran: bool | None = True
        """It must run: there is no way back to a service that does not serve."""

    @property
    def service(self) -> Service:
        """How its server is asked."""
        assert self._look_.service is not None
        return self._look_.service

    def words(self, change: Change | None) -> tuple[str, ...]:
        """The unit's command with a change in it; may hold secrets."""
        [start] = self._look_.machine.starts()
        if change is None:
            return start.words
        return changed_words(start.words, change, dollars="no-env-expand" not in start.flags)

    @contextlib.contextmanager
    def drained(self, on_step: Callable[[str], None]) -> Iterator[None]:
        """Out of its balancer for the length of a block, where there are hooks: what others ask of it
        would be part of every figure.

        Raises:
            Refused: the drain hook failed. Nothing was changed.
            RestoreFailed: it serves, and the undrain hook failed.
        """
        look = self._look().hooked(self._plan.hooks, who=self._plan.who)
        look.machine.id = self._plan.id
        with look.drain.around(self._plan.note, on_step) as self._undrain:
            yield

    @contextlib.contextmanager
    def reach(self) -> Iterator[str]:
        """Through the user's own ssh."""
        with reach_url(self._host, self.service.url) as url:
            yield url

    def begin(self) -> None:
        """Take back what this study left on trial.

        Raises:
            RestoreFailed: it was not seen to serve; the details say what a person must do.
        """
        armed = self._look().marks.armed
        if armed is not None and armed.id.startswith(f"{self._plan.id}-"):
            come_back(self._look_, armed.id, note=self._plan.note)

    @contextlib.contextmanager
    def start(self, change: Change | None, number: int) -> Iterator[Started]:
        """A fresh start with the change on trial, taken back with the block; or of the unit as it is."""
        if change is None:
            yield self._as_it_is()
            return
        id = f"{self._plan.id}-{number}"
        prepared = prepare(self._host, self._request(id, change))
        cursor = prepared.machine.cursor()
        try:
            outcome = apply(prepared, note=self._plan.note)
        except ApplyFailed as error:
            self._fresh = self._invocation()  # it was restored by a start of the unit as it is
            raise StartFailed(_failure(error)) from error
        try:
            with held(prepared.machine, self._plan.patience.trial_s) as self._hold:
                yield self._started(cursor, outcome.downtime_s)
        finally:
            self._hold = None
            come_back(self._look(), id, note=self._plan.note)
            self._fresh = self._invocation()

    def lives(self, started: Started) -> bool:
        """Whether that start still runs, and a change is still on trial."""
        over = self._hold is not None and self._hold.over
        state = self._look_.machine.state()  # one that ended by itself keeps its invocation
        return not over and state.active_state == "active" and state.invocation_id == started.invocation

    def leave(self, change: Change | None) -> Ended:
        """It serves as before; with a change that is kept, that is promoted."""
        self.begin()
        if change is None:
            return self._left()
        id = f"{self._plan.id}-kept"
        # nobody renews its switch while it is promoted
        prepared = prepare(self._host, self._request(id, change, trial_s=_LONG_S))
        apply(prepared, note=self._plan.note)
        try:
            if self._plan.keep is None:
                promote(self._look(), note=self._plan.note)
            else:
                self._undrain()  # it is watched while it serves its users
                self._plan.keep(lambda: self._look().hooked(self._plan.hooks, who=self._plan.who))
        except ApplyFailed as error:
            message = f"it was taken back, and serves as before: {error.message}"
            return Ended(serves=True, kept=False, message=message)
        except BaseException:
            come_back(self._look(), id, note=self._plan.note)
            raise
        message = "kept: it serves with the change, also after a reboot; `assay rollback` takes it back"
        return Ended(serves=True, message=message)

    def _left(self) -> Ended:
        """What ended by itself while it was measured is started again, as it is."""
        unit = self._plan.unit
        if self._look_.machine.state().active_state != "active":
            try:
                restart(self._look(), note=self._plan.note)
            except StartFailed as error:
                message = f"{unit} DOES NOT SERVE, a person must look: {error.failure.message}"
                return Ended(serves=False, message=message)
        return Ended(serves=True, message=f"{unit} serves as before")

    def _request(self, id: str, change: Change, *, trial_s: int | None = None) -> Request:
        plan = self._plan
        patience = plan.patience
        if trial_s is not None:
            patience = msgspec.structs.replace(patience, trial_s=max(trial_s, patience.trial_s))
        return Request(
            id=id, unit=plan.unit, user=plan.user, change=change, who=plan.who, why=plan.why, url=plan.url,
            approved_by=plan.approved_by, model=plan.model, patience=patience,
        )  # fmt: skip

    def _as_it_is(self) -> Started:
        """A start that nobody has measured yet will do; else the service is restarted."""
        look, down_s = self._look(), 0.0
        cursor = look.machine.cursor()
        if not self._fresh or self._fresh != look.state.invocation_id:
            down_s = restart(look, note=self._plan.note)
        self._fresh = ""
        return self._started(cursor, down_s)

    def _started(self, cursor: str, down_s: float) -> Started:
        look = self._look()
        secrets = secrets_in_words(look.machine.starts()[-1].words)
        return Started(
            invocation=look.state.invocation_id,
            downtime_s=down_s,
            settings=self._settings(look, secrets),
            log=tuple(mask(line, secrets) for line in look.machine.log(cursor)),
        )

    def _settings(self, look: Look, secrets: frozenset[str]) -> dict[str, Plain]:
        service = self.service
        try:
            served = look.machine.patiently(lambda: read_served(self._host, service.url, key=service.key))
        except HostError:
            return {}
        return masked_settings(served.settings, secrets)

    def _invocation(self) -> str:
        return self._look_.machine.state().invocation_id

    def _look(self) -> Look:
        plan = self._plan
        self._look_ = Look(
            self._host, plan.unit, url=plan.url, model=plan.model, patience=plan.patience, user=plan.user
        )
        return self._look_


def _failure(error: ApplyFailed) -> Failure:
    """What the rollout found; it serves as before."""
    cause = error.__cause__
    if isinstance(cause, StartFailed):
        return cause.failure
    return Failure(kind="exited", message=error.message, lines=error.details)
