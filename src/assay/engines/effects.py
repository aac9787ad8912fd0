"""What an option changes in a step, as data: which bound holds for it."""

from __future__ import annotations

import functools
import tomllib
from importlib import resources
from typing import Literal, get_args

import msgspec

from assay._value import Value
from assay.engines.engine import Engine

Effect = Literal[
    "expert_sum",
    "norm_all_reduce",
    "all_reduce",
    "draft_steps",
    "kv_cache",
    "weights",
    "kernels",
    "host",
    "admission",
    "prefill",
    "none",
]
"""`expert_sum` the sum over the experts of a token; `norm_all_reduce` all-reduce, residual and norm in one
kernel; `all_reduce` how ranks sum; `draft_steps` how much is drafted; `kv_cache` and `weights` bytes of one
element; `kernels` how fast kernels are, `host` what the CPU does between them (graphs, overlap): both can
give at most what a step takes beyond its floor; `admission` how many requests run at once; `prefill` how
prompts are cut; `none` no effect on speed that is meant."""

EFFECTS: tuple[Effect, ...] = get_args(Effect)


class StepFields(Value):
    """Names of the engine's fields that say how a step is computed."""

    ranks: str
    """Tensor-parallel ranks."""
    draft_algorithm: str
    """How tokens are drafted."""
    draft_steps: str
    """How many."""
    kv_cache_dtype: str
    """Format of the KV cache."""
    quantization: str
    """Format that weights are brought into at load."""


class Effects(Value):
    """One engine's table."""

    fields: StepFields
    """How a deployment computes a step."""
    options: dict[Effect, tuple[str, ...]]
    """Fields of the options with each effect."""

    def of(self, field: str) -> Effect | None:
        """What the option of that field changes; `None` where the table does not say."""
        return next((effect for effect, options in self.options.items() if field in options), None)


@functools.cache
def _load(name: str) -> Effects | None:
    file = resources.files("assay.engines").joinpath(f"{name}_effects.toml")
    if not file.is_file():
        return None
    return msgspec.convert(tomllib.loads(file.read_text(encoding="utf-8")), Effects)


def effects(engine: Engine) -> Effects | None:
    """The table of an engine, or `None` where there is none yet.

    >>> from assay.engines import ENGINES
    >>> effects(ENGINES["sglang"]).of("enable_fused_moe_sum_all_reduce")
    'expert_sum'
    """
    return _load(engine.name)
