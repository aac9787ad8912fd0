"""A rollout as a transaction: every step under a live switch; what fails is taken back and proven to be."""

from __future__ import annotations

import contextlib
import hashlib
import shlex
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from assay._masking import mask
from assay._value import Value
from assay.errors import ApplyFailed, AssayError, HostError, JournalError, RestoreFailed
from assay.facts import read_served, resolved_otherwise
from assay.rollout import scripts
from assay.rollout.container import container_processes
from assay.rollout.failure import Failure, FailureKind
from assay.rollout.hooks import Undrain
from assay.rollout.machine import Machine, SwitchFired, host_failure
from assay.rollout.plan import Outcome
from assay.rollout.prove import StartFailed, Watch, holds, until_token
from assay.rollout.token import ask_token

if TYPE_CHECKING:
    from collections.abc import Sequence

    from assay.hosts import UnitState
    from assay.rollout.drop_in import Layout
    from assay.rollout.plan import Plan
    from assay.rollout.prepare import Prepared

Note = Callable[[str, Value], None]
"""Writes one entry, of a kind, into the journal; raises JournalError if it cannot."""
OnStep = Callable[[str], None]
"""Is told of each step before it is done."""


class Began(Value):
    """A step is begun."""

    id: str
    """The rollout."""
    step: str
    """Which step."""


def apply(prepared: Prepared, *, note: Note, on_step: OnStep = lambda _: None) -> Outcome:
    """Carry a plan out. It ends with the change on trial under its switch, or with the service as before.

    The plan is journalled first. `on_step` hears the name of each step before it is done. With hooks the
    server is drained before, and undrained once it serves, with the change or without.

    Raises:
        ApplyFailed: the change was taken back, and the service was seen to serve as before.
        RestoreFailed: that could not be seen, or it is still drained; the details say what a person must do.
        Refused: another rollout is under way, or the drain hook failed. Nothing was changed.
        JournalError: the plan could not be journalled. Nothing was changed.
        HostError: the machine could not be reached before anything was changed.
    """
    note("plan", prepared.plan)
    with prepared.drain.around(note, on_step) as undrain:
        return _Run(prepared, note, on_step, undrain).run()


