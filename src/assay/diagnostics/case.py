"""One server's command line beside the declarations of its engine: what every check looks at."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from assay.diagnostics.diagnostic import Diagnostic, Evidence, Fix
from assay.diagnostics.rules import BY_CODE

if TYPE_CHECKING:
    from assay.deployment import Edit, Place, UserFile, Word
    from assay.engines import OptionHistory, Server
    from assay.source import ConfigEntry, Declarations, Given, Parsed, Problem, Site


@dataclass(frozen=True)
class Case:
    """What the checks look at."""

    server: Server
    """The server that the user's file starts."""
    declarations: Declarations
    """What its engine declares."""
    parsed: Parsed
    """What the engine's parser makes of its arguments."""
    engine: str
    """The engine with its version, for messages: `sglang 0.5.10`."""
    history: OptionHistory
    """Which releases have which options."""
    searched: bool = True
    """Whether every file of the source was searched, so that a word that was not found is nowhere."""
    searched_python: bool = True
    """Whether at least every Python file was: wheels for CUDA hold libraries that are too large."""
    config: UserFile | None = None
    """The file of arguments that the command names, if it could be read."""

    def word(self, at: int) -> Word:
        """The word of that index among the arguments."""
        return self.server.arguments[at]

    def place(self, at: int | None, config: ConfigEntry | None = None) -> Place:
        """Where an argument stands: its word, its entry in the file of arguments, or else the entry point."""
        if at is not None:
            return self.word(at).place
        if config is not None and self.config is not None:
            return self.config.place(config.position, config.position + len(str(config.key)))
        return (self.server.program or self.server.launch.words)[-1].place

    def words(self, one: Given | Problem) -> list[Word]:
        """The words of an option and its values, in order."""
        places = dict.fromkeys(at for at in (one.at, *one.value_at) if at is not None)
        return [self.word(at) for at in places]


def diagnostic(  # noqa: PLR0913 - one argument for each field of a finding
    code: str,
    message: str,
    place: Place,
    *,
    label: str = "",
    evidence: tuple[Evidence, ...] = (),
    help: str = "",
    option: str | None = None,
    fix: Fix | None = None,
) -> Diagnostic:
    """A finding of that rule, with the rule's severity."""
    return Diagnostic(
        code=code,
        severity=BY_CODE[code].severity,
        message=message,
        place=place,
        label=label,
        evidence=evidence,
        help=help,
        option=option,
        fix=fix,
    )


def shows(site: Site, says: str) -> tuple[Evidence, ...]:
    """One line of evidence."""
    return (Evidence(site=site, says=says),)


def fix(title: str, edits: tuple[Edit, ...]) -> Fix | None:
    """A fix, if there are edits to make."""
    return Fix(title=title, edits=edits) if edits else None
