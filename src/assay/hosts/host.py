"""A machine: the only door through which assay runs commands, reads files and writes them."""

from __future__ import annotations

import contextlib
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Self

from assay.errors import CommandFailed, HostError, OutcomeUnknown, Unreachable
from assay.hosts import files
from assay.hosts.command import Command, CommandResult, Script, last_lines
from assay.hosts.conversation import Conversation, Late, Lost
from assay.hosts.ending import END, ending_of
from assay.hosts.sudo import Sudo
from assay.hosts.talk import Request, Talk

if TYPE_CHECKING:
    from collections.abc import Sequence

    from assay.hosts.sudo import AskPassword

LIMIT_BYTES = 64 << 20
"""What is kept of each of a command's outputs, unless told otherwise."""
_END_S = 15.0
_END_ANSWER_S = 8.0
"""How long to wait for a machine before we say that a command there could not be ended."""


class NeverStarted(Exception):
    """The connection ended before anything was run."""


class Host(ABC):
    """A machine. Used as a context, it is closed when the block is left.

    Every method may raise Unreachable (nothing was run), OutcomeUnknown (the link was lost: connect again
    and read the state) and, with `sudo`, CommandFailed if sudo refuses.
    """

    name: str
    """What messages call it."""

    def __init__(self, password: AskPassword | None) -> None:
        self._sudo = Sudo(password)

    def run(
        self,
        command: Command,
        *,
        stdin: bytes | None = None,
        timeout_s: float = 60.0,
        sudo: bool = False,
        limit_bytes: int = LIMIT_BYTES,
    ) -> CommandResult:
        """Run to the end; a status other than 0 is a result, not an error.

        Messages are in English (`LC_ALL=C`). stdin is empty unless given. What a command left running in
        the background goes on and is not waited for.

        Raises:
            CommandFailed: it took longer than `timeout_s` and was ended.
            InputError: the words cannot be a command.
        """
        request = Request(command, stdin, timeout_s, self._sudo if sudo else None, limit_bytes)
        try:
            return self._converse(request)
        except NeverStarted as error:
            raise Unreachable(
                f"{self.name}: {error.args[0]}; nothing was run", details=error.args[1]
            ) from None

    def read(self, path: str, *, sudo: bool = False, limit_bytes: int = files.READ_BYTES) -> bytes:
        """The bytes of a file.

        Raises:
            CommandFailed: it cannot be read, or has more than `limit_bytes`.
        """
        return files.read(self, path, sudo=sudo, limit_bytes=limit_bytes)

    def write(
        self, path: str, data: bytes, *, mode: int | None = None, owner: str | None = None, sudo: bool = False
    ) -> None:
        """Put a file in place, whole or not at all: it is written beside, synced, compared and renamed.

        An existing file keeps its mode and owner (`user:group`) unless others are given; a new one gets
        0644 and the writer's. A symbolic link is followed.

        Raises:
            CommandFailed: it could not be written; what was there is as it was.
        """
        files.write(self, path, data, mode=mode, owner=owner, sudo=sudo)

    def exists(self, path: str, *, sudo: bool = False) -> bool:
        """Whether there is a file, folder or link of that name.

        Raises:
            CommandFailed: nobody can tell, as a folder above may not be searched.
        """
        return files.exists(self, path, sudo=sudo)

    def remove(self, path: str, *, sudo: bool = False) -> None:
        """Take a file or link away; none there is fine.

        Raises:
            CommandFailed: it is still there.
        """
        files.remove(self, path, sudo=sudo)

    @abstractmethod
    def reach(self, address: str, port: int) -> contextlib.AbstractContextManager[tuple[str, int]]:
        """Where that port of the machine is to be had from here, for the length of a block.

        Raises:
            HostError: it is not.
        """

    @abstractmethod
    def close(self) -> None:
        """End what was kept open."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *reason: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r})"

    @abstractmethod
    def _shell(self, nonce: str) -> Sequence[str]:
        """The local command that gives a shell on the machine, waiting for its text."""

    @abstractmethod
    def _link_is_up(self) -> bool:
        """Whether the connection is still there."""

    def _lost_hint(self) -> str:
        return "look at the machine's state before anything is done again"

    def _converse(self, request: Request) -> CommandResult:
        try:
            conversation = Conversation(self._shell(request.nonce), request.nonce, request.limit_bytes)
        except OSError as error:
            raise HostError(f"{self.name}: cannot start {error.filename}: {error.strerror}") from error
        talk = Talk(self.name, request, conversation)
        with conversation:
            try:
                return talk.hold()
            except Lost:
                raise self._lost(talk) from None
            except Late:
                raise self._late(talk) from None
            except HostError:
                raise
            except BaseException:
                if talk.started:
                    with contextlib.suppress(HostError, NeverStarted):
                        self._end(talk)
                raise

    def _lost(self, talk: Talk) -> Exception:
        said = last_lines(talk.conversation.last_words())
        if not talk.started:
            return NeverStarted("the connection ended before it was of use", said)
        what = f"the shell that ran {talk.request.name} was killed"
        if not self._link_is_up():
            what = f"the link was lost while {talk.request.name} ran"
        return OutcomeUnknown(
            f"{self.name}: {what}; it may have done its work or not, and may still go on",
            hint=self._lost_hint(),
            details=said,
        )

    def _late(self, talk: Talk) -> Exception:
        if not talk.started:
            said = last_lines(talk.conversation.last_words())
            return Unreachable(
                f"{self.name}: no answer after {talk.request.answer_s:g} s; nothing was run", details=said
            )
        took = f"{self.name}: {talk.request.name} took longer than {talk.request.timeout_s:g} s"
        try:
            ended = self._end(talk)
        except (HostError, NeverStarted):
            ended = False
        if ended:
            return CommandFailed(
                f"{took} and was ended", hint="what it had done until then stays; allow it more time"
            )
        return OutcomeUnknown(f"{took}, and could not be ended: it may still run", hint=self._lost_hint())

    def _end(self, talk: Talk) -> bool:
        """End a command and all that it started; whether nothing of it is left."""
        script = Script(text=END, arguments=(talk.process, talk.request.nonce), name="the end of a command")
        request = Request(script, None, _END_S, talk.request.sudo, LIMIT_BYTES)
        request.answer_s = _END_ANSWER_S
        return ending_of(self._converse(request).out)
