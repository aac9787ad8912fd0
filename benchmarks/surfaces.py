"""Response surfaces that `benchmarks/search.py` searches: read from files, or drawn from three families.

A surface is a JSON object; places are those of levels, gains are logarithms (0.01 is 1 %):

    knobs    [{name, levels, default, ordered, kink, only_primary, up, down, curve}], effects [mean, sd]
    terms    [{when: {knob: [places]}, gain: [primary level, other level]}], summed where all `when` hold
    invalid  [{when}] what the engine's own checks refuse: free to find out
    dies     [{when}] what dies at the start, unforeseen
    memory   {needs: {knob: [one for each place]}, known: the same as assay knows it, limit, band, sd}
             above the limit it dies under load, above limit + band at the start
    noise    {start, other, measure}: sd of a start, of the other level's own, of a measurement
    switches gains of those that beliefs are about; inert: names without any effect, alone or with others
"""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Literal

import numpy as np

from assay.search import Arm, Effect, Knob, Memory, Space

Status = Literal["served", "failed", "crashed", "invalid"]
HOURS: dict[Status, float] = {"served": 0.4, "failed": 0.2, "crashed": 0.3, "invalid": 0.0}
PENALTY, MARGIN = 3.0, 0.02


class Surface:
    """One surface, with its own noise."""

    def __init__(self, document: dict[str, Any], seed: int = 0) -> None:
        self.document, self.seed = document, seed
        self.noise = np.random.default_rng(777_000 + seed)
        self.names = [each["name"] for each in document["knobs"]]
        self.sizes = [len(each["levels"]) for each in document["knobs"]]
        self.default: Arm = tuple(each["default"] for each in document["knobs"])
        self._terms = [(self._when(each["when"]), each["gain"]) for each in document["terms"]]
        self._invalid = [self._when(each["when"]) for each in document.get("invalid", [])]
        self._dies = [self._when(each["when"]) for each in document.get("dies", [])]
        self.memory = document.get("memory")
        self._other = self.true(self.default)[1]
        self.best_arm, self.best_gain = self._climbed()

    def _when(self, when: dict[str, list[int]]) -> list[tuple[int, frozenset[int]]]:
        return [(self.names.index(name), frozenset(places)) for name, places in when.items()]

    def valid(self, arm: Arm) -> bool:
        """Whether the engine's own checks let it pass."""
        return not any(_holds(each, arm) for each in self._invalid)

    def needs(self, arm: Arm, *, known: bool = False) -> float:
        """Memory of an arm; `known`: by the formula that assay has."""
        table = self.memory["known" if known else "needs"]
        return math.fsum(places[arm[self.names.index(name)]] for name, places in table.items())

    def status(self, arm: Arm) -> Status:
        """What becomes of a start."""
        if not self.valid(arm):
            return "invalid"
        if any(_holds(each, arm) for each in self._dies):
            return "failed"
        over = self.needs(arm) - self.memory["limit"] if self.memory else -1.0
        return "served" if over <= 0 else "crashed" if over <= self.memory["band"] else "failed"

    def true(self, arm: Arm) -> tuple[float, float]:
        """The true level at both loads."""
        gains = [gain for when, gain in self._terms if _holds(when, arm)]
        return math.fsum(each[0] for each in gains), math.fsum(each[1] for each in gains)

    def objective(self, primary: float, other: float, at_default: float) -> float:
        """Gain at the primary level under a limit at the other."""
        return primary - PENALTY * max(0.0, at_default - MARGIN - other)

    def gain(self, arm: Arm) -> float:
        """The true objective; -1 where it does not serve."""
        return self.objective(*self.true(arm), self._other) if self.status(arm) == "served" else -1.0

    def start(self, arm: Arm) -> tuple[Status, float, float]:
        """One start: its status and what is measured."""
        status = self.status(arm)
        if status != "served":
            return status, math.nan, math.nan
        noise, (primary, other) = self.document["noise"], self.true(arm)
        common = self.noise.normal(0, noise["start"])
        return (
            status,
            primary + common + self.noise.normal(0, noise["measure"]),
            other
            + 0.6 * common
            + self.noise.normal(0, noise["other"])
            + self.noise.normal(0, noise["measure"]),
        )

    def space(self, believed: dict[str, Effect] | None = None) -> Space:
        """As assay's search sees it, with beliefs about switches."""
        return Space(knobs=tuple(_knob(each, believed or {}) for each in self.document["knobs"]))

    def memory_known(self) -> Memory | None:
        """As assay's search sees it."""
        if not self.memory:
            return None
        return Memory(
            lambda arm: self.needs(arm, known=True),
            self.memory["guess"],
            self.memory["guess_sd"],
            self.memory["sd"],
        )

    def drawn(self, rng: np.random.Generator) -> Arm:
        """A valid arm by chance."""
        while True:
            arm = tuple(int(rng.integers(0, size)) for size in self.sizes)
            if self.valid(arm):
                return arm

    def neighbours(self, arm: Arm) -> Iterator[Arm]:
        """Arms that differ in one knob."""
        return self.space().neighbours(arm)

    def _climbed(self) -> tuple[Arm, float]:
        """The best arm, by climbs over single changes and pairs of switches from many places."""
        rng = np.random.default_rng(self.seed)
        switches = [at for at, size in enumerate(self.sizes) if size == 2]
        space, best, most = self.space(), self.default, self.gain(self.default)
        for climb in range(12):
            arm = self.default if climb == 0 else self.drawn(rng)
            height = self.gain(arm)
            while True:
                around = itertools.chain(space.neighbours(arm), _flipped(arm, switches))
                found = max(((self.gain(each), each) for each in around), default=(height, arm))
                if found[0] <= height + 1e-12:
                    break
                height, arm = found
            if height > most:
                best, most = arm, height
        return best, most


