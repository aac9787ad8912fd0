"""A server as a process of this machine: each arm a child in its own session. No switch watches over it."""

from __future__ import annotations

import contextlib
import time
import urllib.parse
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from assay._masking import mask, secrets_in_words
from assay.engines import server_of
from assay.errors import CommandFailed, HostError, Refused, RestoreFailed
from assay.facts import read_served
from assay.hosts import (
    Child,
    HttpAnswer,
    LocalHost,
    ask_http,
    end,
    environment_of,
    folder_of,
    listens,
    marked,
    running,
    session_of,
    start_child,
)
from assay.rollout import (
    Change,
    FailureKind,
    Patience,
    Service,
    StartFailed,
    ask_token,
    changed_words,
    name_exit,
    service_of,
)
from assay.trials.ground import Ended, Plain, Started, masked_settings

if TYPE_CHECKING:
    from assay._secret import Secret


@dataclass(frozen=True, kw_only=True)
class ProcessPlan:
    """How a deployment's server is started here."""

    words: tuple[str, ...]
    """Its command, program first. May hold secrets."""
    environment: Mapping[str, str] = field(repr=False)
    """All variables that it gets."""
    folder: Path
    """Its working folder."""
    logs: Path
    """Where the logs of its starts go."""
    mark: str
    """By which the processes of this study are found."""
    url: str | None = None
    """Where it answers; None: as its command says."""
    model: str | None = None
    """The model's name for requests; None: the first that it lists."""
    patience: Patience = field(default_factory=Patience)
    """How long things may take."""


