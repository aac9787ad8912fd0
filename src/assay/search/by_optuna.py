"""Optuna behind the same ask and tell: a general optimiser, for servers that start in seconds. Needs optuna.

It assumes nothing of effects that add up, and needs some hundred starts for it (docs/explanation/search.md).
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Literal

from assay.search.habits import Habits, Outcome
from assay.search.space import Arm, Knob, Objective, Space

if TYPE_CHECKING:
    import optuna

Sampler = Literal["tpe", "gp"]
"""Tree-structured Parzen estimator, or a Gaussian process, which needs torch, too."""
_REFUSED = 400
_AT_RANDOM = 10
_FAILED = -0.3
"""What a failed arm counts as, in logarithms, for samplers that want a number."""


class OptunaSearch:
    """Proposes arms and learns from their outcomes."""

    def __init__(
        self,
        space: Space,
        objective: Objective,
        *,
        valid: Callable[[Arm], bool],
        habits: Habits | None = None,
        first: Sequence[Arm] = (),
        sampler: Sampler = "tpe",
    ) -> None:
        """A search over the arms that `valid` lets pass; `first` are started before any that it draws.

        Raises:
            ValueError: the baseline itself is not valid.
            ModuleNotFoundError: optuna, or torch for its `gp`, is not there.
        """
        if not valid(space.baseline):
            raise ValueError("the baseline is not valid")
        self._space, self._objective, self._valid = space, objective, valid
        self._habits = habits or Habits()
        self._first = list(first)
        self._study = _study(sampler, self._habits.seed)
        self._asked: dict[Arm, list[optuna.Trial]] = {}
        self._values: dict[Arm, list[dict[str, float]]] = {}
        self._failed: set[Arm] = set()

    @property
    def failed(self) -> frozenset[Arm]:
        """Arms that failed; none of them is proposed again."""
        return frozenset(self._failed)

    def ask(self) -> Arm | None:
        """The next arm to start, `None` where the baseline failed, or nothing was drawn that may serve."""
        baseline = self._space.baseline
        if len(self._values.get(baseline, ())) < self._habits.baselines:
            return None if baseline in self._failed else baseline
        while self._first:
            if (arm := self._first.pop(0)) not in self._failed and self._valid(arm):
                return arm
        for _ in range(_REFUSED):
            trial = self._study.ask(_distributions(self._space))
            arm = tuple(int(trial.params[knob.name]) for knob in self._space.knobs)
            if arm not in self._failed and self._valid(arm):
                self._asked.setdefault(arm, []).append(trial)
                return arm
            trial.set_user_attr("broken", 1.0)
            self._study.tell(trial, _FAILED)
        return None

    def tell(self, arm: Arm, outcome: Outcome) -> None:
        """What became of an arm, whether asked for or not.

        Raises:
            ValueError: an arm that served has no value for a level.
        """
        served = outcome.status == "served"
        if served:
            missing = {*self._objective.levels} - set(outcome.values)
            if missing:
                raise ValueError(f"no value for {', '.join(sorted(missing))}")
            self._values.setdefault(arm, []).append(dict(outcome.values))
        else:
            self._failed.add(arm)
            self._values.pop(arm, None)
        self._told(arm, self._worth(outcome.values) if served else _FAILED, broken=not served)

    def best(self) -> Arm:
        """The arm that served with the highest mean of the objective; the baseline before any served."""
        return max(self._values, key=self._mean, default=self._space.baseline)

    def gain_left(self) -> float:
        """How much a further start may gain: it cannot say, so a study goes on to the end of its budget."""
        return math.inf

    def pruned(self, arm: Arm) -> Arm:
        """The arm as it is: which of its changes gain, nobody knows here."""
        return arm

    def difference(self, arm: Arm, other: Arm) -> tuple[float, float] | None:
        """Mean and standard deviation of what an arm gave above another at the primary level, in logarithms;
        `None` where one of them did not serve. Seen, and no verdict."""
        primary, runs = self._objective.levels[0], [self._values.get(each, []) for each in (arm, other)]
        if not all(runs):
            return None
        means = [math.fsum(values[primary] for values in each) / len(each) for each in runs]
        sd = self._habits.noise_sd * math.sqrt(sum(1 / len(each) for each in runs))
        return means[0] - means[1], sd

    def _told(self, arm: Arm, worth: float, *, broken: bool) -> None:
        asked = self._asked.get(arm)
        if asked:
            trial = asked.pop(0)
        else:  # nobody asked for it, as for the baseline
            names = [knob.name for knob in self._space.knobs]
            self._study.enqueue_trial(dict(zip(names, arm, strict=True)))
            trial = self._study.ask(_distributions(self._space))
        trial.set_user_attr("broken", 1.0 if broken else -1.0)
        self._study.tell(trial, worth)

    def _mean(self, arm: Arm) -> float:
        values = self._values[arm]
        return math.fsum(self._worth(each) for each in values) / len(values)

    def _worth(self, values: dict[str, float]) -> float:
        """The objective above the baseline's: the primary level's gain, less what others lose."""
        first, *others = self._objective.levels
        base = self._values.get(self._space.baseline, [values])
        at_base = {level: math.fsum(each[level] for each in base) / len(base) for level in values}
        lost = (at_base[level] - self._objective.margin - values[level] for level in others)
        penalty = math.fsum(max(0.0, each) for each in lost) * self._objective.penalty
        return values[first] - at_base[first] - penalty


def _study(sampler: Sampler, seed: int) -> optuna.Study:
    import optuna  # only who asks for it needs it

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what is experimental there
        found: Any
        if sampler == "tpe":
            found = optuna.samplers.TPESampler(
                multivariate=True, n_startup_trials=_AT_RANDOM, seed=seed, constraints_func=_broken
            )
        else:
            found = optuna.samplers.GPSampler(
                n_startup_trials=_AT_RANDOM,
                seed=seed,
                deterministic_objective=False,
                constraints_func=_broken,
            )
    return optuna.create_study(direction="maximize", sampler=found)


def _broken(trial: optuna.trial.FrozenTrial) -> tuple[float, ...]:
    return (float(trial.user_attrs.get("broken", 0.0)),)


def _distributions(space: Space) -> dict[str, Any]:
    from optuna.distributions import CategoricalDistribution, IntDistribution

    def of(knob: Knob) -> Any:
        last = len(knob.levels) - 1
        if knob.ordered or last == 1:
            return IntDistribution(0, last)
        return CategoricalDistribution(tuple(range(last + 1)))

    return {knob.name: of(knob) for knob in space.knobs}
