"""The verdict of the quality gate: same, numerics changed, suspicious or damaged, and its power."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator, Sequence
from typing import Literal

from assay._value import Value
from assay.quality.logprobs import LogprobDistance
from assay.quality.outputs import Fault, smallest_share
from assay.quality.paired import Paired
from assay.stats import t_quantile

QualityVerdict = Literal["same", "numerics_changed", "suspicious", "damaged"]
"""`same`: within what the baseline differs from itself; `numerics_changed`: beyond that, but too little to
matter; `suspicious`: may matter, so graded questions are needed; `damaged`: do not ship."""

_ORDER: tuple[QualityVerdict, ...] = ("same", "numerics_changed", "suspicious", "damaged")
_FEWEST = 3


class Gate(Value):
    """Where the lines are drawn; declared before anybody looks."""

    k3_harmless: float = 0.0025
    """A divergence below this (SGLang's own tests accept it), or 4 times the baseline's own, is numerics."""
    k3_damaged: float = 0.01
    """From this on it is damage."""
    nll_harmless: float = 0.005
    """The text may become less likely by so much, nats a token, as an upper bound."""
    prompt_harmless: float = 0.1
    """Mean |d| of one prompt, nats a token."""
    prompt_damaged: float = 0.5
    """From this on one prompt is broken."""
    drop_points: float = 0.02
    """Share of right answers that may be lost, as an upper bound."""


class Judgement(Value):
    """What the gate says."""

    verdict: QualityVerdict
    """The gravest of all checks."""
    reasons: tuple[str, ...]
    """One sentence for each check that said more than `same`."""
    needs_word: bool
    """Whether the change is declared lossy: then no verdict ships it without the user's word."""
    smallest_share: float | None
    """Broken outputs from this share on would have been seen four times in five; `None` without outputs."""
    smallest_k3: float | None
    """A divergence from this on would have been called more than `same`; `None` with fewer than 3 starts."""
    questions: Paired | None = None
    """What became of the user's own questions; `None` where there are none."""


class Beside(Value):
    """What else was looked at."""

    faults: tuple[Fault, ...] = ()
    """Of outputs and samples."""
    outputs: int = 0
    """Outputs that were looked at."""
    questions: Paired | None = None
    """Graded questions; where they pass, suspicious log-probabilities are numerics."""
    lossy: bool = False
    """Whether the engine declares the change lossy (a KV cache in 8 bits, quantisation)."""


def judge(
    found: LogprobDistance | None,
    own: Sequence[LogprobDistance],
    beside: Beside | None = None,
    gate: Gate | None = None,
) -> Judgement:
    """The verdict on a candidate.

    Args:
        found: its distance from the baseline; `None` where the server gives no log-probabilities.
        own: distances of starts of the baseline from the same reference: what is no change.
        beside: outputs, samples and questions.
        gate: where the lines are.
    """
    beside = beside or Beside()
    gate = gate or Gate()
    said: list[tuple[QualityVerdict, str]] = []
    if found is not None:
        said += _logprobs(found, own, gate, beside.questions)
    said += [(("damaged" if each.damaged else "suspicious"), _fault(each)) for each in beside.faults]
    said += _questions(beside.questions, gate)
    verdicts = {each for each, _ in said}
    verdict: QualityVerdict = next((each for each in reversed(_ORDER) if each in verdicts), "same")
    limit = _limit([each.k3 for each in own])
    return Judgement(
        verdict=verdict,
        reasons=tuple(
            text for each, text in sorted(said, key=lambda pair: -_ORDER.index(pair[0])) if each != "same"
        ),
        needs_word=beside.lossy,
        smallest_share=smallest_share(beside.outputs) if beside.outputs else None,
        smallest_k3=limit,
        questions=beside.questions,
    )


def _logprobs(
    found: LogprobDistance, own: Sequence[LogprobDistance], gate: Gate, questions: Paired | None
) -> Iterator[tuple[QualityVerdict, str]]:
    if found.broken:
        yield "damaged", f"{found.broken} tokens have no log-probability"
    if found.k3 >= gate.k3_damaged:
        yield "damaged", f"divergence {found.k3:.4f} nats a token, {gate.k3_damaged} is damage"
        return
    if found.worst > gate.prompt_damaged:
        yield "damaged", f"one prompt is off by {found.worst:.2f} nats a token, over {gate.prompt_damaged}"
        return
    beyond = [
        f"{name} {getattr(found, field):.2g}, the baseline's own at most {limit:.2g}"
        for name, field in (("divergence", "k3"), ("median of |d|", "median"), ("loss of likelihood", "nll"))
        if (limit := _limit([getattr(each, field) for each in own])) is not None
        and getattr(found, field) > limit
    ]
    if own and len(own) >= _FEWEST and not beyond:
        return
    usual = statistics.fmean(each.k3 for each in own) if own else 0.0
    harmless = found.k3 < max(4 * usual, gate.k3_harmless)
    harmless = harmless and found.nll_high < gate.nll_harmless and found.worst <= gate.prompt_harmless
    passed = questions is not None and questions.drop_high < gate.drop_points
    text = "; ".join(beyond) or "too few starts of the baseline to know what is no change"
    if harmless or passed:
        yield "numerics_changed", text
    else:
        yield "suspicious", f"{text}; graded questions are needed"


def _limit(values: Sequence[float]) -> float | None:
    """What one more start of the baseline exceeds in 1 of 100 cases: `mean + t sd sqrt(1 + 1/m)`."""
    if len(values) < _FEWEST:
        return None
    spread = statistics.stdev(values) * math.sqrt(1 + 1 / len(values))
    return statistics.fmean(values) + t_quantile(0.99, len(values) - 1) * spread


def _questions(found: Paired | None, gate: Gate) -> list[tuple[QualityVerdict, str]]:
    if found is None:
        return []
    text = f"{found.lost} of {found.questions} questions lost, {found.gained} gained (p {found.p_worse:.2g})"
    if found.drop_high < gate.drop_points:
        return []
    if found.p_worse < 0.01 and found.lost - found.gained > gate.drop_points * found.questions:
        return [("damaged", text)]
    return [("suspicious", text)] if found.p_worse < 0.05 else []


def _fault(each: Fault) -> str:
    if each.code.startswith("sampled"):
        return f"{each.code.replace('-', ' ')} is another (p {each.p:.2g})"
    return (
        f"{each.code}, {each.where}: {each.seen} of {each.of} outputs, {each.baseline} of {each.baseline_of} "
        f"of the baseline (p {each.p:.2g})"
    )
