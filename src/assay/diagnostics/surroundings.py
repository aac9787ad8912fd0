"""What stands around the arguments: environment variables, and what the file's own syntax destroys."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from assay.diagnostics.case import Case, diagnostic, fix, shows
from assay.diagnostics.rules import OF_FAULT
from assay.engines import meant, nearest

if TYPE_CHECKING:
    from assay.deployment import Place, Variable
    from assay.diagnostics.diagnostic import Diagnostic
    from assay.source import Site


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
    own = case.server.engine.environment_prefixes  # alone they would stand for every name there is
    prefixes = tuple(word for word in words if word.endswith("_") and word not in own)
    for variable in case.server.launch.environment:
        if not variable.name.startswith(own):
            continue
        replaced = _replaced(case, variable.name)
        known = _read_as(replaced, variable.name)
        if known not in words and not known.startswith(prefixes):
            if (found := _unknown(case, variable, words)) is not None:
                yield found
        elif replaced is not None:
            yield _deprecated(case, variable, *replaced)


def _replaced(case: Case, name: str) -> tuple[str, str, Site] | None:
    """(old name, what to use instead, where the source says so), also for a whole old prefix."""
    for old, new, site in case.declarations.deprecated_environment:
        if old == name:
            return old, new, site
        if old.endswith("_") and name.startswith(old) and new.endswith("_"):
            if name in case.declarations.environment_words:
                return None  # the source calls the prefix old, and yet reads this very name
            return old, new + name.removeprefix(old), site
    return None


def _read_as(replaced: tuple[str, str, Site] | None, name: str) -> str:
    """The name under which the engine looks for the value."""
    return replaced[1] if replaced is not None and replaced[0].endswith("_") else name


def _deprecated(case: Case, variable: Variable, old: str, new: str, site: Site) -> Diagnostic:
    kind = f"variables that begin with `{old}`" if old != variable.name else f"the variable `{old}`"
    return diagnostic(
        "ASY202",
        f"{case.engine} calls {kind} deprecated",
        _name_place(variable),
        label="deprecated",
        help=_instead(old, new),
        option=variable.name,
        evidence=shows(site, "says so"),
    )


def _instead(old: str, new: str) -> str:
    if not new:
        return "take it away"
    if "DISABLE" in old and "ENABLE" in new:
        return f"use `{new}` instead, with the value that you mean: its name says the opposite"
    return new if " " in new else f"use `{new}` instead"


def _unknown(case: Case, variable: Variable, words: set[str]) -> Diagnostic | None:
    """None where a library that was not searched may be what reads it, and nothing else speaks against it."""
    had = case.history.said(variable.name)
    near = () if had else _nearest(variable.name, words, case.server.engine.environment_prefixes)
    if not case.searched and not (case.searched_python and (had or near)):
        return None
    declared = next((each for each in case.declarations.environment if each.name in near[:1]), None)
    return diagnostic(
        "ASY201",
        f"{case.engine} knows no variable `{variable.name}`" + (f"; {had} declared it" if had else ""),
        _name_place(variable),
        label="nothing reads it" if case.searched else "no Python file names it",
        help=meant(near) or _gone(had, searched=case.searched),
        option=variable.name,
        evidence=shows(declared.declared_at, f"declares `{declared.name}`") if declared else (),
    )


def _gone(had: str, *, searched: bool) -> str:
    nowhere = f"no {'file' if searched else 'Python file'} of the engine's source has this name"
    return f"take it away, or serve with a version that has it: here {nowhere}" if had else nowhere


def _nearest(name: str, words: set[str], prefixes: tuple[str, ...]) -> tuple[str, ...]:
    """By what stands behind the prefix, which all names have in common."""
    prefix = next(prefix for prefix in prefixes if name.startswith(prefix))
    known = {word.removeprefix(prefix): word for word in sorted(words) if not word.endswith("_")}
    return tuple(known[each] for each in nearest(name.removeprefix(prefix), known))


def _name_place(variable: Variable) -> Place:
    """The variable's name alone, where it is written plainly."""
    at = variable.file.text.find(variable.name, variable.start, variable.end)
    if at < 0:
        return variable.place
    return variable.file.place(at, at + len(variable.name))
