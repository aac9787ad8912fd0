"""Floors and bounds: sizes of real models, the worked example of Qwen3.5-122B, what must hold of any."""

from __future__ import annotations

import json
import re

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.bounds import (
    Load,
    Machine,
    Measured,
    Situation,
    UnknownShape,
    bound,
    decode_step,
    measured_all_reduce,
    prefill_step,
    shape,
    step_seconds,
    steps,
)
from assay.deployment import presets
from assay.deployment.presets import preset_text
from assay.engines import EFFECTS, ENGINES, effects, option_history

CONFIGS = {each.name: json.loads(preset_text(each)) for each in presets()}
SIZED = [
    (name, float(found[1]))
    for name in CONFIGS
    if (found := re.search(r"-(\d+(?:\.\d+)?)B", name)) and not re.search(r"Scout|8x|gemma", name)
]
PUBLISHED = [
    ("deepseek-ai/DeepSeek-V3", 671, 37),
    ("moonshotai/Kimi-K2-Instruct", 1026, 32),
    ("zai-org/GLM-4.5-Air", 106, 12),
    ("mistralai/Mixtral-8x22B-v0.1", 141, 39),
    ("openai/gpt-oss-120b", 117, 5.1),
    ("meta-llama/Llama-4-Scout-17B-16E-Instruct", 109, 17),
    ("MiniMaxAI/MiniMax-M2.5", 229, 10),
    ("XiaomiMiMo/MiMo-V2-Flash", 309, 15),
]
CARD = "RTX PRO 6000 Blackwell Workstation"
MACHINE = Machine(
    accelerator=CARD,
    memory_bytes_per_s=1.792e12,
    flop_per_s=503.8e12,
    ranks=4,
    library=measured_all_reduce(CARD, 4, "library"),
    one_shot=measured_all_reduce(CARD, 4, "one_shot"),
)
EXAMPLE = Situation(
    shape=shape(CONFIGS["Qwen/Qwen3.5-122B-A10B"]),
    machine=MACHINE,
    loads=(Load(concurrency=1, draft_steps=3), Load(concurrency=64, draft_steps=3)),
    measured=(Measured(concurrency=1, tokens_per_s=121.6), Measured(concurrency=64, tokens_per_s=1582)),
    accept_length=3.03,
    acceptance=(0.85, 0.67, 0.51, 0.36, 0.31),
)


@pytest.mark.parametrize(("name", "billions"), SIZED)
def test_a_model_has_the_size_of_its_name(name: str, billions: float) -> None:
    assert shape(CONFIGS[name]).total / 1e9 == pytest.approx(billions, rel=0.2 if billions < 2 else 0.1)


@pytest.mark.parametrize(("name", "total", "active"), PUBLISHED)
def test_mixtures_have_the_published_sizes(name: str, total: float, active: float) -> None:
    found = shape(CONFIGS[name])
    assert found.total / 1e9 == pytest.approx(total, rel=0.02)
    assert found.active / 1e9 == pytest.approx(active, rel=0.15)


@pytest.mark.parametrize(
    ("changes", "word"),
    [
        ({"hidden_size": None}, "hidden_size"),
        ({"vocab_size": "x"}, "vocab_size"),
        ({"compress_ratios": [4]}, "compress_ratios"),
        ({"quantization_config": {"quant_method": "new"}}, "new"),
        ({"num_hidden_layers": 10**9}, "layers"),
    ],
)
def test_what_is_not_understood_has_no_shape(changes: dict[str, object], word: str) -> None:
    with pytest.raises(UnknownShape, match=word):
        shape({**CONFIGS["Qwen/Qwen3-8B"], **changes})


