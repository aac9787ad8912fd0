"""What tells two runs of an engine apart: the first line that does something else, or why none does."""

from __future__ import annotations

from typing import Any, Literal

from assay._value import Value
from assay.flow.resolution import Guard
from assay.source import Site

Outcome = Literal["effect", "raises", "none", "open"]
"""`effect`: some reached line does something else; `raises`: the second run stops with an error after its
arguments were resolved; `none`: no reached line tells the two apart; `open`: could not be decided."""

ReadState = Literal["tells", "same", "unreached", "open", "unclassified"]
"""`tells`: reached, and its result differs; `same`: reached, with the same result in both; `unreached`: a
test that is false in both runs stands before it; `open`: depends on something not known; `unclassified`:
nobody could be found that leads there."""


class Step(Value):
    """One step on the way from the engine's entry to a line."""

    site: Site
    """The line."""
    function: str = ""
    """The function that holds it."""
    says: str
    """What happens there, in a few words."""


class Read(Value):
    """One line that reads an option, or something computed from it."""

    site: Site
    """The line."""
    function: str = ""
    """The function that holds it."""
    state: ReadState
    """What it does in the two runs."""
    guards: tuple[Guard, ...] = ()
    """The tests that decide its state; for `unreached`, the one that is false comes last."""
    says: str = ""
    """Why it has that state, in a few words."""


class WriteBack(Value):
    """An option that the running engine itself sets after its arguments were resolved."""

    name: str
    """Name of the field."""
    known: bool
    """False if the value could not be told."""
    value: Any = None
    """The value."""
    certain: bool
    """True if the line is reached in every start."""
    site: Site
    """The line."""


class Difference(Value):
    """What tells run B from run A after both have resolved their arguments."""

    outcome: Outcome
    """The answer."""
    effect: Step | None = None
    """The line that does something else, or that raises."""
    what: str = ""
    """Kind of effect in one word: `branch`, `value`, `log`, `raise`; empty where there is none."""
    message: str = ""
    """The error's text, for `raises`."""
    chain: tuple[Step, ...] = ()
    """The calls from the engine's entry to that line, outermost first."""
    guards: tuple[Guard, ...] = ()
    """The tests on the way, outermost first, all decided."""
    when: tuple[str, ...] = ()
    """What is left to each batch or request."""
    reads: tuple[Read, ...] = ()
    """The lines that read what differs."""
    write_backs: tuple[WriteBack, ...] = ()
    """Options that B sets while it runs."""
    open_atoms: tuple[str, ...] = ()
    """What would have to be known, for `open`."""
