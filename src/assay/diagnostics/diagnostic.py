"""What lint says: a code, a place in the user's file, the evidence in the engine's source, and a fix."""

from __future__ import annotations

from typing import Literal

from assay._value import Value
from assay.deployment import Edit, Place
from assay.source import Site

Severity = Literal["error", "warning", "note"]
"""`error`: the server does not start, or gets something else than was written; `warning`: it starts, and
something does nothing or will stop working; `note`: worth knowing, nothing to act on."""


class Evidence(Value):
    """A line of the engine's source and what it shows."""

    site: Site
    """The line."""
    says: str
    """What it shows, in a few words."""


class Fix(Value):
    """Edits that mend a finding. Only fixes that keep what the server does, or restore what was plainly
    meant, are made; a guess is a help text instead."""

    title: str
    """What the edits do, as an order: `remove the option`."""
    edits: tuple[Edit, ...]
    """The edits, all in files of the user's."""


class Diagnostic(Value):
    """One finding of lint."""

    code: str
    """Its rule, such as `ASY101`."""
    severity: Severity
    """How much it matters."""
    message: str
    """What is wrong, with the value at hand; one sentence without a full stop."""
    place: Place
    """Where it stands in the user's file."""
    label: str = ""
    """A few words for beside the caret."""
    evidence: tuple[Evidence, ...] = ()
    """What in the engine's source shows it."""
    help: str = ""
    """What to do, in one or two sentences."""
    option: str | None = None
    """The option's usual flag, or the environment variable's name, where the finding is about one."""
    fix: Fix | None = None
    """Edits that `--fix` writes."""
