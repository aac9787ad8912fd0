"""What one run of lint over one target found."""

from __future__ import annotations

from assay._value import Value
from assay.deployment import Place, UserFile
from assay.diagnostics.diagnostic import Diagnostic


class EngineSeen(Value):
    """The engine's source that a target was checked against."""

    name: str
    """`sglang`."""
    version: str | None
    """Its version, if the source says."""
    digest: str
    """Digest of the source tree: its identity."""
    origin: str
    """Where the source came from, in words."""
    chosen_by: str
    """Why this one: `--engine`, the deployment file, the image's tag, the interpreter of the command."""


class LintResult(Value):
    """The findings on one server that a target starts."""

    target: str
    """The file, or `<command line>`."""
    server: str
    """Name of the unit, service or container."""
    engine: EngineSeen
    """What it was checked against."""
    diagnostics: tuple[Diagnostic, ...]
    """The findings, in the order of the file."""
    unknown_words: int
    """Words of the command that only show when it runs; what they hold was not checked."""
    files: tuple[UserFile, ...]
    """The user's files that were read."""
    secrets: frozenset[str]
    """Values that must not be shown."""
    unread: tuple[str, ...] = ()
    """Parts of the engine's source that could not be read, each with why: no finding covers them."""
    started_at: Place | None = None
    """Where the server's program is named."""

    @property
    def to_act_on(self) -> bool:
        """Whether an error or a warning was found."""
        return any(found.severity != "note" for found in self.diagnostics)
