"""After a rollout: where it stands, keeping it for good, taking it back."""

from __future__ import annotations

import contextlib
import time
from typing import TYPE_CHECKING

import msgspec

from assay._masking import mask
from assay._value import Value
from assay.deployment import Hooks
from assay.errors import ApplyFailed, CommandFailed, HostError, JournalError, Refused, RestoreFailed
from assay.rollout import scripts
from assay.rollout.apply import Note, OnStep, person_commands
from assay.rollout.failure import Failure
from assay.rollout.hooks import Drain
from assay.rollout.machine import Machine, SwitchFired
from assay.rollout.marks import Marks
from assay.rollout.places import places_of
from assay.rollout.plan import Outcome, Patience
from assay.rollout.prepare import known_words, proven
from assay.rollout.prove import StartFailed, Watch, until_token
from assay.rollout.token import ask_token

if TYPE_CHECKING:
    from assay.hosts import Host, UnitState
    from assay.rollout.marks import Armed
    from assay.rollout.token import Service


class Status(Value):
    """Where a unit's rollouts stand."""

    host: str
    """The machine."""
    unit: str
    """The unit."""
    active: str
    """What systemd says: `active`, `failed` and so on."""
    serves: bool
    """Whether it gave a token just now."""
    why_not: str
    """Why it gave none."""
    marks: Marks
    """What is to be seen of rollouts."""


class Intent(Value):
    """What is about to be done; journalled first."""

    id: str
    """The rollout."""
    does: str
    """In words."""
    undone_by: str
    """What takes it back."""


class Look:
    """A unit with its marks, as the verbs after a rollout find it."""

    def __init__(
        self,
        host: Host,
        unit: str,
        *,
        url: str | None,
        model: str | None,
        patience: Patience,
        user: bool = False,
    ) -> None:
        """Look; nothing is changed.

        Raises:
            HostError: the machine cannot be asked, or root's rights are not to be had.
            Refused: nobody says where the server answers.
        """
        self.patience = patience
        self.machine = Machine(host, places_of(host, unit, user=user), id="-", lost_s=patience.lost_s)
        self.state: UnitState = self.machine.state()
        self.marks = self.machine.marks()
        left = self.marks.armed or self.marks.drained
        self.machine.id = left.id if left else self.marks.last or "-"
        self.drain = Drain(Hooks(), self.machine, who="")
        self._where = (url, model)
        self.service: Service | None = self._asked() if self.state.load_state == "loaded" else None

    def hooked(self, hooks: Hooks, *, who: str) -> Look:
        """The same, with what is run around a restart, and on whose behalf."""
        self.drain = Drain(hooks, self.machine, who=who)
        return self

    def kept_in_its_file(self) -> Look:
        """The same, where what is kept stands in the unit's own file and not in a drop-in."""
        if self.state.fragment_path:
            self.machine.layout = msgspec.structs.replace(self.machine.layout, kept=self.state.fragment_path)
            self.marks = self.machine.marks()
        return self

    @property
    def called(self) -> str:
        """The machine and the unit, for messages."""
        return f"{self.machine.host.name}: {self.machine.layout.unit}"

    def _asked(self) -> Service | None:
        """How the server is asked, by the words that run, else by those of the unit."""
        starts, (url, model) = self.machine.starts(), self._where
        if not starts:
            return None
        return self.machine.service(known_words(self.machine, self.state, starts[-1]), url=url, model=model)

    def prove(self) -> None:
        """What the unit says now is what serves.

        Raises:
            StartFailed: it is not, within `ready_s`.
        """
        starts = self.machine.starts()
        service = self.service or self._asked()
        if service is None:
            raise StartFailed(Failure(kind="bad-unit", message="the unit has no command"))
        watch = Watch(machine=self.machine, service=service, patience=self.patience, cursor=self.cursor)
        until_token(watch, starts[-1].words, strict=False)

    cursor = ""
    """Where the journal ended before anything was done."""


def status(look: Look) -> Status:
    """Where the unit's rollouts stand; asks for one token."""
    serves, why = False, f"it is {look.state.load_state}"
    if look.service is not None and look.state.main_pid is not None:
        token = ask_token(look.machine, look.service, timeout_s=look.patience.token_s)
        serves, why = token.came, token.why
    elif look.state.main_pid is None:
        why = "it does not run"
    return Status(
        host=look.machine.host.name,
        unit=look.machine.layout.unit,
        active=look.state.active_state,
        serves=serves,
        why_not=why,
        marks=look.marks,
    )


