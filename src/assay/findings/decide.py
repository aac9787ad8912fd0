"""Decides the verdict on one option at one value, in the order of the verdicts."""

from __future__ import annotations

from typing import Any

from assay.findings import shown
from assay.findings.case import Case, Question
from assay.findings.difference import followed
from assay.findings.draft import finding, message, named, quoted, raising, values
from assay.findings.failure import despite, failure_of
from assay.findings.finding import Evidence, Finding
from assay.findings.missing import missing
from assay.findings.records import Changes, changes, equal, given_up, new_doubts
from assay.findings.refused import parser_refuses
from assay.findings.values import values_to_ask
from assay.findings.words import find_option
from assay.flow import Alternative, FieldValue, Resolution
from assay.source import Option

_MOST_MENTIONS = 5
"""Declarations keep so many lines that name an option: with as many, there may be more."""


def ask(case: Case, name: str, value: Any) -> Finding:
    """The verdict on an option in a deployment.

    Args:
        case: the deployment.
        name: a flag or the name of a field.
        value: the value, as text of a command line or as a Python value.
    """
    option = find_option(case.source.declarations, name, value)
    return missing(case, name, value) if option is None else decide(case, case.question(option, value))


def decide(case: Case, question: Question) -> Finding:
    """The verdict on an option that the engine declares."""
    failure = failure_of(question.run)
    if failure is not None:
        return despite(case, question, failure)
    refused = parser_refuses(question)
    if refused is not None:
        return refused
    if question.option.action == "ignored":
        return _ignored(case, question)
    if not question.wording.words or _is_default(question):
        return _left_out(question)
    return _compared(case, question, case.alternative(question))


def _ignored(case: Case, question: Question) -> Finding:
    """An option that stores nothing: only a line that looks for the flag itself could notice it."""
    option = question.option
    shows = shown.evidence(option.declared_at, "declares it; giving it stores nothing")
    if _may_be_looked_for(option) or case.source.declarations.unsearched:
        atoms = tuple(f"what {site} does" for site in option.mentions)
        return finding(
            question,
            "reader_not_followed",
            f"the parser ignores {named(question)}, but other lines name it",
            evidence=shows + _mentions(question),
            open_atoms=atoms,
        )
    summary = f"{case.version} accepts {named(question)} and does nothing with it"
    return finding(question, "accepted_and_ignored", summary, evidence=shows)


def _may_be_looked_for(option: Option) -> bool:
    """Whether a line may look for the flag among the words; a namesake cannot read what is not stored."""
    flagged = any(flag in site.text for flag in option.flags for site in option.mentions)
    return flagged or len(option.mentions) >= _MOST_MENTIONS


def _mentions(question: Question) -> tuple[Evidence, ...]:
    return tuple(each for site in question.option.mentions for each in shown.evidence(site, "names it"))


def _is_default(question: Question) -> bool:
    """Whether the parser hands on the same with the option and without it."""
    before = question.run.parsed.namespace.get(question.option.dest)
    asked = question.asked
    known = before is not None and before.known and asked.known and question.option.field is not None
    return known and before is not None and equal(before.value, asked.value)


def _left_out(question: Question) -> Finding:
    """The value that the parser gives when the option is left out: the two runs are one."""
    one, asked = question.run.base.resolution, question.asked
    held = one.field(question.option.field or "")
    if held is None or not held.known or not asked.known:
        reason = held.reason if held is not None else "what the option does"
        return finding(
            question, "open_condition", f"what {named(question)} is here depends on {reason}",
            open_atoms=(reason,), resolved=values(question, one, one),
        )  # fmt: skip
    if equal(held.value, asked.value) or not isinstance(asked.value, bool):
        return _already(question, held, one)  # `auto` and the like ask for what the engine chooses
    summary = f"{named(question)} is {quoted(held.value)} here, and no flag turns that back"
    return _overridden(question, one, held, summary)


def _compared(case: Case, question: Question, other: Alternative) -> Finding:
    """Run B beside run A, both with a command line that the parser takes."""
    one, two = question.run.base.resolution, other.resolution
    if two.status == "rejected" and two.rejection is not None:
        summary = f"{case.version} refuses it here: {message(two.rejection)}"
        return finding(
            question, "rejected_at_start", summary,
            evidence=(*raising(two.rejection), *_setting_lines(question, two)),
            guards=shown.conditions(two.rejection.guards), resolved=values(question, one, None),
        )  # fmt: skip
    doubtful = _doubtful(question, one, two)
    if doubtful is not None:
        return doubtful
    field = question.option.field
    before, after = (one.field(field), two.field(field)) if field else (None, None)
    found = changes(one, two, field)
    is_kept = case.source.keeps_what_was_parsed(question.option.dest)
    if before and after and not is_kept and _was_reset(case, question, before, after):
        summary = f"{named(question)} is reset to {quoted(after.value)}, as it is without it"
        return _overridden(question, two, after, summary, before=one, found=found)
    if found.none and before is not None and not is_kept:
        return _already(question, before, one, two)
    if _is_dead(case, question, found):
        return _dead(case, question, one, two)
    answer = followed(question, other, found)
    if answer.verdict in ("no_op", "unknown") and _only_namesakes(case, question, found):
        return _dead(case, question, one, two)
    return answer


