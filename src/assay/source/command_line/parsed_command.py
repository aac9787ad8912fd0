"""The values that parsing a command line takes and gives."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from assay._value import Value
from assay.source.declarations import Constant, Option


class ArgumentWord(Protocol):
    """One word of a command line; `assay.deployment.Word` is one."""

    @property
    def text(self) -> str:
        """The word; as written where it is not known."""

    @property
    def known(self) -> bool:
        """False if only a run would show what the process gets."""


class ConfigEntry(Value):
    """One key of a file of arguments, as YAML reads it."""

    key: Any
    """The key."""
    value: Any
    """The value: None, bool, int, float, str, date, list or dict."""
    position: int = 0
    """Whatever the caller wants to find the entry by, such as its offset in the file."""


@dataclass(frozen=True)
class Item:
    """A word of the merged command line, and where it came from."""

    text: str
    known: bool = True
    at: int | None = None
    """Index of its word in the command line."""
    config: ConfigEntry | None = None
    """The entry of the file that it came from."""


ProblemKind = Literal[
    "unknown-option",
    "ambiguous",
    "bad-value",
    "bad-choice",
    "bad-default",
    "missing-value",
    "extra-value",
    "stray-word",
    "missing-required",
    "refused-option",
    "prints-help",
    "config-repeated",
    "config-without-file",
    "config-not-yaml",
    "config-unreadable",
    "config-key",
    "config-unsupported",
    "config-not-read",
]
"""What is wrong.

`extra-value` a value for an option that takes none; `bad-default` a default that the engine's own converter
refuses; `config-key` a key that is no text; `config-unsupported` an option that the engine refuses in a file;
`config-not-read` a form of the option (`--config=FILE`) that names a file which is never read: the only
problem with which the engine starts.
"""


class Given(Value):
    """One occurrence of an option."""

    option: Option
    """Which option."""
    flag: str
    """The full flag that the written word stands for."""
    at: int | None
    """Index of its word; None if it came from the file of arguments."""
    value_at: tuple[int, ...]
    """Indices of its values' words; of `--flag=value`, that word again."""
    value: Constant
    """What its destination holds after it; not known where the value is wrong, or nothing was stored."""
    config: ConfigEntry | None = None
    """The entry of the file of arguments that it came from."""


class Problem(Value):
    """Something that the engine's parser refuses, or that does not do what was plainly meant."""

    kind: ProblemKind
    """What is wrong."""
    message: str
    """In one sentence, close to the engine's own message."""
    at: int | None = None
    """Index of the word; None if something is missing, or it came from the file of arguments."""
    value_at: tuple[int, ...] = ()
    """Indices of the words that hold the value."""
    option: Option | None = None
    """The option that it is about."""
    candidates: tuple[str, ...] = ()
    """Flags or choices that were probably meant, best first."""
    config: ConfigEntry | None = None
    """The entry of the file of arguments that it is about."""


class Parsed(Value):
    """What the engine's parser makes of a command line."""

    given: tuple[Given, ...]
    """Every occurrence of an option, in the order in which the engine sees them."""
    namespace: dict[str, Constant]
    """Value of each destination after parsing."""
    problems: tuple[Problem, ...]
    """All problems; the first is the one that the engine reports."""
    complete: bool
    """False if a word or a file that is not known could add further options."""


@dataclass(frozen=True)
class Merged:
    """A command line with the file of arguments merged in."""

    items: Sequence[Item]
    problems: Sequence[Problem] = ()
    complete: bool = True
