"""The answers to an investigator's five questions about one option, around its finding."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from assay._value import Value
from assay.errors import InputError
from assay.findings import shown
from assay.findings.case import Case
from assay.findings.decide import ask
from assay.findings.finding import Condition, Finding
from assay.findings.source_lines import text_of
from assay.findings.triage import ask_any
from assay.findings.words import find_option
from assay.flow import Resolution, uncollected
from assay.source import Option

_MOST_RULES = 12
_ALWAYS = ("fact cuda.available", "fact host.platform", "fact host.system")
"""Facts that are the same wherever an engine serves."""
_DEFAULT_IN_HELP = re.compile(
    r"\bdefaults?(?:\s+(?:is|to|value is|value)|\s*[:=])\s*[`'\"]?"
    r"(?P<value>-?\d+(?:\.\d+)?|true|false|none)\b",
    re.IGNORECASE,
)


class Rule(Value):
    """A line of start-up code that sets the option by itself."""

    file: str
    """Its file."""
    line: int
    """Its line."""
    text: str
    """The line."""
    fires: bool
    """Whether it is carried out in this deployment's command without the option."""
    because: tuple[str, ...] = ()
    """The tests around it, as written, outermost first."""
    stopped_by: str = ""
    """The first of them that keeps it from being carried out here, where that is known."""


class Changer(Value):
    """Something that the answer hangs on."""

    atom: str
    """The fact, variable or option."""
    value: Any
    """What it is here; None where nothing states it."""
    tests: tuple[str, ...]
    """The tests that look at it."""


class Explanation(Value):
    """One finding with what an investigator would ask next."""

    finding: Finding
    """The finding."""
    disagreements: tuple[str, ...]
    """Where help text and code say different things."""
    rules: tuple[Rule, ...]
    """Lines that set the option by themselves."""
    companions: tuple[str, ...]
    """Other options that the deciding tests look at."""
    changers: tuple[Changer, ...]
    """What would have to be otherwise for another answer."""


def explain(case: Case, name: str, value: Any) -> Explanation:
    """The finding on an option at a value, and what is around it; arguments as for `ask`."""
    return _around(case, find_option(case.source.declarations, name, value), ask(case, name, value))


def explain_any(case: Case, name: str) -> Explanation:
    """The same at the value that the command holds, or else at the one that triage asks about."""
    option = find_option(case.source.declarations, name)
    return _around(case, option, ask(case, name, True) if option is None else ask_any(case, option))


def explain_asked(case: Case, text: str) -> Explanation:
    """The same for `OPTION` or `OPTION=VALUE`, as it is written on a command line.

    Raises:
        InputError: there is no name.
    """
    name, equals, value = text.partition("=")
    if not name.strip("-"):
        raise InputError(f"not an option: {text!r}", hint="write OPTION or OPTION=VALUE")
    with uncollected():
        return explain(case, name, value) if equals else explain_any(case, name)


def _around(case: Case, option: Option | None, found: Finding) -> Explanation:
    return Explanation(
        finding=found,
        disagreements=() if option is None else tuple(_disagreements(option, found)),
        rules=() if option is None else tuple(_rules(case, option)),
        companions=_companions(found),
        changers=tuple(_changers(case, found)),
    )


def _disagreements(option: Option, found: Finding) -> Iterator[str]:
    if found.subkind == "nobody_reads" and option.help:
        yield "the help text promises an effect; no line of this source reads the option"
    if option.deprecated:
        yield f"the source calls it deprecated: {option.deprecated}"
    match = _DEFAULT_IN_HELP.search(option.help)
    if match is None or not option.default.known:
        return
    told, real = match["value"].lower(), str(option.default.value).lower()
    if told != real and not _same_number(told, real):
        yield f"the help text says the default is {match['value']}, the code says {option.default.value}"
    if found.resolved is not None and found.resolved.without.provenance.how == "set":
        yield (
            f"the help text names a default; here the engine itself sets "
            f"{shown.said(found.resolved.without.value)}"
        )


def _same_number(one: str, other: str) -> bool:
    try:
        return float(one) == float(other)
    except ValueError:
        return False


def _rules(case: Case, option: Option) -> Iterator[Rule]:
    """Assignments to the field in the file of the arguments class, and those that were met elsewhere."""
    if option.field is None:
        return
    resolution = case.run_without(option).base.resolution
    fired = {
        (write.site.file, write.site.line): write.site
        for write in resolution.writes
        if write.name == option.field and write.site is not None and write.certain
    }
    known = list(_assignments(case, option.field, _outcomes(resolution)))
    for rule in known[:_MOST_RULES]:
        here = (rule.file, rule.line) in fired
        yield msgspec.structs.replace(rule, fires=here, stopped_by="" if here else rule.stopped_by)
    seen = {(rule.file, rule.line) for rule in known}
    for place, site in fired.items():
        if place not in seen:
            yield Rule(file=site.file, line=site.line, text=site.text, fires=True)


