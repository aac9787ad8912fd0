"""What the engine's parser refuses: unknown and ambiguous options, wrong values, stray words."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from assay._masking import MASK, is_secret_name
from assay.diagnostics.case import Case, diagnostic, shows
from assay.engines import meant, nearest, opposite

if TYPE_CHECKING:
    from assay.deployment import Place
    from assay.diagnostics.diagnostic import Diagnostic, Evidence
    from assay.source import Option, Problem, ProblemKind


def refused(case: Case) -> Iterator[Diagnostic]:
    """A finding for every problem that the engine's parser has with the command line."""
    for problem in case.parsed.problems:
        check = _CHECKS.get(problem.kind, _config)
        found = check(case, problem)
        if found is not None:
            yield found


def _unknown(case: Case, problem: Problem) -> Diagnostic:
    written = _written(case, problem)
    flag = written.partition("=")[0]
    known = _flags(case)
    near = nearest(flag, known, case.server.engine.names_elsewhere)
    unneeded = _unneeded(case, flag, known)
    place = case.place(problem.at, problem.config)
    spans = case.history.spans(flag)
    if spans:
        return diagnostic(
            "ASY105",
            f"{case.engine} has no option `{flag}`; {case.history.said(flag)} {_have(spans)} it",
            place,
            label="not in this version",
            help=_other_version(case, flag, near),
            option=flag,
            evidence=_declared(case, near),
        )
    return diagnostic(
        "ASY101",
        f"{case.engine} has no option `{flag}`",
        place,
        label="unknown option",
        help=unneeded[1] or _meant(case, problem, near),
        option=flag,
        evidence=_declared(case, unneeded[:1] if unneeded[1] else near),
    )


def _unneeded(case: Case, flag: str, known: list[str]) -> tuple[str, str]:
    """The flag that does the opposite, and what to say: without it the engine does what was asked for."""
    off = case.server.engine.on_without.get(flag)
    if off in known:
        return off, f"leave it out: {case.engine} does that by itself, unless `{off}` is given"
    other = opposite(flag, known)
    option = next((option for option in case.declarations.options if other in option.flags), None)
    if other is None or option is None or option.action != "store_const" or option.default.value is not False:
        return "", ""
    return other, f"leave it out: there is only `{other}`, which is off unless it is given"


def _meant(case: Case, problem: Problem, near: tuple[str, ...]) -> str:
    if not near:
        return "see the engine's `--help` for the options that it has"
    option = next((option for option in case.declarations.options if near[0] in option.flags), None)
    if option is not None and option.nargs == 0 and problem.value_at:
        value = case.word(problem.value_at[0]).text
        if value.lower() in _OFF:
            return f"{meant(near)} It takes no value: leave it out altogether to have it off"
        return f"{meant(near)} It takes no value: leave `{value}` out"
    return meant(near)


_OFF = ("false", "0", "no", "off", "none")


def _have(spans: tuple[tuple[str, str], ...]) -> str:
    return "has" if len(spans) == 1 and spans[0][0] == spans[0][1] else "have"


def _other_version(case: Case, flag: str, near: tuple[str, ...]) -> str:
    covered = f"(assay knows the options of {case.history.releases[0]} to {case.history.releases[-1]})"
    if near:
        return f"this version has {' and '.join(f'`{name}`' for name in near)} instead {covered}"
    return f"take `{flag}` away, or serve with a version that has it {covered}"


def _declared(case: Case, flags: tuple[str, ...]) -> tuple[Evidence, ...]:
    """Where the first of these flags is declared."""
    flag = flags[0].partition(" ")[0] if flags else ""
    for option in case.declarations.options:
        if flag in option.flags:
            return shows(option.site(flag), f"declares `{flag}`")
    return ()


def _ambiguous(case: Case, problem: Problem) -> Diagnostic:
    written = _written(case, problem).partition("=")[0]
    return diagnostic(
        "ASY102",
        f"`{written}` fits {len(problem.candidates)} options of {case.engine}",
        case.place(problem.at, problem.config),
        label="ambiguous",
        help=_translated(case, written) + "write one in full: " + _listed(problem.candidates),
        option=written,
        evidence=_declared(case, problem.candidates),
    )


