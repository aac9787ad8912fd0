"""Triage: every option of a deployment, what its command sets in vain, what is worth a trial."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Literal

import msgspec

from assay._value import Value
from assay.engines import RANKS, area_of
from assay.errors import UnknownIdiom
from assay.findings.case import Case
from assay.findings.decide import decide
from assay.findings.draft import finding
from assay.findings.failure import Failure, Remedy, failure_of, remedies
from assay.findings.finding import Evidence, Finding
from assay.findings.records import premises
from assay.findings.shown import evidence
from assay.findings.subkinds import SUBKIND
from assay.findings.unasked import Unasked, unasked
from assay.findings.values import made_up, values_to_ask
from assay.flow import uncollected
from assay.source import Option, Progress, no_progress

Status = Literal["mend", "take_out", "try", "decide"]
"""`mend` the command starts only with it; `take_out` it is set and does nothing; `try` it would do something
and is worth a measurement; `decide` assay could not tell. Trials will add what they decided."""

_ORDER: tuple[Status, ...] = ("mend", "take_out", "try", "decide")
_IN_VAIN = ("incompatible", "already_on", "dead", "no_op")
_NO_ACTION = ("help",)
_REFUSED = ("rejected_at_start", "wrong_type", "may_not_start", "raises_in_worker")


class Todo(Value):
    """One thing to do, in the order of the list."""

    option: str
    """The option's usual flag."""
    value: Any
    """The value."""
    status: Status
    """What to do."""
    reason: str
    """Why."""
    area: str
    """The group of options that it belongs to."""


class Premise(Value):
    """A line that may stop the deployment. Triage takes it that it does not: somebody serves with it."""

    summary: str
    """What would be raised."""
    depends_on: tuple[str, ...]
    """What would have to be known."""
    evidence: tuple[Evidence, ...] = ()
    """The line."""


class Triage(Value):
    """What is known of every option in one deployment."""

    failure: Failure | None
    """Where the deployment's own command stops, or None."""
    remedies: tuple[Remedy, ...]
    """Settings with which it starts."""
    premises: tuple[Premise, ...]
    """What is taken for granted."""
    counts: dict[str, int]
    """Findings of each verdict."""
    in_vain: tuple[Finding, ...]
    """Options that the command sets and that do nothing."""
    unasked: tuple[Unasked, ...]
    """What the engine decided by itself."""
    todo: tuple[Todo, ...]
    """What to do, first things first."""
    findings: tuple[Finding, ...]
    """One for each option of the engine, in the order of declaration."""


def triage(case: Case, progress: Progress = no_progress) -> Triage:
    """The findings on every option of the engine.

    Raises:
        UnknownIdiom: only the engine's start-up code is followed.
    """
    if not case.follows_workers:
        raise UnknownIdiom(
            f"what {case.version} does behind its start-up code is not followed yet: most options would be "
            "`unknown`",
            hint="`assay explain OPTION=VALUE` says what its start-up code makes of single options; "
            "`assay lint` and `assay drift` read all of them",
        )
    with uncollected():
        return _triage(case, progress)


def _triage(case: Case, progress: Progress) -> Triage:
    failure = failure_of(case.present)
    mends = remedies(case, failure) if failure is not None else ()
    options = [each for each in case.source.declarations.options if each.action not in _NO_ACTION]
    found = tuple(_each(case, options, failure, mends, progress))
    given = [each for option, each in zip(options, found, strict=True) if case.gives(option)]
    return Triage(
        failure=failure,
        remedies=mends,
        premises=tuple(_premises(case)) if failure is None else (),
        counts=dict(Counter(each.verdict for each in found)),
        in_vain=tuple(each for each in given if each.verdict in _IN_VAIN and failure is None),
        unasked=unasked(case),
        todo=_todo(case, options, found),
        findings=found,
    )


