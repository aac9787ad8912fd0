"""A drift as text and as JSON."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import msgspec

from assay.reports.findings_text import Page, counted, shown
from assay.reports.harmless import printable
from assay.reports.machine import as_json

if TYPE_CHECKING:
    from assay.drift import Change, Drift, EngineAt
    from assay.reports.terminal import Style
    from assay.source import Constant, Site

DRIFT_SCHEMA = "assay.drift/1"
"""Name of the JSON document's shape; a change that could break a reader raises the number."""

_HEADINGS = {
    "fails": "The present command would not start",
    "warns": "It still works, and should be changed",
}
_QUIET = {
    "gone": "Options that are gone, which the command does not have",
    "new": "New options",
    "default": "Other defaults, which the command sets itself or which come to the same",
    "choices": "Other choices",
    "type": "Other kinds of values",
    "start": "What stopped it before",
    "variable-gone": "Environment variables that are gone",
    "variable-new": "New environment variables",
    "variable-default": "Other defaults of environment variables, which are set",
}
_MOST_NAMED = 8


def drift_json(found: Drift) -> str:
    """assay's own JSON, documented in `docs/reference/drift-json.md`."""
    document = {"schema": DRIFT_SCHEMA, "to_act_on": found.to_act_on, **msgspec.to_builtins(found)}
    return as_json(document)


def drift_text(found: Drift, style: Style, *, every: bool = False) -> str:
    """The changes that matter to the command with their lines, the others counted, or named if `every`."""
    page = Page(style, frozenset())
    page.title(f"{found.target}: {_named(found.older)} to {_named(found.newer)}")
    for effect, heading in _HEADINGS.items():
        _section(page, heading, [each for each in found.changes if each.effect == effect])
    resolved = [each for each in found.changes if each.kind == "resolution"]
    _lines(page, "What start-up code makes otherwise of options", resolved)
    differing = [each for each in found.changes if each.effect == "differs" and each not in resolved]
    asked = [each for each in differing if each.written]
    _section(page, "The same words would mean something else", asked)
    defaults = [each for each in differing if not each.written]
    _lines(page, "Other defaults, which the command does not set", defaults)
    quiet = [each for each in found.changes if each.effect == "none"]
    for kind, heading in _QUIET.items():
        of_kind = [each for each in quiet if each.kind == kind]
        if of_kind and (every or kind == "start"):
            _section(page, heading, of_kind)
        elif of_kind:
            _names(page, heading, of_kind)
    page.blank()
    page.say(_summary(found), indent=0)
    for side in (found.older, found.newer):
        if side.unread:
            page.say(f"not read of {_named(side)}: {'; '.join(side.unread[:2])}", indent=0)
    if found.unknown_words:
        page.say(f"{counted(found.unknown_words, 'word')} of the command only show at run time", indent=0)
    return "\n".join(printable(line) for line in page.text().split("\n"))


def _named(engine: EngineAt) -> str:
    return f"{engine.name} {engine.version}".strip()


def _section(page: Page, heading: str, changes: Sequence[Change]) -> None:
    if not changes:
        return
    page.title(f"{heading}: {len(changes)}")
    for change in changes:
        page.say(f"{change.written or change.name}: {change.says}{_values(change)}")
        if change.successor is not None:
            sure = "now" if change.successor.certainty == "stated" else "perhaps now"
            page.say(f"{sure} `{change.successor.flag}` ({change.successor.why})", indent=4)
            _cite(page, change.successor.site)
        _cite(page, change.newer or change.older)


def _values(change: Change) -> str:
    if change.kind not in ("reading", "default", "variable-default"):
        return ""
    return f": {_value(change.before)} becomes {_value(change.after)}"


def _value(constant: Constant | None) -> str:
    if constant is None:
        return "nothing"
    return shown(constant.value) if constant.known else f"`{constant.text}`"


def _cite(page: Page, site: Site | None) -> None:
    if site is not None:
        page.say(f"{site}", indent=4)
        if site.text:
            page.quote(site.text, indent=6)


def _lines(page: Page, heading: str, changes: Sequence[Change]) -> None:
    """Other values that reach the command, a line for each."""
    if not changes:
        return
    page.title(f"{heading}: {len(changes)}")
    for change in changes:
        page.say(f"{change.name}: {_value(change.before)} becomes {_value(change.after)}  ({change.newer})")


def _names(page: Page, heading: str, changes: Sequence[Change]) -> None:
    page.title(f"{heading}: {len(changes)}")
    named: Iterable[str] = (
        f"{each.name}{f' (now {each.successor.flag})' if each.successor else ''}"
        for each in changes[:_MOST_NAMED]
    )
    more = f" and {len(changes) - _MOST_NAMED} more" if len(changes) > _MOST_NAMED else ""
    page.say(textwrap.shorten(", ".join(named), 600, placeholder=" …") + more)


def _summary(found: Drift) -> str:
    failing = sum(each.effect == "fails" for each in found.changes)
    differing = sum(each.effect == "differs" for each in found.changes)
    what = (
        f"{counted(failing, 'reason')} not to start, {counted(differing, 'change')} of meaning"
        if found.to_act_on
        else "as far as was compared the command starts and means the same"
    )
    start = (
        f"and what start-up code makes of {counted(found.compared, 'option')}; which options then have an "
        "effect was not."
        if found.compared
        else "what start-up code makes of the values, and which options then have an effect, was not."
    )
    return f"{what}. Compared were the declarations of both versions{',' if found.compared else ';'} {start}"
