"""Turns values of `flow` into those of findings: evidence, conditions, resolved values."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from assay.findings.finding import BothRuns, Condition, Evidence, Origin, Resolved, SideEffect
from assay.flow import FieldValue, Guard, Resolution
from assay.source import Site

NEAREST = 8
"""Of the tests on the way through start-up code so many are shown, those nearest to the line: the earlier
ones mostly choose among architectures."""

_LONGEST = 80
_FAR = 150


def evidence(site: Site | None, says: str) -> tuple[Evidence, ...]:
    """One line, if there is one."""
    return () if site is None else (Evidence(file=site.file, line=site.line, text=site.text, says=says),)


def condition(guard: Guard) -> Condition:
    """A test with what it comes out as here."""
    state = "open" if guard.state == "open" else "true" if guard.taken else "false"
    return Condition(
        expr=guard.text,
        file=guard.site.file,
        line=guard.site.line,
        state=state,  # type: ignore[arg-type]  # one of the three
        atoms=guard.decided_by,
    )


def conditions(guards: Sequence[Guard], most: int | None = NEAREST) -> tuple[Condition, ...]:
    """The tests, outermost first; only the nearest where there are many."""
    return tuple(condition(guard) for guard in (guards if most is None else guards[-most:]))


def lines_of_tests(guards: Sequence[Guard], most: int = 3) -> tuple[Evidence, ...]:
    """The lines of the tests nearest to a line, nearest first; early returns far away say little of it."""
    near = [guard for guard in guards if guard.taken or _distance(guard, guards[-1]) <= _FAR]
    return tuple(
        Evidence(
            file=guard.site.file,
            line=guard.site.line,
            text=guard.site.text,
            says=f"this test {_comes_out(guard)}",
        )
        for guard in reversed(near[-most:])
    )


def _distance(guard: Guard, last: Guard) -> float:
    """Lines between two tests."""
    if guard.site.file != last.site.file:
        return 0
    return abs(guard.site.line - last.site.line)


def _comes_out(guard: Guard) -> str:
    return (
        "could not be decided" if guard.state == "open" else f"is {'true' if guard.taken else 'false'} here"
    )


def said(value: Any) -> str:
    """A value in a sentence.

    >>> said(True), said("fa3"), said(None), said([1, 2])
    ('true', '"fa3"', 'None', '[1, 2]')
    """
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return f'"{_clipped(value)}"'
    if isinstance(value, float):
        return f"{value:.6g}"
    return _clipped(str(value))


def _clipped(text: str) -> str:
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"


def resolved(one: FieldValue | None, other: FieldValue | None) -> BothRuns | None:
    """The values of both runs."""
    if one is None and other is None:
        return None
    return BothRuns(without=_resolved(one), with_=_resolved(other))


def _resolved(found: FieldValue | None) -> Resolved:
    if found is None:
        return Resolved(provenance=Origin(how="none", known=False, reason="this run does not resolve"))
    site = found.provenance.site
    return Resolved(
        value=found.value,
        provenance=Origin(
            how=found.provenance.how,
            known=found.known,
            reason=found.reason,
            file=site.file if site else "",
            line=site.line if site else 0,
            text=site.text if site else "",
        ),
    )


def side_effects(one: Resolution, other: Resolution, names: Iterable[str]) -> tuple[SideEffect, ...]:
    """Options that come out otherwise, each with the line that sets it in run B."""
    found = []
    for name in names:
        mine, yours = one.field(name), other.field(name)
        site = yours.provenance.site if yours else None
        found.append(
            SideEffect(
                field=name,
                without=mine.value if mine else None,
                with_=yours.value if yours else None,
                file=site.file if site else "",
                line=site.line if site else 0,
            )
        )
    return tuple(found)
