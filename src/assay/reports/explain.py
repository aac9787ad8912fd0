"""One option explained as text: the five questions of an investigator, each with its lines."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assay.findings import SUBKIND
from assay.reports.findings_text import Page, counted, setting, shown

if TYPE_CHECKING:
    from collections.abc import Sequence

    from assay.findings import Check, Explanation, Finding, Resolved, Rule, Together, WhatIf
    from assay.reports.terminal import Style

_MOST_LINES = 8
_MOST_RULES = 6
_HOW = {"default": "the declared default", "asked": "as asked for", "none": "not resolved"}


def explain_text(
    explanation: Explanation,
    style: Style,
    secrets: frozenset[str],
    *,
    checks: Sequence[Check] | None = None,
    others: Sequence[WhatIf] | None = None,
) -> str:
    """The report on one option, within the style's width."""
    page = Page(style, secrets)
    found = explanation.finding
    page.say(f"{setting(found.option, found.value)}: {found.verdict} ({SUBKIND[found.subkind].title})", 0)
    page.say(found.summary)
    _what(page, explanation)
    _matters(page, found)
    _itself(page, explanation)
    _goes_with(page, explanation)
    _changes(page, explanation, others)
    if checks is not None:
        _checked(page, checks)
    return page.text()


def _what(page: Page, explanation: Explanation) -> None:
    found = explanation.finding
    page.title("What is it?")
    if found.declared_at is not None:
        page.say(f"declared at {found.declared_at}, field {found.field or 'none'}")
    else:
        page.say("this engine's source declares no such option")
    if found.help:
        page.say(f"help: {found.help}")
    for each in explanation.disagreements:
        page.say(f"but {each}")


def _matters(page: Page, found: Finding) -> None:
    page.title("Does it matter here?")
    page.say(f"{found.verdict}: {SUBKIND[found.subkind].meaning}")
    page.cite(found.evidence[:_MOST_LINES], 4)
    if len(found.evidence) > _MOST_LINES:
        page.say(f"and {counted(len(found.evidence) - _MOST_LINES, 'line')} more", 4)
    if found.guards:
        page.say("tests on the way, outermost first:")
        page.tests(found.guards[-_MOST_LINES:], 4)
    for each in found.when:
        page.say(f"left to each batch or request: {each}")


def _itself(page: Page, explanation: Explanation) -> None:
    found = explanation.finding
    page.title("Does the engine set it by itself?")
    if found.resolved is not None:
        page.say(f"without it: {_value(found.resolved.without, found)}")
        page.say(f"with it: {_value(found.resolved.with_, found)}")
    if not explanation.rules:
        page.say("no line of the arguments' own start-up code sets it")
    ordered = sorted(explanation.rules, key=lambda rule: not rule.fires)
    for rule in ordered[:_MOST_RULES]:
        _rule(page, rule)
    if len(ordered) > _MOST_RULES:
        page.say(f"and {counted(len(ordered) - _MOST_RULES, 'rule')} more")


def _value(resolved: Resolved, found: Finding) -> str:
    origin = resolved.provenance
    if not origin.known:
        return f"not known ({origin.reason})" if origin.reason else "not known"
    where = f"set at {origin.file}:{origin.line}" if origin.how == "set" and origin.file else ""
    return f"{shown(resolved.value, found.option)}, {where or _HOW.get(origin.how, 'set')}"


def _rule(page: Page, rule: Rule) -> None:
    page.say(f"{rule.file}:{rule.line}: {'happens here' if rule.fires else 'does not happen here'}")
    page.quote(rule.text, 4)
    if not rule.fires and rule.stopped_by:
        page.say(f"since this does not hold: {shown(rule.stopped_by)}", 4)
    elif not rule.fires and rule.because:
        page.say(f"it would need: {shown(rule.because[-1])}", 4)


def _goes_with(page: Page, explanation: Explanation) -> None:
    found = explanation.finding
    page.title("What goes with it?")
    for effect in found.side_effects:
        where = f" ({effect.file}:{effect.line})" if effect.file else ""
        before, after = shown(effect.without, effect.field), shown(effect.with_, effect.field)
        page.say(f"{effect.field}: {before} without, {after} with{where}")
    if explanation.companions:
        page.say(f"the deciding tests also look at: {', '.join(explanation.companions)}")
    if not found.side_effects and not explanation.companions:
        page.say("no other option comes out otherwise, as far as start-up code goes")


def _changes(page: Page, explanation: Explanation, others: Sequence[WhatIf] | None) -> None:
    page.title("What would change the answer?")
    for each in explanation.changers:
        held = "not stated" if each.value is None else shown(each.value, each.atom.rpartition(" ")[2])
        tests = f"; looked at by `{shown(each.tests[-1])}`" if each.tests else ""
        page.say(f"{each.atom}: {held} here{tests}")
    if not explanation.changers:
        page.say("another source tree: no fact, variable or option decides it here")
    for other in others or ():
        how = other.change if other.change.startswith("without ") else f"with {other.change}"
        page.say(f"{how}: {other.verdict}: {other.summary}")
    if others is not None and not others:
        page.say("no single change that was tried gives another verdict")
    page.say(f"what to do: {SUBKIND[explanation.finding.subkind].to_do}")


def _checked(page: Page, checks: Sequence[Check]) -> None:
    wrong = [each for each in checks if not each.holds]
    page.title(f"Checked again: {len(checks) - len(wrong)} of {len(checks)} hold")
    for each in wrong:
        place = f"{each.file}:{each.line}: " if each.file else ""
        page.say(f"{each.what} does not hold: {place}{each.says}")


def together_text(found: Together, style: Style, secrets: frozenset[str]) -> str:
    """How several options go together."""
    page = Page(style, secrets)
    page.title("Set together")
    page.say("the command starts with all of them" if found.starts else f"refused: {found.failure}")
    page.cite(found.evidence[:3], 4)
    for pair in found.pairs:
        page.say(f"{pair.first} and {pair.second}: {pair.relation.replace('_', ' ')}: {pair.summary}")
        page.cite(pair.evidence[:3], 4)
    return page.text()
