"""Watching a service until it gives a token, and proving that what gives it is what was asked for."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from assay.facts import same_command
from assay.rollout.failure import Failure, FailureKind, name_failure
from assay.rollout.token import ask_token

if TYPE_CHECKING:
    from collections.abc import Sequence

    from assay.hosts import UnitState
    from assay.rollout.machine import Machine
    from assay.rollout.plan import Patience
    from assay.rollout.token import Service


_OF_A_START = ("invocation_id", "main_pid", "restarts")


class StartFailed(Exception):
    """A start came to nothing."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.message)
        self.failure = failure


@dataclass(frozen=True, kw_only=True)
class Watch:
    """What is watched, and how."""

    machine: Machine
    """The unit on its machine."""
    service: Service
    """How its server is asked."""
    patience: Patience
    """How long things may take."""
    cursor: str = ""
    """Where the journal ended before the start."""
    between: Callable[[], None] = lambda: None
    """Called between two looks: it renews the switch."""

    def failed(self, state: UnitState, *, late: FailureKind | None = None) -> StartFailed:
        """The failure that the state and the log show."""
        return StartFailed(name_failure(state, self.machine.log(self.cursor), late=late))


def until_token(watch: Watch, words: Sequence[str], *, strict: bool = True) -> UnitState:
    """Wait until the unit's own process, started with `words`, gives a token.

    With `strict`, a restart by systemd is a failure: what crashed once is no service to stand on.

    Raises:
        StartFailed: it ended, crashed, or took longer than `ready_s`.
    """
    machine, patience = watch.machine, watch.patience
    deadline = time.monotonic() + patience.ready_s
    answered = False
    while True:
        watch.between()
        state = machine.state()
        if _is_over(state, strict=strict):
            raise watch.failed(state)
        if state.active_state == "active" and state.job is None and _is_ours(machine, state, words):
            token = ask_token(machine, watch.service, timeout_s=patience.token_s)
            answered = token.answered
            if token.came and _same_start(machine.state(), state):
                return state
        if time.monotonic() >= deadline:
            raise watch.failed(machine.state(), late="no-token" if answered else "never-ready")
        time.sleep(patience.poll_s)


def _is_over(state: UnitState, *, strict: bool) -> bool:
    ended = state.active_state in ("failed", "inactive") and state.job is None
    crashed = strict and (state.restarts > 0 or state.sub_state == "auto-restart")
    return ended or crashed or state.load_state != "loaded"


def _is_ours(machine: Machine, state: UnitState, words: Sequence[str]) -> bool:
    """Whether the unit's process has the words that were asked for: an older one may still go on serving."""
    if state.main_pid is None:
        return False
    process = machine.words(state.main_pid)
    return process is not None and same_command(words, process)


def _same_start(now: UnitState, then: UnitState) -> bool:
    return all(getattr(now, name) == getattr(then, name) for name in _OF_A_START)


def holds(watch: Watch, start: UnitState) -> None:
    """The same start goes on for `hold_s`, and gives a token at each look.

    Raises:
        StartFailed: it did not.
    """
    deadline = time.monotonic() + watch.patience.hold_s
    while True:
        watch.between()
        token = ask_token(watch.machine, watch.service, timeout_s=watch.patience.token_s)
        state = watch.machine.state()
        if not token.came or not _same_start(state, start) or state.active_state != "active":
            raise watch.failed(state, late="no-token")
        if time.monotonic() >= deadline:
            return
        time.sleep(watch.patience.poll_s)