def _setting_lines(question: Question, two: Resolution) -> tuple[Evidence, ...]:
    """Who set the options that the tests nearest to the raising line look at: often nobody asked for it."""
    guards = two.rejection.guards[-2:] if two.rejection is not None else ()
    names = dict.fromkeys(
        atom.removeprefix("option ")
        for guard in guards
        for atom in guard.decided_by
        if atom.startswith("option ") and atom != f"option {question.option.field}"
    )
    lines: list[Evidence] = []
    for name in names:
        held = two.field(name)
        if held is not None and held.provenance.how == "set" and held.known:
            lines += shown.evidence(held.provenance.site, f"sets {name} to {quoted(held.value)}")
    return tuple(lines[:4])


def _doubtful(question: Question, one: Resolution, two: Resolution) -> Finding | None:
    """Whether it is not known that run B starts where run A does."""
    doubts = new_doubts(one, two)
    if doubts:
        first = doubts[0]
        return finding(
            question, "may_not_start", f"it may be refused: {message(first)}",
            evidence=raising(first), guards=shown.conditions(first.guards),
            open_atoms=tuple(atom for each in doubts for atom in each.when),
            resolved=values(question, one, two),
        )  # fmt: skip
    if given_up(one) or given_up(two):
        gaps = tuple(gap.reason for gap in (*two.gaps, *one.gaps))[:3]
        return finding(
            question, "reader_not_followed", "the start-up code could not be followed to its end",
            evidence=shown.evidence(question.option.declared_at, "declares it"), open_atoms=gaps,
        )  # fmt: skip
    return None


def _was_reset(case: Case, question: Question, before: FieldValue, after: FieldValue) -> bool:
    """Whether start-up code puts the value of run A in place of the one that was asked for."""
    asked = question.asked
    if not (asked.known and before.known and after.known and after.provenance.how == "set"):
        return False
    if not equal(before.value, after.value) or equal(after.value, asked.value):
        return False
    return not _is_computed(case, question, after)


def _is_computed(case: Case, question: Question, after: FieldValue) -> bool:
    """Whether the value is made from the one that was asked for (`//= dp_size`), and only happens to be that
    of run A: then another value gives another result.
    """
    asked = question.asked.value
    if isinstance(asked, bool) or f"option {after.name}" not in after.provenance.depends_on:
        return False
    other = case.question(question.option, values_to_ask(question.option, asked)[0])
    held = case.alternative(other).resolution.field(after.name)
    return held is None or not held.known or not equal(held.value, after.value)


def _overridden(
    question: Question,
    two: Resolution,
    after: FieldValue,
    summary: str,
    *,
    before: Resolution | None = None,
    found: Changes | None = None,
) -> Finding:
    provenance = after.provenance
    resets = provenance.site or next(
        (write.site for write in reversed(two.writes) if write.name == after.name), None
    )
    others = tuple(name for name in found.fields if name != after.name) if found else ()
    return finding(
        question,
        "overridden",
        summary,
        evidence=(
            *shown.evidence(resets, f"sets it to {quoted(after.value)}"),
            *shown.lines_of_tests(provenance.guards),
        ),
        guards=shown.conditions(provenance.guards),
        side_effects=shown.side_effects(before, two, others) if before else (),
        resolved=values(question, before or two, two),
    )


def _already(question: Question, held: FieldValue, one: Resolution, two: Resolution | None = None) -> Finding:
    """The value is there anyway: by default, or because start-up code sets it."""
    provenance = held.provenance
    both = values(question, one, two or one)
    if provenance.how == "set" and provenance.site is not None:
        return finding(
            question,
            "set_at_start",
            _set_anyway(question, held),
            evidence=(
                *shown.evidence(provenance.site, f"sets it to {quoted(held.value)}"),
                *shown.lines_of_tests(provenance.guards),
            ),
            guards=shown.conditions(provenance.guards),
            resolved=both,
        )
    return finding(
        question,
        "declared_default",
        f"{named(question)} is {quoted(held.value)} by default, and nothing changes that here",
        evidence=shown.evidence(question.option.site("default"), f"the default is {quoted(held.value)}"),
        resolved=both,
    )


def _set_anyway(question: Question, held: FieldValue) -> str:
    asked = question.asked
    if asked.known and not equal(asked.value, held.value):
        return (
            f"{named(question)} {quoted(asked.value)} becomes {quoted(held.value)} here, "
            "which the engine arrives at without it too"
        )
    return f"{named(question)} is {quoted(held.value)} here anyway: the engine sets it by itself"


def _is_dead(case: Case, question: Question, found: Changes) -> bool:
    """Nothing names it, and setting it changed nothing but itself."""
    if not case.follows_workers:
        return False
    named_nowhere = not question.option.mentions and not case.source.declarations.unsearched
    return named_nowhere and _is_alone(question, found)


def _is_alone(question: Question, found: Changes) -> bool:
    return set(found.fields) | set(found.unsure) <= {question.option.field} and not found.environment


def _only_namesakes(case: Case, question: Question, found: Changes) -> bool:
    """What bears its name is of something else, and setting it changed nothing but itself."""
    if not case.follows_workers:
        return False
    return _is_alone(question, found) and case.source.namesakes.only(question.option)


def _dead(case: Case, question: Question, one: Resolution, two: Resolution) -> Finding:
    has_namesakes = bool(question.option.mentions)
    others = "other lines name something else so" if has_namesakes else "no other line of the source names it"
    return finding(
        question,
        "nobody_reads",
        f"nothing in {case.version} reads {named(question)}",
        evidence=(
            *(
                line
                for field in case.source.declarations.fields
                if field.name == question.option.field
                for line in shown.evidence(field.declared_at, "the field that holds it; nothing reads it")
            ),
            *shown.evidence(question.option.declared_at, f"declares it; {others}"),
        ),
        resolved=values(question, one, two),
    )
