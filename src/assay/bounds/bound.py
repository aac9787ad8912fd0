"""The most that an option can give at a load: what it can take out of a step, over what the step takes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import msgspec

from assay._value import Value
from assay.bounds.roofline import Load, Machine, Step, decode_step
from assay.bounds.shape import Shape
from assay.engines import Effect

_ACTIVATION_BYTES = 2
_LAUNCH_S = 3e-6
"""A kernel of its own costs about this on the device, launch gap included."""
_NORM_LAUNCH_S = 2.5e-6


class Measured(Value):
    """What a real server did at a load; without it a step is taken to be as short as its floor."""

    concurrency: int
    """Requests at a time."""
    tokens_per_s: float
    """Output tokens a second."""


class Situation(Value):
    """A deployment, as far as bounds look at it."""

    shape: Shape
    """The model's size."""
    machine: Machine
    """What computes it."""
    loads: tuple[Load, ...]
    """The loads that bounds are asked for."""
    measured: tuple[Measured, ...] = ()
    """What was measured at some of them."""
    accept_length: float | None = None
    """Tokens that a step yields for each sequence; `None`: not known, or 1 without drafting."""
    acceptance: tuple[float, ...] = ()
    """Chance that the first, second, … drafted token is kept (cumulative)."""


class LoadBound(Value):
    """The bound at one load."""

    concurrency: int
    """Requests at a time."""
    gain: float | None
    """Throughput gained at the most, as a share; `None` where nothing bounds it."""
    against: str
    """What it is a share of: `measured` or `floor`. Against the floor it is the looser one."""


class Bound(Value):
    """The most that an effect can give."""

    effect: Effect
    """What is changed."""
    loads: tuple[LoadBound, ...]
    """At each load; empty where there is no bound."""
    why: str
    """How it was counted, or why there is none."""


def steps(situation: Situation) -> tuple[Step, ...]:
    """The floor at each load."""
    return tuple(decode_step(situation.shape, situation.machine, load) for load in situation.loads)


def step_seconds(situation: Situation, load: Load) -> float | None:
    """What a step takes by the measured throughput: `C tau / (tok/s)`; `None` where it was not measured."""
    tau = situation.accept_length if load.draft_steps else 1.0
    for each in situation.measured:
        if each.concurrency == load.concurrency and tau is not None:
            return load.concurrency * tau / each.tokens_per_s
    return None


def bound(situation: Situation, effect: Effect, value: object = None) -> Bound:
    """The most that an option with this effect can give; for `draft_steps` at that value.

    `gain <= T / (T - removed) - 1`, where T is the measured step or, without one, its floor.
    """
    if effect == "draft_steps":
        return _draft_bound(situation, value)
    if effect not in _REMOVED:
        return Bound(effect=effect, loads=(), why=_WITHOUT[effect])
    removed, why = _REMOVED[effect]
    missing = _missing(situation, effect)
    if missing:
        return Bound(effect=effect, loads=(), why=missing)
    found = []
    for step in steps(situation):
        taken = step_seconds(situation, step.load)
        away = removed(situation, step, taken)
        against = step.floor_s if taken is None else max(taken, step.floor_s)
        found.append(_load_bound(step, away, against, measured=taken is not None))
    return Bound(effect=effect, loads=tuple(found), why=why)


def _load_bound(step: Step, away: float | None, against: float, *, measured: bool) -> LoadBound:
    gain = None if away is None or away >= against else against / (against - away) - 1
    return LoadBound(
        concurrency=step.load.concurrency, gain=gain, against="measured" if measured else "floor"
    )


def _missing(situation: Situation, effect: Effect) -> str:
    """What is not known and would be needed."""
    machine = situation.machine
    if effect in ("all_reduce", "norm_all_reduce") and machine.ranks > 1:
        lacking = machine.library is None or (effect == "norm_all_reduce" and machine.one_shot is None)
        if lacking:
            return f"no latencies of all-reduces were measured on {machine.ranks} x {machine.accelerator}"
    return ""


def _expert_sum(situation: Situation, step: Step, taken: float | None) -> float:
    """The kernel that sums a token's experts: reads k rows, writes one, in each layer."""
    del taken
    shape, tokens = situation.shape, step.load.tokens
    moved = (shape.top_k + 1) * tokens * shape.hidden * _ACTIVATION_BYTES
    return shape.moe_layers * (moved / situation.machine.memory_bytes_per_s + _LAUNCH_S)


