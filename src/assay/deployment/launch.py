"""How a server process is started, as far as the user's files say: argument words, environment, faults."""

from __future__ import annotations

from typing import Literal

from assay._value import Value
from assay.deployment.text import Edit, Place, UserFile, Word

LaunchKind = Literal["systemd", "shell", "sbatch", "compose", "kubernetes", "deployment", "command"]
"""The kind of file (or command line) that a launch was read from."""

FaultKind = Literal[
    "lost-quotes",
    "percent-specifier",
    "dollar-expansion",
    "broken-continuation",
    "unbalanced-quotes",
    "unknown-escape",
    "semicolon",
    "shell-syntax",
    "second-exec-start",
    "inline-comment",
    "ignored-line",
    "missing-file",
]
"""What a file's own syntax does to a command line that its writer did not mean."""


class Fault(Value):
    """Something in the user's file that its own syntax destroys, ignores or refuses."""

    kind: FaultKind
    """Which fault."""
    place: Place
    """Where."""
    message: str
    """What happens, in one sentence with the values at hand."""
    refused: bool = False
    """True if the service manager refuses the file or the start because of it."""
    help: str = ""
    """What to write instead."""
    edits: tuple[Edit, ...] = ()
    """Edits that give the process what was plainly meant; empty where that is a guess."""


class Variable(Value):
    """One environment variable that the process gets."""

    name: str
    """Its name."""
    value: str
    """Its value; as written where `known` is false. May be a secret: never print it."""
    file: UserFile
    """The file that sets it."""
    start: int
    """Offset in `file.text` of the assignment's first character."""
    end: int
    """Offset after the assignment's last character."""
    known: bool = True
    """False if the value only shows at run time."""

    @property
    def place(self) -> Place:
        """Where the assignment stands."""
        return self.file.place(self.start, self.end)


class Launch(Value):
    """One command that a user's file starts.

    A file may hold several: each service of a compose file, each command of a script. Wrappers that only
    start another command (`env`, `exec`, `numactl`, `bash -lc '…'`, `docker run IMAGE`) are taken off, so
    `words` begins with the program that runs in the end.
    """

    kind: LaunchKind
    """What it was read from."""
    name: str
    """Name of the unit, service, container or script."""
    words: tuple[Word, ...]
    """The argument vector, program first."""
    environment: tuple[Variable, ...] = ()
    """Variables set for this process; a later one of the same name wins."""
    image: str | None = None
    """Container image that it runs in, as written."""
    directory: str | None = None
    """Working directory, if stated."""
    faults: tuple[Fault, ...] = ()
    """Faults of the files that concern this command."""
    files: tuple[UserFile, ...] = ()
    """Every file that was read for it, the one named by the user first."""


def launch_of_words(words: tuple[str, ...], *, name: str = "<running command>") -> Launch:
    """The launch that a list of words is, as of a process that runs; no shell or systemd is between.

    >>> launch_of_words(("serve", "--port", "1")).words[2].text
    '1'
    """
    file = UserFile(path=name, text=" ".join(words))
    found, at = [], 0
    for word in words:
        offsets = tuple(range(at, at + len(word) + 1))
        found.append(Word(text=word, file=file, start=at, end=at + len(word), offsets=offsets, syntax="argv"))
        at += len(word) + 1
    return Launch(kind="command", name=name, words=tuple(found), files=(file,))
