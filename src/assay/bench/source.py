"""Gives each rung its prompts: its own random ones, or the next ones of a file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec

from assay.bench.datasets import (
    OwnPrompts,
    ShareGptPrompts,
    TracePrompts,
    line_count,
    own_prompts,
    sharegpt_prompts,
    trace_prompts,
)
from assay.bench.level import Level
from assay.bench.prompts import (
    RandomPrompts,
    SharedPrefixPrompts,
    random_prompts,
    shared_prefix_prompts,
)
from assay.bench.requests import Prompt
from assay.errors import WorkloadError

Prompts = RandomPrompts | SharedPrefixPrompts | OwnPrompts | ShareGptPrompts | TracePrompts
"""What can be asked."""


def shares_prefixes(prompts: Prompts) -> bool:
    """Whether the prefix cache is meant to help: hits are then no doubt."""
    match prompts:
        case SharedPrefixPrompts() | TracePrompts():
            return True
        case RandomPrompts() | ShareGptPrompts():
            return prompts.turns > 1 or (isinstance(prompts, RandomPrompts) and prompts.prefix_tokens > 0)
    return False


def trace_length(asked: TracePrompts) -> int:
    """How many requests a trace has."""
    return line_count(Path(asked.path))


class Source:
    """The prompts of a run, rung by rung."""

    def __init__(self, prompts: Prompts, seed: int, levels: Sequence[Level]) -> None:
        self._prompts, self._seed = prompts, seed
        self._file: list[list[Prompt]] = []
        self._used = 0
        if not levels:
            raise WorkloadError("no level to measure at", hint="--max-concurrency 1,4,16")
        for level in levels:
            _fits(prompts, level.checked())
        if isinstance(prompts, OwnPrompts):
            path = Path(prompts.path)
            self._file = [[each] for each in own_prompts(path, output_tokens=prompts.output_tokens)]
        elif isinstance(prompts, ShareGptPrompts):
            self._file = sharegpt_prompts(prompts, seed=f"{seed}")

    def rung(self, number: int, level: Level, again: int = 0) -> tuple[list[Prompt], int]:
        """The prompts of a rung, warm-ups first, and how many of the others were used before.

        A rung that is measured `again` has others.
        """
        seed = f"{self._seed}/{number}" + (f"/{again}" if again else "")
        asked = self._prompts
        if isinstance(asked, OwnPrompts | ShareGptPrompts):
            return self._next(level)
        if isinstance(asked, TracePrompts):
            found = trace_prompts(asked, seed=seed)[: level.requests]
            if len(found) < level.requests:
                raise WorkloadError(f"{asked.path} has {len(found)} requests, not {level.requests}")
            warm = RandomPrompts(input_tokens=64, output_tokens=8, fit=asked.fit)
            return [*random_prompts(warm, seed=f"{seed}/warm", count=level.warmups), *found], 0
        if isinstance(asked, SharedPrefixPrompts):
            return shared_prefix_prompts(asked, seed=seed, count=level.warmups + level.requests), 0
        if asked.turns > 1:
            alone = msgspec.structs.replace(asked, turns=1)
            warm_ups = random_prompts(alone, seed=f"{seed}/warm", count=level.warmups)
            return [*warm_ups, *random_prompts(asked, seed=seed, count=level.requests)], 0
        return random_prompts(asked, seed=seed, count=level.warmups + level.requests), 0

    def _next(self, level: Level) -> tuple[list[Prompt], int]:
        """Conversations from the file, from its beginning again where it ends."""
        found: list[Prompt] = []
        for _ in range(level.warmups):
            found.append(self._file[self._used % len(self._file)][0])
            self._used += 1
        repeated = 0
        while len(found) < level.warmups + level.requests:
            turns = self._file[self._used % len(self._file)]
            turns = turns[: level.warmups + level.requests - len(found)]
            repeated += len(turns) if self._used >= len(self._file) else 0
            found += turns
            self._used += 1
        return found, repeated


def check_prompts(prompts: Prompts, seed: int, levels: Sequence[Level]) -> None:
    """Make every rung's prompts, as a run does before it sends them.

    Raises:
        InputError: a length, a level or a file cannot be used.
    """
    source = Source(prompts, seed, levels)
    for number, level in enumerate(levels, 1):
        source.rung(number, level)


def _fits(prompts: Prompts, level: Level) -> None:
    if isinstance(prompts, TracePrompts) != (level.arrivals == "trace"):
        raise WorkloadError("a trace, and nothing else, is sent at its own times")
    if isinstance(prompts, RandomPrompts | ShareGptPrompts) and prompts.turns > 1 and level.open:
        raise WorkloadError(
            "conversations are a closed loop: a question waits for the answer before it",
            hint="--max-concurrency without --request-rate",
        )
