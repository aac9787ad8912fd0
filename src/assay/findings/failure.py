"""A deployment whose own command does not start: where it stops, and what would let it start."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator
from typing import Any, Literal

from assay._value import Value
from assay.findings import shown
from assay.findings.case import Case, Question, Run, Start
from assay.findings.cited import few
from assay.findings.draft import finding, message, named, quoted, raising, values
from assay.findings.finding import Condition, Evidence, Finding
from assay.findings.refused import parser_refuses
from assay.findings.words import added, less_entries, without, wording
from assay.flow import Difference, Guard, Rejection
from assay.source import Option

_OPTION = "option "
_MOST_TRIES = 200
"""So many settings are tried at most; each costs one resolution."""
_MOST_FOLLOWED = 6
"""So many where a worker stops: each that resolves is followed into the workers anew."""


class Failure(Value):
    """Where a command stops."""

    phase: Literal["parser", "resolution", "check", "worker"]
    """What stops it: the parser, start-up code, the launcher's last check, or a worker."""
    message: str
    """The error's text."""
    evidence: tuple[Evidence, ...] = ()
    """The line that raises, then the tests nearest to it."""
    guards: tuple[Condition, ...] = ()
    """The tests on the way to it."""
    options: tuple[str, ...] = ()
    """Options that those tests depend on, or that the message names; nearest to the line first."""


class Remedy(Value):
    """One setting with which the command starts."""

    option: str
    """The option's usual flag."""
    field: str | None
    """Its field."""
    value: Any = None
    """The value to give; None where the option is to be left out."""
    leave_out: bool = False
    """True if the command has the option, and starts without it."""

    def __str__(self) -> str:
        """As a person would write it."""
        if self.leave_out:
            return f"without {self.option}"
        return self.option if self.value is True else f"{self.option} {self.value}"


def failure_of(run: Run) -> Failure | None:
    """Where that run stops, or None if it starts as far as is known."""
    resolution = run.base.resolution
    if resolution.status == "rejected" and resolution.rejection is not None:
        rejection = resolution.rejection
        named_by_parser = [each.option.dest for each in run.parsed.problems if each.option is not None]
        return _rejected(rejection, _blamed(run, rejection.guards, rejection.message, named_by_parser))
    stopped = run.stops
    if stopped is None:
        return None
    return _stopped(stopped, _blamed(run, stopped.guards, stopped.message, []))


def _rejected(rejection: Rejection, options: tuple[str, ...]) -> Failure:
    return Failure(
        phase=rejection.phase,
        message=message(rejection),
        evidence=raising(rejection),
        guards=shown.conditions(rejection.guards),
        options=options,
    )


def _stopped(stopped: Difference, options: tuple[str, ...]) -> Failure:
    site = stopped.effect.site if stopped.effect else None
    return Failure(
        phase="worker",
        message=stopped.message,
        evidence=(*shown.evidence(site, f"raises: {stopped.message}"), *shown.lines_of_tests(stopped.guards)),
        guards=shown.conditions(stopped.guards, None),
        options=options,
    )


def _blamed(run: Run, guards: tuple[Guard, ...], text: str, first: list[str]) -> tuple[str, ...]:
    """Names of options, in the parser's words, in the message, then from the nearest test outwards."""
    found = [*first, *(flag[2:].replace("-", "_") for flag in re.findall(r"--[a-z][\w-]+", text))]
    for guard in reversed(guards):
        found += [each.removeprefix(_OPTION) for each in guard.decided_by if each.startswith(_OPTION)]
        found += re.findall(r"\bself\.(\w+)", guard.text)
    return tuple(name for name in dict.fromkeys(found) if name in run.parsed.namespace)


def despite(case: Case, question: Question, failure: Failure) -> Finding:
    """The verdict on an option where the command without it does not start."""
    one = question.run.base.resolution
    refused = parser_refuses(question)
    if refused is not None:
        return refused
    about = "the deployment's own command does not start"
    if case.gives(question.option):
        about = "the command does not start without it either"
    if question.wording.words:
        # Each time the whole engine is followed, which takes some seconds: only where a worker is what stops.
        stopped = (failure, failure_of(case.present))
        in_workers = any(each is not None and each.phase == "worker" for each in stopped)
        start = case.start(question.words, question.run.read_config, into_workers=in_workers)
        if start.outcome != "fails":
            return _mended(question, failure, start)
        own = _stops(start)
        if own is not None and not _is_known(own, stopped):
            return _fails_too(question, failure, own, about)
    return finding(
        question,
        "command_does_not_start",
        f"{about}, and {named(question)} {quoted(question.shown)} does not mend that: {failure.message}",
        evidence=failure.evidence,
        guards=failure.guards,
        resolved=values(question, one, None) if one.fields else None,
    )


