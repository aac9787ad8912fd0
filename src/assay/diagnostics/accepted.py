"""What the engine accepts and still deserves a look: abbreviations, repeats, defaults, dead options."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import TYPE_CHECKING

from assay.deployment import flag_replacement, removal
from assay.diagnostics.case import Case, diagnostic, fix, shows
from assay.diagnostics.diagnostic import Evidence

if TYPE_CHECKING:
    from assay.deployment import Edit
    from assay.diagnostics.diagnostic import Diagnostic
    from assay.source import Given, Option, Site


def accepted(case: Case) -> Iterator[Diagnostic]:
    """Findings on options that the engine takes."""
    wrong = {problem.at for problem in case.parsed.problems}
    yield from _repeated(case)
    for given in case.parsed.given:
        if given.at is not None and given.at in wrong:
            continue
        yield from _abbreviated(case, given)
        if given.option.deprecated:
            yield _deprecated(case, given)
        elif case.searched and _nobody_reads(given):
            yield _unread(case, given)
        elif _is_default(case, given):
            yield _default(case, given)


def _abbreviated(case: Case, given: Given) -> Iterator[Diagnostic]:
    if given.at is None:
        return
    word = case.word(given.at)
    written = word.text.partition("=")[0]
    if not written.startswith("--") or written == given.flag or not given.flag.startswith(written):
        return
    if written in case.server.engine.usual_abbreviations:
        return
    yield diagnostic(
        "ASY103",
        f"`{written}` is short for `{given.flag}`",
        word.place,
        label="abbreviated",
        help="a later version may have a second option that begins like this",
        option=given.option.flags[0],
        evidence=shows(given.option.site(given.flag), f"declares `{given.flag}`"),
        fix=fix(f"write `{given.flag}`", flag_replacement(word, written, given.flag)),
    )


def _deprecated(case: Case, given: Given) -> Diagnostic:
    option = given.option
    nothing = option.action == "ignored"
    says = "does nothing any more" if nothing else "is deprecated"
    instead = f"use `{option.replaced_by}` instead" if option.replaced_by else option.deprecated
    return diagnostic(
        "ASY104",
        f"`{given.flag}` {says} in {case.engine}",
        case.place(given.at, given.config),
        label="deprecated",
        help=instead,
        option=option.flags[0],
        evidence=shows(option.site("help"), f"says so of `{option.flags[0]}`"),
        fix=fix("take it away", _removal(case, given)) if nothing else None,
    )


def _nobody_reads(given: Given) -> bool:
    """Nothing in the tree mentions it, and giving it does nothing by itself."""
    return not given.option.mentions and given.option.action in ("store", "store_const", "boolean", "append")


def _unread(case: Case, given: Given) -> Diagnostic:
    option = given.option
    field = next((field for field in case.declarations.fields if field.name == option.field), None)
    evidence = [Evidence(site=option.declared_at, says="declares it; no other line of the source names it")]
    if field is not None:
        evidence.append(Evidence(site=field.declared_at, says=f"is the field `{field.name}`"))
    return diagnostic(
        "ASY111",
        f"`{given.flag}` does nothing: nothing in {case.engine} reads it",
        case.place(given.at, given.config),
        label="no reader",
        help="take it away; its value has no effect",
        option=option.flags[0],
        evidence=tuple(evidence),
        fix=fix("take it away", _removal(case, given)),
    )


def _is_default(case: Case, given: Given) -> bool:
    default, value = given.option.default, given.value
    return (
        given.option.action != "append"
        and default.known
        and value.known
        and isinstance(value.value, bool) is isinstance(default.value, bool)
        and value.value == default.value
        and sum(other.option == given.option for other in case.parsed.given) == 1
    )


def _default(case: Case, given: Given) -> Diagnostic:
    return diagnostic(
        "ASY110",
        f"`{given.flag}` is given at its declared default {given.value.value!r}",
        case.place(given.at, given.config),
        label="the default",
        help="keep it to pin the value against a later version, or take it away",
        option=given.option.flags[0],
        evidence=shows(_default_site(case, given.option), f"declares the default of `{given.flag}`"),
    )


def _default_site(case: Case, option: Option) -> Site:
    """The line of the arguments class that has the default, else that of the parser."""
    for field in case.declarations.fields:
        if field.name == option.field and field.default.known and field.default.value == option.default.value:
            return field.declared_at
    return option.site("default")


def _repeated(case: Case) -> Iterator[Diagnostic]:
    """All but the last occurrence of an option that keeps only one value."""
    groups: dict[str, list[Given]] = defaultdict(list)
    for given in case.parsed.given:
        if given.option.action not in ("append", "ignored", "opaque"):
            groups[given.option.dest].append(given)
    for group in groups.values():
        for given in group[:-1]:
            if given.config is None:  # the command line over the file of arguments is what both are for
                yield _overridden(case, given, group[-1])


def _overridden(case: Case, given: Given, last: Given) -> Diagnostic:
    again = "again" if given.flag == last.flag else f"again, as `{last.flag}`,"
    return diagnostic(
        "ASY109",
        f"`{given.flag}` is given {again} {_relative(case, given, last)}, and only the last one counts",
        case.place(given.at),
        label="overridden",
        help="take this one away" if given.value != last.value else "both say the same; take one away",
        option=given.option.flags[0],
        evidence=shows(given.option.site(last.flag), f"declares `{last.flag}`")
        if given.flag != last.flag
        else (),
        fix=fix("take it away", _removal(case, given)),
    )


def _relative(case: Case, given: Given, last: Given) -> str:
    """Where the last one is, as seen from this one."""
    here, there = case.place(given.at), case.place(last.at, last.config)
    if there.file != here.file:
        return f"in {there.file}:{there.line}"
    return "on the same line" if there.line == here.line else f"on line {there.line}"


def _removal(case: Case, given: Given) -> tuple[Edit, ...]:
    words = case.words(given)
    if not words or given.config is not None:
        return ()
    if given.at is not None and "." in case.word(given.at).text.partition("=")[0]:
        return ()  # one of several words that make up a value, as `--x.a 1 --x.b 2` do
    strays = {problem.at for problem in case.parsed.problems if problem.kind == "stray-word"}
    behind = max(at for at in (given.at, *given.value_at) if at is not None) + 1
    while behind in strays:  # left alone, they would become values of the option before
        words.append(case.word(behind))
        behind += 1
    return removal(words)
