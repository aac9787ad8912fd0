"""Verdicts that need the lines behind start-up: what tells the two runs apart, or why nothing does."""

from __future__ import annotations

from collections import Counter

from assay.findings import cited, shown
from assay.findings.case import Question
from assay.findings.draft import finding, named, quoted, values
from assay.findings.finding import Finding
from assay.findings.records import Changes, equal
from assay.flow import Alternative, Difference, Guard, Read

_LAYOUT = frozenset(
    f"option {name}"
    for name in ("tp_size", "dp_size", "pp_size", "ep_size", "nnodes", "moe_dense_tp_size", "attn_cp_size")
)
"""Options that say how a model is split over processes."""

_FIRST = ("hardware", "model", "layout", "library", "other_option", "environment", "other_class")
"""Of several reasons the one that the user can change least counts first."""

_EFFECTS = {"branch": "takes_another_branch", "value": "value_used", "log": "logging_only"}
_MOST_READS = 6


def followed(question: Question, other: Alternative, found: Changes) -> Finding:
    """The verdict from the lines that read what differs."""
    difference = other.difference((*found.fields, *found.unsure, *found.environment))
    if difference.outcome == "raises":
        return _raises(question, other, difference)
    if difference.outcome == "effect":
        return _effective(question, other, found, difference)
    if difference.outcome == "none":
        return _written_back(question, other, difference) or _no_op(question, other, found, difference)
    return _open(question, other, found, difference)


def _raises(question: Question, other: Alternative, difference: Difference) -> Finding:
    says = f"raises: {difference.message}" if difference.message else "raises"
    return finding(
        question,
        "raises_in_worker",
        f"a worker stops with an error: {difference.message or 'see the cited line'}",
        evidence=cited.of_error(difference, says),
        guards=shown.conditions(difference.guards, None),
        resolved=values(question, other.base.resolution, other.resolution),
    )


def _effective(question: Question, other: Alternative, found: Changes, difference: Difference) -> Finding:
    others = _others(question, found)
    subkind = "changes_other_option" if others else _EFFECTS.get(difference.what, "value_used")
    also = f", and {', '.join(others[:3])} with it" if others else ""
    step = difference.effect
    does = step.says if step is not None else "a reached line does something else"
    return finding(
        question,
        subkind,
        f"{named(question)} {quoted(question.shown)} has an effect here: {does}{also}",
        evidence=cited.of_effect(question, found, other.resolution, difference, does),
        guards=shown.conditions(difference.guards, None),
        when=difference.when,
        side_effects=shown.side_effects(other.base.resolution, other.resolution, others),
        resolved=values(question, other.base.resolution, other.resolution),
    )


def _others(question: Question, found: Changes) -> tuple[str, ...]:
    return tuple(name for name in found.fields if name != question.option.field)


def _written_back(question: Question, other: Alternative, difference: Difference) -> Finding | None:
    """The running engine sets this very value itself."""
    for back in (*question.run.write_backs, *difference.write_backs):
        asked = question.asked
        fits = back.known and back.certain and asked.known and equal(back.value, asked.value)
        if back.name == question.option.field and fits:
            return finding(
                question,
                "set_at_run_time",
                f"a worker sets {named(question)} to {quoted(back.value)} by itself",
                evidence=shown.evidence(back.site, f"sets it to {quoted(back.value)}"),
                resolved=values(question, other.base.resolution, other.resolution),
            )
    return None


def _no_op(question: Question, other: Alternative, found: Changes, difference: Difference) -> Finding:
    subkind, deciding = _reason(difference)
    why = f": {deciding.says}" if deciding is not None and deciding.says else ""
    return finding(
        question,
        subkind,
        f"{named(question)} {quoted(question.shown)} changes nothing here{why}",
        evidence=cited.of_nothing(question, found, other.resolution, difference.reads, deciding),
        guards=shown.conditions(deciding.guards, None) if deciding is not None else (),
        side_effects=shown.side_effects(other.base.resolution, other.resolution, _others(question, found)),
        resolved=values(question, other.base.resolution, other.resolution),
    )


def _reason(difference: Difference) -> tuple[str, Read | None]:
    """Why nothing tells the runs apart, by the reads: the reason that most of them have."""
    kinds = [(_kind(read), read) for read in difference.reads]
    if not kinds:
        return "not_reached", None
    counts = Counter(kind for kind, _ in kinds)
    rank = {kind: at for at, kind in enumerate(_FIRST)}
    best = min(counts, key=lambda kind: (-counts[kind], rank.get(kind, len(rank))))
    return best, next(read for kind, read in kinds if kind == best)


def _kind(read: Read) -> str:
    if read.state == "same":
        return "same_value"
    if not read.guards:
        return "not_reached"
    return reason_of(read.guards[-1])


def reason_of(guard: Guard) -> str:
    """The sub-kind of `no_op` that a test gives which is false in both runs."""
    atoms = guard.decided_by
    options = [atom for atom in atoms if atom.startswith("option ")]
    if any(atom.startswith(("fact accelerator.", "fact cuda.", "fact hip.")) for atom in atoms):
        return "hardware"
    if any(atom.startswith(("config.json", "fact model")) for atom in atoms):
        return "model"
    if _LAYOUT & set(options):
        return "layout"
    if any(atom.startswith(("library", "fact library")) for atom in atoms):
        return "library"
    if options:
        return "other_option"
    if any(atom.startswith("environment") for atom in atoms):
        return "environment"
    return "other_class" if atoms else "not_reached"


def _open(question: Question, other: Alternative, found: Changes, difference: Difference) -> Finding:
    unsure = [read for read in difference.reads if read.state in ("open", "unclassified")]
    followed = bool(unsure) and all(read.state == "open" for read in unsure)
    lines = tuple(line for read in unsure[:_MOST_READS] for line in cited.read_line(read))
    lines = lines or tuple(
        line for site in question.option.mentions for line in shown.evidence(site, "names it")
    )
    needed = ", ".join(difference.open_atoms[:3])
    return finding(
        question,
        "open_condition" if followed else "reader_not_followed",
        f"whether {named(question)} {quoted(question.shown)} does anything here is open: {needed}",
        evidence=lines,
        guards=shown.conditions(unsure[0].guards, None) if unsure else (),
        open_atoms=difference.open_atoms,
        side_effects=shown.side_effects(other.base.resolution, other.resolution, _others(question, found)),
        resolved=values(question, other.base.resolution, other.resolution),
    )
