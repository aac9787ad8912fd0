"""Finds how many words make a token of the server's, so that random prompts have the length asked for."""

from __future__ import annotations

import msgspec

from assay._secret import Secret
from assay.bench.datasets import TracePrompts
from assay.bench.level import Level
from assay.bench.prompts import RandomPrompts, SharedPrefixPrompts
from assay.bench.requests import Target
from assay.bench.run import Limits, Workload, measure
from assay.bench.words import WordFit
from assay.errors import TooManyFailures

_SHORT, _LONG = 32, 512


def fitted(
    where: Target, workload: Workload, *, key: Secret | None = None, limits: Limits | None = None
) -> Workload:
    """The same workload, its random prompts fitted to the server's count of a short and a longer one.

    Two requests are sent. Unchanged where prompts are not random, or the server does not count.

    Raises:
        NotReady: no connection can be opened.
    """
    asked = workload.prompts
    if not isinstance(asked, RandomPrompts | SharedPrefixPrompts | TracePrompts):
        return workload
    counts = []
    if limits is not None:
        limits = msgspec.structs.replace(limits, metrics=None, flush=False, gpus=False, baseline=())
    longest = asked.input_tokens if isinstance(asked, RandomPrompts) else _LONG
    for words in (_SHORT, min(_LONG, max(3 * _SHORT, longest))):
        prompts = RandomPrompts(input_tokens=words, output_tokens=1)
        probe = msgspec.structs.replace(workload, prompts=prompts, seed=-1)
        level = Level(requests=1, concurrency=1)
        try:
            [(_, [record])] = list(measure(where, probe, [level], key=key, limits=limits))
        except (TooManyFailures, ValueError):  # the run itself will say what is wrong
            return workload
        if record.prompt_tokens is None:
            return workload
        counts.append((words, record.prompt_tokens))
    (short, fewer), (long, more) = counts
    slope = (more - fewer) / (long - short)
    if slope <= 0:
        return workload
    fixed = fewer - slope * short
    if fixed < 0:  # the luck of the words: there is nothing fixed, and both say how long a word is
        slope, fixed = (fewer + more) / (short + long), 0.0
    fit = WordFit(tokens_per_word=slope, fixed_tokens=fixed)
    return msgspec.structs.replace(workload, prompts=msgspec.structs.replace(asked, fit=fit))
