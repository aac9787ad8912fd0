"""How often `assay.decisions.decide` errs, by simulation of whole confirmations, beside naive rules.

Usage: python benchmarks/decisions.py [--sessions 40000] [--seed 1]      (needs numpy)

Noise, all in logarithms (0.01 is 1 %), of start j at level l:

    y = effect + D(t) + L_j + M_jl + e_jl
    L ~ sd sqrt(0.6) s_b, common to all five levels; M ~ sd sqrt(0.4) s_b, of its own at each
    e: 18 windows of 5 s, AR(1) with 0.6 and sd 1.5 %: the mean of a run has sd 0.7 %
    D: drift, an Ornstein-Uhlenbeck process of sd 0.7 % and 6 h, and a line of sd 0.15 % an hour;
       24 min a start

`heavy` draws L and M from Student's t with 3 degrees of freedom, `outliers` makes one start in twenty four
times as noisy; both keep the standard deviation. `strong drift` is three times the drift. Noise that is known
beforehand is measured, too: from 10 starts of the baseline in a row where nothing else is said.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from assay.decisions import ConfirmationRule, decide
from assay.stats import Noise, noise, t_quantile

Array = NDArray[np.float64]
LEVELS = ("1", "4", "16", "32", "64")
PRIMARY = len(LEVELS) - 1
SHARED, WINDOWS, PHI, WINDOW_SD = 0.6, 18, 0.6, 0.015
HOURS, DRIFT_SD, DRIFT_HOURS, LINE = 0.4, 0.007, 6.0, 0.0015
RULE = ConfirmationRule()
STARTS = 2 * RULE.looks[-1]


@dataclass(frozen=True)
class Machine:
    """A machine's noise."""

    name: str
    spread: float = 0.01
    drift: float = 1.0
    tails: str = "normal"


@dataclass(frozen=True)
class Told:
    """What a simulation says of one rule."""

    shipped: float
    starts: float
    overstated: float


def drawn(rng: np.random.Generator, sd: float, shape: tuple[int, ...], tails: str) -> Array:
    """Noise of that standard deviation."""
    if tails == "heavy":
        return rng.standard_t(3, shape) / math.sqrt(3) * sd
    plain = rng.normal(0, sd, shape)
    if tails == "outliers":
        return np.where(rng.random(shape) < 0.05, 4 * plain, plain) / math.sqrt(0.95 + 0.05 * 16)
    return plain


def starts(rng: np.random.Generator, machine: Machine, sessions: int, count: int) -> Array:
    """Windows of so many starts in a row without any effect: (sessions, starts, levels, windows)."""
    shared = drawn(rng, math.sqrt(SHARED) * machine.spread, (sessions, count, 1), machine.tails)
    own = drawn(rng, math.sqrt(1 - SHARED) * machine.spread, (sessions, count, len(LEVELS)), machine.tails)
    windows = np.empty((sessions, count, len(LEVELS), WINDOWS))
    windows[..., 0] = rng.normal(0, WINDOW_SD, windows.shape[:-1])
    for at in range(1, WINDOWS):
        fresh = rng.normal(0, WINDOW_SD * math.sqrt(1 - PHI**2), windows.shape[:-1])
        windows[..., at] = PHI * windows[..., at - 1] + fresh
    return windows + (shared + own + drifted(rng, machine, sessions, count)[..., None])[..., None]


def drifted(rng: np.random.Generator, machine: Machine, sessions: int, count: int) -> Array:
    """The machine's drift at each start: (sessions, starts)."""
    keep = math.exp(-HOURS / DRIFT_HOURS)
    found = np.empty((sessions, count))
    found[:, 0] = rng.normal(0, DRIFT_SD, sessions)
    for at in range(1, count):
        found[:, at] = keep * found[:, at - 1] + rng.normal(0, DRIFT_SD * math.sqrt(1 - keep**2), sessions)
    line = rng.normal(0, LINE, (sessions, 1)) * HOURS * np.arange(count)
    return machine.drift * (found + line)