def _premises(case: Case) -> Iterator[Premise]:
    for each in premises(case.present.base.resolution):
        text = " ".join(each.message.split()) or (each.site.text if each.site else each.error)
        yield Premise(
            summary=f"{each.error}: {text}",
            depends_on=each.when,
            evidence=evidence(each.site, "may raise"),
        )


def _each(
    case: Case,
    options: Sequence[Option],
    failure: Failure | None,
    mends: Iterable[Remedy],
    progress: Progress,
) -> Iterator[Finding]:
    cures = {remedy.option: remedy for remedy in reversed(list(mends)) if not remedy.leave_out}
    for at, option in enumerate(options):
        progress("asking about each option", at, len(options))
        if failure is None or case.gives(option):
            yield ask_any(case, option)
            continue
        flag = next((each for each in option.flags if each.startswith("--")), option.flags[0])
        if flag in cures:
            yield decide(case, case.question(option, cures[flag].value))
        else:
            yield _hopeless(case, option, failure)


def _hopeless(case: Case, option: Option, failure: Failure) -> Finding:
    """The command does not start, and nothing on the way to that line depends on the option."""
    value = values_to_ask(option, None)[0]
    return finding(
        case.question(option, value),
        "command_does_not_start",
        f"the deployment's own command does not start: {failure.message}",
        evidence=failure.evidence,
        guards=failure.guards,
    )


def ask_any(case: Case, option: Option) -> Finding:
    """The finding on the value that the command holds, else on the first of the likely ones that does
    something, else on the first of them.
    """
    if case.gives(option):
        held = case.present.parsed.namespace.get(option.dest)
        given = [each for each in case.present.parsed.given if each.option.dest == option.dest]
        option = given[-1].option if given else option
        if held is not None and held.known:
            return decide(case, case.question(option, held.value))
    first: Finding | None = None
    for value in values_to_ask(option, _resolved(case, option)):
        found = decide(case, case.question(option, value))
        first = first or found
        if found.verdict in ("effective", "unknown", "dead"):
            first = found
            break
    assert first is not None, "every option has a value to ask about"
    refused = first.subkind in _REFUSED
    return _needs_a_value(first) if refused and made_up(option) else first


def _resolved(case: Case, option: Option) -> Any:
    held = case.run_without(option).base.resolution.field(option.field or "")
    if held is not None and held.known:
        return held.value
    return option.default.value if option.default.known else None


def _needs_a_value(found: Finding) -> Finding:
    """A made-up value that is refused says nothing of the values that somebody would give."""
    kind = SUBKIND["needs_a_value"]
    return msgspec.structs.replace(
        found,
        verdict=kind.verdict,
        subkind=kind.name,
        summary=f"{found.option} takes any value; ask with the one you mean ({found.summary})",
        open_atoms=(f"the value of {found.option}",),
    )


def _todo(case: Case, options: Sequence[Option], found: Sequence[Finding]) -> tuple[Todo, ...]:
    todo = []
    for option, each in zip(options, found, strict=True):
        status = _status(each, given=case.gives(option))
        if status is not None:
            area = area_of(option.field or option.dest)
            key = (_ORDER.index(status), RANKS.index(area), _weight(option, each))
            entry = Todo(option=each.option, value=each.value, status=status, reason=each.summary, area=area)
            todo.append((key, entry))
    return tuple(entry for _, entry in sorted(todo, key=lambda pair: pair[0]))


def _status(found: Finding, *, given: bool) -> Status | None:
    if found.subkind == "required_to_start" and not given:
        return "mend"
    if given:
        return "take_out" if found.verdict in ("dead", "no_op") or found.subkind == "overridden" else None
    return {"effective": "try", "unknown": "decide"}.get(found.verdict)  # type: ignore[return-value]


def _weight(option: Option, found: Finding) -> int:
    """Within an area: switches and choices before numbers, those before values that were made up."""
    if found.subkind == "logging_only":
        return 3
    if not made_up(option):
        return 0
    return 1 if option.converter in ("int", "si-int", "float") else 2
