"""Triage as text: whether it starts, what is set in vain, what was decided unasked, what to do."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

from assay.findings import SUBKIND
from assay.reports.findings_text import Page, counted, setting

if TYPE_CHECKING:
    from collections.abc import Sequence

    from assay.findings import Failure, Opened, Remedy, Todo, Triage
    from assay.reports.terminal import Style

_VERDICTS = ("effective", "unknown", "no_op", "already_on", "dead", "incompatible")
_MOST_IN_AREA = 8
"""Of one area so many things to do are shown; JSON has all."""
_SAYS = {
    "mend": "needed to start",
    "take_out": "take out",
    "try": "try",
    "decide": "not decided",
}


def triage_text(opened: Opened, found: Triage, style: Style, secrets: frozenset[str]) -> str:
    """The report of `assay triage`, within the style's width."""
    page = Page(style, secrets)
    tree = opened.tree
    version = f" {tree.version}" if tree.version else ""
    page.say(f"{opened.deployment.name} under {tree.engine}{version} ({tree.origin})", 0)
    if found.failure is not None:
        _failure(page, found.failure, found.remedies)
    _counts(page, found)
    _premises(page, found)
    _in_vain(page, found)
    _unasked(page, found)
    _todo(page, found.todo)
    page.blank()
    page.say("`assay explain OPTION -d FILE` says more of one option; `--json` has every finding.", 0)
    return page.text()


def _failure(page: Page, failure: Failure, remedies: Sequence[Remedy]) -> None:
    page.title("This command does not start")
    page.say(failure.message)
    page.cite(failure.evidence[:3], 4)
    if remedies:
        page.say("It starts with one of these:")
        for remedy in remedies:
            page.say(str(remedy), 4)
    else:
        page.say("No single setting that the failing tests depend on lets it start.")
    page.say("Nothing is asked about the other options of a command that does not start: mend it first.")


def _counts(page: Page, found: Triage) -> None:
    parts = [f"{found.counts[each]} {each}" for each in _VERDICTS if found.counts.get(each)]
    page.title(f"{counted(len(found.findings), 'option')}: {', '.join(parts)}")


def _premises(page: Page, found: Triage) -> None:
    if not found.premises:
        return
    page.title("Taken for granted, since nothing states it")
    for premise in found.premises:
        page.say(f"it does not stop with {premise.summary} (depends on {', '.join(premise.depends_on)})")
        page.cite(premise.evidence, 4)


def _in_vain(page: Page, found: Triage) -> None:
    if not found.in_vain:
        return
    page.title("Set by this command, and does nothing")
    for each in found.in_vain:
        kind = SUBKIND[each.subkind]
        page.say(f"{setting(each.option, each.value)}: {each.verdict} ({kind.title})")
        page.say(each.summary, 4)
        page.cite(each.evidence[:2], 4)


def _unasked(page: Page, found: Triage) -> None:
    if not found.unasked:
        return
    page.title("Decided by the engine, unasked")
    for each in found.unasked:
        page.say(each.summary)
        page.cite(each.evidence, 4)
        if each.warning:
            page.say(f"it logs: {each.warning}", 4)
        elif each.kind == "switched":
            page.say("it logs nothing", 4)


def _todo(page: Page, todo: Sequence[Todo]) -> None:
    """What to do by area, in the order of the list; of what is not decided only names."""
    plain = [each for each in todo if each.status != "decide"]
    if plain:
        page.title("To do")
    for (status, area), group in itertools.groupby(plain, key=lambda each: (each.status, each.area)):
        entries = list(group)
        page.say(f"{_SAYS[status]}: {area}")
        for each in entries[:_MOST_IN_AREA]:
            page.say(f"{setting(each.option, each.value)}: {each.reason}", 4)
        if len(entries) > _MOST_IN_AREA:
            page.say(f"and {len(entries) - _MOST_IN_AREA} more", 4)
    _undecided(page, [each for each in todo if each.status == "decide"])


def _undecided(page: Page, todo: Sequence[Todo]) -> None:
    if not todo:
        return
    page.title(f"Not decided: {counted(len(todo), 'option')}")
    for area, group in itertools.groupby(todo, key=lambda each: each.area):
        names = [each.option for each in group]
        more = f" and {len(names) - _MOST_IN_AREA} more" if len(names) > _MOST_IN_AREA else ""
        page.say(f"{area}: {', '.join(names[:_MOST_IN_AREA])}{more}")
