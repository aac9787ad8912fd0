"""Which arms will start: a limit of memory that is learnt, and combinations that were only seen to fail."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations
from math import erf, sqrt
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.search.space import Arm, Space

_GRID = 81
_WIDE = 4.0
_NORMAL_AT = np.linspace(-6, 6, 1201)
_NORMAL = np.array([0.5 * (1 + erf(at / sqrt(2))) for at in _NORMAL_AT])
_SURE = 0.93
_EXPLAINED = 2.0
_LEAST = 0.05

Pair = tuple[tuple[int, int], tuple[int, int]]
"""Two knobs, each with its level."""


class Memory(NamedTuple):
    """A formula of the memory that an arm needs, and what is known of where it ends."""

    needs: Callable[[Arm], float]
    """Memory of an arm, in any unit."""
    limit: float
    """The likeliest limit."""
    limit_sd: float
    """How far it may be off."""
    error_sd: float
    """How far the formula may be off for one arm."""


class Feasibility:
    """The chance that an arm starts and lives, from what started and what failed."""

    def __init__(self, space: Space, memory: Memory | None) -> None:
        self._space, self._memory = space, memory
        self._seen: set[Pair] = set()
        self._suspects: list[frozenset[Pair]] = []
        self._limits: NDArray[np.float64] = np.zeros(1)
        if memory is not None:
            span = _WIDE * memory.limit_sd
            self._limits = np.linspace(memory.limit - span, memory.limit + span, _GRID)
        self._log = (
            -0.5
            * ((self._limits - (memory.limit if memory else 0)) / (memory.limit_sd if memory else 1)) ** 2
        )

    def chance(self, arm: Arm) -> float:
        """The chance that an arm serves."""
        found = self._fits(arm)
        pairs = self._pairs(arm)
        for suspect in self._suspects:
            if shared := len(suspect & pairs):
                found *= max(_LEAST, 1 - _EXPLAINED * shared / len(suspect))
        return found

    def started(self, arm: Arm) -> None:
        """The arm served: nothing in it prevents that."""
        self._log += np.log(self._each_limit(arm) + 1e-9)
        self._seen |= self._pairs(arm)
        self._suspects = [left for each in self._suspects if (left := each - self._seen)]

    def failed(self, arm: Arm, *, under_load: bool = False) -> None:
        """It did not: memory, where that is likely enough, else one of the pairs of settings new in it."""
        if self._memory is not None and (under_load or self._fits(arm) < _SURE):
            self._log += np.log(1 - self._each_limit(arm) + 1e-3)
        elif suspects := self._pairs(arm) - self._seen:
            self._suspects.append(frozenset(suspects))

    def _each_limit(self, arm: Arm) -> NDArray[np.float64]:
        """The chance that the arm fits, were the limit at each place of the grid."""
        if self._memory is None:
            return np.ones(1)
        distance = (self._limits - self._memory.needs(arm)) / self._memory.error_sd
        return np.asarray(np.interp(distance, _NORMAL_AT, _NORMAL), dtype=np.float64)

    def _fits(self, arm: Arm) -> float:
        weights = np.exp(self._log - self._log.max())
        return float(weights @ self._each_limit(arm) / weights.sum())

    def _pairs(self, arm: Arm) -> set[Pair]:
        """Pairs of settings of which one at least is not the default."""
        settings = list(enumerate(arm))
        changed = [at != self._space.knobs[knob].default for knob, at in settings]
        return {
            (one, other) for one, other in combinations(settings, 2) if changed[one[0]] or changed[other[0]]
        }
