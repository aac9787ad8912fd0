"""A study's plan, its end and its history as text for 80 columns, and as JSON; secrets are masked."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec

from assay._masking import mask
from assay.reports.decision import decision_text, decision_values
from assay.reports.harmless import harmless_lines, printable
from assay.reports.machine import as_json

if TYPE_CHECKING:
    from assay.candidates import Candidate, Candidates, LeftOut
    from assay.journal import Entry
    from assay.study import (
        Decided,
        Forecast,
        Judged,
        OptionEnd,
        Record,
        StartEnded,
        StudyBegan,
        StudyEnded,
    )

TUNE_SCHEMA = "assay.tune/1"
HISTORY_SCHEMA = "assay.history/1"
_RESULTS = {
    "shipped": "shipped: the gain is shown, no load is harmed, and the answers are as good",
    "not_shown": "not shown: no gain was shown; that is no proof that there is none",
    "reverted": "reverted: a loss beyond the margin is shown",
    "nothing_found": "nothing found: the search believes of no change that it gains",
    "damaged": "not shipped: the answers are not as good, or nobody can tell",
    "broken_off": "broken off",
}
_MARKS = {"shipped": "+", "not_shown": "?", "failed": "x", "not_tried": "-"}


def study_plan_text(began: StudyBegan, foreseen: Forecast) -> str:
    """What is tried and why, what is not, what it will cost and what it can show."""
    lines = [f"study {began.id}: {began.target}, {began.engine}"]
    lines += _listed(began.candidates)
    lines += ["", "to do:"]
    lines += _wrapped(
        f"1. baseline: {foreseen.baseline} starts as it is: how far starts differ, and answers", 2, 5
    )
    lines += _wrapped(f"2. search: up to {foreseen.search} starts with changes; they decide nothing", 2, 5)
    lines += _wrapped(
        f"3. confirmation: pairs of fresh starts, A B B A, looks after {_listing(began.rule.looks)} pairs; "
        f"{foreseen.confirmation} starts are kept for it",
        2,
        5,
    )
    if began.questions:
        lines += _wrapped(f"4. quality: {began.questions} questions of yours, before and after", 2, 5)
    known = "as earlier ones did" if foreseen.start_known else "an assumption: --start-minutes"
    lines += _wrapped(
        f"cost: at most {began.budget.hours:g} h; a start takes {foreseen.start_s / 60:.2g} min ({known})"
    )
    spread = "as earlier ones did" if foreseen.spread_known else "an assumption, until the baseline is known"
    if foreseen.smallest is not None:
        lines += _wrapped(
            f"it can show: a gain of {100 * foreseen.smallest:.2g} % or more at {began.levels[0]} four times "
            f"in five, if starts differ by {100 * foreseen.spread:.2g} % ({spread})"
        )
    return harmless_lines(mask("\n".join(lines)))


def _listed(found: Candidates) -> list[str]:
    told = "by what the engine's source does with each" if found.triaged else "by declarations only"
    lines = _wrapped(f"candidates, the most promising first, {told}:")
    if not found.triaged and found.why_not_triaged:
        lines += _wrapped(f"not triaged: {found.why_not_triaged}", 2, 4)
    for at, each in enumerate(found.planned, 1):
        lines += _candidate(at, each)
    if not found.planned:
        lines.append("  none")
    if found.left_out:
        lines.append("left out:")
        for out in found.left_out:
            lines += _left_out(out)
    return lines


def _candidate(at: int, each: Candidate) -> list[str]:
    now = each.levels[each.present].text
    bound = "" if each.bound is None else f", at most {100 * each.bound:.2g} %"
    compiles = ", compiles at start" if each.cost == "compile" else ""
    risk = "" if each.risk is None else f", {each.risk}"
    lines = _wrapped(f"{at}. {each.name}: {now} -> {' | '.join(each.tried)}", 2, 5)
    return lines + _wrapped(f"{each.reason}{bound}{risk}{compiles}", 5, 5)


def _left_out(each: LeftOut) -> list[str]:
    lines = _wrapped(f"{each.name}{f' {each.value}' if each.value else ''}: {each.why}", 2, 4)
    for site in each.evidence[:1]:
        lines += _wrapped(f"{site.file}:{site.line}: {site.says}", 4, 6)
    return lines


def study_end_text(began: StudyBegan, ended: StudyEnded, judged: Judged | None = None) -> str:
    """What came of it."""
    lines = _wrapped(f"study {ended.id}: {_RESULTS[ended.result]}")
    if ended.change:
        told = "confirmed" if ended.result == "shipped" else "held against the baseline"
        lines += _wrapped(f"{told}: {ended.change}", 2, 4)
    if ended.message:
        lines += _wrapped(ended.message, 2, 4)
    if ended.decision is not None:
        lines += ["", decision_text(ended.decision), ""]
    if judged is not None:
        lines += _wrapped(f"quality: {judged.message}")
    if ended.options:
        lines += _wrapped(
            f"options at {began.levels[0]} (search beliefs, nine in ten; only `confirmed` is proven):"
        )
        for each in ended.options:
            lines += _option(each)
    lines += _wrapped(
        f"{ended.starts} starts, {ended.hours:.2f} h, {ended.downtime_s / 60:.1f} min without a token"
    )
    if ended.command:
        lines += ["the command:", *_wrapped(" ".join(ended.command), 2, 4)]
    return harmless_lines(mask("\n".join(lines)))


def _option(each: OptionEnd) -> list[str]:
    status = each.status.replace("_", " ")
    interval = ""
    if each.low is not None and each.high is not None:
        interval = f", {_percent(each.low)} to {_percent(each.high)} %"
    lines = _wrapped(f"{_MARKS[each.status]} {each.name} {each.value}: {status}{interval}", 2, 4)
    return lines + (_wrapped(each.message, 6, 6) if each.message else [])


def study_json(
    began: StudyBegan,
    foreseen: Forecast | None,
    record: Record | None = None,
    decisions: Sequence[Decided] = (),
) -> str:
    """The study as JSON, documented in `docs/reference/tune-json.md`."""
    document: dict[str, object] = {"schema": TUNE_SCHEMA, **_plain(began)}
    document["forecast"] = None if foreseen is None else _plain(foreseen)
    document["starts"] = [_plain(each) for _, each in sorted(record.ended.items())] if record else []
    document["decisions"] = [{"change": each.change, **decision_values(each.decision)} for each in decisions]
    document["judged"] = _plain(record.judged) if record and record.judged else None
    document["end"] = _end(record.end) if record and record.end else None
    return as_json(document)


def _end(end: StudyEnded) -> dict[str, object]:
    decision = None if end.decision is None else decision_values(end.decision)
    return {**_plain(end), "decision": decision}


def study_show_text(
    began: StudyBegan, foreseen: Forecast | None, record: Record, decisions: Sequence[Decided]
) -> str:
    """Everything that the journal has of a study."""
    blocks = [study_plan_text(began, foreseen)] if foreseen else [f"study {began.id}: {began.target}"]
    lines = ["starts:"]
    for _, each in sorted(record.ended.items()):
        lines += _start(each, began.levels)
    for number, seconds in sorted(record.lost_s.items()):
        lines.append(f"  {number:>3}  cut short, {seconds:.0f} s; made again")
    blocks.append(harmless_lines(mask("\n".join(lines))))
    if decisions and record.end is None:
        blocks.append(decision_text(decisions[-1].decision))
    if record.end is not None:
        blocks.append(study_end_text(began, record.end, record.judged))
    else:
        blocks.append("it has not ended: `assay tune … --resume` goes on")
    return "\n\n".join(blocks)


def _start(each: StartEnded, levels: Sequence[str]) -> list[str]:
    told = each.change or "as it is"
    phase = each.phase.replace("confirm_a", "pair, A").replace("confirm_b", "pair, B")
    if each.outcome == "served":
        figures = ", ".join(
            f"{each.values[level]:.4g} at {level}" for level in levels if level in each.values
        )
        said = f"{figures} tok/s"
        if each.doubts:
            said += f" (doubts: {', '.join(each.doubts)})"
    else:
        said = f"{each.outcome}: {each.message}"
    head = f"{each.number:>3}  {phase}, {told}: {each.seconds:.0f} s"
    return [*_wrapped(head, 2, 7), *_wrapped(said, 7, 9)]


def history_text(found: Sequence[tuple[Entry, StudyBegan, StudyEnded | None]]) -> str:
    """One line for each study, the newest first."""
    lines = [
        f"{began.id}  {_result(end):<14} {began.target}: {end.change if end and end.change else 'no change'}"
        for _, began, end in reversed(found)
    ]
    return harmless_lines(mask("\n".join(lines) or "no study is in the journal"))


def history_json(found: Sequence[tuple[Entry, StudyBegan, StudyEnded | None]]) -> str:
    """The same as JSON."""
    studies = [
        {
            "id": began.id,
            "at": entry.at,
            "who": entry.who,
            "target": began.target,
            "engine": began.engine,
            "result": end.result if end else None,
            "change": end.change if end else "",
            "starts": end.starts if end else None,
            "hours": end.hours if end else None,
        }
        for entry, began, end in reversed(found)
    ]
    return as_json({"schema": HISTORY_SCHEMA, "studies": studies})


def _result(end: StudyEnded | None) -> str:
    return "not ended" if end is None else end.result.replace("_", " ")


def _plain(value: object) -> dict[str, object]:
    found: dict[str, object] = msgspec.to_builtins(value)
    return found


def _percent(share: float) -> str:
    return f"{100 * share:+.1f}" if share < 10 else f"{100 * share:+.0f}"


def _listing(numbers: Sequence[int]) -> str:
    return ", ".join(map(str, numbers))


def _wrapped(text: str, indent: int = 0, more: int = 2) -> list[str]:
    return textwrap.wrap(
        printable(text), 80, initial_indent=" " * indent, subsequent_indent=" " * more, break_on_hyphens=False
    )
