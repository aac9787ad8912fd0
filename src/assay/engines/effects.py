"""What an option changes in a step, as data: which bound holds for it."""

from __future__ import annotations

import functools
import tomllib
from importlib import resources
from typing import Literal, get_args

import msgspec

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


@functools.cache
def _table(name: str) -> dict[str, Effect]:
    text = resources.files("assay.engines").joinpath(f"{name}_effects.toml").read_text(encoding="utf-8")
    table = msgspec.convert(tomllib.loads(text), dict[Effect, tuple[str, ...]])
    return {option: effect for effect, options in table.items() for option in options}


def effect_of(engine: Engine, field: str) -> Effect | None:
    """What the option of that field changes; `None` where the table does not say.

    >>> from assay.engines import ENGINES
    >>> effect_of(ENGINES["sglang"], "enable_fused_moe_sum_all_reduce")
    'expert_sum'
    """
    return _table(engine.name).get(field)


def effects_table(engine: Engine) -> dict[str, Effect]:
    """The whole table, by field."""
    return dict(_table(engine.name))
