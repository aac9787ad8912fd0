"""The floor of a step and the bound of each option as text, and as values for JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from assay.reports.findings_text import Page, setting

if TYPE_CHECKING:
    from collections.abc import Sequence

    from assay.bounds import Step
    from assay.candidates import Bounded, Bounds
    from assay.reports.terminal import Style

_NOTHING = ("dead", "no_op", "already_on", "incompatible")


def bounds_text(found: Bounds, style: Style, secrets: frozenset[str]) -> str:
    """The section `At most` of triage."""
    page = Page(style, secrets)
    page.title("At most")
    if found.why_not:
        page.say(f"No bounds: {found.why_not}.")
        return page.text()
    for step, taken in zip(found.steps, found.taken_s, strict=True):
        _step(page, step, taken)
    for doubt in found.doubts:
        page.say(f"doubt: {doubt}")
    page.say("An option gives at most (throughput, by the measured step or else its floor):")
    live = [each for each in found.options if each.verdict not in _NOTHING]
    _options(page, [each for each in live if _has_bound(each)])
    rest = [each for each in found.options if each.verdict in _NOTHING]
    if rest:
        page.say("These do nothing here, so 0 %; in brackets, where they would work:")
        _options(page, rest)
    _without(page, [each for each in live if not _has_bound(each)])
    return page.text()


def _has_bound(each: Bounded) -> bool:
    return bool(each.bound.loads) or each.profiled is not None


def _options(page: Page, options: Sequence[Bounded]) -> None:
    for each in options:
        most = f"({_most(each)})" if each.verdict in _NOTHING else _most(each)
        page.say(f"{setting(each.option, each.value)}: {each.verdict}, {most}", 4)


def _without(page: Page, options: Sequence[Bounded]) -> None:
    """Those without a bound, by the reason."""
    for why in dict.fromkeys(each.bound.why for each in options):
        names = ", ".join(each.option for each in options if each.bound.why == why)
        page.say(f"No bound, since {why}:")
        page.say(names, 4)


def bounds_values(found: Bounds) -> dict[str, Any]:
    """The object `bounds` of triage's JSON."""
    values: dict[str, Any] = msgspec.to_builtins(found)
    return values


def _step(page: Page, step: Step, taken: float | None) -> None:
    load = step.load
    tokens = f"{load.tokens} tokens" if load.tokens != load.concurrency else "one token each"
    experts = f", {step.experts_touched:.0f} experts a layer" if step.experts_touched else ""
    page.say(
        f"a decode step of {load.concurrency} at {load.context_tokens} tokens of context "
        f"({tokens}{experts}): at least {1e3 * step.floor_s:.1f} ms{_against(step, taken)}"
    )
    parts = sorted(step.parts, key=lambda part: -part.seconds)
    page.say(", ".join(f"{part.name} {_ms(part.seconds)}" for part in parts) + " ms", 4)


def _ms(seconds: float) -> str:
    return f"{1e3 * seconds:.2f}" if seconds < 0.01 else f"{1e3 * seconds:.1f}"


def _against(step: Step, taken: float | None) -> str:
    if taken is None:
        return ""
    rest = taken - step.floor_s
    return f"; measured {1e3 * taken:.1f}, so {1e3 * rest:.1f} ({100 * rest / taken:.0f} %) are not explained"


def _most(each: Bounded) -> str:
    parts = [_gain(load.gain, load.concurrency) for load in each.bound.loads]
    if each.profiled is not None:
        parts.append(f"{100 * each.profiled:.1f} % by the profile")
    return ", ".join(parts) if parts else "no bound"


def _gain(gain: float | None, concurrency: int) -> str:
    return f"no bound at {concurrency}" if gain is None else f"{100 * gain:.1f} % at {concurrency}"
