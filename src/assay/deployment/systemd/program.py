"""The first word of an `ExecStart=`: its prefixes, and why systemd would not take it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from assay.deployment.systemd.specifiers import UnitName, expand_specifiers
from assay.deployment.systemd.specifiers import uses as specifier_uses
from assay.deployment.text import Word, Written

if TYPE_CHECKING:
    from assay.deployment.systemd.words import Command, Token


@dataclass(frozen=True, slots=True)
class Program:
    """The program of a command."""

    flags: str
    """Its prefixes, of `-@:+!`."""
    path: Written
    """Its path after `%`."""
    known: bool
    """False if a specifier decides it that only shows on the host."""
    editable: bool
    """True if its path stands in the file as it is."""
    start: int
    """Offset of the path in the file."""
    end: int
    """Offset after it, a closing quote included."""

    def word(self) -> Word:
        """As a word of the launch."""
        return Word(
            text=self.path.text,
            file=self.path.file,
            start=self.start,
            end=self.end,
            offsets=self.path.offsets,
            syntax="systemd",
            known=self.known,
            editable=self.editable,
        )


def parse_program(token: Token, unit: UnitName) -> Program:
    """Take the prefixes off and put in what `%` stands for; `$` is not expanded here."""
    text = token.written.text
    flags = ""
    for char in text:
        if char not in "-@:+!" or (char in flags and char != "!") or flags.count("!") > 1:
            break
        if char in "+!" and "+" in flags:
            break
        flags += char
    written = token.written.part(len(flags), len(text))
    path, found = expand_specifiers(written, unit)
    quoted = bool(token.quotes)
    return Program(
        flags=flags,
        path=path,
        known=all(use.value is not None for use in found),
        editable=not (quoted and flags) and all(use.letter == "%" for use in found),
        start=token.file_start if quoted else written.offsets[0],
        end=token.file_end,
    )


def refusal(command: Command, unit: UnitName) -> str:
    """Why systemd takes this command for an error; an empty string if it does not.

    Not said of a command with the prefix `-`, which systemd then leaves out without refusing the file.
    """
    if not command.tokens:
        return ""
    program = parse_program(command.tokens[0], unit)
    if "-" in program.flags:
        return ""
    if command.bad:
        return "its quotes are unbalanced"
    if any(not use.valid for token in command.tokens for use in specifier_uses(token.written.text)):
        return "it holds a `%` that is no specifier"
    return program_refusal(program)


def program_refusal(program: Program) -> str:
    """Why systemd does not take this program's path; an empty string if it does."""
    path = program.path.text
    if not path:
        return "there is no program"
    if any(char in "\"'\\\x7f" or char < " " for char in path):
        return "the program's name has special characters"
    if path.endswith("/"):
        return "the program is a folder"
    if not program.known and path[:1] == "%":
        return ""
    if path[:1] != "/" and ("/" in path or path in (".", "..")):
        return "the program needs an absolute path, or a name without a slash"
    return ""
