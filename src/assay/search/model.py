"""A Bayesian linear model of the logarithm of throughput: main effects, curves, and pairs of knobs.

In logarithms effects of options nearly add up, so a model that says so learns from few starts what a general
optimiser needs hundreds for (docs/explanation/search.md). Conjugate normal updates with known noise.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from assay.search.space import Arm, Effect, Knob, Space

Array = NDArray[np.float64]

_LEAST_SD = 0.006
_LEVEL = Effect(mean=0.0, sd=0.5)
"""The baseline's own level."""
_SWITCH = Effect(mean=0.0, sd=0.025)
_STEP = Effect(mean=0.0, sd=0.02)
_NOTHING = Effect(mean=0.0, sd=0.001)
_CURVE = Effect(mean=-0.004, sd=0.006)
_PAIR = Effect(mean=0.0, sd=0.012)


class Features:
    """Turns arms into rows of numbers."""

    def __init__(self, space: Space) -> None:
        self._space = space
        self._flags: list[tuple[int, int]] = []
        """(knob, level) of each column that says whether a knob has a level other than its default."""
        self._ordered: list[int] = []
        for at, knob in enumerate(space.knobs):
            if knob.ordered:
                self._ordered.append(at)
            else:
                self._flags += [(at, level) for level in range(len(knob.levels)) if level != knob.default]
        self._pairs = [
            (one, other)
            for one, other in combinations(range(len(self._flags)), 2)
            if self._flags[one][0] != self._flags[other][0]
        ]
        kinks = [knob.default if knob.kink is None else knob.kink for knob in space.knobs]
        self._kinks = np.array(kinks, dtype=float)
        self._bent = [at for at in self._ordered if space.knobs[at].kink is not None]

    def __call__(self, arms: Sequence[Arm]) -> Array:
        """One row for each arm: level, flags, lines of ordered knobs, bends below kinks, squares, pairs."""
        given = np.asarray(arms, dtype=float).reshape(len(arms), len(self._space.knobs))
        places, levels = [at for at, _ in self._flags], [level for _, level in self._flags]
        flags = (given[:, places] == np.array(levels, dtype=float)).astype(float)
        moved = given - self._kinks
        line, below = moved[:, self._ordered], np.maximum(-moved[:, self._bent], 0)
        one, other = [pair[0] for pair in self._pairs], [pair[1] for pair in self._pairs]
        parts = [np.ones((len(arms), 1)), flags, line, below, line**2, flags[:, one] * flags[:, other]]
        return np.concatenate(parts, 1)

    def prior(self, *, primary: bool) -> tuple[Array, Array]:
        """Mean and standard deviation of each column's effect; beliefs are of the primary level."""
        knobs = self._space.knobs
        flags = [_believed(knobs[at], "up", _SWITCH, primary=primary) for at, _ in self._flags]
        lines = [_believed(knobs[at], "up", _STEP, primary=primary) for at in self._ordered]
        bends = [_believed(knobs[at], "down", _STEP, primary=primary) for at in self._bent]
        curves = [_believed(knobs[at], "curve", _CURVE, primary=primary) for at in self._ordered]
        every = [_LEVEL, *flags, *lines, *bends, *curves, *[_PAIR] * len(self._pairs)]
        return np.array([each.mean for each in every]), np.array([each.sd for each in every])


def _believed(knob: Knob, name: str, usual: Effect, *, primary: bool) -> Effect:
    if not primary:
        return _NOTHING if knob.only_primary else usual
    found: Effect | None = getattr(knob, name)
    return usual if found is None else Effect(mean=found.mean, sd=max(found.sd, _LEAST_SD))


class Model:
    """The posterior of one level."""

    def __init__(self, prior: tuple[Array, Array], noise_sd: float) -> None:
        self._mean, sd = prior
        self._covariance = np.diag(sd**2)
        self._variance = noise_sd**2

    def tell(self, row: Array, value: float) -> None:
        """A measurement (a rank-one update of mean and covariance)."""
        along = self._covariance @ row
        spread = self._variance + float(row @ along)
        self._mean = self._mean + along * ((value - float(row @ self._mean)) / spread)
        self._covariance = self._covariance - np.outer(along, along) / spread

    def predict(self, rows: Array) -> tuple[Array, Array]:
        """Mean and standard deviation of the true level of each row."""
        return rows @ self._mean, np.sqrt(
            np.maximum(np.einsum("ij,jk,ik->i", rows, self._covariance, rows), 0)
        )
