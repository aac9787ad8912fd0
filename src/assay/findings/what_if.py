"""Asks the same question of deployments that differ in one thing: which change would change the answer."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import msgspec

from assay._value import Value
from assay.facts import Fact
from assay.findings import shown
from assay.findings.case import Case
from assay.findings.decide import ask
from assay.findings.finding import Finding, Verdict
from assay.findings.values import made_up, values_to_ask
from assay.findings.words import added, find_option, less_entries, without, wording

CAPABILITIES = ((8, 0), (8, 9), (9, 0), (10, 0), (12, 0))
"""Ampere, Ada, Hopper and the two kinds of Blackwell."""

_MOST = 12
"""So many changes are tried; each costs two resolutions."""
_NEAREST = 3
_VALUES = 3


class WhatIf(Value):
    """One change after which the question has another answer."""

    change: str
    """The change: `accelerator.capability = [9, 0]`, `--enable-lora`."""
    verdict: Verdict
    """The verdict then."""
    subkind: str
    """Its sub-kind."""
    summary: str
    """The answer then, in one sentence."""


def what_if(case: Case, found: Finding) -> tuple[WhatIf, ...]:
    """Other answers under one change each: of the capability of the accelerators, of a variable that is not
    set, or of another option, as far as the deciding tests look at these. The first change of each kind that
    gives another verdict is told.
    """
    told: dict[str, WhatIf] = {}
    for atom, change, other in itertools.islice(_changes(case, found), _MOST):
        if atom in told:
            continue
        answer = ask(other, found.option, found.value)
        if answer.verdict != found.verdict:
            told[atom] = WhatIf(
                change=change, verdict=answer.verdict, subkind=answer.subkind, summary=answer.summary
            )
    return tuple(told.values())


def _changes(case: Case, found: Finding) -> Iterator[tuple[str, str, Case]]:
    """What the deciding tests look at, how it may be changed, and the deployment then."""
    guards = found.guards[-_NEAREST:]
    for atom in dict.fromkeys(atom for guard in reversed(guards) for atom in guard.atoms):
        kind, _, name = atom.partition(" ")
        if atom == "fact accelerator.capability":
            yield from _capabilities(case, atom)
        elif kind == "environment" and case.facts.find(f"environment:{name}") is None:
            yield atom, f"{name}=1", _with_fact(case, f"environment:{name}", "1")
        elif kind == "option" and name != found.field and not _of_model(guards, atom):
            yield from _options(case, atom, name)


def _of_model(guards: Any, atom: str) -> bool:
    """Whether the option only stands for the model's own configuration there."""
    return all(
        any(each.startswith("config.json") for each in guard.atoms) for guard in guards if atom in guard.atoms
    )


def _capabilities(case: Case, atom: str) -> Iterator[tuple[str, str, Case]]:
    held = case.facts.find("accelerator.capability")
    for capability in CAPABILITIES:
        if held is None or list(capability) != held.value:
            change = f"accelerator.capability = {list(capability)}"
            yield atom, change, _with_fact(case, "accelerator.capability", list(capability))


def _with_fact(case: Case, name: str, value: Any) -> Case:
    fact = Fact(name=name, value=value, source="what if")
    kept = tuple(each for each in case.facts.facts if each.name != name)
    return case.altered(facts=msgspec.structs.replace(case.facts, facts=(*kept, fact)))


def _options(case: Case, atom: str, name: str) -> Iterator[tuple[str, str, Case]]:
    option = find_option(case.source.declarations, name)
    if option is None or (made_up(option) and option.converter not in ("int", "si-int")):
        return
    run = case.present
    held = run.base.resolution.field(option.field or "")
    left = without(run.parsed, run.words, option)
    reader = less_entries(run.read_config, run.parsed, option)
    if case.gives(option):
        yield atom, f"without {option.flags[0]}", case.altered(words=left, read_config=reader)
    for value in values_to_ask(option, held.value if held is not None else None)[:_VALUES]:
        if held is None or held.value != value:
            words = added(left, wording(option, value).words)
            change = option.flags[0] if value is True else f"{option.flags[0]} {shown.said(value)}"
            yield atom, change, case.altered(words=words, read_config=reader)