class _Run:
    def __init__(self, prepared: Prepared, note: Note, on_step: OnStep, undrain: Callable[[], None]) -> None:
        self._prepared = prepared
        self._undrain = undrain
        self._plan: Plan = prepared.plan
        self._machine: Machine = prepared.machine
        self._patience = prepared.plan.patience
        self._note = note
        self._on_step = on_step
        self._cursor = ""
        self._renewed = 0.0
        self._down_since: float | None = None
        self._downtime_s = 0.0

    def run(self) -> Outcome:
        """All steps; what fails after the first is taken back."""
        self._cursor = self._machine.cursor()
        self._begin("arm")
        switch_s = str(self._patience.switch_s)
        revert = self._machine.scoped(scripts.REVERT).encode()
        self._machine.act(scripts.ARM, "arm", self._prepared.who, switch_s, _sum(revert), stdin=revert)
        self._renewed = time.monotonic()
        try:
            self._change()
            self._undrain()
        except BaseException as error:
            self._take_back(error)
            raise
        outcome = Outcome(
            id=self._plan.id,
            result="trial",
            downtime_s=round(self._downtime_s, 1),
            drained_s=self._prepared.drain.drained_s,
            lines=tuple(map(self._masked, self._not_taken())),
        )
        with contextlib.suppress(JournalError):  # it serves, and its switch is armed
            self._note("outcome", outcome)
        return outcome

    def _not_taken(self) -> list[str]:
        """What of the change the server says that it did not take; nothing where it does not say."""
        service = self._prepared.service
        try:
            served = read_served(self._machine.host, service.url, key=service.key)
        except HostError:  # it was seen to serve, and its switch is armed
            return []
        asked = ((each.flag, each.value) for each in self._plan.change.set)
        told = (resolved_otherwise(flag, value, served.settings) for flag, value in asked)
        return [each for each in told if each]

    def _begin(self, step: str) -> None:
        self._note("step", Began(id=self._plan.id, step=step))
        self._on_step(step)

    def _change(self) -> None:
        for step, act in (
            ("write", self._write),
            ("verify", self._verify),
            ("reload", self._reload),
            ("stop", self._stop),
            ("start", lambda: self._machine.act(scripts.START, "start")),
        ):
            self._begin(step)
            act()
            self._renew()
        self._begin("ready")
        watch = self._watch(between=self._renew)
        start = until_token(watch, self._prepared.after)
        self._up()
        self._begin("hold")
        holds(watch, start)
        self._begin("trial")
        self._machine.act(scripts.TRIAL, "trial", str(self._patience.trial_s), start.invocation_id)

    def _watch(self, *, between: Callable[[], None] = lambda: None) -> Watch:
        return Watch(
            machine=self._machine,
            service=self._prepared.service,
            patience=self._patience,
            cursor=self._cursor,
            between=between,
        )

    def _renew(self) -> None:
        """The switch hears of us again, when a quarter of its time is over."""
        if time.monotonic() - self._renewed < self._patience.switch_s / 4:
            return
        self._machine.act(scripts.RENEW, "renew", str(self._patience.switch_s))
        self._renewed = time.monotonic()

    def _write(self) -> None:
        text = self._prepared.text.encode("utf-8", "surrogateescape")
        originals = [path for path, _ in self._plan.originals]
        self._machine.act(scripts.WRITE, "write", _sum(text), *originals, stdin=text)
        if self._prepared.keep is not None:
            keep = self._prepared.keep.encode("utf-8", "surrogateescape")
            self._machine.act(scripts.KEEP, "write", _sum(keep), stdin=keep)

    def _verify(self) -> None:
        lines = self._machine.complaints(self._plan.originals[0][0])
        new = sorted(lines - self._prepared.complaints)
        if new:
            by = "docker compose" if self._plan.layout.compose else "systemd-analyze"
            raise StartFailed(_failure("bad-unit", f"{by} complains of what was changed", new))

    def _reload(self) -> None:
        self._machine.act(scripts.RELOAD, "reload")
        state, starts = self._machine.state(), self._machine.starts()
        if state.load_state != "loaded":
            raise StartFailed(_failure("bad-unit", f"systemd does not take the unit: {state.load_error}", ()))
        if len(starts) == 1 and starts[0].words == self._prepared.after and self._trial_counts(state):
            self._as_planned(state)
            return
        later = (
            state.drop_in_paths[state.drop_in_paths.index(self._plan.layout.trial) + 1 :]
            if self._trial_counts(state)
            else ()
        )
        raise StartFailed(
            _failure(
                "beaten",
                "the command in effect is not the planned one",
                [f"a later drop-in: {one}" for one in later],
            )
        )

    def _as_planned(self, state: UnitState) -> None:
        """The unit's own files are those of the plan: an edit since then is not for us to start."""
        others = [each for each in state.drop_in_paths if each != self._plan.layout.trial]
        found = self._machine.digests((state.fragment_path, *others))
        if found != self._plan.originals:
            edited = sorted({path for path, _ in {*found} ^ {*self._plan.originals}})
            raise StartFailed(
                _failure("bad-unit", "the unit's files were edited since the plan was made", edited)
            )

    def _trial_counts(self, state: UnitState) -> bool:
        return self._plan.layout.trial in state.drop_in_paths and not state.need_daemon_reload

    def _stop(self) -> None:
        inside = container_processes(self._machine, self._prepared.before.words)
        old = (*self._machine.processes(), *inside)
        self._down_since = time.monotonic()
        self._machine.act(scripts.STOP, "stop")
        deadline = time.monotonic() + self._patience.stop_s
        while left := self._what_is_left(old):
            self._renew()
            if time.monotonic() >= deadline:
                raise StartFailed(_failure("not-stopped", "it did not stop in time", left))
            time.sleep(min(self._patience.poll_s, 0.2))
        self._silent()

    def _silent(self) -> None:
        """Nobody else serves in its place; a proxy in front may say that nobody does.

        Raises:
            StartFailed: somebody does.
        """
        service = self._prepared.service
        if service.own and self._machine.http(service.url, timeout_s=3).status is not None:
            message = f"something else answers at {service.url} while it is stopped"
            raise StartFailed(_failure("port-in-use", message, ()))
        if not service.own and ask_token(self._machine, service, timeout_s=3).came:
            message = (
                f"{service.url} gives tokens while it is stopped: another server is behind it, so nobody "
                "could tell whether this one serves; name its own address as url, in [live] of the file"
            )
            raise StartFailed(_failure("port-in-use", message, ()))

    def _what_is_left(self, old: tuple[int, ...]) -> list[str]:
        """What of the old server is not gone yet: the unit's stop, its processes, their memory."""
        state = self._machine.state()
        if state.active_state not in ("inactive", "failed") or state.job is not None:
            return [f"{state.unit} is {state.active_state} ({state.sub_state})"]
        if alive := self._machine.alive(old):
            return [f"process {each} still runs" for each in alive]
        return [f"process {each} still holds memory of a GPU" for each in self._machine.holding_gpus(old)]

    def _up(self) -> None:
        if self._down_since is not None:
            self._downtime_s += time.monotonic() - self._down_since
            self._down_since = None

    # what fails

    def _take_back(self, error: BaseException) -> None:
        """Take everything back, prove it, and raise what that came to; an interruption is raised as it is."""
        failure = self._failure_of(error)
        with contextlib.suppress(Exception):
            self._on_step("restore")
        try:
            self._restore()
        except (HostError, StartFailed) as second:
            raise self._needs_a_person(failure, second) from error
        outcome = Outcome(
            id=self._plan.id,
            result="restored",
            downtime_s=round(self._downtime_s, 1),
            failure=failure.kind,
            message=self._masked(failure.message),
            lines=tuple(map(self._masked, failure.lines)),
        )
        self._told(outcome)
        if isinstance(error, Exception):
            raise ApplyFailed(
                f"{self._plan.host}: {self._plan.layout.unit} with {self._plan.change}: {outcome.message}; "
                f"it serves as before, after {outcome.downtime_s:g} s without",
                details=outcome.lines,
                hint=f"[{failure.kind}] nothing of the change is left",
            ) from error

    def _restore(self) -> None:
        """The script that the switch would run, then a token.

        Raises:
            HostError, StartFailed: it is not seen to serve.
        """
        self._machine.act(scripts.REVERT, "restore")
        until_token(self._watch(), self._prepared.before.words, strict=False)
        self._up()

    def _failure_of(self, error: BaseException) -> Failure:
        if isinstance(error, StartFailed):
            return error.failure
        if isinstance(error, SwitchFired):
            return self._why_fired()
        if isinstance(error, Undrain):
            return _failure("hook", "the undrain hook failed", error.lines)
        if isinstance(error, HostError):
            return _failure("exited", f"a step failed: {host_failure(error)}", error.details)
        if isinstance(error, AssayError):
            return _failure("exited", error.message, error.details)
        return _failure("exited", f"assay was interrupted ({type(error).__name__})", ())

    def _why_fired(self) -> Failure:
        message = "the switch fired: assay was not heard of in time"
        with contextlib.suppress(HostError):
            marks = self._machine.marks()
            if marks.reverted is None or marks.reverted.id != self._plan.id:
                message = "the machine was restarted, and the trial with it is gone"
        return _failure("exited", message, ())

    def _needs_a_person(self, failure: Failure, second: Exception) -> RestoreFailed:
        told = second.failure.message if isinstance(second, StartFailed) else str(second)
        lines = second.failure.lines if isinstance(second, StartFailed) else ()
        outcome = Outcome(
            id=self._plan.id,
            result="needs-a-person",
            downtime_s=round(time.monotonic() - self._down_since, 1) if self._down_since is not None else 0.0,
            failure=failure.kind,
            message=self._masked(f"{failure.message}; then: {told}"),
            lines=tuple(map(self._masked, lines)),
        )
        self._told(outcome)
        return RestoreFailed(
            f"{self._plan.host}: {self._plan.layout.unit} was not seen to serve as before: {outcome.message}",
            details=(*outcome.lines, *person_commands(self._plan.layout)),
            hint="where its switch is still there, it takes the change back by itself: see `assay status`",
        )

    def _told(self, outcome: Outcome) -> None:
        with contextlib.suppress(JournalError):  # the service matters more, and the user is told
            self._note("outcome", outcome)

    def _masked(self, text: str) -> str:
        return mask(text, self._prepared.secrets)