def differences(runs: Array) -> Array:
    """B minus A of each pair of starts in the order A B B A: (sessions, pairs, levels)."""
    sessions, count, levels = runs.shape
    halves = runs.reshape(sessions, count // 2, 2, levels)
    turn = np.where(np.arange(count // 2) % 2 == 0, 1.0, -1.0)[None, :, None]
    return np.asarray((halves[:, :, 1] - halves[:, :, 0]) * turn)


def confirmed(pairs: Array, known: Sequence[dict[str, Noise]]) -> Told:
    """assay's rule, one session after the other, look by look."""
    shipped, used, estimates = 0, 0, []
    for session, prior in zip(pairs, known, strict=True):
        for look in RULE.looks:
            levels = {name: session[:look, at].tolist() for at, name in enumerate(LEVELS)}
            found = decide(levels, LEVELS[PRIMARY], RULE, known=prior)
            if found.outcome != "go_on":
                break
        used += found.starts
        if found.outcome == "ship":
            shipped += 1
            estimates.append(math.log(found.levels[0].ratio))
    return Told(shipped / len(pairs), used / len(pairs), float(np.mean(estimates)) if estimates else math.nan)


def measured_noise(runs: Array) -> list[dict[str, Noise]]:
    """Noise at each level from starts of the baseline: (sessions, starts, levels)."""
    return [
        {
            name: found
            for at, name in enumerate(LEVELS)
            if (found := noise(np.exp(session[:, at]).tolist())) is not None
        }
        for session in runs
    ]


def one_run(pairs: Array, windows: Array) -> tuple[NDArray[np.bool_], Array, int]:
    """One start each, the larger mean wins."""
    del windows
    return pairs[:, 0, PRIMARY] > 0, pairs[:, 0, PRIMARY], 2


def one_run_two_per_cent(pairs: Array, windows: Array) -> tuple[NDArray[np.bool_], Array, int]:
    """One start each, a gain above 2 % wins."""
    del windows
    return pairs[:, 0, PRIMARY] > 0.02, pairs[:, 0, PRIMARY], 2


def windows_test(pairs: Array, windows: Array) -> tuple[NDArray[np.bool_], Array, int]:
    """One start each, Welch's test over the windows of the two runs at 5 %."""
    a, b = windows[:, 0, PRIMARY], windows[:, 1, PRIMARY]
    error = np.sqrt(a.var(-1, ddof=1) / WINDOWS + b.var(-1, ddof=1) / WINDOWS)
    limit = t_quantile(0.95, 2 * WINDOWS - 2)
    return pairs[:, 0, PRIMARY] > limit * error, pairs[:, 0, PRIMARY], 2


def five_pairs(pairs: Array, windows: Array) -> tuple[NDArray[np.bool_], Array, int]:
    """Five pairs, Student's test of their differences at 5 %."""
    del windows
    here = pairs[:, :5, PRIMARY]
    error = here.std(1, ddof=1) / math.sqrt(5)
    return here.mean(1) > t_quantile(0.95, 4) * error, here.mean(1), 10


Naive = Callable[[Array, Array], tuple[NDArray[np.bool_], Array, int]]
NAIVE: dict[str, Naive] = {
    "one start each, the larger wins": one_run,
    "one start each, above 2 %": one_run_two_per_cent,
    "one start each, t over windows": windows_test,
    "five pairs, own spread": five_pairs,
}
MACHINES = (
    Machine("starts differ by 0.5 %", spread=0.005),
    Machine("starts differ by 1 %"),
    Machine("starts differ by 2 %", spread=0.02),
    Machine("1 %, no drift", drift=0),
    Machine("1 %, strong drift", drift=3),
    Machine("1 %, heavy tails", tails="heavy"),
    Machine("1 %, outliers", tails="outliers"),
    Machine("2 %, heavy tails, strong drift", spread=0.02, drift=3, tails="heavy"),
    Machine("4 %, heavy tails", spread=0.04, tails="heavy"),
)
EFFECTS = (0.0, 0.02, 0.05)


class Simulation:
    """Draws the same sessions for every rule."""

    def __init__(self, sessions: int, seed: int) -> None:
        self.sessions, self.seed = sessions, seed
        self.worst = 0.0
        self.batch = 2000

    def rows(
        self, machine: Machine, before: int, effects: Sequence[Sequence[float]]
    ) -> list[dict[str, Told]]:
        """For each effect what each rule tells: assay's, and the naive ones."""
        rng = np.random.default_rng([self.seed, *machine.name.encode()])
        found: list[list[dict[str, Told]]] = [[] for _ in effects]
        left = self.sessions
        while left > 0:
            size = min(self.batch, left)
            left -= size
            windows = starts(rng, machine, size, STARTS)
            known = measured_noise(starts(rng, machine, size, before).mean(-1)) if before else [{}] * size
            for at, effect in enumerate(effects):
                found[at].append(self.one(windows, np.asarray(effect), known))
        return [self.together(batches) for batches in found]

    def one(self, windows: Array, effect: Array, known: Sequence[dict[str, Noise]]) -> dict[str, Told]:
        """All rules on one batch."""
        order = np.resize([0.0, 1.0, 1.0, 0.0], STARTS)
        shifted = windows + (order[:, None] * effect)[None, :, :, None]
        pairs = differences(shifted.mean(-1))
        told = {"assay": confirmed(pairs, known)}
        for name, rule in NAIVE.items():
            won, estimate, used = rule(pairs, shifted)
            mean = float(estimate[won].mean()) if won.any() else math.nan
            told[name] = Told(float(won.mean()), used, mean)
        return told

    def together(self, batches: Sequence[dict[str, Told]]) -> dict[str, Told]:
        """The mean over batches; those without a win say nothing of the size of wins."""
        means = {}
        for name in batches[0]:
            each = [batch[name] for batch in batches]
            sizes = [(one.overstated, one.shipped) for one in each if one.shipped]
            total = math.fsum(weight for _, weight in sizes)
            size = math.fsum(mean * weight for mean, weight in sizes) / total if total else math.nan
            means[name] = Told(
                float(np.mean([one.shipped for one in each])),
                float(np.mean([one.starts for one in each])),
                size,
            )
        return means


def flat(effect: float) -> tuple[float, ...]:
    """The same effect at every level."""
    return (effect,) * len(LEVELS)


def errors(simulation: Simulation) -> None:
    """False gains and power on each machine."""
    print(f"{'':44}{'false gains':>12}{'ship 2 %':>10}{'ship 5 %':>10}   starts at 0/2/5 %   wins at 2 % say")
    for machine in MACHINES:
        rows = simulation.rows(machine, 10, [flat(each) for each in EFFECTS])
        for name in rows[0] if machine.name == "starts differ by 1 %" else ("assay",):
            told = [row[name] for row in rows]
            label = machine.name if name == "assay" else f"    {name}"
            line(label, told)
        simulation.worst = max(simulation.worst, rows[0]["assay"].shipped)
    for before, label in ((0, "1 %, nothing known before"), (4, "1 %, 4 starts known before")):
        rows = simulation.rows(Machine(label), before, [flat(each) for each in EFFECTS])
        line(label, [row["assay"] for row in rows])
        simulation.worst = max(simulation.worst, rows[0]["assay"].shipped)


def line(label: str, told: Sequence[Told]) -> None:
    """One row of the table."""
    used = "/".join(f"{each.starts:.1f}" for each in told)
    print(
        f"{label:44}{told[0].shipped:12.4f}{told[1].shipped:10.3f}{told[2].shipped:10.3f}   {used:17}   "
        f"{100 * told[1].overstated:+.2f} %",
        flush=True,
    )


def harm(simulation: Simulation) -> None:
    """A gain at one level that costs another."""
    mixed = (-0.04, -0.02, 0.0, 0.01, 0.03)
    harmless = (0.0, 0.0, 0.0, 0.01, 0.03)
    rows = simulation.rows(Machine("harm"), 10, [mixed, harmless])
    print(f"\n{'3 % gain at one level':44}{'4 % loss at another':>20}{'no loss':>10}")
    for name in rows[0]:
        print(f"{name:44}{rows[0][name].shipped:20.4f}{rows[1][name].shipped:10.4f}")


def main() -> None:
    """Simulate and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--sessions", type=int, default=40_000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    began = time.process_time()
    simulation = Simulation(options.sessions, options.seed)
    print(f"{options.sessions} sessions for each figure, seed {options.seed}\n")
    errors(simulation)
    harm(simulation)
    chance = math.sqrt(0.05 * 0.95 / options.sessions)
    print(
        f"\nmost false gains of assay's rule on any machine: {simulation.worst:.4f} "
        f"(bar 0.055; chance moves a figure by {2 * chance:.4f}), {time.process_time() - began:.0f} s CPU"
    )


if __name__ == "__main__":
    main()