def _norm_all_reduce(situation: Situation, step: Step, taken: float | None) -> float:
    """Residual and norm read and write four rows beside each all-reduce, and that may become one-shot."""
    del taken
    shape, machine, tokens = situation.shape, situation.machine, step.load.tokens
    if machine.ranks < 2:
        return 0.0
    message = tokens * shape.hidden * _ACTIVATION_BYTES
    norm = 4 * message / machine.memory_bytes_per_s + _NORM_LAUNCH_S
    faster = 0.0
    if machine.library is not None and machine.one_shot is not None:
        faster = max(0.0, machine.library.seconds(message) - machine.one_shot.seconds(message))
    return shape.all_reduces * (norm + faster)


def _all_reduce(situation: Situation, step: Step, taken: float | None) -> float:
    del situation, taken
    return step.seconds.get("all-reduce", 0.0)


def _kv_cache(situation: Situation, step: Step, taken: float | None) -> float:
    """Half of the cache's bytes."""
    del situation, taken
    return step.seconds.get("kv", 0.0) / 2


def _weights(situation: Situation, step: Step, taken: float | None) -> float:
    """Weights in 4 bits instead of what they are stored in; the head stays."""
    del taken
    shape, times = situation.shape, step.seconds
    parts = (("experts", shape.expert_bytes), ("mixers", shape.weight_bytes), ("dense", shape.weight_bytes))
    return sum(times.get(name, 0.0) * max(0.0, 1 - 0.5 / stored) for name, stored in parts)


def _above_floor(situation: Situation, step: Step, taken: float | None) -> float | None:
    del situation
    return None if taken is None else max(0.0, taken - step.floor_s)


_Removed = Callable[[Situation, Step, float | None], float | None]
_REMOVED: Mapping[Effect, tuple[_Removed, str]] = {
    "expert_sum": (
        _expert_sum,
        "layers x ((k + 1) n hidden 2 bytes / bandwidth + 3 us) taken out",
    ),
    "norm_all_reduce": (
        _norm_all_reduce,
        "all-reduces x (4 n hidden 2 bytes / bandwidth + 2.5 us + library - one-shot) taken out",
    ),
    "all_reduce": (_all_reduce, "all all-reduces free"),
    "kv_cache": (_kv_cache, "half of the cache's bytes taken out; more requests may fit, too"),
    "weights": (_weights, "weights read as 4 bits instead of as stored"),
    "kernels": (_above_floor, "all that the measured step takes beyond its floor"),
    "host": (_above_floor, "all that the measured step takes beyond its floor"),
}
_WITHOUT: Mapping[Effect, str] = {
    "admission": "how many requests run at once is not bounded by a step",
    "prefill": "what prompts cost depends on the workload, not on a decode step",
    "none": "not meant to change the speed",
}


def _draft_bound(situation: Situation, value: object) -> Bound:
    """Drafting s tokens instead of the present ones: `tau(s) / T(s)` over the same now.

    T(s) lies between the floor scaled and the measured step with only the floor's difference added: what is
    not explained may grow with the step or be fixed.
    """
    known = situation.acceptance
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= len(known):
        why = "needs the acceptance of each drafted position, and a number of steps within them"
        return Bound(effect="draft_steps", loads=(), why=why)
    found = []
    for load in situation.loads:
        if load.draft_steps > len(known):
            continue
        other = msgspec.structs.replace(load, draft_steps=value)
        now, then = (decode_step(situation.shape, situation.machine, each).floor_s for each in (load, other))
        taken = step_seconds(situation, load)
        more = _yield(known, value) / _yield(known, load.draft_steps)
        ratios = [more * now / then]
        if taken is not None and taken > now:
            ratios.append(more * taken / (taken + then - now))
        found.append(
            LoadBound(
                concurrency=load.concurrency,
                gain=max(ratios) - 1,
                against="measured" if len(ratios) > 1 else "floor",
            )
        )
    return Bound(
        effect="draft_steps", loads=tuple(found), why="tau(s) / T(s), T by the floor, or it and what is fixed"
    )


def _yield(acceptance: Sequence[float], drafted: int) -> float:
    """Tokens of a step: one, and each drafted one with the chance that it is kept."""
    return 1 + sum(acceptance[:drafted])
