"""What the engine's parser refuses: unknown and ambiguous options, wrong values, stray words."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from assay.diagnostics.case import Case, diagnostic, shows
from assay.diagnostics.names import meant, nearest
from assay.diagnostics.secrets import MASK, is_secret_name

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
    known = [flag for option in case.declarations.options for flag in option.flags]
    near = nearest(flag, known, case.server.engine.names_elsewhere)
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
        help=meant(near) or "see the engine's `--help` for the options that it has",
        option=flag,
        evidence=_declared(case, near),
    )


def _have(spans: tuple[tuple[str, str], ...]) -> str:
    return "has" if len(spans) == 1 and spans[0][0] == spans[0][1] else "have"


def _other_version(case: Case, flag: str, near: tuple[str, ...]) -> str:
    covered = f"(assay knows the options of {case.history.releases[0]} to {case.history.releases[-1]})"
    if near:
        return f"this version has {' and '.join(f'`{name}`' for name in near)} {covered}"
    return f"take `{flag}` away, or serve with a version that has it {covered}"


def _declared(case: Case, flags: tuple[str, ...]) -> tuple[Evidence, ...]:
    """Where the first of these flags is declared."""
    for option in case.declarations.options:
        if flags and flags[0] in option.flags:
            return shows(option.declared_at, f"declares `{flags[0]}`")
    return ()


def _ambiguous(case: Case, problem: Problem) -> Diagnostic:
    written = _written(case, problem).partition("=")[0]
    return diagnostic(
        "ASY102",
        f"`{written}` fits {len(problem.candidates)} options of {case.engine}",
        case.place(problem.at, problem.config),
        label="ambiguous",
        help="write one in full: " + ", ".join(f"`{flag}`" for flag in problem.candidates),
        option=written,
        evidence=_declared(case, problem.candidates),
    )


def _bad_choice(case: Case, problem: Problem) -> Diagnostic:
    option, value = _option(problem), _value(case, problem)
    choices = [str(choice) for choice in (option.choices.value if option.choices else ())]
    near = nearest(value, choices)
    return diagnostic(
        "ASY106",
        f"`{option.flags[0]}` does not take {value!r} in {case.engine}",
        _value_place(case, problem),
        label="not a choice",
        help=f"{meant(near)} the choices are {', '.join(choices)}".strip(),
        option=option.flags[0],
        evidence=shows(option.declared_at, f"declares the choices of `{option.flags[0]}`"),
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
        help=_json_help(option, value),
        option=option.flags[0],
        evidence=shows(option.declared_at, f"declares the type of `{option.flags[0]}`"),
    )


_WANTED = {
    "int": "a whole number",
    "float": "a number",
    "json": "JSON",
    "json-list": "a JSON list",
    "si-int": "a whole number such as 4096, 4k or 4Ki",
}


def _json_help(option: Option, value: str) -> str:
    if option.converter in ("json", "json-list") and "'" in value:
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
    near = nearest(f"--{word}", [flag for option in case.declarations.options for flag in option.flags])
    before = problem.at - 1 if problem.at else None
    help_text = "the engine takes options only; quote a value that has blanks in it"
    if near and len(word) > 3:
        help_text = meant(near)
    elif before is not None and case.word(before).text.startswith("--"):
        help_text = f"`{case.word(before).text}` takes no value; leave `{word}` out"
    return diagnostic(
        "ASY113",
        f"`{word}` belongs to no option",
        case.place(problem.at, problem.config),
        label="unrecognized",
        help=help_text,
    )


_CUTS_OFF = ("broken-continuation", "unbalanced-quotes", "ignored-line")
"""Faults after which the rest of the command may stand on lines that belong to it no more."""


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
