"""The answer of a confirmation as text for 80 columns, and as JSON."""

from __future__ import annotations

import textwrap

import msgspec

from assay.decisions import Decision, LevelEffect, NoDecision
from assay.reports.harmless import harmless, printable

_SAID = {
    "ship": "ship",
    "revert": "revert",
    "not_shown": "not shown",
    "go_on": "go on measuring",
}
_WHY = {
    "gain_shown": "the gain is shown, and no level loses more than the margin",
    "harm_shown": "a loss beyond the margin is shown",
    "gain_unlikely": "a gain of the smallest size that matters would hardly be shown any more",
    "harm_not_excluded": "a gain is shown, but at some level a loss beyond the margin is not excluded",
    "budget_spent": "no gain was shown by the last pair; this is not proof that there is none",
    "too_few_pairs": "too few pairs to know how far chance reaches",
    "no_spread": "the pairs do not differ at all, so nothing says how far chance reaches",
    "between_looks": "the next look decides",
}


def decision_text(found: Decision | NoDecision, width: int = 80) -> str:
    """What to do, why, and every level with its interval."""
    if isinstance(found, NoDecision):
        return "\n".join(_wrapped(f"decision: none; {found.why}", width))
    lines = _wrapped(f"decision: {_SAID[found.outcome]}: {_WHY[found.reason]}", width)
    lines.append(f"  {'':<30}{'gain %':>8} {'interval %':>16} {'at least %':>11}")
    lines += [_level(each, primary=each.level == found.primary) for each in found.levels]
    if found.disagree:
        text = "  The levels disagree: there is no winner for all loads. Choose by the load that is served."
        lines += _wrapped(text, width)
    rule = found.rule
    text = (
        f"  {found.pairs} pairs, {found.starts} starts (* the gain must be shown here; intervals hold at "
        "every look; "
        f"no effect is shipped in {100 * rule.error:.3g} of 100 cases; "
        f"a loss below {100 * rule.margin:.3g} % is none that matters)"
    )
    lines += _wrapped(text, width)
    if found.left_out:
        lines += _wrapped(f"  {found.left_out} pairs beyond the last look do not count.", width)
    if found.detectable is not None and found.outcome != "ship":
        text = f"  A gain of {100 * found.detectable:.2g} % would have been shown four times in five."
        lines += _wrapped(text, width)
    return "\n".join(lines)


def decision_values(found: Decision | NoDecision) -> dict[str, object]:
    """The keys of the JSON: those of the value, `disagree`, or `outcome: null` and `why`."""
    if isinstance(found, NoDecision):
        return {"outcome": None, "why": found.why}
    values = {name: getattr(found, name) for name in found.__struct_fields__}
    return {**msgspec.to_builtins(values), "disagree": found.disagree}


def _level(each: LevelEffect, *, primary: bool) -> str:
    name = printable(each.level)
    name = f"{'*' if primary else ' '} {name if len(name) <= 28 else name[:27] + '…'}"
    interval = "-"
    if each.low is not None and each.high is not None:
        interval = f"{_percent(each.low)} to {_percent(each.high)}"
    floor = "-" if each.floor is None else _percent(each.floor)
    verdict = each.verdict.replace("_", " ")
    return harmless(f"  {name:<30}{_percent(each.ratio):>8} {interval:>16} {floor:>11} {verdict}")


def _percent(ratio: float) -> str:
    value = 100 * (ratio - 1)
    return f"{value:+.1f}" if value < 1000 else f"{value:+.0e}" if value < 1e99 else ">1e99"


def _wrapped(text: str, width: int) -> list[str]:
    return [harmless(line) for line in textwrap.wrap(printable(text), width, subsequent_indent="  ")]
