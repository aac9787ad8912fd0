"""What came of `assay try`, as text for 80 columns and as JSON; secrets are masked."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

import msgspec

from assay._masking import mask
from assay.reports.compare import compare_text, comparison_document
from assay.reports.harmless import harmless, harmless_lines
from assay.reports.rollout import masked, plan_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from assay.rollout import Plan
    from assay.trials import Asked, Effect, PredictedSetting, Sifted, Tried

TRY_SCHEMA = "assay.try/1"
_LONGEST = 60
_NO_PROOF = (
    "One start of each: that says what happened once, and is no proof. Starts of one command differ, too; "
    "`assay compare` draws a verdict from several runs of each, in turns."
)
_SAYS = {
    "kept": "kept: it serves with the change, also after a reboot; `assay rollback` takes it back",
    "reverted": "taken back: it serves as before",
    "void": "void, and taken back: it serves as before. Nothing measured may be counted for the change",
}


def sifted_text(found: Sifted) -> str:
    """Which options are tried and which are not, each with the line that says why."""
    lines = [] if found.triaged else _wrapped(f"not triaged: {found.why_not}")
    for each in found.asked:
        lines += _option(each, triaged=found.triaged)
    if found.change is None:
        lines += _wrapped("nothing of this is worth a restart: nothing is tried")
    return harmless_lines(mask("\n".join(lines)))


def _option(each: Asked, *, triaged: bool) -> list[str]:
    head = "tried" if each.tried else "not tried"
    if not triaged:
        return [f"{head}: {each}"]
    lines = _wrapped(f"{head}: {each}: {each.verdict}: {each.why}")
    for site in each.evidence[:2]:
        lines += _wrapped(f"{site.file}:{site.line}: {site.says}", indent=4)
    return lines


def planned_text(plan: Plan, prediction: Sequence[PredictedSetting]) -> str:
    """The plan, and what the source says that becomes otherwise with it."""
    changes = [each for each in prediction if each.changes]
    lines = ["  predicted, by the engine's source:"] if changes else []
    for each in changes:
        told = f"{each.field} {_short(each.before)} -> {_short(each.after)}"
        lines += _wrapped(told + (f" ({each.at})" if each.at else ""), indent=5)
    return "\n".join([plan_text(plan), *(harmless_lines(mask(line)) for line in lines)])


def _short(value: object) -> str:
    text = str(value)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


def effect_text(effect: Effect) -> str:
    """What shows that the change took."""
    lines = _wrapped(f"effect: {effect.status.replace('_', ' ')} (by {effect.shown_by}): {effect.message}")
    for each in effect.settings:
        told = f"{each.role.replace('_', ' ')}: {each.field} {each.before} -> {each.after}"
        lines += _wrapped(told + (f" ({each.at})" if each.at else ""), indent=4)
    for line in effect.lines:
        lines += _wrapped(f"log: {line[:300]}", indent=4)
    return harmless_lines(mask("\n".join(lines)))


def try_text(found: Sifted, tried: Tried | None = None) -> str:
    """The end of a trial: options, effect, comparison, and what became of the service."""
    if tried is None:
        return sifted_text(found)
    parts = [sifted_text(found), effect_text(tried.effect)]
    if tried.comparison is not None:
        parts += [compare_text(tried.comparison), "\n".join(_wrapped(_NO_PROOF))]
    ended = [f"{tried.id}: {_SAYS[tried.result]}", f"no token for {tried.downtime_s:g} s in all"]
    parts.append("\n".join(line for each in ended for line in _wrapped(each)))
    return "\n\n".join(parts)


def try_json(
    id: str,
    found: Sifted,
    plan: Plan | None = None,
    prediction: Sequence[PredictedSetting] = (),
    tried: Tried | None = None,
) -> str:
    """The same as one JSON document; docs/reference/try-json.md."""
    result = tried.result if tried else "not-tried" if found.change is None else "planned"
    document = {
        "schema": TRY_SCHEMA,
        "id": id,
        "result": result,
        "triaged": found.triaged,
        "why_not_triaged": found.why_not,
        "asked": msgspec.to_builtins(found.asked),
        "plan": msgspec.to_builtins(plan),
        "predicted": msgspec.to_builtins([each for each in prediction if each.changes]),
        "downtime_s": tried.downtime_s if tried else 0.0,
        "effect": msgspec.to_builtins(tried.effect) if tried else None,
        "baseline": tried.baseline if tried else None,
        "candidate": tried.candidate or None if tried else None,
    }
    document = {name: masked(value) for name, value in document.items()}
    comparison = tried.comparison if tried else None
    document["comparison"] = comparison_document(comparison) if comparison else None
    return msgspec.json.format(msgspec.json.encode(document), indent=2).decode()


def _wrapped(text: str, *, indent: int = 0) -> list[str]:
    return [
        harmless(line)
        for line in textwrap.wrap(
            text,
            80,
            initial_indent=" " * indent,
            subsequent_indent=" " * (indent + 2),
            break_long_words=False,
            break_on_hyphens=False,
        )
    ]
