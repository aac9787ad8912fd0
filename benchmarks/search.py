"""Hours until each way to search would ship a configuration within 2 % of the best, by simulation.

Usage: python benchmarks/search.py [--families additive,cliff,three_way] [--methods …] [--seeds 24]
       python benchmarks/search.py --surface FILE …       the same on surfaces from files
       python benchmarks/search.py --write FOLDER         write the drawn surfaces as files

Needs numpy; optuna (and torch for its GP) for the rows that are of it. What a surface is:
`benchmarks/surfaces.py`. A start that serves costs 0.4 h, one that fails 0.2, one that crashes under load
0.3; asking the engine's own checks is free for everybody. Optuna, random and grid ship the best single
measurement, as their users do; assay and "one at a time" what they hold for best. Hours are those from which
on the shipped configuration is, and stays, truly within 2 % of the best.
"""

from __future__ import annotations

import argparse
import importlib.util
import itertools
import json
import math
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from surfaces import FAMILIES, HOURS, MARGIN, PENALTY, Status, Surface, read_surface

from assay.search import Arm, Effect, Habits, Objective, OptunaSearch, Outcome, Search
from assay.search.by_optuna import Sampler

OBJECTIVE = Objective(levels=("primary", "other"), margin=MARGIN, penalty=PENALTY)


class Clock:
    """Starts arms, counts hours, and notes how good what would be shipped is."""

    def __init__(self, surface: Surface, hours: float) -> None:
        self.surface, self.limit = surface, hours
        self.hour, self.starts, self.failures = 0.0, 0, 0
        self.shipped = surface.default
        self.at_default: float | None = None
        self.notes: list[tuple[float, float]] = []
        self.ship(surface.default)

    @property
    def left(self) -> bool:
        """Whether there is time for another start."""
        return self.hour < self.limit

    def start(self, arm: Arm) -> tuple[Status, float, float]:
        """Start an arm."""
        found = self.surface.start(arm)
        self.hour += HOURS[found[0]]
        self.starts += found[0] != "invalid"
        self.failures += found[0] in ("failed", "crashed")
        return found

    def measured(self, arm: Arm) -> float | None:
        """The objective as measured by one start; the default's first says what the other level may lose."""
        status, primary, other = self.start(arm)
        if status != "served":
            return None
        if self.at_default is None:
            self.at_default = other
        return self.surface.objective(primary, other, self.at_default)

    def ship(self, arm: Arm) -> None:
        """This is what would be shipped now."""
        self.shipped = arm
        self.notes.append((self.hour, self.surface.best_gain - self.surface.gain(arm)))

    def within(self, share: float = 0.02) -> float:
        """The hour from which on it is and stays that good; infinite if it never does."""
        since = math.inf
        for hour, regret in self.notes:
            since = min(since, hour) if regret <= share else math.inf
        return since

    def regret(self, hour: float) -> float:
        """How far from the best it is at an hour."""
        return [regret for at, regret in self.notes if at <= hour][-1]


def best_seen(clock: Clock, arms: Iterator[Arm]) -> None:
    """Ship the best single measurement."""
    best = clock.measured(clock.surface.default)
    for arm in arms:
        if not clock.left:
            return
        found = clock.measured(arm)
        if found is not None and (best is None or found > best):
            best = found
            clock.ship(arm)
        else:
            clock.ship(clock.shipped)


def random_search(clock: Clock) -> None:
    """Valid arms by chance."""
    rng = np.random.default_rng(clock.surface.seed + 5)
    best_seen(clock, (clock.surface.drawn(rng) for _ in itertools.count()))


