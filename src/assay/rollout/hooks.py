"""A server is taken out of its balancer around a restart: the user's own commands, run where assay runs."""

from __future__ import annotations

import contextlib
import time
from typing import TYPE_CHECKING, Literal

from assay._masking import mask, mask_words, secrets_in_words
from assay._value import Value
from assay.deployment import Hooks
from assay.errors import HostError, JournalError, Refused, RestoreFailed
from assay.hosts import LocalHost
from assay.rollout import scripts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from assay.rollout.machine import Machine

HookName = Literal["drain", "undrain"]
_LINES = 8


class HookRun(Value):
    """One run of a hook, for the journal."""

    id: str
    """The rollout."""
    hook: HookName
    """Which."""
    ok: bool
    """Whether its exit status was 0, in time."""
    took_s: float
    """How long it ran."""
    drained_s: float = 0.0
    """Of `undrain`: since `drain` was begun; 0 where an assay that is gone began it."""
    lines: tuple[str, ...] = ()
    """The last ones that it wrote, masked; only where it failed."""


class Drain:
    """The hooks of one rollout. While it is drained, a mark on the machine says so."""

    def __init__(self, hooks: Hooks, machine: Machine, *, who: str) -> None:
        self._hooks, self._machine, self._who = hooks, machine, who
        self._secrets = secrets_in_words(hooks.drain) | secrets_in_words(hooks.undrain)
        self._since: float | None = None
        self._held = False
        self._began_here = True
        self.drained_s = 0.0
        """How long it was drained."""

    @property
    def asked(self) -> bool:
        """Whether there are any."""
        return bool(self._hooks.drain)

    def shown(self, hook: HookName) -> str:
        """The command, for a plan."""
        words = self._hooks.drain if hook == "drain" else self._hooks.undrain
        return mask(" ".join(mask_words(words)), self._secrets)

    @contextlib.contextmanager
    def around(
        self, note: Callable[[str, Value], None], on_step: Callable[[str], None]
    ) -> Iterator[Callable[[], None]]:
        """Drained for the length of a block, which gets what undrains before its end; the outermost counts.

        When the block fails it is undrained too, unless the service was not seen to serve.

        Raises:
            Refused: the drain hook failed. Nothing was changed.
            RestoreFailed: the service serves, and the undrain hook failed.
        """
        if not self.asked or self._held:
            yield lambda: None
            return
        self._begin(note, on_step)
        self._held = True

        def undrain() -> None:
            self._end(note, on_step)

        try:
            yield undrain
        except RestoreFailed as error:
            error.details = (*error.details, "it stays drained: no hook was run to undrain it")
            raise
        except BaseException as error:
            self._last(undrain, error)
            raise
        else:
            self._last(undrain, None)
        finally:
            self._held = False

    def mend(self, note: Callable[[str, Value], None], on_step: Callable[[str], None]) -> None:
        """Undrain what an assay that is gone left drained.

        Raises:
            RestoreFailed: the hook failed.
        """
        self._since, self._began_here = time.monotonic(), False
        self._last(lambda: self._end(note, on_step), None)

    def _begin(self, note: Callable[[str, Value], None], on_step: Callable[[str], None]) -> None:
        on_step("drain")
        self._since = time.monotonic()
        try:
            self._machine.script(scripts.DRAINED, "drain", self._who).checked()
            note("hook", run := self._run("drain"))
        except BaseException:
            self._again(note)
            raise
        if not run.ok:
            self._again(note)
            raise Refused(
                f"the drain hook failed, so nothing was changed on {self._machine.host.name}",
                details=run.lines,
                hint="see drain, in [hooks] of the deployment file; the undrain hook was run after it",
            )

    def _again(self, note: Callable[[str, Value], None]) -> None:
        """What was half drained gets its traffic back; the first failure is what is told."""
        with contextlib.suppress(HostError, JournalError, Undrain):
            self._end(note, lambda _: None)

    def _end(self, note: Callable[[str, Value], None], on_step: Callable[[str], None]) -> None:
        """Undrain, once.

        Raises:
            Undrain: the hook failed; it may be tried again.
        """
        if self._since is None:
            return
        on_step("undrain")
        run = self._run("undrain")
        with contextlib.suppress(JournalError):  # it is done
            note("hook", run)
        if not run.ok:
            raise Undrain(run.lines)
        self.drained_s = run.drained_s
        self._since = None
        with contextlib.suppress(HostError):  # the mark only says more than is so
            self._machine.script(scripts.UNDRAINED, "undrain").checked()

    def _last(self, undrain: Callable[[], None], error: BaseException | None) -> None:
        """The last try.

        Raises:
            RestoreFailed: it stays drained.
        """
        try:
            undrain()
        except Undrain as failed:
            unit, host = self._machine.layout.unit, self._machine.host.name
            raise RestoreFailed(
                f"{host}: {unit} serves, and is still drained: the undrain hook failed",
                details=(*failed.lines, f"a person must run it: {self.shown('undrain')}"),
                hint=f"before that: {error}" if error is not None and str(error) else "",
            ) from error

    def _run(self, hook: HookName) -> HookRun:
        words = self._hooks.drain if hook == "drain" else self._hooks.undrain
        layout, began = self._machine.layout, time.monotonic()
        told = {"UNIT": layout.unit, "HOST": self._machine.host.name, "ROLLOUT": self._machine.id}
        names = [f"ASSAY_{name}={value}" for name, value in told.items()]
        with LocalHost() as here:
            try:
                done = here.run(["env", *names, *words], timeout_s=self._hooks.timeout_s)
                lines = (done.out + done.err).decode("utf-8", "replace").splitlines()
                ok = done.ok
            except HostError as error:  # it took too long and was ended
                ok, lines = False, [error.message]
        now = time.monotonic()
        known = hook == "undrain" and self._since is not None and self._began_here
        return HookRun(
            id=self._machine.id,
            hook=hook,
            ok=ok,
            took_s=round(now - began, 1),
            drained_s=round(now - (self._since or now), 1) if known else 0.0,
            lines=() if ok else tuple(mask(line, self._secrets) for line in lines[-_LINES:]),
        )


class Undrain(Exception):
    """The undrain hook failed."""

    def __init__(self, lines: tuple[str, ...]) -> None:
        super().__init__("the undrain hook failed")
        self.lines = lines
