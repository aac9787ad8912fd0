"""A comparison of two arms as text for 80 columns, and as JSON."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec

from assay.bench import COMPARE_SCHEMA, Comparison, LoadComparison, Row, RunFile
from assay.reports.decision import decision_values
from assay.reports.harmless import harmless, printable

if TYPE_CHECKING:
    from assay.decisions import Decision, NoDecision
    from assay.stats import Change

_FILES = 4
_SAID = {
    "same": "same or better",
    "worse": "worse",
    "inconclusive": "inconclusive",
    "doubtful": "no verdict: see the doubts",
}


def compare_text(found: Comparison, width: int = 80) -> str:
    """Both arms, every figure at every load with its interval, doubts, and the verdict."""
    lines = [*_arm("A", found.a, width), *_arm("B", found.b, width), ""]
    for each in found.loads:
        lines += [*_load(each, width), ""]
    for arm, only in (("A", found.only_a), ("B", found.only_b)):
        if only:
            lines += textwrap.wrap(f"only in {arm}, not compared: {', '.join(only)}", width)
    if found.only_a and found.outcome == "inconclusive":
        lines.append("B lacks a load that A has, so nobody can say that it is as good")
    rule = found.rule
    lines += textwrap.wrap(
        f"verdict: {_SAID[found.outcome]} (* decides; a loss below {100 * rule.margin:.3g} % is none that "
        f"matters; intervals miss the truth in {100 * rule.error:.3g} of 100 cases on each side"
        f"{'; runs in pairs' if rule.paired else ''})",
        width,
        subsequent_indent="  ",
    )
    return "\n".join(harmless(line) for line in lines)


def compare_json(found: Comparison, decision: Decision | NoDecision) -> str:
    """The comparison, and what the rule of a confirmation says of it, as one JSON document."""
    document = comparison_document(found) | {"decision": decision_values(decision)}
    return msgspec.json.format(msgspec.json.encode(document), indent=1).decode()


def comparison_document(found: Comparison) -> dict[str, object]:
    """The comparison, before it is text."""
    return {
        "schema": COMPARE_SCHEMA,
        "outcome": found.outcome,
        "rule": found.rule,
        "a": [_file(each) for each in found.a],
        "b": [_file(each) for each in found.b],
        "loads": found.loads,
        "only_a": found.only_a,
        "only_b": found.only_b,
    }


def _file(run: RunFile) -> dict[str, str]:
    names = ("path", "tool", "version", "date", "digest")
    return {name: getattr(run, name) for name in names}


def _arm(arm: str, runs: Sequence[RunFile], width: int) -> list[str]:
    names = ", ".join(printable(each.path) for each in runs[:_FILES])
    more = f" and {len(runs) - _FILES} more" if len(runs) > _FILES else ""
    tools = ", ".join(sorted({f"{each.tool} {each.version}".strip() for each in runs}))
    return textwrap.wrap(f"{arm}: {names}{more} ({printable(tools)})", width, subsequent_indent="   ")


def _load(each: LoadComparison, width: int) -> list[str]:
    lines = textwrap.wrap(f"{printable(each.load)}: {_SAID[each.outcome]}{_why(each)}", width)
    lines.append(_cells("", ("A", "B", "B/A %", "interval %"), ""))
    lines += [_row(row) for row in each.rows]
    for objection in each.objections:
        mark = "doubt" if objection.blocks else "note"
        text = f"{mark}: {printable(objection.text)} [{printable(objection.code)}]"
        lines += textwrap.wrap(
            text, width, initial_indent="  ", subsequent_indent="    ", break_on_hyphens=False
        )
        if objection.mend:
            text = f"mend: {printable(objection.mend)}"
            lines += textwrap.wrap(text, width, initial_indent="    ", subsequent_indent="      ")
    return lines


def _why(each: LoadComparison) -> str:
    """Why there is no verdict, where runs are missing."""
    runs = next(((row.change.runs_a, row.change.runs_b) for row in each.rows if row.change), None)
    if each.outcome != "inconclusive" or runs is None or min(runs) > 1:
        return ""
    return ": one run each: no verdict" if runs == (1, 1) else ": one run of an arm: no verdict"


def _row(row: Row) -> str:
    name = f"{'*' if row.decides else ' '} {row.name}"
    if row.change is None:
        return _cells(name, ("-", "-", "-", "a run has zero"), "")
    change = row.change
    cells = (_number(change.a), _number(change.b), _percent(change.ratio), _interval(change))
    return _cells(name, cells, "" if change.low is None else row.verdict.replace("_", " "))


def _interval(change: Change) -> str:
    if change.low is None or change.high is None:
        return "-"
    return f"{_percent(change.low)} to {_percent(change.high)}"


def _percent(ratio: float) -> str:
    value = 100 * (ratio - 1)
    if value < 1000:
        return f"{value:+.1f}"
    return f"{value:+.0f}" if value < 1e5 else f"{value:+.0e}" if value < 1e99 else ">1e99"


def _cells(name: str, cells: Sequence[str], verdict: str) -> str:
    sizes = (8, 8, 7, 16)
    columns = "".join(f" {cell:>{size}}" for cell, size in zip(cells, sizes, strict=True))
    return f"{name:<24}{columns} {verdict}".rstrip()


def _number(value: float) -> str:
    if 1e-3 <= value < 1e8:
        return f"{value:.0f}" if value >= 10000 else f"{value:.4g}"
    return f"{value:.2g}"