def grid(clock: Clock) -> None:
    """Nested loops as in a benchmarking script: three values of a number, switches innermost."""
    surface = clock.surface
    values = [[0, 1] if size == 2 else sorted({0, size // 2, size - 1}) for size in reversed(surface.sizes)]
    best_seen(clock, (arm[::-1] for arm in itertools.product(*values) if surface.valid(arm[::-1])))


def one_at_a_time(threshold: float) -> Callable[[Clock], None]:
    """Change one knob, keep it if it is better by more than the threshold; again and again."""

    def search(clock: Clock) -> None:
        surface = clock.surface
        rng = np.random.default_rng(surface.seed + 9)
        arm = surface.default
        best = clock.measured(arm)
        while clock.left:
            for at in rng.permutation(len(surface.sizes)):
                for other in _steps(surface, arm, int(at)):
                    if not clock.left:
                        return
                    found = clock.measured(other)
                    if found is not None and best is not None and found > best + threshold:
                        arm, best = other, found
                    clock.ship(arm)

    return search


def _steps(surface: Surface, arm: Arm, at: int) -> list[Arm]:
    """The switch changed, or the number one level up and down."""
    size = surface.sizes[at]
    levels = [1 - arm[at]] if size == 2 else [arm[at] - 1, arm[at] + 1]
    arms = [(*arm[:at], level, *arm[at + 1 :]) for level in levels if 0 <= level < size]
    return [each for each in arms if surface.valid(each)]


def optuna_search(sampler: Sampler) -> Callable[[Clock], None]:
    """Optuna's TPE or GP behind our ask and tell, failures as constraints; the default is tried first."""

    def search(clock: Clock) -> None:
        surface = clock.surface
        tool = OptunaSearch(
            surface.space({}),
            OBJECTIVE,
            valid=surface.valid,
            habits=Habits(baselines=1, seed=surface.seed),
            sampler=sampler,
        )
        carry(clock, tool)

    return search


def carry(clock: Clock, tool: Search | OptunaSearch) -> None:
    """Start what it asks for, and ship what it holds for best."""
    while clock.left and (arm := tool.ask()) is not None:
        status, primary, other = clock.start(arm)
        if status == "served":
            tool.tell(arm, Outcome(status="served", values={"primary": primary, "other": other}))
        else:
            tool.tell(arm, Outcome(status="crashed" if status == "crashed" else "failed"))
        clock.ship(tool.best())


def assay_search(beliefs: str) -> Callable[[Clock], None]:
    """assay's own, with no, true or wrong beliefs about switches.

    True beliefs are bounds never below the true gain and often loose (expected: a quarter of the bound), and
    the proof of seven in ten inert switches that they are; wrong ones are about another switch.
    """

    def search(clock: Clock) -> None:
        surface = clock.surface
        believed, banned = _believed(surface, beliefs)
        tool = Search(
            surface.space(believed),
            OBJECTIVE,
            valid=lambda arm: surface.valid(arm) and not any(arm[at] for at in banned),
            memory=surface.memory_known(),
            habits=Habits(baselines=1, seed=surface.seed + 71),
        )
        carry(clock, tool)

    return search


def _believed(surface: Surface, kind: str) -> tuple[dict[str, Effect], list[int]]:
    """Beliefs about switches, and places of those that are left out."""
    if kind == "none":
        return {}, []
    rng = np.random.default_rng(surface.seed + 31)
    gains, inert = surface.document.get("switches", {}), surface.document.get("inert", [])
    names = list(gains)
    believed: dict[str, Effect] = {}
    banned = []
    for name in names:
        about = name if kind == "true" else names[int(rng.integers(0, len(names)))]
        if kind == "true" and name in inert and rng.random() < 0.7:
            banned.append(surface.names.index(name))
        bound = max(gains[about], 0) * (1 + rng.exponential(1)) + 0.003
        believed[name] = Effect(mean=bound / 4, sd=bound / 2 + 0.006)
    return believed, banned


METHODS: dict[str, Callable[[Clock], None]] = {
    "assay": assay_search("none"),
    "assay with bounds": assay_search("true"),
    "assay with wrong bounds": assay_search("wrong"),
    "one at a time": one_at_a_time(0.0),
    "one at a time above 1 %": one_at_a_time(0.01),
    "random": random_search,
    "grid": grid,
    "optuna TPE": optuna_search("tpe"),
    "optuna GP": optuna_search("gp"),
}


def row(name: str, surfaces: list[Callable[[], Surface]], hours: float) -> str:
    """One method on all surfaces of a family."""
    began, clocks = time.process_time(), []
    for make in surfaces:
        clock = Clock(make(), hours)
        METHODS[name](clock)
        clocks.append(clock)
    within = [clock.within() for clock in clocks]
    low, middle, high = np.percentile([min(each, 1e9) for each in within], [25, 50, 75], method="nearest")
    regrets = [100 * float(np.median([clock.regret(hour) for clock in clocks])) for hour in (4, 8, 12)]
    starts, failures = sum(clock.starts for clock in clocks), sum(clock.failures for clock in clocks)
    reached = sum(math.isfinite(each) for each in within) / len(within)
    hour = [f"{each:.1f}" if each < 1e8 else f"> {hours:g}" for each in (low, middle, high)]
    return (
        f"| {name} | {hour[1]} ({hour[0]}, {hour[2]}) | {100 * reached:.0f} % | "
        f"{regrets[0]:.1f} / {regrets[1]:.1f} / {regrets[2]:.1f} | {100 * failures / starts:.1f} % of "
        f"{starts / len(clocks):.0f} | {time.process_time() - began:.0f} |"
    )


def main() -> None:
    """Simulate and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--families", default=",".join(FAMILIES))
    parser.add_argument("--methods", default=",".join(METHODS))
    parser.add_argument("--seeds", type=int, default=24)
    parser.add_argument("--hours", type=float, default=14.0)
    parser.add_argument("--surface", type=Path, nargs="*", default=[])
    parser.add_argument("--write", type=Path)
    options = parser.parse_args()
    if options.write:
        write(options.write, options.families.split(","), options.seeds)
        return
    methods = options.methods.split(",")
    if importlib.util.find_spec("optuna") is None:
        methods = [each for each in methods if not each.startswith("optuna")]
        print("optuna is not installed: its rows are left out", file=sys.stderr)
    families = {name: _drawn(name, options.seeds) for name in options.families.split(",")}
    if options.surface:
        families = {"files": [_file(path, at) for at, path in enumerate(options.surface)]}
    for name, surfaces in families.items():
        made = [make() for make in surfaces]
        gain = [100 * (each.best_gain - each.gain(each.default)) for each in made]
        print(f"\n{name}: {len(made)} surfaces, {options.hours:g} h; best gain {np.median(gain):.1f} %\n")
        print("| method | hours (quartiles) | reached | % behind at 4/8/12 h | failed starts | CPU s |")
        print("| --- | --- | --- | --- | --- | --- |")
        for method in methods:
            print(row(method, surfaces, options.hours), flush=True)


def _drawn(family: str, seeds: int) -> list[Callable[[], Surface]]:
    return [lambda seed=seed: Surface(FAMILIES[family](seed), seed) for seed in range(seeds)]


def _file(path: Path, seed: int) -> Callable[[], Surface]:
    return lambda: read_surface(path, seed)


def write(folder: Path, families: list[str], seeds: int) -> None:
    """The drawn surfaces as files."""
    folder.mkdir(parents=True, exist_ok=True)
    for family in families:
        for seed in range(seeds):
            (folder / f"{family}-{seed}.json").write_text(json.dumps(FAMILIES[family](seed), indent=1))


if __name__ == "__main__":
    main()