def promote(
    look: Look, *, note: Note, on_step: OnStep = lambda _: None, dry_run: bool = False
) -> Intent | Outcome:
    """Keep a change that is on trial: its drop-in moves to /etc, what was there before is kept aside.

    The service is not restarted. With `dry_run` only the intent is given.

    Raises:
        Refused: there is no trial, it was not seen to serve, or another start serves now.
        NotReady: it gives no token.
        CommandFailed: it could not be written, as on a full disk: it stays on trial, under its switch.
        ApplyFailed: it could not be kept; the service was seen to serve as before the rollout.
        RestoreFailed: neither; the details say what a person must do.
        JournalError: the intent could not be journalled. Nothing was changed.
    """
    armed, service = _on_trial(look)
    machine = look.machine
    proven(machine, service, look.patience)
    places = machine.layout
    intent = Intent(
        id=armed.id,
        does=f"the change is written into {places.kept}, and {places.trial} is removed; no restart",
        undone_by=f"`assay rollback`: what was there before lies in {places.var}/{armed.id}",
    )
    if dry_run:
        return intent
    note("promote", intent)
    words = machine.starts()[-1].words
    name = ""
    try:
        for name, text in (("extend", scripts.EXTEND), ("keep", scripts.PROMOTE), ("swap", scripts.SWAP)):
            on_step(name)
            machine.act(text, name)
            if machine.starts()[-1].words != words or machine.state().need_daemon_reload:
                raise StartFailed(Failure(kind="beaten", message="another command is in effect"))
        on_step("disarm")
        machine.act(scripts.DISARM, "disarm")
    except Refused as error:  # as where something holds the lock there
        _refused(machine.id, error, note)
        raise
    except (HostError, StartFailed, SwitchFired) as error:
        if isinstance(error, CommandFailed) and name in ("extend", "keep"):
            _refused(machine.id, error, note)
            raise CommandFailed(
                f"{look.called}: the change could not be kept: {error.message}; it stays on trial",
                hint="mend that and promote it again, before its switch takes it back: `assay status`",
                details=error.details,
            ) from error
        _back(look, note, on_step)
        raise ApplyFailed(
            f"{look.called}: the change could not be kept: {str(error) or 'its switch has fired'}; "
            "it serves as before the rollout"
        ) from error
    outcome = Outcome(id=intent.id, result="promoted")
    with contextlib.suppress(JournalError):
        note("outcome", outcome)
    return outcome


def _on_trial(look: Look) -> tuple[Armed, Service]:
    """The rollout that may be promoted, and how its server is asked.

    Raises:
        Refused: there is none.
    """
    marks = look.marks
    if marks.armed is None:
        raise Refused(f"{look.called} has no change on trial", hint="`assay apply` begins one")
    if marks.trial is None or not (marks.trial_file or marks.promoting):
        raise Refused(
            f"{look.called}: rollout {marks.armed.id} was not seen to serve yet", hint="wait for it"
        )
    if not marks.switch:
        raise Refused(
            f"{look.called}: the switch of rollout {marks.armed.id} is gone: somebody stopped its timer",
            hint="`assay rollback`, then try again",
        )
    if look.state.invocation_id != marks.trial:
        raise Refused(
            f"{look.called} was started anew since the trial was seen to serve",
            hint="`assay rollback`, then find out why it restarted",
        )
    if look.state.need_daemon_reload:
        raise Refused(
            f"{look.called} was edited since the trial began: a promotion would bring that edit in, too",
            hint="take that edit back, or keep it and `assay rollback`",
        )
    if look.service is None:
        raise Refused(
            f"{look.called} is {look.state.load_state}: {look.state.load_error}", hint="mend it first"
        )
    return marks.armed, look.service


