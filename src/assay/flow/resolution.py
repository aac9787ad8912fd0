"""What the engine makes of a command line at its start: each option's value, and who decided it why."""

from __future__ import annotations

from typing import Any, Literal

from assay._value import Value
from assay.source import Site

Status = Literal["resolved", "rejected", "unknown"]
"""`rejected`: the engine surely does not start; `unknown`: it may not, depending on what is not known."""

Phase = Literal["parser", "resolution", "check"]
"""The command line's parser; the arguments' own start-up code; the launcher's later check."""

How = Literal["default", "asked", "set"]
"""The declared default; asked for on the command line; set by the engine's start-up code."""


class Guard(Value):
    """A test that stands between the start and a line."""

    text: str
    """The test as written."""
    site: Site
    """Where."""
    taken: bool
    """The outcome under which the line is reached."""
    state: Literal["holds", "open"]
    """`open` if the test could not be decided."""
    decided_by: tuple[str, ...] = ()
    """The facts, variables and options that the test depended on: `fact accelerator.capability`."""


class Provenance(Value):
    """Where a value comes from."""

    how: How
    """Which of the three."""
    site: Site | None = None
    """The line that set it."""
    function: str = ""
    """The function that holds that line."""
    guards: tuple[Guard, ...] = ()
    """The tests on the way to that line, outermost first."""
    depends_on: tuple[str, ...] = ()
    """The facts, variables and options that the value was computed from."""


class Candidate(Value):
    """One of the values that a field may have."""

    known: bool
    """False if this one is itself not known."""
    value: Any = None
    """The value, where known."""
    reason: str = ""
    """Why not, where it is not."""
    when: tuple[str, ...] = ()
    """The open tests and their outcome under which the field has it."""
    provenance: Provenance
    """Where it comes from."""


class FieldValue(Value):
    """One option after resolution."""

    name: str
    """Name of the field."""
    known: bool
    """False if its value could not be told."""
    value: Any = None
    """None, bool, int, float, str, or a list or dict of these; None where not known."""
    reason: str = ""
    """What it depends on, where not known."""
    provenance: Provenance
    """Where it comes from."""
    candidates: tuple[Candidate, ...] = ()
    """The values that it may have, where not known and they could be told."""


class Rejection(Value):
    """A line that raises."""

    phase: Phase
    """In which phase."""
    error: str
    """Name of the exception: `ValueError`."""
    message: str
    """Its text, as far as it is known."""
    site: Site | None = None
    """The line that raises; None for the parser."""
    function: str = ""
    """The function that holds that line."""
    guards: tuple[Guard, ...] = ()
    """The tests on the way to it, outermost first."""
    when: tuple[str, ...] = ()
    """The open tests and their outcome under which it raises; empty if it is certain."""


class Logged(Value):
    """A line that the engine would log."""

    level: str
    """`warning`, `info`."""
    message: str
    """The text; empty where not known."""
    known: bool
    """False if the text could not be told."""
    site: Site | None
    """The line that logs."""
    certain: bool
    """False if an open test decides whether it is logged."""


class EnvironmentWrite(Value):
    """An environment variable that the engine itself sets."""

    name: str
    """Its name."""
    value: str | None
    """Its value; None if removed, or not known."""
    known: bool
    """False if the value could not be told."""
    site: Site | None
    """The line that sets it."""
    certain: bool
    """False if an open test decides whether it is set."""


class Write(Value):
    """One assignment to an option by the start-up code, in order."""

    name: str
    """Name of the field."""
    known: bool
    """False if the value could not be told."""
    value: Any = None
    """The value that was assigned."""
    site: Site | None
    """The line."""
    function: str
    """The function that holds it."""
    certain: bool
    """False if an open test decides whether it is reached."""


class Gap(Value):
    """Something that the interpreter did not understand."""

    reason: str
    """What."""
    count: int
    """How often."""


class Resolution(Value, dict=True):
    """What the engine makes of a command line at its start."""

    status: Status
    """Whether it starts."""
    rejection: Rejection | None = None
    """The line that raises, if that is certain."""
    possible_rejections: tuple[Rejection, ...] = ()
    """Lines that may raise."""
    fields: tuple[FieldValue, ...] = ()
    """Every option; empty if the parser refuses the command line."""
    writes: tuple[Write, ...] = ()
    """The assignments to options, in order."""
    environment: tuple[EnvironmentWrite, ...] = ()
    """The environment variables that the engine sets, in order."""
    log: tuple[Logged, ...] = ()
    """What it logs, in order."""
    gaps: tuple[Gap, ...] = ()
    """What was not understood, most frequent first."""
    steps: int = 0
    """Fuel used."""

    def field(self, name: str) -> FieldValue | None:
        """The option of that name."""
        return next((each for each in self.fields if each.name == name), None)