def _outcomes(resolution: Resolution) -> dict[tuple[str, int], bool]:
    """What tests came out as, by their place."""
    return {
        (guard.site.file, guard.site.line): guard.taken
        for field in resolution.fields
        for guard in field.provenance.guards
        if guard.state == "holds"
    }


def _assignments(case: Case, field: str, outcomes: dict[tuple[str, int], bool]) -> Iterator[Rule]:
    file = case.source.declarations.declared_at.file
    text = text_of(Path(case.source.root), file) or ""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return
    lines = text.splitlines()
    for node, tests in _walk(tree, ()):
        if _sets(node, field):
            line = lines[node.lineno - 1].strip()[:200]
            stops = (
                test for test in tests if outcomes.get((file, test.line), test.wanted) is not test.wanted
            )
            yield Rule(
                file=file,
                line=node.lineno,
                text=line,
                fires=False,
                because=tuple(test.text for test in tests),
                stopped_by=next((test.text for test in stops), ""),
            )


@dataclass(frozen=True)
class _Around:
    """An `if` around a statement."""

    text: str
    line: int
    wanted: bool
    """What it must come out as."""


def _walk(node: ast.AST, tests: tuple[_Around, ...]) -> Iterator[tuple[ast.stmt, tuple[_Around, ...]]]:
    """Every statement, with the `if` tests around it."""
    for name, value in ast.iter_fields(node):
        for child in value if isinstance(value, list) else [value]:
            if not isinstance(child, ast.AST) or isinstance(child, ast.expr):
                continue
            around = tests
            if isinstance(node, ast.If):
                test, wanted = ast.unparse(node.test), name != "orelse"
                text = test if wanted else f"not ({test})"
                around = (*tests, _Around(text, node.test.lineno, wanted))
            if isinstance(child, ast.stmt):
                yield child, around
            yield from _walk(child, around)


def _sets(node: ast.stmt, field: str) -> bool:
    targets = node.targets if isinstance(node, ast.Assign) else []
    if isinstance(node, ast.AugAssign | ast.AnnAssign) and node.value is not None:
        targets = [node.target]
    flat = [each for target in targets for each in getattr(target, "elts", [target])]
    return any(
        isinstance(target, ast.Attribute)
        and target.attr == field
        and isinstance(target.value, ast.Name)
        and target.value.id in ("self", "server_args")
        for target in flat
    )


def _companions(found: Finding) -> tuple[str, ...]:
    names = [
        atom.removeprefix("option ")
        for guard in _deciding(found)
        for atom in guard.atoms
        if atom.startswith("option ") and not any(each.startswith("config.json") for each in guard.atoms)
    ]
    return tuple(name for name in dict.fromkeys(names) if name != found.field)


def _deciding(found: Finding) -> tuple[Condition, ...]:
    """The tests nearest to the line."""
    return found.guards[-3:]


def _changers(case: Case, found: Finding) -> Iterator[Changer]:
    """Facts, variables and options of the deciding tests; where a test hangs on the model, only that."""
    tests: dict[str, list[str]] = {}
    for guard in _deciding(found):
        model = [atom for atom in guard.atoms if atom.startswith("config.json") and " of " not in atom]
        facts = [atom for atom in guard.atoms if atom.startswith("fact ") and atom not in _ALWAYS]
        for atom in model or facts or guard.atoms:
            tests.setdefault(atom, []).append(guard.expr)
    for atom in found.open_atoms:
        tests.setdefault(atom, [])
    for atom, exprs in tests.items():
        yield Changer(atom=atom, value=_value_of(case, atom), tests=tuple(exprs))


def _value_of(case: Case, atom: str) -> Any:
    kind, _, name = atom.partition(" ")
    if kind == "fact":
        fact = case.facts.find(name)
        return fact.value if fact is not None else None
    if kind == "environment":
        fact = case.facts.find(f"environment:{name}")
        return fact.value if fact is not None else None
    if kind == "option":
        held = case.present.base.resolution.field(name)
        return held.value if held is not None and held.known else None
    if kind == "config.json":
        return _of_config(case, name)
    return None


def _of_config(case: Case, key: str) -> Any:
    for fact in case.facts.facts:
        if fact.name.startswith("model:") and isinstance(fact.value, dict) and key in fact.value:
            value = fact.value[key]
            return value if not isinstance(value, dict) else "…"
    return None