def _sum(text: bytes) -> str:
    return hashlib.sha256(text).hexdigest()


def person_commands(layout: Layout) -> tuple[str, ...]:
    """What a person runs on the machine, as root or the unit's user, to bring the service back."""
    unit, trial = shlex.quote(layout.unit), shlex.quote(layout.trial)
    if layout.compose:
        words = [*layout.compose.program, "-p", layout.compose.project]
        words += [word for file in layout.compose.files for word in ("-f", file)]
        up = ["up", "-d", "--no-deps", layout.compose.service]
        return (
            "a person must look, on the machine, as root:",
            f"  {shlex.join([*words, 'ps'])}; {shlex.join([*words, 'logs', layout.compose.service])}",
            f"  rm -f {trial}; cd {shlex.quote(layout.compose.folder)}; {shlex.join([*words, *up])}",
        )
    who, scope = ("that user", " --user") if layout.user else ("root", "")
    return (
        f"a person must look, on the machine, as {who}:",
        f"  systemctl{scope} status {unit}; journalctl{scope} -u {unit} -n 100",
        f"  rm -f {trial}; systemctl{scope} daemon-reload",
        f"  systemctl{scope} reset-failed {unit}; systemctl{scope} restart {unit}",
    )


def _failure(kind: FailureKind, message: str, lines: Sequence[str]) -> Failure:
    return Failure(kind=kind, message=message, lines=tuple(lines))