def _translated(case: Case, written: str) -> str:
    """What another engine's name means, where it is by chance the beginning of several names here."""
    ours = case.server.engine.names_elsewhere.get(written)
    return f"{meant((ours,))} Else " if ours else ""


def _listed(flags: tuple[str, ...]) -> str:
    return ", ".join(f"`{flag}`" for flag in flags)


def _bad_choice(case: Case, problem: Problem) -> Diagnostic:
    option, value = _option(problem), _value(case, problem)
    choices = [str(choice) for choice in (option.choices.value if option.choices else ())]
    near = nearest(value, choices, case.server.engine.values_elsewhere)
    return diagnostic(
        "ASY106",
        f"`{option.flags[0]}` does not take {value!r} in {case.engine}",
        _value_place(case, problem),
        label="not a choice",
        help=f"{meant(near)} The choices are {', '.join(choices)}".strip(),
        option=option.flags[0],
        evidence=shows(option.site("choices"), f"has the choices of `{option.flags[0]}`"),
    )


def _bad_value(case: Case, problem: Problem) -> Diagnostic:
    option, value = _option(problem), _value(case, problem)
    wanted = _WANTED.get(option.converter, f"what `{option.type_text}` accepts")
    shown = MASK if is_secret_name(option.flags[0]) else repr(value)
    return diagnostic(
        "ASY107",
        f"`{option.flags[0]}` takes {wanted}, not {shown}",
        _value_place(case, problem),
        label=f"expected {wanted}",
        help=_json_help(option, value, problem.message),
        option=option.flags[0],
        evidence=shows(option.site("type"), f"has the type of `{option.flags[0]}`"),
    )


_WANTED = {
    "int": "a whole number",
    "float": "a number",
    "json": "JSON",
    "json-list": "a JSON list",
    "json-object": "a JSON object of certain keys",
    "json-config": "a JSON object of certain keys",
    "json-or-text": "text, or JSON in braces",
    "lora-modules": "`name=path`, or a JSON object with name and path",
    "si-int": "a whole number such as 4096, 4k or 4Ki",
    "unit-int": "a whole number such as 4096, 4k (4,000) or 4K (4,096)",
    "unit-int-or-auto": "`auto`, or a whole number such as 4096, 4k (4,000) or 4K (4,096)",
}


def _json_help(option: Option, value: str, message: str) -> str:
    if option.keys is not None and (unknown := re.search(r"unknown key '([^']*)'", message)):
        inner = [name for names in option.keys.value.values() for name in names or ()]
        near = nearest(unknown[1], [*option.keys.value, *inner])
        return f"it has no key `{unknown[1]}`; {meant(near)}".removesuffix("; ")
    if option.converter.startswith("json") and "'" in value:
        return "JSON has double quotes; put single ones around the whole value"
    return ""


def _extra_value(case: Case, problem: Problem) -> Diagnostic:
    option = _option(problem)
    flag = option.flags[0]
    return diagnostic(
        "ASY108",
        f"`{flag}` is a switch and takes no value",
        case.place(problem.at, problem.config),
        label="a value for a switch",
        help=f"write `{flag}` alone; to leave it off, leave it out",
        option=flag,
        evidence=shows(option.declared_at, f"declares `{flag}`"),
    )


def _missing_value(case: Case, problem: Problem) -> Diagnostic:
    option = _option(problem)
    flag = option.flags[0]
    return diagnostic(
        "ASY108",
        f"`{flag}` needs {_needed(option)}",
        case.place(problem.at, problem.config),
        label="no value",
        help=_following_help(case, problem, flag),
        option=flag,
        evidence=shows(option.declared_at, f"declares `{flag}`"),
    )


def _following_help(case: Case, problem: Problem, flag: str) -> str:
    """Why the word behind an option may not be taken for its value."""
    if problem.at is None or problem.at + 1 >= len(case.server.arguments):
        return ""
    after = case.word(problem.at + 1).text
    if not after.startswith("-"):
        return ""
    return f"`{after}` is read as an option; write `{flag}={after}` if it is the value"


def _needed(option: Option) -> str:
    if option.nargs == "+":
        return "at least one value"
    return f"{option.nargs} values" if isinstance(option.nargs, int) and option.nargs > 1 else "a value"