def _holds(when: list[tuple[int, frozenset[int]]], arm: Arm) -> bool:
    return all(arm[at] in places for at, places in when)


def _flipped(arm: Arm, switches: list[int]) -> Iterator[Arm]:
    """Arms with two or three switches changed."""
    for count in (2, 3):
        for places in itertools.combinations(switches, count):
            other = list(arm)
            for at in places:
                other[at] = 1 - other[at]
            yield tuple(other)


def _knob(document: dict[str, Any], believed: dict[str, Effect]) -> Knob:
    effects = {
        name: Effect(mean=document[name][0], sd=document[name][1])
        for name in ("up", "down", "curve")
        if name in document
    }
    if document["name"] in believed:
        effects["up"] = believed[document["name"]]
    return Knob(
        name=document["name"],
        levels=tuple(str(each) for each in document["levels"]),
        default=document["default"],
        ordered=document.get("ordered", False),
        kink=document.get("kink"),
        only_primary=document.get("only_primary", False),
        **effects,
    )


def read_surface(path: Path, seed: int = 0) -> Surface:
    """A surface from its file."""
    return Surface(json.loads(path.read_text()), seed)


STEPS, WIDTH = [0, 1, 2, 3, 4, 5, 6], [1, 2, 4]
CHUNK, RUNNING = [2048, 4096, 8192, 16384], [16, 32, 48, 64, 96, 128, 256]
SHARE, GRAPH = [0.78, 0.80, 0.82, 0.84, 0.86, 0.88, 0.90, 0.92], [16, 32, 64, 96, 128, 256]


