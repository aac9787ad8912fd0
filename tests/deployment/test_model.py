"""The model: its config.json from a folder, the Hugging Face cache or a preset, and never anything else."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.deployment import Preset, find_model, parse_config, presets, read_model_folder, read_preset
from assay.errors import AssayError, InputError

CONFIG = '{"architectures": ["LlamaForCausalLM"], "model_type": "llama", "num_hidden_layers": 2}'
COMMIT = "0123456789abcdef0123456789abcdef01234567"


def cached(hub: Path, name: str = "a/b", *, revision: str = "main", config: str = CONFIG) -> Path:
    folder = hub / f"models--{name.replace('/', '--')}"
    (folder / "snapshots" / COMMIT).mkdir(parents=True)
    (folder / "refs").mkdir()
    (folder / "refs" / revision).write_text(COMMIT)
    file = folder / "snapshots" / COMMIT / "config.json"
    file.write_text(config)
    return file


@pytest.mark.parametrize("preset", presets(), ids=lambda preset: preset.name)
def test_every_preset_is_a_config_with_the_facts_that_engines_ask_for(preset: Preset) -> None:
    model = read_preset(preset.name)
    assert preset.source
    assert preset.checked or preset.unverified
    assert preset.unverified in model.note
    assert model.config["architectures"]
    assert model.config["model_type"]
    for key in ("num_hidden_layers", "hidden_size", "num_attention_heads", "vocab_size"):
        value = model.find(key)
        default_of_gemma3 = model.name.startswith("google/gemma-3") and key == "vocab_size"
        assert default_of_gemma3 or (isinstance(value, int) and value > 0), key
    types = model.find("layer_types")
    assert types is None or (isinstance(types, tuple) and len(types) == model.find("num_hidden_layers"))


def test_the_presets_of_the_known_contexts_have_their_facts() -> None:
    qwen = read_preset("Qwen3.5-122B-A10B")
    layers = qwen.find("layer_types")
    assert isinstance(layers, tuple)
    assert (layers.count("linear_attention"), layers.count("full_attention")) == (36, 12)
    assert (qwen.find("num_experts"), qwen.find("num_experts_per_tok"), qwen.find("hidden_size")) == (
        256,
        8,
        3072,
    )
    assert qwen.config["vision_config"]
    assert read_preset("deepseek-v3").find("q_lora_rank") == 1536
    assert read_preset("gpt-oss-20b").find("sliding_window") == 128
    assert read_preset("Meta-Llama-3.1-8B-Instruct").name == "meta-llama/Llama-3.1-8B-Instruct"


def test_preset_names_do_not_collide() -> None:
    names = [name.lower() for preset in presets() for name in (preset.name, *preset.aliases)]
    assert len(names) == len(set(names))
    assert len({preset.file for preset in presets()}) == len(presets())


def test_an_unknown_preset_names_the_nearest() -> None:
    with pytest.raises(InputError) as caught:
        read_preset("Qwen3-32B-PF8")
    assert "Qwen/Qwen3-32B-FP8" in caught.value.hint


def test_a_folder_or_its_config_is_read(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(CONFIG)
    for path in (tmp_path, tmp_path / "config.json"):
        model = read_model_folder(path)
        assert (model.name, model.origin, model.find("num_hidden_layers")) == (tmp_path.name, "folder", 2)
        assert model.config_text == CONFIG


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "not JSON"),
        ("[1]", "expected an object"),
        ("{}", "neither `architectures` nor `model_type`"),
        ('{"a": ' + "[" * 100 + "]" * 100 + "}", "deeper than 64"),
        ("[" * 100_000, "too deep"),
        ('{"a": ' + "9" * 5000 + "}", "too long"),
    ],
    ids=["cut", "list", "empty", "deep", "hostile", "long"],
)
def test_what_is_no_config_is_refused(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "config.json").write_text(text)
    with pytest.raises(InputError, match=message):
        read_model_folder(tmp_path)


def test_a_folder_without_config_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no config\.json"):
        read_model_folder(tmp_path)


@pytest.mark.parametrize(
    ("variables", "hub"),
    [
        ({}, "home/.cache/huggingface/hub"),
        ({"HF_HOME": "{}/hf"}, "hf/hub"),
        ({"HF_HOME": "~/hf"}, "home/hf/hub"),
        ({"XDG_CACHE_HOME": "{}/xdg"}, "xdg/huggingface/hub"),
        ({"HF_HUB_CACHE": "{}/hub", "HF_HOME": "/elsewhere"}, "hub"),
    ],
)
def test_the_cache_is_found_as_the_hub_finds_it(tmp_path: Path, variables: dict[str, str], hub: str) -> None:
    file = cached(tmp_path / hub)
    environment = {name: value.format(tmp_path) for name, value in variables.items()}
    model = find_model("a/b", environment=environment, home=tmp_path / "home")
    assert (model.origin, model.where, model.name) == ("cache", str(file), "a/b")


def test_a_revision_is_a_branch_or_a_commit(tmp_path: Path) -> None:
    cached(tmp_path, revision="v2")
    for revision in ("v2", COMMIT):
        model = find_model("a/b", environment={"HF_HUB_CACHE": str(tmp_path)}, home=None, revision=revision)
        assert model.origin == "cache"


def test_a_preset_stands_in_for_a_model_not_in_the_cache_and_says_so(tmp_path: Path) -> None:
    model = find_model("Qwen/Qwen3-8B", environment={"HF_HUB_CACHE": str(tmp_path)}, home=None)
    assert model.origin == "preset"
    assert f"not in the Hugging Face cache {tmp_path}" in model.note
    cached(tmp_path, "Qwen/Qwen3-8B")
    assert (
        find_model("Qwen/Qwen3-8B", environment={"HF_HUB_CACHE": str(tmp_path)}, home=None).origin == "cache"
    )


@pytest.mark.parametrize("name", ["../../etc/passwd", "a/../b", "/etc", "a/b/c", "", "a b", "-x", "a--b/c"])
def test_a_name_is_never_a_path(name: str) -> None:
    with pytest.raises(InputError, match="not the name of a model"):
        find_model(name, environment={"HF_HUB_CACHE": "/"}, home=None)


def test_a_reference_is_never_a_path(tmp_path: Path) -> None:
    cached(tmp_path)
    (tmp_path / "models--a--b" / "refs" / "main").write_text("../../../..")
    with pytest.raises(InputError, match="no preset has that name"):
        find_model("a/b", environment={"HF_HUB_CACHE": str(tmp_path)}, home=None)


def test_a_config_cannot_be_changed() -> None:
    config = parse_config('{"a": {"b": [1]}}')
    with pytest.raises(TypeError):
        config["a"] = 1  # type: ignore[index] # the point of the test


def test_a_multimodal_model_keeps_its_parts(tmp_path: Path) -> None:
    text = '{"model_type": "x", "dtype": "bfloat16", "text_config": {"num_hidden_layers": 3}}'
    (tmp_path / "config.json").write_text(text)
    model = read_model_folder(tmp_path)
    assert (model.find("num_hidden_layers"), model.find("dtype"), model.find("none")) == (3, "bfloat16", None)
    assert isinstance(model.config["text_config"], Mapping)


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)


@given(st.dictionaries(st.text(), _JSON))
def test_any_object_is_kept_as_it_is(value: dict[str, object]) -> None:
    assert thawed(parse_config(json.dumps(value))) == value


def thawed(value: object) -> object:
    if isinstance(value, Mapping):
        return {key: thawed(item) for key, item in value.items()}
    return [thawed(item) for item in value] if isinstance(value, tuple) else value


@given(st.text())
def test_any_text_is_a_config_or_an_error_of_ours(text: str) -> None:
    with contextlib.suppress(AssayError):
        parse_config(text)
