"""The bound of each option beside its verdict, in one deployment; pure."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from assay._value import Value
from assay.bounds import (
    Bound,
    Load,
    Machine,
    Measured,
    Profile,
    Shape,
    Situation,
    Step,
    UnknownShape,
    amdahl,
    bound,
    measured_all_reduce,
    shape,
    step_seconds,
    steps,
)
from assay.deployment import Accelerator
from assay.engines import Effect, Effects, StepFields, effects
from assay.errors import InputError
from assay.findings import Finding, Opened, Triage, Verdict

_NOTHING: tuple[Verdict, ...] = ("dead", "no_op", "already_on", "incompatible")
_DRAFTS = ("NEXTN", "EAGLE", "EAGLE3", "MTP")
_WEIGHT_BYTES = {"fp8": 1.0, "w8a8_fp8": 1.0, "w8a8_int8": 1.0, "unquant": 2.0}
_KV_BYTES = {"fp8_e4m3": 1.0, "fp8_e5m2": 1.0, "fp4_e2m1": 0.5, "nvfp4": 0.5}


class Asked(Value):
    """What bounds are asked for, beside the deployment."""

    concurrency: tuple[int, ...] = (1, 64)
    """Requests at a time."""
    context_tokens: int = 2000
    """Tokens that each has in its cache."""
    measured: tuple[Measured, ...] = ()
    """Throughput of the real server."""
    acceptance: tuple[float, ...] = ()
    """Chance that the first, second, … drafted token is kept (cumulative), as the engine reports it."""
    accept_length: float | None = None
    """Tokens of a step for each sequence; `None`: what `acceptance` says."""
    profile: Profile | None = None
    """How the time of one device was spent, from a trace."""


class Bounded(Value):
    """One option, its verdict and its bound."""

    option: str
    """The option's usual flag."""
    value: Any
    """The value that was asked about."""
    verdict: Verdict
    """What it does here; where that is nothing, nothing is to be gained whatever the bound says."""
    bound: Bound
    """The most that it could give where it does something."""
    profiled: float | None = None
    """Amdahl's bound from the profile, as a share; `None` without one, or where it bounds nothing."""


class Bounds(Value):
    """The floor of a step, and the bound of each option whose effect is known."""

    steps: tuple[Step, ...] = ()
    """At each load; empty where there is none."""
    taken_s: tuple[float | None, ...] = ()
    """What a step took there by the measured throughput."""
    options: tuple[Bounded, ...] = ()
    """The largest first, then those without a bound, then those that do nothing here."""
    why_not: str = ""
    """Why there are no bounds."""
    doubts: tuple[str, ...] = ()
    """What does not fit together."""


def bounds(opened: Opened, found: Triage, asked: Asked | None = None) -> Bounds:
    """The bounds of a deployment's options."""
    asked = asked or Asked()
    table = effects(opened.case.engine)
    if table is None:
        return Bounds(why_not=f"what options of {opened.case.engine.name} change in a step is not known")
    if found.failure is not None:
        return Bounds(why_not="the command does not start")
    try:
        situation = _situation(opened, asked, table.fields)
    except (UnknownShape, InputError) as error:
        return Bounds(why_not=str(error))
    floors = steps(situation)
    taken = tuple(step_seconds(situation, step.load) for step in floors)
    options = sorted(_options(found, table, situation, asked.profile), key=_place)
    return Bounds(
        steps=floors,
        taken_s=taken,
        options=tuple(options),
        doubts=tuple(_doubts(situation, floors, taken)),
    )


def effect_bounds(opened: Opened, asked: Asked | None = None) -> dict[Effect, Bound]:
    """The bound of each effect, whatever the value; empty where the model or the machine is not known."""
    table = effects(opened.case.engine)
    if table is None:
        return {}
    try:
        situation = _situation(opened, asked or Asked(), table.fields)
    except (UnknownShape, InputError):
        return {}
    return {effect: bound(situation, effect) for effect in table.options if effect != "draft_steps"}


