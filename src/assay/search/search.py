"""The search: baseline starts, a screening design, then the arm that may gain most; pure, by ask and tell."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from assay.search.feasibility import Feasibility, Memory
from assay.search.habits import Habits, Outcome
from assay.search.model import Features, Model
from assay.search.space import Arm, Objective, Space

_SCREENING, _DRAWN = 6, 150
_TRIES = 200
_SAFE, _LIKELY = 0.8, 0.5
_CONFIDENCE = 1.0
_BEST = 4
_CLIMBS, _KEPT, _FAR = 2, 12, 20
_AGAIN = 0.003
_FEASIBLE_WEIGHT = 0.02


class Search:
    """Proposes arms and learns from their outcomes."""

    def __init__(
        self,
        space: Space,
        objective: Objective,
        *,
        valid: Callable[[Arm], bool],
        memory: Memory | None = None,
        habits: Habits | None = None,
        first: Sequence[Arm] = (),
    ) -> None:
        """A search over the arms that `valid` lets pass.

        `first` are arms to start before the screening, in the place of as many of its starts: those of which
        nobody knows whether they start at all.

        Raises:
            ValueError: the baseline itself is not valid.
        """
        habits = habits or Habits()
        if not valid(space.baseline):
            raise ValueError("the baseline is not valid")
        self._space, self._objective, self._valid = space, objective, valid
        self._features = Features(space)
        self._models = {
            level: Model(self._features.prior(primary=at == 0), habits.noise_sd)
            for at, level in enumerate(objective.levels)
        }
        self._feasible = Feasibility(space, memory)
        self._draw = np.random.default_rng(habits.seed)
        self._baselines, self._contributes = habits.baselines, habits.contributes
        self._first = list(first)
        self._screened = 0
        self._served: dict[Arm, int] = {}
        self._failed: set[Arm] = set()

    @property
    def failed(self) -> frozenset[Arm]:
        """Arms that failed; none of them is proposed again."""
        return frozenset(self._failed)

    def ask(self) -> Arm | None:
        """The next arm to start, `None` where none is valid and likely to serve, or the baseline failed."""
        if self._served.get(self._space.baseline, 0) < self._baselines:
            return None if self._space.baseline in self._failed else self._space.baseline
        while self._first:
            self._screened += 1
            if self._usable(arm := self._first.pop(0)):
                return arm
        if self._screened < _SCREENING:
            self._screened += 1
            if (found := self._screening()) is not None:
                return found
        return self._promising()

    def tell(self, arm: Arm, outcome: Outcome) -> None:
        """What became of an arm, whether asked for or not.

        Raises:
            ValueError: an arm that served has no value for a level.
        """
        if outcome.status != "served":
            self._failed.add(arm)
            self._served.pop(arm, None)
            self._feasible.failed(arm, under_load=outcome.status == "crashed")
            return
        missing = set(self._models) - set(outcome.values)
        if missing:
            raise ValueError(f"no value for {', '.join(sorted(missing))}")
        row = self._features([arm])[0]
        for level, model in self._models.items():
            model.tell(row, outcome.values[level])
        self._feasible.started(arm)
        self._served[arm] = self._served.get(arm, 0) + 1

    def best(self) -> Arm:
        """The arm that served with the highest expected objective; the baseline before any served."""
        arms = list(self._served)
        return arms[int(np.argmax(self._score(arms, 0.0)))] if arms else self._space.baseline

    def expected(self, arm: Arm) -> float:
        """What the objective of an arm is expected to be above the baseline's, in logarithms."""
        both = self._score([arm, self._space.baseline], 0.0)
        return float(both[0] - both[1])

    def gain_left(self) -> float:
        """How much the best arm that was not started yet, and is likely to serve, is expected to gain over
        `best`, in logarithms.

        Below 0.005 a further start hardly pays.
        """
        arms = [
            arm for arm in self._near() if arm not in self._served and self._feasible.chance(arm) >= _LIKELY
        ]
        if not arms:
            return 0.0
        return max(0.0, float(self._score(arms, 0.0).max() - self._score([self.best()], 0.0)[0]))

    def pruned(self, arm: Arm) -> Arm:
        """The arm with every knob back at its default whose change hardly gains (`Habits.contributes`).

        Fewer changes are fewer risks. A knob whose default would not be valid beside the others stays.
        """
        for at, knob in enumerate(self._space.knobs):
            without = (*arm[:at], knob.default, *arm[at + 1 :])
            if (
                arm[at] != knob.default
                and self._valid(without)
                and self._chance_better(arm, without) < self._contributes
            ):
                arm = without
        return arm

    def difference(self, arm: Arm, other: Arm) -> tuple[float, float]:
        """What an arm is believed to give above another at the primary level, in logarithms, and how sure
        that is: mean and standard deviation. A belief from few starts, and no verdict."""
        rows = self._features([arm, other])
        primary = self._models[self._objective.levels[0]]
        mean, sd = primary.predict((rows[0] - rows[1])[None, :])
        return float(mean[0]), float(sd[0])

    def _chance_better(self, arm: Arm, other: Arm) -> float:
        mean, sd = self.difference(arm, other)
        shortfall = float(self._score([arm], 0.0)[0] - self._score([other], 0.0)[0])
        middle = min(mean, shortfall)  # a loss at another level counts against it
        return NormalDist().cdf(middle / max(sd, 1e-9))

    def _score(self, arms: Sequence[Arm], confidence: float) -> NDArray[np.float64]:
        """The objective, with that many standard deviations added where it is not known."""
        rows = self._features(arms)
        first, *others = self._objective.levels
        mean, sd = self._models[first].predict(rows)
        found = mean + confidence * sd
        for level in others:
            model = self._models[level]
            at_baseline = model.predict(self._features([self._space.baseline]))[0][0]
            here, here_sd = model.predict(rows)
            loss = at_baseline - self._objective.margin - (here + 0.5 * confidence * here_sd)
            found = found - self._objective.penalty * np.maximum(0, loss)
        return np.asarray(found)

    def _screening(self) -> Arm | None:
        """Greedy D-optimal among valid arms near the default: where the model knows least (information
        grows by `1 + x' C x / s^2`), leaning to what looks good, and only where it will surely serve."""
        arms = [arm for _ in range(_DRAWN) if (arm := self._drawn(near=True)) is not None]
        if not arms:
            return None
        _, sd = self._models[self._objective.levels[0]].predict(self._features(arms))
        worth = sd + 0.3 * self._score(arms, 0.0)
        safe = np.array([self._feasible.chance(arm) > _SAFE for arm in arms])
        return arms[int(np.argmax(np.where(safe, worth, -np.inf)))] if safe.any() else None

    def _promising(self) -> Arm | None:
        """Upper confidence bound, less what failure costs, near the best and near the model's optimum."""
        arms = [arm for arm in self._near() if self._usable(arm)]
        if not arms:
            return None
        chances = np.array([self._feasible.chance(arm) for arm in arms])
        worth = self._score(arms, _CONFIDENCE) + _FEASIBLE_WEIGHT * np.log(np.maximum(chances, 0.01))
        worth -= np.array([_AGAIN * self._served.get(arm, 0) for arm in arms])
        worth[chances < _LIKELY] = -np.inf
        return arms[int(np.argmax(worth))] if np.isfinite(worth).any() else None

    def _near(self) -> list[Arm]:
        """Neighbours of the best arms, of a climb on the model from the best one, and some far ones."""
        best = sorted(self._served, key=lambda arm: -self._score([arm], 0.0)[0])[:_BEST]
        found: dict[Arm, None] = {}
        for arm in best:
            found.update(dict.fromkeys(each for each in self._space.neighbours(arm) if self._usable(each)))
        at = best[0] if best else self._space.baseline
        for _ in range(_CLIMBS):
            around = [each for each in self._space.neighbours(at) if self._usable(each)]
            if not around:
                break
            chances = np.array([max(self._feasible.chance(each), 0.01) for each in around])
            worth = self._score(around, 0.7) + _FEASIBLE_WEIGHT * np.log(chances)
            order = np.argsort(-worth)
            at = around[int(order[0])]
            found.update(dict.fromkeys(around[int(each)] for each in order[:_KEPT]))
        far = (self._drawn(near=False) for _ in range(_FAR))
        found.update(dict.fromkeys(each for each in far if each is not None))
        return list(found)

    def _usable(self, arm: Arm) -> bool:
        return arm not in self._failed and self._valid(arm)

    def _drawn(self, *, near: bool) -> Arm | None:
        """A valid arm by chance; `near`: two ordered knobs at most one level off, switches half and half."""
        knobs = self._space.knobs
        ordered = [at for at, knob in enumerate(knobs) if knob.ordered]
        for _ in range(_TRIES):
            levels = list(self._space.baseline)
            moved = set(self._draw.choice(ordered, min(2, len(ordered)), replace=False)) if ordered else set()
            for at, knob in enumerate(knobs):
                if not knob.ordered or not near:
                    levels[at] = int(self._draw.integers(0, len(knob.levels)))
                elif at in moved:
                    level = levels[at] + int(self._draw.integers(-1, 2))
                    levels[at] = min(max(level, 0), len(knob.levels) - 1)
            arm = tuple(levels)
            if self._usable(arm):
                return arm
        return None
