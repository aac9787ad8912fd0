"""What start-up code decided though nobody asked: switched off, replaced, or limited, and by which line."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

from assay._value import Value
from assay.engines import feature
from assay.findings import shown
from assay.findings.case import Case
from assay.findings.finding import Condition, Evidence
from assay.findings.records import equal
from assay.flow import FieldValue, Logged, Resolution
from assay.source import Constant

_NEAR = 5
"""A warning that stands so many lines from an assignment, at most, speaks of it."""


class Unasked(Value):
    """One thing that the engine decided by itself."""

    kind: Literal["switched", "replaced", "limited"]
    """A switch that was turned; a value that was asked for and not kept; a limit that nobody set."""
    field: str
    """The option's field."""
    summary: str
    """What it means, in one sentence."""
    value: Any
    """What it is now."""
    declared: Any
    """Its declared default, or for `replaced` what was asked for."""
    evidence: tuple[Evidence, ...] = ()
    """The line that sets it, then the tests nearest to it."""
    guards: tuple[Condition, ...] = ()
    """The tests on the way to it."""
    warning: str = ""
    """What the engine logs there, or empty: then it is silent."""


def unasked(case: Case) -> tuple[Unasked, ...]:
    """Everything of that kind in the deployment's own command, switches first."""
    run = case.present
    resolution = run.base.resolution
    asked = {given.option.field: run.parsed.namespace.get(given.option.dest) for given in run.parsed.given}
    defaults = {field.name: field.default for field in case.source.declarations.fields}
    found = [
        each
        for field in resolution.fields
        if field.known and field.provenance.how == "set"
        for each in _decided(resolution, field, asked.get(field.name), defaults.get(field.name))
    ]
    order = {"switched": 0, "replaced": 1, "limited": 2}
    return tuple(sorted(found, key=lambda each: order[each.kind]))


def _decided(
    resolution: Resolution, field: FieldValue, asked: Constant | None, default: Constant | None
) -> Iterator[Unasked]:
    value = field.value
    if asked is not None and asked.known:
        if not equal(asked.value, value):
            text = f"{shown.said(asked.value)} was asked for, {shown.said(value)} is used"
            yield _made(resolution, field, "replaced", f"{field.name}: {text}", asked.value)
    elif default is not None and default.known and isinstance(value, bool):
        if isinstance(default.value, bool) and value is not default.value:
            name, inverse = feature(field.name)
            state = "off" if value is inverse else "on"
            text = f"{name}: {state} ({field.name} = {shown.said(value)})"
            yield _made(resolution, field, "switched", text, default.value)
    elif field.name.startswith("max_") and isinstance(value, int | float):
        text = f"{field.name} is limited to {shown.said(value)}"
        yield _made(resolution, field, "limited", text, default.value if default else None)


def _made(
    resolution: Resolution,
    field: FieldValue,
    kind: Literal["switched", "replaced", "limited"],
    text: str,
    declared: Any,
) -> Unasked:
    provenance = field.provenance
    return Unasked(
        kind=kind,
        field=field.name,
        summary=text,
        value=field.value,
        declared=declared,
        evidence=(
            *shown.evidence(provenance.site, f"sets it to {shown.said(field.value)}"),
            *shown.lines_of_tests(provenance.guards, 2),
        ),
        guards=shown.conditions(provenance.guards),
        warning=_warning(resolution, field),
    )


def _warning(resolution: Resolution, field: FieldValue) -> str:
    """The text that is logged nearest to the line."""
    site = field.provenance.site
    near = [
        (abs(logged.site.line - site.line), logged)
        for logged in resolution.log
        if site is not None and _beside(logged) and logged.site is not None and logged.site.file == site.file
    ]
    nearest = min(near, key=lambda each: each[0], default=(_NEAR + 1, None))
    if nearest[0] > _NEAR or nearest[1] is None:
        return ""
    return " ".join(nearest[1].message.split())


def _beside(logged: Logged) -> bool:
    return logged.known and logged.certain and bool(logged.message)
