"""While somebody measures a change on trial: its switch hears of us, and it is seen whether it goes on."""

from __future__ import annotations

import contextlib
import threading
from typing import TYPE_CHECKING

from assay.errors import HostError, Refused
from assay.rollout import scripts
from assay.rollout.machine import Machine, SwitchFired

if TYPE_CHECKING:
    from collections.abc import Iterator

_AGAIN_S = 1.0
"""After a try that failed."""


class Hold:
    """A trial that is kept from going back by itself."""

    def __init__(self, machine: Machine, switch_s: int, *, shorter: bool = False) -> None:
        # impatient: while the link is lost, what matters is that the block can end
        self._machine = Machine(machine.host, machine.layout, id=machine.id, lost_s=0)
        self._every_s = switch_s / 4
        self._renewal = (scripts.WATCH, "watch", str(switch_s)) if shorter else (scripts.EXTEND, "extend")
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._renew, daemon=True, name="assay-hold")
        self.over = False
        """Whether the trial is over there: its switch has fired, or the machine was restarted."""

    def start(self) -> None:
        """Renew it from now on."""
        self._thread.start()

    def stop(self) -> None:
        """No longer; what is being asked just now is waited for."""
        self._done.set()
        self._thread.join()

    def renew(self) -> None:
        """Once.

        Raises:
            SwitchFired: the trial is over there.
            HostError, Refused: it could not be.
        """
        self._machine.act(*self._renewal)

    def _renew(self) -> None:
        wait_s = self._every_s
        while not self._done.wait(wait_s):
            try:
                self.renew()
                wait_s = self._every_s
            except SwitchFired:
                self.over = True
                return
            except (HostError, Refused):
                wait_s = min(_AGAIN_S, self._every_s)


@contextlib.contextmanager
def held(machine: Machine, switch_s: int) -> Iterator[Hold]:
    """Renew the switch of the trial on that machine, every quarter of its time, until the block ends.

    When assay ends in whatever way, it is not renewed any more, and the trial goes back.
    """
    hold = Hold(machine, switch_s)
    hold.start()
    try:
        yield hold
    finally:
        hold.stop()


@contextlib.contextmanager
def watched(machine: Machine, switch_s: int) -> Iterator[Hold]:
    """The same with a switch of its own, shorter than the trial's, which is armed first.

    Raises:
        Refused: the trial is over there.
        HostError: it could not be armed; the trial stands under its own switch.
    """
    hold = Hold(machine, switch_s, shorter=True)
    try:
        hold.renew()
    except SwitchFired:
        raise Refused(
            f"{machine.host.name}: the trial of {machine.layout.unit} is over: its switch took it back",
            hint="`assay status` says where the service stands",
        ) from None
    hold.start()
    try:
        yield hold
    finally:
        hold.stop()
