"""Root's rights by sudo: with a password that goes over stdin only, or without one."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable
from typing import TYPE_CHECKING

from assay._secret import Secret
from assay.errors import CommandFailed, InputError
from assay.hosts.command import last_lines
from assay.hosts.wire import password_prompt

if TYPE_CHECKING:
    from pathlib import Path

AskPassword = Callable[[], Secret]
"""Gives the password; called when sudo first asks, and again after a wrong one."""

_REFUSED = re.compile(
    rb"^sudo: (sorry, )?(you must have a tty|a password is required|a terminal is required|no password was)"
    rb"|^Sorry, user |is not in the sudoers file|may not run sudo|is not allowed to run sudo"
    rb"|^sudo: (account validation|no valid sudoers|effective uid is not 0|PAM )",
    re.MULTILINE,
)
"""Not every word of sudo's is a refusal: it also warns (`unable to resolve host`), and goes on."""
_NO_SUDO = re.compile(rb"exec: (line \d+: )?sudo: not found")


class Sudo:
    """How one host's sudo is spoken to."""

    def __init__(self, ask: AskPassword | None) -> None:
        self._ask = ask
        self._password: Secret | None = None

    def plain_words(self) -> tuple[str, ...]:
        """What goes before a command where there is no password to give, else nothing."""
        return () if self._ask else ("sudo", "-n", "--")

    def words(self, nonce: str) -> tuple[str, ...]:
        """The sudo that starts a shell."""
        return ("sudo", "-S", "-p", password_prompt(nonce)) if self._ask else ("sudo", "-n")

    def password_line(self) -> bytes:
        """What sudo reads on stdin.

        Raises:
            InputError: the password has more than one line.
        """
        assert self._ask
        if self._password is None:
            self._password = self._ask()
        password = self._password.reveal()
        if "\n" in password or "\0" in password:
            # sudo takes one line; the shell that it starts would run the next one as root
            self.forget()
            raise InputError("a password for sudo is one line")
        return password.encode() + b"\n"

    def forget(self) -> None:
        """The password was wrong."""
        self._password = None

    def check(self, host: str, name: str, status: int, err: bytes) -> None:
        """Raises CommandFailed if it was sudo that failed, and not the command."""
        if status == 127 and _NO_SUDO.search(err):
            raise self.refusal(host, name, b"")
        if status == 1 and _REFUSED.search(err):
            raise self.refusal(host, name, err)

    def refusal(self, host: str, name: str, said: bytes) -> CommandFailed:
        """What it means that sudo ran nothing; it said nothing where there is no sudo."""
        if not said:
            return CommandFailed(
                f"{host}: there is no sudo, so {name} was not run as root",
                hint="log in as root, or install sudo there",
            )
        lines = last_lines(said)
        if self._password:
            lines = tuple(self._password.hidden_in(line) for line in lines)
        return CommandFailed(f"{host}: sudo refused; {name} was not run", hint=_hint(said), details=lines)


def _hint(said: bytes) -> str:
    if b"password is required" in said or b"no password was provided" in said:
        return "sudo wants a password there: let assay ask for it, or allow the user NOPASSWD in sudoers"
    if b"must have a tty" in said:
        return "take `requiretty` off for this user in sudoers"
    return "let an administrator allow this user to use sudo there"


def askpass(program: Path, *, timeout_s: float = 120.0) -> AskPassword:
    """Asks by a program that prints the password, as SUDO_ASKPASS and SSH_ASKPASS name one.

    The password's first line counts. What the program says on stderr goes to ours.
    """

    def ask() -> Secret:
        command = [str(program), "Password for sudo:"]
        try:
            done = subprocess.run(command, stdout=subprocess.PIPE, check=False, timeout=timeout_s)
        except (OSError, subprocess.TimeoutExpired):
            # not chained: what it had printed may be the password
            raise CommandFailed(f"{program.name} gave no password") from None
        if done.returncode:
            raise CommandFailed(f"{program.name} gave no password: exit status {done.returncode}")
        return Secret(done.stdout.decode().partition("\n")[0])

    return ask
