"""What can be run on a host, and what comes of it."""

from __future__ import annotations

from collections.abc import Sequence

from assay._value import Value
from assay.errors import CommandFailed, InputError


class Script(Value):
    """A POSIX shell script. Unlike a command's words, its text and arguments show in no process list."""

    text: str
    """Run by `sh` in a subshell; `$1` and so on are the arguments."""
    arguments: tuple[str, ...] = ()
    """Given to the script as they are, whatever is in them."""
    name: str = "a script"
    """What messages call it."""

    def __repr__(self) -> str:
        return f"Script({self.name!r})"


Command = Sequence[str] | Script
"""The words of a command, or a script."""


class CommandResult(Value):
    """How a command ended. Its `repr` shows no output: that may hold anything."""

    host: str
    """Where it ran."""
    name: str
    """The program, or the script's name."""
    status: int
    """Its exit status as the host's shell saw it: 128 + N for a death by signal N, 127 for not found."""
    out: bytes
    """What it wrote to stdout."""
    err: bytes
    """What it wrote to stderr."""
    cut: bool = False
    """Whether it wrote more than was kept of either; the first part is kept."""

    @property
    def ok(self) -> bool:
        """Whether the status is 0."""
        return self.status == 0

    def checked(self) -> CommandResult:
        """The result itself.

        Raises:
            CommandFailed: the status is not 0.
        """
        if self.ok:
            return self
        raise CommandFailed(
            f"{self.host}: {self.name} failed, {_how_it_ended(self.status)}", details=last_lines(self.err)
        )

    def __repr__(self) -> str:
        sizes = f"out={len(self.out)} bytes, err={len(self.err)} bytes, cut={self.cut}"
        return f"CommandResult({self.host!r}, {self.name!r}, status={self.status}, {sizes})"


def _how_it_ended(status: int) -> str:
    return f"ended by signal {status - 128}" if 128 < status < 160 else f"with exit status {status}"


def last_lines(output: bytes, count: int = 8) -> tuple[str, ...]:
    """The last lines that say something."""
    lines = output.decode("utf-8", "replace").splitlines()
    return tuple([shown(line.rstrip()[:500]) for line in lines if line.strip()][-count:])


def shown(text: str) -> str:
    """For a message: what a terminal could take for a command is replaced."""
    return "".join(each if each.isprintable() else "?" for each in text)


def name_of(command: Command) -> str:
    """What messages call it: never its arguments, which may be secret."""
    if isinstance(command, Script):
        return command.name
    return command[0].rsplit("/", 1)[-1] if command else ""


def quote(word: str) -> bytes:
    r"""One word for a POSIX shell, whatever is in it but NUL.

    >>> quote("it's $HOME")
    b"'it'\\''s $HOME'"

    Raises:
        InputError: it has a NUL character, which no argument can have.
    """
    if "\0" in word:
        raise InputError("an argument of a command cannot have a NUL character")
    return b"'" + word.encode("utf-8", "surrogateescape").replace(b"'", rb"'\''") + b"'"


def shell_text(command: Command, *, prefix: Sequence[str] = ()) -> bytes:
    """What a subshell has to run; `prefix` is put before the words of a command.

    Raises:
        InputError: no words, a NUL character, or a program that a shell would take for an option.
    """
    if isinstance(command, Script):
        arguments = b" ".join(map(quote, command.arguments))
        return b"set -- %s\neval %s" % (arguments, quote(command.text))
    if isinstance(command, str) or not command or not command[0] or command[0].startswith("-"):
        raise InputError("a command is a list of words, and the first one names a program")
    return b"exec " + b" ".join(map(quote, [*prefix, *command]))