class LocalProcess:
    """The ground of a deployment that no systemd knows: its command is started as a child of ours."""

    def __init__(self, plan: ProcessPlan, *, ran: bool | None = None) -> None:
        """`ran`: whether the deployment ran before the study, where an earlier run of it wrote that down."""
        self._plan = plan
        self._host = LocalHost()
        self._service: Service = service_of(plan.words, url=plan.url, model=plan.model)
        self._secrets = secrets_in_words(plan.words)
        self._child: Child | None = None
        self._down_since: float | None = None
        self._as_it_ran: tuple[Mapping[str, str], Path] | None = None
        self.ran = ran
        """Whether the deployment's own command ran before; None until somebody looked."""

    @property
    def service(self) -> Service:
        """How its server is asked."""
        return self._service

    @contextlib.contextmanager
    def reach(self) -> Iterator[str]:
        """As it is."""
        yield self._service.url

    def http(
        self, url: str, *, body: bytes | None = None, key: Secret | None = None, timeout_s: float = 10.0
    ) -> HttpAnswer:
        """Ask the server."""
        return ask_http(self._host, url, body=body, key=key, timeout_s=timeout_s)

    def begin(self) -> None:
        """End what an earlier run left, and look whether the deployment runs.

        Raises:
            Refused: something else answers where it would listen.
        """
        self._end(marked(self._plan.mark))
        before = running(_tail(self._plan.words))
        if self.ran is None:
            self.ran = bool(before)
        if before:
            self._as_it_ran = (environment_of(before[0]), folder_of(before[0]) or self._plan.folder)
        elif self.http(self._service.url, timeout_s=3).status is not None:
            raise Refused(
                f"something answers at {self._service.url} and is not the deployment's command",
                hint="end it, or give the deployment's command another --port",
            )

    @contextlib.contextmanager
    def start(self, change: Change | None, number: int) -> Iterator[Started]:
        """One child with the change; ended with the block."""
        self._stop()
        words = self.words(change)
        child = self._child = self._spawn(words, self._plan.logs / f"start-{number}.log", self._plan.mark)
        try:
            self._until_token(child)
            down_s = time.monotonic() - self._down_since if self._down_since is not None else 0.0
            self._down_since = None
            yield Started(
                invocation=str(child.pid),
                downtime_s=round(down_s, 1),
                settings=self._settings(),
                log=tuple(mask(line, self._secrets) for line in child.lines()),
            )
        finally:
            self._stop()

    def lives(self, started: Started) -> bool:
        """Whether that child runs, and is the present one."""
        return (
            self._child is not None
            and str(self._child.pid) == started.invocation
            and (self._child.status is None)
        )

    def leave(self, change: Change | None) -> Ended:
        """Start the deployment again if it ran before, with what is kept; unmarked, so that it stays."""
        self._stop()
        self._end(marked(self._plan.mark))
        words = self.words(change)
        if not self.ran:
            return Ended(serves=False, message="it did not run before, and does not now", command=words)
        if not running(_tail(words)):
            log = self._plan.logs / f"left-{int(time.time())}.log"
            child = self._spawn(words, log, "")
            try:
                self._until_token(child)
            except StartFailed as error:
                raise RestoreFailed(
                    f"the deployment's command was started again and gives no token: {error.failure.message}",
                    details=(*error.failure.lines, f"its log: {log}"),
                    hint="start it by hand",
                ) from error
            child.let_go()
        told = "with what was shipped" if change is not None else "as before"
        return Ended(serves=True, message=f"it runs {told}, as a process of its own", command=words)

    def words(self, change: Change | None) -> tuple[str, ...]:
        """The command with a change in it; may hold secrets."""
        if change is None:
            return self._plan.words
        return changed_words(self._plan.words, change, dollars=False)

    def _spawn(self, words: tuple[str, ...], log: Path, mark: str) -> Child:
        environment, folder = self._as_it_ran or (self._plan.environment, self._plan.folder)
        while log.exists():  # of a start that was cut short
            log = log.with_name(f"{log.stem}-again.log")
        return start_child(words, environment=environment, folder=folder, log=log, mark=mark)

    def _until_token(self, child: Child) -> None:
        """Wait until the child gives a token.

        Raises:
            StartFailed: it ended, or took longer than `ready_s`.
        """
        patience = self._plan.patience
        deadline = time.monotonic() + patience.ready_s
        answered = False
        while True:
            if child.status is not None:
                raise self._failed(child)
            token = ask_token(self, self._service, timeout_s=patience.token_s)
            answered = token.answered
            if token.came and child.status is None:
                self._own(child)
                return
            if time.monotonic() >= deadline:
                failure = self._failed(child, late=True, answered=answered)
                raise failure
            time.sleep(patience.poll_s)

    def _own(self, child: Child) -> None:
        """What answers is the child, or what it started.

        Raises:
            CommandFailed: it is another server, which a child would only later find to hold its port.
        """
        port = urllib.parse.urlsplit(self._service.url).port
        family = {*session_of(child.pid), *marked(self._plan.mark)}
        if port is not None and not listens(sorted(family), port):
            raise CommandFailed(
                f"another process answers at {self._service.url}",
                hint="end it, or give the deployment's command another --port; then --resume",
            )

    def _failed(self, child: Child, *, late: bool = False, answered: bool = False) -> StartFailed:
        lines = tuple(mask(line, self._secrets) for line in child.lines())
        kind: FailureKind | None = ("no-token" if answered else "never-ready") if late else None
        return StartFailed(name_exit(lines, status=child.status, late=kind))

    def _settings(self) -> dict[str, Plain]:
        try:
            served = read_served(self._host, self._service.url, key=self._service.key)
        except HostError:
            return {}
        return masked_settings(served.settings, self._secrets)

    def _stop(self) -> None:
        """End what runs, and wait until nobody answers.

        Raises:
            CommandFailed: something of it stays.
        """
        before = running(_tail(self._plan.words)) if self._child is None else ()
        every = {each for pid in before for each in session_of(pid)} | set(marked(self._plan.mark))
        if every and self._down_since is None and self.ran:
            self._down_since = time.monotonic()
        self._end(tuple(sorted(every)))
        if self._child is not None and self._child.status is not None:  # it is waited for
            self._child = None

    def _end(self, processes: tuple[int, ...]) -> None:
        left = end(processes, patience_s=self._plan.patience.stop_s)
        if left:
            raise CommandFailed(
                f"process {left[0]} of the server does not end",
                hint="see what it waits for, and end it by hand",
            )


def _tail(words: tuple[str, ...]) -> tuple[str, ...]:
    """The words by which its process is known: wrappers such as `env` give way to what they start.

    Raises:
        Refused: they start no server that assay knows.
    """
    server = server_of(words)
    if server is None:
        raise Refused("the command does not start a server that assay knows by itself")
    return tuple(word.text for word in (*server.program[-1:], *server.arguments))