def _stops(start: Start) -> Failure | None:
    """Where a command stops that fails."""
    rejection = start.resolution.rejection
    if rejection is not None:
        return _rejected(rejection, ())
    return _stopped(start.stops, ()) if start.stops is not None else None


def _is_known(own: Failure, others: Iterable[Failure | None]) -> bool:
    """Whether it stops at the line of another run, for which the option is not to blame."""
    return any(each is not None and own.evidence[:1] == each.evidence[:1] for each in others)


def _fails_too(question: Question, failure: Failure, own: Failure, about: str) -> Finding:
    """With the option, the command stops at another line."""
    one = question.run.base.resolution
    refused = f"{named(question)} {quoted(question.shown)} is refused here: {own.message}"
    return finding(
        question,
        "raises_in_worker" if own.phase == "worker" else "rejected_at_start",
        f"{refused}; {about}: {failure.message}",
        evidence=few((*own.evidence, *failure.evidence)),
        guards=own.guards,
        resolved=values(question, one, None) if one.fields else None,
    )


def _mended(question: Question, failure: Failure, start: Start) -> Finding:
    """The command starts with the option, or may start."""
    setting = Remedy(option=named(question), field=question.option.field, value=question.shown)
    both = values(question, question.run.base.resolution, start.resolution)
    if start.outcome == "starts":
        return finding(
            question,
            "required_to_start",
            f"the command starts with {setting}, and not without it",
            evidence=failure.evidence,
            guards=failure.guards,
            resolved=both,
        )
    doubt = next(iter(start.doubts), None)
    return finding(
        question,
        "may_not_start",
        f"the command does not start without {setting}, and may not with it",
        evidence=raising(doubt) if doubt is not None else failure.evidence,
        guards=shown.conditions(doubt.guards) if doubt is not None else failure.guards,
        open_atoms=tuple(atom for each in start.doubts for atom in each.when) or ("its start-up code",),
        resolved=both,
    )


def may_matter(option: Option, failure: Failure) -> bool:
    """Whether anything on the way to the line that raises depends on the option."""
    return option.dest in failure.options or option.field in failure.options


def remedies(case: Case, failure: Failure) -> tuple[Remedy, ...]:
    """Settings with which the deployment's command starts: each option that the failure depends on, switched
    on, at each of its choices, or left out. Numbers and texts are not guessed.
    """
    found = []
    tries: Iterable[tuple[Option, Remedy]] = _settings(case, failure)
    if failure.phase == "worker":
        tries = sorted(tries, key=lambda each: not _is_advised(each[1], failure))[:_MOST_FOLLOWED]
    for option, remedy in itertools.islice(tries, _MOST_TRIES):
        run = case.present
        if remedy.leave_out:
            words = without(run.parsed, run.words, option)
            reader = less_entries(run.read_config, run.parsed, option)
        else:
            given = wording(option, remedy.value)
            words, reader = added(run.words, given.words), run.read_config
        if case.start(words, reader, into_workers=failure.phase == "worker").outcome == "starts":
            found.append(remedy)
    return tuple(found)


def _is_advised(remedy: Remedy, failure: Failure) -> bool:
    """Whether the error's text names the setting."""
    return f"{remedy.option} {remedy.value}" in failure.message.replace("=", " ")


def _settings(case: Case, failure: Failure) -> Iterator[tuple[Option, Remedy]]:
    order = {name: at for at, name in enumerate(failure.options)}
    options = [each for each in case.source.declarations.options if may_matter(each, failure)]
    for option in sorted(options, key=lambda each: order.get(each.dest, order.get(each.field or "", 0))):
        flag = next((each for each in option.flags if each.startswith("--")), option.flags[0])
        if case.gives(option):
            yield option, Remedy(option=flag, field=option.field, leave_out=True)
        elif option.action == "store_const":
            constant = option.const.value if option.const and option.const.known else True
            yield option, Remedy(option=flag, field=option.field, value=constant)
        elif option.choices is not None and option.choices.known and option.nargs in (None, "?"):
            for choice in option.choices.value:
                yield option, Remedy(option=flag, field=option.field, value=choice)