def rollback(
    look: Look, *, note: Note, on_step: OnStep = lambda _: None, dry_run: bool = False
) -> Intent | Outcome:
    """Take back the change that is on trial, else the one that was promoted last, and see a token.

    With hooks it is drained meanwhile; what an assay that was killed left drained is undrained. With
    `dry_run` only the intent is given.

    Raises:
        Refused: there is nothing to take back, the kept file was edited since, or the drain hook failed.
        RestoreFailed: it was not seen to serve; the details say what a person must do.
        JournalError: the intent could not be journalled. Nothing was changed.
    """
    marks, places = look.marks, look.machine.layout
    if marks.armed is not None:
        does = f"{places.trial} is removed, and {places.unit} restarted if it was for the rollout"
    elif marks.drained is not None:
        return _undrained(look, note=note, on_step=on_step, dry_run=dry_run)
    elif marks.last is not None:
        does = f"{places.kept} becomes what it was before {marks.last}, and {places.unit} is restarted"
    else:
        raise Refused(f"{look.called} has nothing to take back", hint="`assay status` says what is there")
    intent = Intent(id=look.machine.id, does=does, undone_by="`assay apply` of the same change")
    if dry_run:
        return intent
    note("rollback", intent)
    with look.drain.around(note, on_step):
        downtime_s = _back(look, note, on_step)
    return Outcome(id=intent.id, result="rolled-back", downtime_s=downtime_s, drained_s=look.drain.drained_s)


def _undrained(look: Look, *, note: Note, on_step: OnStep, dry_run: bool) -> Intent | Outcome:
    """A rollout that is over left its server drained: nothing but that is taken back."""
    assert look.marks.drained is not None, "it was looked at"
    id = look.marks.drained.id
    if not look.drain.asked:
        raise Refused(
            f"{look.called} is still drained by {id}, and no hook is known that undrains it",
            hint="name the deployment file whose [hooks] drained it",
        )
    intent = Intent(id=id, does=f"run here: {look.drain.shown('undrain')}", undone_by="the drain hook")
    if dry_run:
        return intent
    note("rollback", intent)
    look.prove()
    look.drain.mend(note, on_step)
    return Outcome(id=id, result="undrained")


def come_back(look: Look, id: str, *, note: Note, on_step: OnStep = lambda _: None) -> None:
    """End a trial that was broken off: take it back, or see that its switch was quicker, and see a token.

    Raises:
        RestoreFailed: it was not seen to serve; the details say what a person must do.
        Refused: it cannot be taken back.
    """
    armed = look.marks.armed
    if armed is not None and armed.id == id:
        rollback(look, note=note, on_step=on_step)
        return
    on_step("restore")
    try:
        look.prove()
    except (HostError, StartFailed) as error:
        raise _not_seen(look, id, error, note) from error


def restart(look: Look, *, note: Note, on_step: OnStep = lambda _: None) -> float:
    """A fresh start of the service as its unit says, seen to give a token; the seconds without one.

    Nothing is changed, so there is nothing to take back.

    Raises:
        Refused: a rollout is under way.
        StartFailed: it gives no token.
        JournalError: the intent could not be journalled. Nothing was done.
    """
    does = f"{look.machine.layout.unit} is restarted as it is"
    note("restart", Intent(id=look.machine.id, does=does, undone_by="nothing to undo"))
    on_step("restart")
    look.cursor = look.machine.cursor()
    began = time.monotonic()
    look.machine.act(scripts.RESTART, "restart")
    look.prove()
    return round(time.monotonic() - began, 1)


def _back(look: Look, note: Note, on_step: OnStep) -> float:
    """Take it back and see a token; the seconds that took."""
    machine = look.machine
    on_step("restore")
    look.cursor = machine.cursor()
    began = time.monotonic()
    try:
        if look.marks.armed is not None:
            machine.act(scripts.REVERT, "restore")
        else:
            with contextlib.suppress(SwitchFired):  # it is done: a lost link made us ask twice
                machine.act(scripts.UNKEEP, "restore")
        look.prove()
    except Refused as error:
        _refused(machine.id, error, note)
        raise
    except (HostError, StartFailed) as error:
        raise _not_seen(look, machine.id, error, note) from error
    took_s = round(time.monotonic() - began, 1)
    with contextlib.suppress(JournalError):
        note("outcome", Outcome(id=machine.id, result="rolled-back", downtime_s=took_s))
    return took_s


def _refused(id: str, error: Refused | CommandFailed, note: Note) -> None:
    """Nothing was changed; the intent stands in the journal, so its end does, too."""
    with contextlib.suppress(JournalError):
        note("outcome", Outcome(id=id, result="refused", message=mask(error.message)))


def _not_seen(look: Look, id: str, error: HostError | StartFailed, note: Note) -> RestoreFailed:
    told = error.failure.message if isinstance(error, StartFailed) else str(error)
    with contextlib.suppress(JournalError):
        note("outcome", Outcome(id=id, result="needs-a-person", message=told))
    places = look.machine.layout
    return RestoreFailed(
        f"{look.called} was not seen to serve as before: {told}",
        details=person_commands(places),
    )
