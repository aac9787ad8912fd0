"""Reads shell scripts and shell command lines into launches, without running anything.

Known where the text itself shows it: quotes, escapes, variables and arrays assigned in the same text, brace
expansion, `export`, functions, `eval`. Everything else is marked unknown, never guessed, with one exception:
`${PORT:-30000}` stands for its default as long as nothing in the text assigns `PORT`.
"""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

from assay._value import Value
from assay.deployment.files import read_user_file
from assay.deployment.launch import Fault, Launch, LaunchKind, Variable
from assay.deployment.shell.run import WORD_LIMIT, Reading, Runner
from assay.deployment.shell.state import State
from assay.deployment.text import Syntax, UserFile, Word, Written
from assay.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

SCRIPT_LIMIT_BYTES = 256 << 10
"""Scripts that start servers are a few KiB; hostile ones of this size still end within seconds."""
COMMAND_LINE = "<command line>"
"""Name of the file that words given as arguments are placed in."""

_SBATCH = re.compile(r"^#SBATCH\b", re.M)


class Command(Value):
    """One simple command of a shell script."""

    words: tuple[Word, ...]
    """Its argument vector, the command's name first; never empty."""
    environment: tuple[Variable, ...] = ()
    """What it gets of exported variables and of assignments before it; a later one of the same name wins."""
    directory: str | None = None
    """Where `cd` to an absolute path went before, if that is sure."""
    faults: tuple[Fault, ...] = ()
    """What the shell does to it, and to the variables used in it, that the writer did not mean."""


def split_script(
    written: Written,
    *,
    variables: Mapping[str, Variable] | None = None,
    arguments: Sequence[Word] | None = None,
    syntax: Syntax = "shell",
    editable: bool = True,
) -> tuple[Command, ...]:
    """All simple commands of a shell text, in the order in which they are written.

    Args:
        written: the text, and where it stands.
        variables: the environment that the shell itself gets.
        arguments: the words that become `$0`, `$1`, …; None if they are unknown.
        syntax: the syntax that the words are said to have.
        editable: False if the text stands inside of other quotes.

    Raises:
        InputError: nested too deep, or its variables grow without end.
    """
    runner = Runner(State(written, variables or {}, arguments), Reading(syntax, editable))
    return tuple(
        Command(
            words=found.words, environment=found.environment, directory=found.directory, faults=found.faults
        )
        for found in runner.run()
    )


def read_script(path: Path) -> tuple[Launch, ...]:
    """One launch for each simple command of a shell script; kind `sbatch` if it has `#SBATCH` lines.

    Raises:
        InputError: the file cannot be read, or as in `split_script`.
    """
    file = read_user_file(path, limit_bytes=SCRIPT_LIMIT_BYTES)
    kind: LaunchKind = "sbatch" if _SBATCH.search(file.text) else "shell"
    return tuple(
        _launch(command, kind, Path(path).name, file) for command in split_script(Written.whole(file))
    )


def parse_command(
    written: Written,
    *,
    kind: LaunchKind = "deployment",
    name: str = "",
    variables: Mapping[str, Variable] | None = None,
) -> Launch:
    """A command given as one string, by the rules of the shell.

    Lines that begin with an option and are no part of the command are among its faults.

    Raises:
        InputError: it is no command, or more than one; or as in `split_script`.
    """
    commands = split_script(written, variables=variables, editable=False)
    meant = [command for command in commands if not command.words[0].text.startswith("-")] or list(commands)
    place = written.file.place(written.offsets[0], written.offsets[-1])
    if not meant:
        raise InputError(f"{place.file}:{place.line}: there is no command in {written.text[:80]!r}")
    if len(meant) > 1:
        names = ", ".join(command.words[0].text[:40] for command in meant[:5])
        raise InputError(
            f"{place.file}:{place.line}: one command is expected, and these are {len(meant)}: {names}",
            hint="write the command that starts the server, or name the script that holds it",
        )
    return _launch(meant[0], kind, name or meant[0].words[0].text, written.file)


def _launch(command: Command, kind: LaunchKind, name: str, file: UserFile) -> Launch:
    return Launch(
        kind=kind,
        name=name,
        words=command.words,
        environment=command.environment,
        directory=command.directory,
        faults=command.faults,
        files=(file,),
    )


def quote_shell(text: str) -> str:
    """The text as one word of a shell.

    >>> quote_shell('{"a": 1}')
    '\\'{"a": 1}\\''
    """
    return shlex.quote(text)


def command_line(argv: Sequence[str]) -> Launch:
    """The launch of an argument vector, placed in a file `<command line>` whose text is the quoted command.

    Raises:
        InputError: there are no words, or too many.
    """
    if not 0 < len(argv) <= WORD_LIMIT:
        raise InputError(f"a command has from 1 to {WORD_LIMIT:,} words, this one has {len(argv):,}")
    quoted = [quote_shell(text) for text in argv]
    file = UserFile(path=COMMAND_LINE, text=" ".join(quoted))
    words: list[Word] = []
    start = 0
    for text, raw in zip(argv, quoted, strict=True):
        end = start + len(raw)
        words.append(
            Word(
                text=text,
                file=file,
                start=start,
                end=end,
                offsets=_quoted_offsets(text, raw, start),
                syntax="argv",
            )
        )
        start = end + 1
    return Launch(kind="command", name=COMMAND_LINE, words=tuple(words), files=(file,))


def _quoted_offsets(text: str, raw: str, start: int) -> tuple[int, ...]:
    """Where each character of a quoted word stands: `'` is written as `'"'"'`."""
    if raw == text:
        return tuple(range(start, start + len(text) + 1))
    offsets: list[int] = []
    at = start + 1
    for character in text:
        offsets.append(at + 2 if character == "'" else at)
        at += 5 if character == "'" else 1
    return (*offsets, start + len(raw))