def _situation(opened: Opened, asked: Asked, fields: StepFields) -> Situation:
    """The deployment's model, machine and resolved arguments, as far as bounds look at them.

    Raises:
        UnknownShape: config.json does not say the model's size.
        InputError: the table does not say the accelerator's bandwidth.
    """
    accelerator = opened.deployment.hardware.accelerator
    size = _stored(shape(opened.deployment.model.config), _resolved(opened, fields.quantization, str, ""))
    if accelerator.memory_bytes_per_s is None:
        raise InputError(f"memory bandwidth of {accelerator.name} is not known")
    ranks = _resolved(opened, fields.ranks, int, 1)
    draft = 0
    if str(_resolved(opened, fields.draft_algorithm, str, "")).upper() in _DRAFTS:
        draft = _resolved(opened, fields.draft_steps, int, 0)
    cache = _KV_BYTES.get(_resolved(opened, fields.kv_cache_dtype, str, "auto"), 2.0)
    wanted = dict.fromkeys((*asked.concurrency, *(each.concurrency for each in asked.measured)))
    length = asked.accept_length
    if length is None and len(asked.acceptance) >= draft:
        length = 1 + math.fsum(asked.acceptance[:draft])
    return Situation(
        shape=size,
        machine=Machine(
            accelerator=accelerator.name,
            memory_bytes_per_s=accelerator.memory_bytes_per_s,
            flop_per_s=_peak(accelerator, size.weight_bytes),
            ranks=ranks,
            library=measured_all_reduce(accelerator.name, ranks, "library"),
            one_shot=measured_all_reduce(accelerator.name, ranks, "one_shot"),
        ),
        loads=tuple(
            Load(concurrency=each, context_tokens=asked.context_tokens, draft_steps=draft, kv_bytes=cache)
            for each in sorted(wanted)
        ),
        measured=asked.measured,
        accept_length=length,
        acceptance=asked.acceptance,
    )


def _resolved(opened: Opened, name: str, kind: type, default: Any) -> Any:
    """What start-up makes of an option; the default where that is not known."""
    found = opened.case.present.base.resolution.field(name)
    value = found.value if found is not None and found.known else None
    return value if isinstance(value, kind) and not isinstance(value, bool) else default


def _stored(size: Shape, quantization: str) -> Shape:
    """The size with weights as they are after loading: a format of another name has 4 bits at the least."""
    if not quantization or size.weight_bytes < 2 or size.expert_bytes < 2:  # config.json says it itself
        return size
    found = _WEIGHT_BYTES.get(quantization, 0.5)
    return msgspec.structs.replace(size, weight_bytes=found, expert_bytes=found)


def _peak(accelerator: Accelerator, weight_bytes: float) -> float | None:
    """The highest peak that weights of that size can be multiplied with."""
    wide = accelerator.bf16_flop_per_s or accelerator.fp16_flop_per_s
    if weight_bytes >= 2:
        return wide
    narrow = accelerator.fp8_flop_per_s if weight_bytes >= 1 else accelerator.fp4_flop_per_s
    return max((each for each in (wide, accelerator.fp8_flop_per_s, narrow) if each), default=None)


def _options(
    found: Triage, table: Effects, situation: Situation, profile: Profile | None
) -> Iterator[Bounded]:
    known: dict[Effect, Bound] = {}
    for each in found.findings:
        effect = table.of(each.field) if each.field else None
        if effect is None:
            continue
        profiled = amdahl(profile, effect) if profile is not None else None
        for value in _values(each, effect, situation):
            here = bound(situation, effect, value) if effect == "draft_steps" else known.get(effect)
            if here is None:
                here = known[effect] = bound(situation, effect)
            yield Bounded(
                option=each.option, value=value, verdict=each.verdict, bound=here, profiled=profiled
            )


def _values(each: Finding, effect: Effect, situation: Situation) -> Sequence[Any]:
    """The value that was asked about; of the drafted steps all whose acceptance is known."""
    if effect != "draft_steps" or not situation.acceptance:
        return (each.value,)
    present = situation.loads[0].draft_steps
    return [steps for steps in range(len(situation.acceptance) + 1) if steps != present]


def _place(each: Bounded) -> tuple[bool, bool, float]:
    gains = [load.gain for load in each.bound.loads if load.gain is not None]
    return each.verdict in _NOTHING, not gains, -max(gains, default=0.0)


def _doubts(situation: Situation, floors: Sequence[Step], taken: Sequence[float | None]) -> Iterator[str]:
    for step, seconds in zip(floors, taken, strict=True):
        if seconds is not None and seconds < step.floor_s:
            yield (
                f"at {step.load.concurrency} a step took {1e3 * seconds:.1f} ms by the measured throughput, "
                f"less than its floor of {1e3 * step.floor_s:.1f} ms: the figures are not of this model, "
                "machine or load"
            )
    if (
        situation.measured
        and situation.accept_length is None
        and any(step.load.draft_steps for step in floors)
    ):
        yield "tokens are drafted and the accepted length is not known: measured throughput was not used"
    if situation.machine.ranks > 1 and situation.machine.library is None:
        yield (
            f"no latencies of all-reduces are known for {situation.machine.ranks} x "
            f"{situation.machine.accelerator}: they are missing in the floor"
        )
