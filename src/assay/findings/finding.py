"""What an option with one value does in one deployment: the verdict, and everything that it rests on."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from assay._value import Value
from assay.source import Site

Verdict = Literal["incompatible", "already_on", "dead", "no_op", "effective", "unknown"]
"""`incompatible` the run with the option is not the present run plus the option; `already_on` both resolve
to the same record; `dead` nothing in this tree reads it; `no_op` it is read, and nothing tells the two runs
apart; `effective` a reached line does something else; `unknown` could not be decided."""

TestState = Literal["true", "false", "open"]
"""What a test comes out as; `open`: it could not be decided."""


class Evidence(Value):
    """A line of the engine's source and what it shows."""

    file: str
    """Path from the folder that holds the package."""
    line: int
    """Line, from 1."""
    text: str
    """That line, without surrounding blanks, at most 200 characters."""
    says: str
    """What it shows, in a few words."""


class Condition(Value):
    """A test that stands before a line."""

    expr: str
    """The test as written."""
    file: str
    """Its file."""
    line: int
    """Its line."""
    state: TestState
    """What it comes out as here."""
    atoms: tuple[str, ...] = ()
    """The facts, variables and options that decide it: `fact accelerator.capability`."""


class Origin(Value):
    """Where a value comes from."""

    how: Literal["default", "asked", "set", "none"]
    """The declared default; asked for on the command line; set by start-up code; there is no value."""
    known: bool = True
    """False if the value could not be told."""
    reason: str = ""
    """Why not, where it is not known."""
    file: str = ""
    """File of the line that set it, or empty."""
    line: int = 0
    """That line, or 0."""
    text: str = ""
    """That line as written."""


class Resolved(Value):
    """The value that one run ends with."""

    value: Any = None
    """The value; None where it is not known."""
    provenance: Origin
    """Where it comes from."""


class BothRuns(Value):
    """The value of the option's field in both runs."""

    without: Resolved
    """In the run without the option."""
    with_: Resolved = msgspec.field(name="with")
    """In the run with it; named `with` in JSON."""


class SideEffect(Value):
    """Another option that comes out otherwise when this one is set."""

    field: str
    """That option's field."""
    without: Any = None
    """Its value without."""
    with_: Any = msgspec.field(name="with", default=None)
    """Its value with; None where not known. Named `with` in JSON."""
    file: str = ""
    """File of the line that sets it, or empty."""
    line: int = 0
    """That line, or 0."""


class Finding(Value):
    """The verdict on one option with one value in one deployment."""

    option: str
    """The option's usual flag, or the name as asked for if there is none."""
    field: str | None
    """The field of the engine's arguments that it ends in."""
    value: Any
    """The value that was asked about, as the engine's parser reads it."""
    verdict: Verdict
    """The verdict."""
    subkind: str
    """The name of a record in `SUBKINDS`."""
    summary: str
    """The answer in one sentence."""
    when: tuple[str, ...] = ()
    """Conditions that are left to each batch or request."""
    declared_at: Site | None = None
    """Where the option is declared."""
    help: str = ""
    """Its help text."""
    evidence: tuple[Evidence, ...] = ()
    """The lines that show it, the deciding one first."""
    guards: tuple[Condition, ...] = ()
    """The tests on the way to the deciding line, outermost first."""
    open_atoms: tuple[str, ...] = ()
    """What would have to be known."""
    side_effects: tuple[SideEffect, ...] = ()
    """Other options that come out otherwise."""
    resolved: BothRuns | None = None
    """The values of both runs; None where one of them was not resolved."""