def _stray(case: Case, problem: Problem) -> Diagnostic:
    word = _written(case, problem)
    help_text = _of_one_word(case, word) or _of_a_switch(case, problem, word)
    if not help_text:
        near = nearest(f"--{word}", _flags(case)) if len(word) > 3 else ()
        help_text = meant(near) or "the engine takes options only; quote a value that has blanks in it"
    return diagnostic(
        "ASY113",
        f"`{word}` belongs to no option",
        case.place(problem.at, problem.config),
        label="unrecognized",
        help=help_text,
    )


_CUTS_OFF = ("broken-continuation", "unbalanced-quotes", "ignored-line")
"""Faults after which the rest of the command may stand on lines that belong to it no more."""


def _flags(case: Case) -> list[str]:
    return [flag for option in case.declarations.options for flag in option.flags]


def _of_one_word(case: Case, word: str) -> str:
    """An option and its value in one word, as in a list of YAML: `- --tp 4`."""
    flag, blank, value = word.partition(" ")
    if not blank or not any(each.startswith(flag) for each in _flags(case)) or not flag.startswith("--"):
        return ""
    return f"it is one word: make two of it, `{flag}` and `{value.strip()}`"


def _of_a_switch(case: Case, problem: Problem, word: str) -> str:
    """A value behind an option that takes none."""
    before = case.word(problem.at - 1).text if problem.at else ""
    if not before.startswith("--") or "=" in before:
        return ""
    if word.lower() in _OFF:
        return f"`{before}` takes no value, it is on when it is given: to have it off, leave both out"
    return f"`{before}` takes no value; leave `{word}` out"


def _missing(case: Case, problem: Problem) -> Diagnostic | None:
    if any(fault.kind in _CUTS_OFF for fault in case.server.launch.faults):
        return None  # it stands on the lines that the fault cuts off
    option = _option(problem)
    return diagnostic(
        "ASY112",
        f"{case.engine} does not start without `{option.flags[0]}`",
        case.place(None),
        label="not in this command",
        option=option.flags[0],
        evidence=shows(option.declared_at, f"requires `{option.flags[0]}`"),
    )


def _gone(case: Case, problem: Problem) -> Diagnostic:
    option = _option(problem)
    flag = option.flags[0]
    if problem.kind == "prints-help":
        message, label = f"`{flag}` prints the help text and ends; nothing is served", "ends the server"
    else:
        message, label = f"{case.engine} refuses `{flag}`", "refused"
    return diagnostic(
        "ASY104" if problem.kind == "refused-option" else "ASY113",
        message,
        case.place(problem.at, problem.config),
        label=label,
        help=option.deprecated,
        option=flag,
        evidence=shows(option.declared_at, f"declares `{flag}`"),
    )


def _default(case: Case, problem: Problem) -> None:
    """The engine's own default is refused by its own converter: nothing that a user can mend."""
    del case, problem


def _config(case: Case, problem: Problem) -> Diagnostic:
    return diagnostic(
        "ASY114",
        problem.message,
        case.place(problem.at, problem.config),
        option=case.declarations.config_option,
    )


_CHECKS: dict[ProblemKind, Callable[[Case, Problem], Diagnostic | None]] = {
    "unknown-option": _unknown,
    "ambiguous": _ambiguous,
    "bad-choice": _bad_choice,
    "bad-value": _bad_value,
    "bad-default": _default,
    "missing-value": _missing_value,
    "extra-value": _extra_value,
    "stray-word": _stray,
    "missing-required": _missing,
    "refused-option": _gone,
    "prints-help": _gone,
}


def _option(problem: Problem) -> Option:
    assert problem.option is not None, problem
    return problem.option


def _written(case: Case, problem: Problem) -> str:
    """The word as the engine gets it."""
    if problem.at is not None:
        return case.word(problem.at).text
    return f"--{problem.config.key}" if problem.config is not None else ""


def _value(case: Case, problem: Problem) -> str:
    """The value that is wrong, without the flag before its `=`."""
    if problem.config is not None:
        return str(problem.config.value)
    at = problem.value_at[-1] if problem.value_at else problem.at
    text = case.word(at).text if at is not None else ""
    return text.partition("=")[2] if at == problem.at and "=" in text else text


def _value_place(case: Case, problem: Problem) -> Place:
    at = problem.value_at[-1] if problem.value_at else problem.at
    return case.place(at, problem.config)