def test_the_worked_example_comes_out() -> None:
    one, many = steps(EXAMPLE)
    expected = {"experts": 3.86, "mixers": 1.15, "head": 0.21, "all-reduce": 1.45, "draft": 0.88}
    for name, milliseconds in expected.items():
        assert 1e3 * one.seconds[name] == pytest.approx(milliseconds, abs=0.01)
    assert (round(one.experts_touched), round(many.experts_touched)) == (31, 256)
    assert 1e3 * one.floor_s == pytest.approx(7.8, abs=0.05)
    assert 1e3 * many.floor_s == pytest.approx(55.4, abs=0.1)
    taken = [1e3 * (step_seconds(EXAMPLE, load) or 0) for load in EXAMPLE.loads]
    assert taken == pytest.approx([24.9, 122.6], abs=0.05)


@pytest.mark.parametrize(
    ("effect", "value", "at_1", "at_64"),
    [
        ("expert_sum", None, 0.61, 0.43),
        ("norm_all_reduce", None, 3.7, 0.47),
        ("all_reduce", None, 6.2, 9.9),
        ("draft_steps", 4, 6.6, 8.0),
        ("draft_steps", 5, 11.1, 13.9),
        ("draft_steps", 0, -33.7, -52.7),
    ],
)
def test_its_options_have_the_bounds_of_the_example(
    effect: str, value: object, at_1: float, at_64: float
) -> None:
    found = bound(EXAMPLE, next(each for each in EFFECTS if each == effect), value)
    gains = [100 * (each.gain or 0) for each in found.loads]
    assert gains == pytest.approx([at_1, at_64], abs=0.06)
    assert {each.against for each in found.loads} == {"measured"}


def test_without_a_measurement_a_bound_is_looser() -> None:
    alone = msgspec.structs.replace(EXAMPLE, measured=())
    for effect in ("expert_sum", "norm_all_reduce", "all_reduce"):
        for loose, tight in zip(bound(alone, effect).loads, bound(EXAMPLE, effect).loads, strict=True):
            assert loose.gain is not None
            assert tight.gain is not None
            assert loose.gain > tight.gain
            assert loose.against == "floor"
    assert [each.gain for each in bound(alone, "kernels").loads] == [None, None]


def test_what_was_not_measured_is_not_claimed() -> None:
    machine = msgspec.structs.replace(MACHINE, library=None, one_shot=None)
    found = bound(msgspec.structs.replace(EXAMPLE, machine=machine), "all_reduce")
    assert found.loads == ()
    assert "no latencies" in found.why
    assert bound(msgspec.structs.replace(EXAMPLE, acceptance=()), "draft_steps", 4).loads == ()
    assert bound(EXAMPLE, "admission").loads == ()


@given(
    st.sampled_from([name for name in CONFIGS if "gemma" not in name and "V4" not in name]),
    st.integers(1, 512),
    st.integers(1, 8),
    st.integers(0, 5),
)
def test_more_work_never_takes_less_time(name: str, concurrency: int, ranks: int, drafted: int) -> None:
    found = shape(CONFIGS[name])
    machine = msgspec.structs.replace(MACHINE, ranks=ranks, library=None)
    load = Load(concurrency=concurrency, draft_steps=drafted)
    step = decode_step(found, machine, load)
    wider = decode_step(found, machine, msgspec.structs.replace(load, concurrency=concurrency + 1))
    longer = decode_step(found, machine, msgspec.structs.replace(load, context_tokens=4000))
    assert 0 < step.floor_s <= min(wider.floor_s, longer.floor_s)
    assert step.floor_s >= step.compute_s
    prompts = [prefill_step(found, machine, tokens) for tokens in (512, 1024)]
    assert 0 < (prompts[0] or 0) <= (prompts[1] or 0)


def test_every_option_of_the_table_is_one_of_some_release() -> None:
    flags = option_history(ENGINES["sglang"]).flags
    table = effects(ENGINES["sglang"])
    assert table is not None
    named = [field for options in table.options.values() for field in options]
    fields = [getattr(table.fields, name) for name in table.fields.__struct_fields__]
    assert [field for field in (*named, *fields) if f"--{field.replace('_', '-')}" not in flags] == []
    assert len(set(named)) == len(named)
    assert set(table.options) <= set(EFFECTS)


def test_an_engine_without_a_table_has_none() -> None:
    assert effects(msgspec.structs.replace(ENGINES["sglang"], name="another")) is None
