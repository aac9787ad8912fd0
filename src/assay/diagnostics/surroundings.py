"""What stands around the arguments: environment variables, and what the file's own syntax destroys."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from assay.diagnostics.case import Case, diagnostic, fix, shows
from assay.diagnostics.names import meant, nearest
from assay.diagnostics.rules import OF_FAULT

if TYPE_CHECKING:
    from assay.deployment import Place, Variable
    from assay.diagnostics.diagnostic import Diagnostic


def faults(case: Case) -> Iterator[Diagnostic]:
    """A finding for every fault that the reader of the user's file met."""
    for fault in case.server.launch.faults:
        yield diagnostic(
            OF_FAULT[fault.kind],
            fault.message,
            fault.place,
            help=fault.help,
            fix=fix("mend it", fault.edits),
        )


def environment(case: Case) -> Iterator[Diagnostic]:
    """Findings on environment variables with the engine's prefix."""
    words = set(case.declarations.environment_words)
    prefixes = tuple(word for word in words if word.endswith("_"))
    deprecated = {old: (new, site) for old, new, site in case.declarations.deprecated_environment}
    for variable in case.server.launch.environment:
        name = variable.name
        if not name.startswith(case.server.engine.environment_prefixes):
            continue
        if name in deprecated:
            new, site = deprecated[name]
            yield diagnostic(
                "ASY202",
                f"{case.engine} calls the variable `{name}` deprecated",
                _name_place(variable),
                label="deprecated",
                help=new,
                option=name,
                evidence=shows(site, "says so"),
            )
        elif name not in words and not name.startswith(prefixes):
            yield _unknown(case, variable, words)


def _unknown(case: Case, variable: Variable, words: set[str]) -> Diagnostic:
    near = nearest(variable.name, [word for word in words if not word.endswith("_")])
    declared = next((each for each in case.declarations.environment if each.name in near[:1]), None)
    return diagnostic(
        "ASY201",
        f"{case.engine} knows no variable `{variable.name}`",
        _name_place(variable),
        label="nothing reads it",
        help=meant(near) or "no file of the engine's source has this name",
        option=variable.name,
        evidence=shows(declared.declared_at, f"declares `{declared.name}`") if declared else (),
    )


def _name_place(variable: Variable) -> Place:
    """The variable's name alone, where it is written plainly."""
    at = variable.file.text.find(variable.name, variable.start, variable.end)
    if at < 0:
        return variable.place
    return variable.file.place(at, at + len(variable.name))
