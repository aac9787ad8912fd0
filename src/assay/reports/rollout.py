"""Plans, outcomes and states of rollouts as text and JSON; secrets are masked."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

import msgspec

from assay._masking import mask, writable
from assay.reports.harmless import harmless_lines

if TYPE_CHECKING:
    from collections.abc import Sequence

    from assay._value import Value
    from assay.rollout import Intent, Outcome, Plan, Status
    from assay.study import Watched


def plan_text(plan: Plan) -> str:
    """What will be done, and what takes each step back."""
    lines = [
        f"plan {plan.id}: {plan.layout.unit} on {plan.host}: {plan.change}",
        *(
            f"  {at}. {step.name}: {step.does}\n     undone by: {step.undone_by}"
            for at, step in enumerate(plan.steps, 1)
        ),
        *(f"  note: {each}" for each in plan.notes),
        *(f"  not touched: {path} (sha256 {digest[:12]})" for path, digest in plan.originals),
    ]
    if plan.why:
        lines.append(f"  why: {plan.why}")
    return _wrapped(harmless_lines(mask("\n".join(lines))))


def plan_json(plan: Plan) -> str:
    """The plan; docs/reference/rollout-json.md."""
    return _json(plan)


_SAYS = {
    "trial": "is on trial; `assay promote` keeps it, `assay rollback` takes it back, and so does its switch",
    "promoted": "is kept; `assay rollback` takes it back",
    "rolled-back": "is taken back, and the service serves",
    "undrained": "has its traffic back",
}


def outcome_text(outcome: Outcome) -> str:
    """How it ended."""
    lines = [f"{outcome.id} {_SAYS.get(outcome.result, outcome.result)}"]
    if outcome.downtime_s:
        lines.append(f"no token for {outcome.downtime_s:g} s")
    if outcome.drained_s:
        lines.append(f"drained for {outcome.drained_s:g} s")
    lines += [f"it did not take all of it: {line}" for line in outcome.lines]
    return harmless_lines("\n".join(lines))


def outcome_json(outcome: Outcome) -> str:
    """The outcome; docs/reference/rollout-json.md."""
    return _json(outcome)


def together(texts: Sequence[str], *, json: bool) -> str:
    """One as it is; several below each other, in JSON as a list."""
    if len(texts) == 1:
        return texts[0]
    return "[\n" + ",\n".join(texts) + "\n]" if json else "\n".join(texts)


def intent_text(intent: Intent) -> str:
    """What would be done."""
    return _wrapped(harmless_lines(f"{intent.id}: {intent.does}\n  undone by: {intent.undone_by}"))


def intent_json(intent: Intent) -> str:
    """The same as JSON."""
    return _json(intent)


_FIGURES = {
    "running": "requests of others at a time",
    "token_ms": "ms a token",
    "answer_ms": "ms an answer to us",
    "acceptance": "tokens a step of speculation",
}


def watched_text(found: Watched) -> str:
    """How a watch ended."""
    kept = "is kept; `assay rollback` takes it back" if found.result == "kept" else "was taken back"
    lines = [
        f"{found.id} {kept}: {found.message}",
        f"watched for {found.watched_s / 60:.3g} minutes, {found.looks} looks: {found.failed} of "
        f"{found.requests} requests failed",
        *(f"  {each.low:.4g} to {each.high:.4g} {_FIGURES[each.name]}" for each in found.figures),
    ]
    return harmless_lines(mask("\n".join(lines)))


def watched_json(found: Watched) -> str:
    """The same as JSON; docs/reference/rollout-json.md."""
    return _json(found)


def status_text(status: Status) -> str:
    """Whether it serves, and where its rollouts stand."""
    marks = status.marks
    serves = "serves" if status.serves else f"does not serve: {status.why_not}"
    lines = [f"{status.unit} on {status.host}: {status.active}, {serves}"]
    if marks.armed:
        stage = "on trial" if marks.trial else "under way"
        lines.append(f"rollout {marks.armed.id} by {marks.armed.who} is {stage} since {marks.armed.since}")
        left = f"takes it back in {max(marks.left_s, 0):.0f} s" if marks.left_s is not None else "is armed"
        lines.append(f"its switch {left}" if marks.switch else "ITS SWITCH IS GONE: `assay rollback` now")
    elif marks.trial_file:
        lines.append("a trial's drop-in lies there, and no rollout is under way: a person must look")
    if marks.reverted:
        lines.append(f"rollout {marks.reverted.id} by {marks.reverted.who} was taken back")
    if marks.kept_file:
        lines.append(f"a promoted change is in effect: {marks.last or 'of unknown origin'}")
    if marks.drained:
        lines.append(
            f"STILL DRAINED by rollout {marks.drained.id} of {marks.drained.who}, since "
            f"{marks.drained.since}: `assay rollback FILE` runs its undrain hook"
        )
    if marks.promoting:
        lines.append("a promotion was under way")
    return harmless_lines(mask("\n".join(lines)))


def status_json(status: Status) -> str:
    """The same as JSON; docs/reference/rollout-json.md."""
    return _json(status)


def _wrapped(text: str) -> str:
    """Lines of at most 80 characters; a path is not broken. After the masks, which look at whole lines."""
    lines = []
    for line in text.split("\n"):
        indent = " " * (len(line) - len(line.lstrip()) + 3)
        lines += textwrap.wrap(
            line, 80, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
        )
    return "\n".join(lines)


def _json(value: Value) -> str:
    return msgspec.json.format(msgspec.json.encode(masked(msgspec.to_builtins(value))), indent=2).decode()


def masked(value: object) -> object:
    """What JSON is made of, its texts masked."""
    if isinstance(value, dict):
        return {key: masked(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [masked(each) for each in value]
    return writable(mask(value)) if isinstance(value, str) else value
