"""The values of a drift: what is otherwise in the newer version, with the lines that show it."""

from __future__ import annotations

from typing import Any, Literal

from assay._value import Value
from assay.source import Constant, Site

ChangeKind = Literal[
    "gone",
    "refused",
    "deprecated",
    "value",
    "ambiguous",
    "reading",
    "default",
    "choices",
    "type",
    "new",
    "variable-gone",
    "variable-deprecated",
    "variable-default",
    "variable-new",
    "start",
    "resolution",
    "other",
]
"""What is otherwise.

`gone` the option is not there any more; `refused` it is there and stops the engine; `deprecated` it still
works and says that it will go; `value` the value that the command gives is refused; `ambiguous` an
abbreviation now fits several options; `reading` the same words give another value; `default`, `choices` and
`type` the declared ones; `new` an option that the older version lacks; `variable-…` the same of environment
variables; `start` start-up code of one version stops the command; `resolution` it makes another value of an
option; `other` something else that the parser refuses, such as a word that neither version knows.
"""


class Successor(Value):
    """What an option that is gone is called now."""

    flag: str
    """The flag, or the variable."""
    certainty: Literal["stated", "likely"]
    """`stated`: source of the engine says so; `likely`: only their names and help texts are alike."""
    why: str
    """What says so, in a few words."""
    site: Site | None = None
    """The line that says so, in one of the two versions."""


class Change(Value):
    """One thing that is otherwise."""

    kind: ChangeKind
    """What is otherwise."""
    name: str
    """The option's usual flag, or the variable."""
    written: str = ""
    """How the command has it; empty where the command does not have it."""
    effect: Literal["fails", "differs", "warns", "none"]
    """What that is for the present command: it does not start; it means something else; it still works, and
    should be changed before the option goes; nothing."""
    says: str
    """In one sentence."""
    before: Constant | None = None
    """What the older version has, where that is a value."""
    after: Constant | None = None
    """What the newer version has."""
    successor: Successor | None = None
    """What it is called now."""
    older: Site | None = None
    """The line of the older version."""
    newer: Site | None = None
    """The line of the newer version."""


class EngineAt(Value):
    """One of the two versions."""

    name: str
    """The engine."""
    version: str
    """Its version, or empty."""
    digest: str
    """The digest of its source."""
    origin: str
    """Where the source comes from."""
    unread: tuple[str, ...] = ()
    """What of its declarations could not be read, so that changes there are not seen."""


class Drift(Value):
    """What the newer version makes otherwise of a command."""

    target: str
    """The file that has the command."""
    older: EngineAt
    """The version that it is for."""
    newer: EngineAt
    """The version that it may go to."""
    changes: tuple[Change, ...]
    """All that is otherwise, what the command would fail with first."""
    compared: int = 0
    """Options of which was compared what start-up code of both versions makes of them; 0 where it was not."""
    unknown_words: int = 0
    """Words of the command that only show at run time, and were not compared."""

    @property
    def to_act_on(self) -> bool:
        """Whether the present command would fail, or mean something else."""
        return any(change.effect in ("fails", "differs") for change in self.changes)


def constant(value: Any) -> Constant:
    """A value that is known."""
    return Constant(known=True, value=value)
