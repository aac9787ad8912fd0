"""The least time that a decode or prefill step can take: bytes over bandwidth, operations over peak.

Bytes and operations that a step cannot do without are counted, whatever the kernels; so every figure is a
floor of the time, and what a measured step takes beyond it is what better code could give at most.
"""

from __future__ import annotations

from collections.abc import Mapping

from assay._value import Value
from assay.bounds.all_reduce import AllReduce
from assay.bounds.shape import Shape

_ACTIVATION_BYTES = 2


class Machine(Value):
    """What computes one replica."""

    accelerator: str
    """Name of each device."""
    memory_bytes_per_s: float
    """Peak bandwidth of one."""
    flop_per_s: float | None
    """Peak of dense matrix multiplication in the format of the weights; `None` where not known."""
    ranks: int
    """Tensor-parallel ranks."""
    library: AllReduce | None = None
    """Measured latencies of the communication library, or `None`."""
    one_shot: AllReduce | None = None
    """The same of a one-shot kernel."""


class Load(Value):
    """What a step is asked for."""

    concurrency: int
    """Sequences."""
    context_tokens: int = 2000
    """Tokens that each has in its cache."""
    draft_steps: int = 0
    """Tokens drafted for each by the model's own prediction layer, verified with one more."""
    kv_bytes: float = 2.0
    """Bytes of one element of the KV cache."""

    @property
    def tokens(self) -> int:
        """Tokens that the step computes."""
        return self.concurrency * (self.draft_steps + 1)


class Part(Value):
    """One share of a step."""

    name: str
    """What it is."""
    seconds: float
    """The least time."""
    formula: str
    """How it was counted, with its terms by name."""


class Step(Value):
    """The floor of one step."""

    load: Load
    """At which load."""
    experts_touched: float
    """Experts of a layer that some token needs, if tokens chose independently: an upper bound."""
    parts: tuple[Part, ...]
    """Memory traffic by what is read, all-reduces, drafting."""
    compute_s: float
    """Matrix multiplications; they overlap memory traffic."""
    floor_s: float
    """`max(memory, compute) + all-reduce + draft`."""

    @property
    def seconds(self) -> Mapping[str, float]:
        """The parts by name."""
        return {part.name: part.seconds for part in self.parts}


def touched(shape: Shape, tokens: float) -> float:
    """Experts of one layer that are read: `E (1 - (1 - k / E)^n)`, for n tokens that choose independently.

    Routing is correlated, so this is an upper bound; the floor of the expert part is exact only where all are
    touched, or one token is.
    """
    if not shape.experts:
        return 0.0
    missed: float = (1 - shape.top_k / shape.experts) ** tokens
    return shape.experts * (1 - missed)


def decode_step(shape: Shape, machine: Machine, load: Load) -> Step:
    """The floor of a step in which every sequence goes on by one token, or verifies a draft."""
    experts = touched(shape, load.tokens)
    rate, ranks = machine.memory_bytes_per_s, machine.ranks
    weights = shape.weight_bytes / ranks / rate
    memory = (
        _part(
            "experts", shape.moe_layers * experts * shape.expert * shape.expert_bytes / ranks / rate, _EXPERTS
        ),
        _part("mixers", shape.mixers * weights, "parameters x bytes / ranks / bandwidth"),
        _part("dense", shape.dense * weights, "parameters x bytes / ranks / bandwidth"),
        _part("router", shape.router * _ACTIVATION_BYTES / rate, "parameters x 2 bytes / bandwidth"),
        _part(
            "head", shape.head * _ACTIVATION_BYTES / ranks / rate, "parameters x 2 bytes / ranks / bandwidth"
        ),
        _part("kv", kv_bytes(shape, load, ranks) / rate, _KV),
        _part("state", _state_bytes(shape, load, ranks) / rate, _STATE),
    )
    compute = load.tokens * 2 * shape.active / ranks / machine.flop_per_s if machine.flop_per_s else 0.0
    talk = _part("all-reduce", all_reduce_s(shape, machine.library, ranks, load.tokens), _ALL_REDUCE)
    draft = _part("draft", _draft_s(shape, machine, load), _DRAFT)
    floor = max(sum(each.seconds for each in memory), compute) + talk.seconds + draft.seconds
    parts = tuple(each for each in (*memory, talk, draft) if each.seconds)
    return Step(load=load, experts_touched=experts, parts=parts, compute_s=compute, floor_s=floor)


def prefill_step(shape: Shape, machine: Machine, tokens: int) -> float | None:
    """Seconds, at the least, to prefill so many tokens in one step, attention's own operations left out.

    `max(2 active n / ranks / peak, weights / bandwidth) + all-reduces`; `None` where the peak is not known.
    """
    if machine.flop_per_s is None:
        return None
    experts = shape.moe_layers * touched(shape, tokens) * shape.expert * shape.expert_bytes
    read = (experts + (shape.mixers + shape.dense) * shape.weight_bytes) / machine.ranks
    compute = 2 * (shape.active - shape.head) * tokens / machine.ranks / machine.flop_per_s
    talk = all_reduce_s(shape, machine.library, machine.ranks, tokens)
    return max(compute, read / machine.memory_bytes_per_s) + talk


def all_reduce_s(shape: Shape, table: AllReduce | None, ranks: int, tokens: int) -> float:
    """Seconds of all all-reduces of a step; 0 on one rank, and where no latency was measured (a floor)."""
    if ranks < 2 or table is None:
        return 0.0
    return shape.all_reduces * table.seconds(tokens * shape.hidden * _ACTIVATION_BYTES)


def kv_bytes(shape: Shape, load: Load, ranks: int) -> float:
    """Bytes of cache that one GPU reads in a step."""
    per_rank = max(1 / shape.kv_heads, 1 / ranks)  # ranks beyond the heads hold copies
    elements = sum(
        size * (min(load.context_tokens, window) if window else load.context_tokens)
        for size, window in shape.kv
    )
    return load.concurrency * elements * per_rank * load.kv_bytes


def _state_bytes(shape: Shape, load: Load, ranks: int) -> float:
    return load.concurrency * shape.state * shape.state_bytes / ranks * (2 + load.draft_steps)


def _draft_s(shape: Shape, machine: Machine, load: Load) -> float:
    """Prediction layer and head once for each drafted token, in sequence; 0 where the model has none."""
    if not load.draft_steps or not shape.draft:
        return 0.0
    ranks, rate = machine.ranks, machine.memory_bytes_per_s
    experts = touched(shape, load.concurrency) * shape.draft_expert * shape.expert_bytes
    read = (shape.draft * shape.weight_bytes + experts + shape.head * _ACTIVATION_BYTES) / ranks
    router = shape.hidden * shape.experts * _ACTIVATION_BYTES
    talk = 0.0
    if ranks > 1 and machine.library is not None:
        talk = 2 * machine.library.seconds(load.concurrency * shape.hidden * _ACTIVATION_BYTES)
    return load.draft_steps * ((read + router) / rate + talk)


def _part(name: str, seconds: float, formula: str) -> Part:
    return Part(name=name, seconds=seconds, formula=formula)


_EXPERTS = "layers x E (1 - (1 - k / E)^n) x parameters x bytes / ranks / bandwidth"
_KV = "sequences x context x elements x bytes x max(1 / KV heads, 1 / ranks) / bandwidth"
_STATE = "sequences x elements x bytes / ranks x (read + write + one for each drafted token) / bandwidth"
_ALL_REDUCE = "number x measured latency at n x hidden x 2 bytes"
_DRAFT = "drafted tokens x ((prediction layer + head) x bytes / ranks / bandwidth + 2 all-reduces)"
