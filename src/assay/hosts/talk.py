"""One command as it is asked of a shell, and the state of the answer."""

from __future__ import annotations

import secrets
import time
from typing import TYPE_CHECKING

from assay.errors import CommandFailed
from assay.hosts.command import Command, CommandResult, Script, name_of, shell_text
from assay.hosts.wire import GO, root_text, run_text

if TYPE_CHECKING:
    from assay.hosts.conversation import Conversation
    from assay.hosts.sudo import Sudo

ANSWER_S = 30.0
"""How long a shell may take until it says that it is ready."""


class Request:
    """What is asked of a shell."""

    def __init__(
        self, command: Command, stdin: bytes | None, timeout_s: float, sudo: Sudo | None, limit_bytes: int
    ) -> None:
        self.answer_s = ANSWER_S
        self.nonce = secrets.token_hex(16)
        self.name = name_of(command)
        self.stdin = stdin
        self.timeout_s = timeout_s
        self.limit_bytes = limit_bytes
        self.sudo = sudo
        # with no password to give, sudo itself runs the words: rules and logs of sudo then see the command
        self.sudo_words = sudo.plain_words() if sudo and not isinstance(command, Script) else ()
        body = shell_text(command, prefix=self.sudo_words)
        self.text = run_text(body, self.nonce, with_stdin=stdin is not None)
        self.root_text = (
            root_text(sudo.words(self.nonce), self.nonce) if sudo and not self.sudo_words else b""
        )


class Talk:
    """One request and the state of its answer."""

    def __init__(self, host: str, request: Request, conversation: Conversation) -> None:
        self.host = host
        self.request = request
        self.conversation = conversation
        self.started = False
        self.process = ""
        """Number of the shell's process on the machine."""
        self._asked = False
        self._status: int | None = None
        self._err_ended = False
        self._deadline = time.monotonic() + self.request.answer_s

    def hold(self) -> CommandResult:
        """Speak until the end."""
        self.conversation.say(self.request.root_text or self.request.text)
        while self._status is None or not (self._err_ended or self.conversation.heard_all_of_err):
            stream, words = self.conversation.next_frame(self._deadline)
            self._take(stream, words)
        return self._result(self._status)

    def _take(self, stream: str, words: list[str]) -> None:
        match stream, words:
            case "out", ["root"]:
                self.conversation.say(self.request.text)
            case "out", ["ready", process] if not self.started:
                self._start(process)
            case "err", ["password"] if not self.started:
                self._give_password()
            case "out", ["refused" | "no-sudo" as word, *_] if not self.started:
                self._refused(word)
            case "out", ["end", status]:
                self._status = int(status)
            case "err", ["end"]:
                self._err_ended = True

    def _start(self, process: str) -> None:
        self.started, self.process = True, process
        self._deadline = time.monotonic() + self.request.timeout_s
        self.conversation.say(GO + (self.request.stdin or b""), last=True)

    def _give_password(self) -> None:
        assert self.request.sudo
        if self._asked:
            self.request.sudo.forget()
            raise CommandFailed(
                f"{self.host}: sudo did not take the password; {self.request.name} was not run",
                hint="give the password of the user who logs in there",
            )
        self._asked = True
        self.conversation.say(self.request.sudo.password_line())
        self._deadline = time.monotonic() + self.request.answer_s

    def _refused(self, word: str) -> None:
        assert self.request.sudo
        said = b"" if word == "no-sudo" else self.conversation.last_words()
        raise self.request.sudo.refusal(self.host, self.request.name, said)

    def _result(self, status: int) -> CommandResult:
        out, err = self.conversation.out, self.conversation.err
        if self.request.sudo and self.request.sudo_words:
            self.request.sudo.check(self.host, self.request.name, status, bytes(err.body))
        return CommandResult(
            host=self.host,
            name=self.request.name,
            status=status,
            out=bytes(out.body),
            err=bytes(err.body),
            cut=out.cut or err.cut,
        )