def additive(seed: int, switches: int = 10) -> dict[str, Any]:
    """A surface whose effects nearly add up: switches, six pairs of them, six numbers, limits of memory.

    The default of `graph` may be below the concurrency. Half of the switches do nothing.
    """
    r = np.random.default_rng(1000 + seed)
    names = [f"f{at}" for at in range(switches)]
    inert = r.random(switches) < 0.5
    primary = np.where(inert, 0, r.normal(0.005, 0.025, switches))
    other = np.where(inert, 0, primary / 2 + r.normal(0, 0.01, switches))
    pairs = list(itertools.combinations(range(switches), 2))
    chosen = [pairs[at] for at in r.permutation(len(pairs))[:10]]
    order = r.permutation(switches)
    u = r.uniform
    at_64, k_64, at_1, k_1 = u(1, 4), u(0.004, 0.01), u(2.5, 5), u(0.006, 0.015)
    q, v, c, k_c, rest, gain, graph = (
        *(u(0.005, 0.03), u(-0.01, 0.02), u(0.5, 3), u(0.003, 0.012), u(0, 0.006)),
        *(u(0, 0.03), u(0.03, 0.08)),
    )
    limit = u(0.905, 0.94)
    needed = {order[0], order[2], *itertools.chain.from_iterable(chosen[:6])}
    graph_default = int(r.random() < 0.5) + 1
    terms = [
        {"when": {n: [1]}, "gain": [float(a), float(b)]}
        for n, a, b in zip(names, primary, other, strict=True)
    ]
    for one, two in chosen[:6]:
        weight = float(r.normal(0, 0.01))
        terms.append({"when": {names[one]: [1], names[two]: [1]}, "gain": [weight, weight / 2]})
    terms += _table("steps", [[-k_64 * (s - at_64) ** 2, -k_1 * (s - at_1) ** 2] for s in STEPS])
    for place, width in enumerate(WIDTH[1:], start=1):
        terms.append(
            {
                "when": {"width": [place], "steps": list(range(1, len(STEPS)))},
                "gain": [-q * math.log2(width), v * math.log2(width)],
            }
        )
    terms += _table("chunk", [[-k_c * (math.log2(n / 2048) - c) ** 2, 0.0] for n in CHUNK])
    terms += _table("running", [[_running(n, rest), 0.0] for n in RUNNING])
    terms += _table("share", [[gain * (1 - math.exp(-(n - 0.76) / 0.05)), 0.0] for n in SHARE])
    terms += _table("graph", [[-graph * math.log2(64 / min(n, 64)), 0.0] for n in GRAPH])
    known = {
        "share": SHARE,
        "graph": [0.0125 * n / 64 for n in GRAPH],
        "chunk": [0.004 * math.log2(n / 2048) for n in CHUNK],
        "width": [0.006 * math.log2(n) for n in WIDTH],
    }
    hungry = {names[at]: [0.0, 0.012] for at in order[6:8]}
    return {
        "knobs": [
            *({"name": name, "levels": [0, 1], "default": 0} for name in names),
            _number("steps", STEPS, 3, curve=[-0.006, 0.006]),
            _number("width", WIDTH, 0, up=[-0.015, 0.012]),
            _number("chunk", CHUNK, 2, only_primary=True, curve=[-0.006, 0.006]),
            _number("running", RUNNING, 5, kink=3, only_primary=True, down=[-0.25, 0.1], up=[-0.003, 0.006]),
            _number("share", SHARE, 3, only_primary=True, up=[0.004, 0.006]),
            _number(
                "graph", GRAPH, graph_default, kink=2, only_primary=True, down=[-0.05, 0.04], up=[0.0, 0.006]
            ),
        ],
        "terms": terms,
        "invalid": [
            *({"when": {names[one]: [1], names[two]: [1]}} for one, two in chosen[6:9]),
            *({"when": {names[order[at + 1]]: [1], names[order[at]]: [0]}} for at in (0, 2)),
            {"when": {names[order[4]]: [1], "steps": list(range(1, len(STEPS)))}},
            {"when": {"steps": [0], "width": [1, 2]}},
        ],
        "dies": [
            {"when": {names[order[5]]: [1], "chunk": [3]}},
            {"when": {names[at]: [1] for at in chosen[9]}},
        ],
        "memory": {
            **{"needs": {**known, **hungry}, "known": {**known, names[0]: [0.006, 0.006]}},
            **{"limit": limit, "band": 0.012, "guess": 0.92, "guess_sd": 0.015, "sd": 0.008},
        },
        "noise": {"start": 0.01, "other": 0.008, "measure": 0.005},
        "switches": {name: float(each) for name, each in zip(names, primary, strict=True)},
        "inert": [name for at, name in enumerate(names) if inert[at] and at not in needed],
    }


def _running(count: int, rest: float) -> float:
    return 0.8 * math.log(min(count, 64) / 64) - rest * max(0.0, math.log2(count / 64))


def _table(name: str, gains: list[list[float]]) -> list[dict[str, Any]]:
    return [{"when": {name: [place]}, "gain": gain} for place, gain in enumerate(gains)]


def _number(name: str, levels: list[Any], default: int, **more: Any) -> dict[str, Any]:
    return {"name": name, "levels": levels, "default": default, "ordered": True, **more}


def cliff(seed: int) -> dict[str, Any]:
    """The same with two sharp edges: two numbers that are high together cost 12 %, long drafts 8 %."""
    found = additive(seed)
    found["terms"] += [
        {"when": {"chunk": [2, 3], "running": [4, 5, 6]}, "gain": [-0.12, 0.0]},
        {"when": {"steps": [5, 6]}, "gain": [-0.08, -0.02]},
    ]
    return found


def three_way(seed: int) -> dict[str, Any]:
    """The same with three switches that gain 8 % only together (each alone loses), and three that only lose
    together (8 %)."""
    found = additive(seed)
    r = np.random.default_rng(5000 + seed)
    names = [each["name"] for each in found["knobs"] if len(each["levels"]) == 2]
    refused = [set(each["when"]) for each in (*found["invalid"], *found["dies"])]
    triples = [t for t in itertools.combinations(names, 3) if not any(each <= set(t) for each in refused)]
    good, bad = (triples[int(at)] for at in r.choice(len(triples), 2, replace=False))
    found["terms"] += [{"when": {name: [1]}, "gain": [-0.01, -0.005]} for name in good]
    found["terms"] += [
        {"when": {name: [1] for name in good}, "gain": [0.11, 0.055]},
        {"when": {name: [1] for name in bad}, "gain": [-0.08, -0.04]},
    ]
    return found


FAMILIES: dict[str, Callable[[int], dict[str, Any]]] = {
    "additive": additive,
    "cliff": cliff,
    "three_way": three_way,
}
