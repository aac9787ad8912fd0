"""Checks of all outputs of a benchmark against the baseline's: free, and alone in seeing rare damage."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence

from assay._value import Value

_WORDS, _GRAM = 24, 4
_REPEATED = 0.5
_STRANGE = 0.2
_LONG = 0.8
"""Prompts above this quantile of length are looked at by themselves."""
_SUSPECT, _SURE = 0.001, 1e-5
_HARD = 3
"""So many outputs that no healthy server gives are damage, were the baseline without one."""


class Output(Value):
    """One answer of a server."""

    text: str
    """What it wrote."""
    tokens: int
    """Tokens of it."""
    finish: str = "length"
    """Why it ended."""
    prompt_tokens: int = 0
    """Length of its prompt."""


class Fault(Value):
    """A kind of output that became more frequent."""

    code: str
    """`empty`, `repeats`, `strange` (characters that are no text), `ends` (ends otherwise), `lengths`;
    of samples `sampled-logprob`, `sampled-length`, `sampled-ends`."""
    where: str
    """Among `all`, `long prompts`, or `later` (the second half in time)."""
    seen: int
    """Such outputs."""
    of: int
    """Outputs looked at."""
    baseline: int
    """Such outputs of the baseline."""
    baseline_of: int
    """Outputs of it."""
    p: float
    """Chance of a share so much larger were both alike (Fisher's exact test, one-sided)."""
    damaged: bool
    """Whether this alone is damage; else it is suspicious."""


def check_outputs(baseline: Sequence[Output], candidate: Sequence[Output]) -> tuple[Fault, ...]:
    """Faults of a candidate's outputs, in the order in which they were answered, gravest first.

    Each check is made on all outputs, on those of long prompts, and on the later half, where faults that need
    many tokens or many requests hide.
    """
    found: list[Fault] = []
    for where, pick in (("all", _all), ("long prompts", _long(baseline)), ("later", _later)):
        old, new = pick(baseline), pick(candidate)
        if not old or not new:
            continue
        for code, is_so, hard in _KINDS:
            found += _more(code, where, _count(old, is_so), _count(new, is_so), hard=hard)
        found += _ends(where, old, new)
        found += _lengths(where, old, new)
    kept: dict[str, Fault] = {}
    for fault in sorted(found, key=lambda each: (not each.damaged, each.p)):
        kept.setdefault(fault.code, fault)
    return tuple(kept.values())


def smallest_share(outputs: int) -> float:
    """The share of broken outputs of which so many outputs show three or more with a chance of 80 %.

    >>> round(smallest_share(1200), 4), smallest_share(2)
    (0.0036, 1.0)
    """
    low, high = 0.0, 1.0
    if outputs < _HARD:
        return 1.0
    for _ in range(40):
        middle = (low + high) / 2
        missed = math.fsum(
            math.comb(outputs, at) * middle**at * (1 - middle) ** (outputs - at) for at in range(_HARD)
        )
        low, high = (middle, high) if missed > 0.2 else (low, middle)
    return high


def _all(outputs: Sequence[Output]) -> Sequence[Output]:
    return outputs


def _later(outputs: Sequence[Output]) -> Sequence[Output]:
    return outputs[len(outputs) // 2 :]


def _long(baseline: Sequence[Output]) -> Callable[[Sequence[Output]], Sequence[Output]]:
    lengths = sorted(each.prompt_tokens for each in baseline)
    limit = lengths[int(_LONG * len(lengths))] if lengths else 0
    shortest = lengths[0] if lengths else 0
    return lambda outputs: [each for each in outputs if each.prompt_tokens >= limit > shortest]


def is_empty(output: Output) -> bool:
    """Nothing was written."""
    return not output.text.strip()


def is_repeating(output: Output) -> bool:
    """Over half of its groups of four words (of characters, where it has no blanks) stood there before."""
    parts: Sequence[str] = output.text.split()
    if len(parts) < _WORDS:
        parts = output.text if len(output.text) >= 4 * _WORDS and len(parts) < _GRAM else ()
    grams = [tuple(parts[at : at + _GRAM]) for at in range(len(parts) - _GRAM + 1)]
    return len(grams) >= _WORDS - _GRAM and 1 - len(set(grams)) / len(grams) > _REPEATED


def is_strange(output: Output) -> bool:
    """A fifth of its characters are no text: replacement characters, control characters, unassigned ones."""
    odd = sum(
        not (each.isprintable() or each in "\n\t\r") or each == "\N{REPLACEMENT CHARACTER}"
        for each in output.text
    )
    return bool(output.text) and odd > _STRANGE * len(output.text)


_KINDS: tuple[tuple[str, Callable[[Output], bool], bool], ...] = (
    ("empty", is_empty, True),
    ("strange", is_strange, True),
    ("repeats", is_repeating, True),
)


def _count(outputs: Sequence[Output], is_so: Callable[[Output], bool]) -> tuple[int, int]:
    return sum(map(is_so, outputs)), len(outputs)


def _more(
    code: str, where: str, old: tuple[int, int], new: tuple[int, int], *, hard: bool
) -> Iterator[Fault]:
    """A fault, where there are more of a kind than chance gives."""
    p = fisher(old, new)
    broken = hard and not old[0] and new[0] >= _HARD
    single = hard and not old[0] and new[0] > 0
    if p < _SUSPECT or single:
        yield Fault(
            code=code,
            where=where,
            seen=new[0],
            of=new[1],
            baseline=old[0],
            baseline_of=old[1],
            p=p,
            damaged=p < _SURE or broken,
        )


def _ends(where: str, old: Sequence[Output], new: Sequence[Output]) -> Iterator[Fault]:
    """Each way to end that became more frequent."""
    for finish in sorted({each.finish for each in (*old, *new)}):
        counts = [(sum(each.finish == finish for each in arm), len(arm)) for arm in (old, new)]
        yield from _more("ends", where, counts[0], counts[1], hard=False)


def _lengths(where: str, old: Sequence[Output], new: Sequence[Output]) -> Iterator[Fault]:
    """More outputs on one side of the baseline's middle length."""
    ordered = sorted(each.tokens for each in old)
    middle = ordered[len(ordered) // 2]
    for is_so in (lambda each: each.tokens < middle, lambda each: each.tokens > middle):
        yield from _more("lengths", where, _count(old, is_so), _count(new, is_so), hard=False)


def fisher(old: tuple[int, int], new: tuple[int, int]) -> float:
    """Chance that the new share is at least so large if both are alike, margins given (Fisher 1922).

    >>> round(fisher((0, 10), (5, 10)), 4)
    0.0163
    """
    seen, total = old[0] + new[0], old[1] + new[1]
    whole = _log_choose(total, seen)
    return min(
        1.0,
        math.fsum(
            math.exp(_log_choose(new[1], at) + _log_choose(old[1], seen - at) - whole)
            for at in range(new[0], min(seen, new[1]) + 1)
            if seen - at <= old[1]
        ),
    )


def _log_choose(of: int, count: int) -> float:
    return math.lgamma(of + 1) - math.lgamma(count + 1) - math.lgamma(of - count + 1)
