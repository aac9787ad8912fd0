"""The model that is served, by its config.json: from a folder, the Hugging Face cache or a shipped preset."""

from __future__ import annotations

import functools
import json
import math
import re
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Literal, TypeAlias

from assay._value import Value
from assay.deployment.files import read_user_file
from assay.deployment.presets import Preset, find_preset, preset_text
from assay.errors import InputError

Json: TypeAlias = "bool | int | float | str | tuple[Json, ...] | Mapping[str, Json] | None"
"""A JSON value that cannot be changed."""

CONFIG_LIMIT_BYTES = 16 << 20
"""Larger config files are refused; the largest known (a list of unquantised modules) has 3 MiB."""
CONFIG_DEPTH = 64
"""Deeper ones too."""


class Model(Value):
    """A model's own facts. Its remote code is never run: what only that code knows is not known here."""

    name: str
    """Name on the hub (`Qwen/Qwen3-32B-FP8`), or of the folder."""
    origin: Literal["folder", "cache", "preset"]
    """A folder of the user's, the Hugging Face cache, or a preset that ships with assay."""
    where: str
    """Path of the config.json that was read, or the name of the preset."""
    config_text: str
    """The config.json as it was read."""
    note: str = ""
    """What to know of this choice, such as that a preset stands in for a model not in the cache."""

    @property
    def config(self) -> Mapping[str, Json]:
        """The config.json, with `text_config` and `vision_config` where they stand."""
        return parse_config(self.config_text, self.where)

    @property
    def text_config(self) -> Mapping[str, Json]:
        """The part that describes the language model: `text_config` of a multimodal one, else all of it."""
        inner = self.config.get("text_config")
        return inner if isinstance(inner, Mapping) else self.config

    def find(self, key: str) -> Json:
        """A fact of the language model: from `text_config`, else from the top; None if it is not there."""
        return self.text_config.get(key, self.config.get(key))


@functools.lru_cache(maxsize=16)
def parse_config(text: str, where: str = "config.json") -> Mapping[str, Json]:
    """Parse the text of a config.json into a value that cannot be changed.

    Raises:
        InputError: it is not JSON, not an object, or nested deeper than `CONFIG_DEPTH`.

    >>> parse_config('{"architectures": ["LlamaForCausalLM"]}')["architectures"]
    ('LlamaForCausalLM',)
    """
    try:
        value: object = json.loads(text)
    except json.JSONDecodeError as error:
        raise InputError(f"{where}:{error.lineno}: not JSON: {error.msg}") from error
    except (RecursionError, ValueError) as error:  # ValueError: an integer of more than 4300 digits
        raise InputError(f"{where} holds a value too deep or too long to read") from error
    frozen = _freeze(value, where, CONFIG_DEPTH)
    if not isinstance(frozen, Mapping):
        raise InputError(f"{where} is not a model's config.json: expected an object at the top")
    return frozen


def _freeze(value: object, where: str, depth: int) -> Json:
    if depth == 0:
        raise InputError(f"{where} is nested deeper than {CONFIG_DEPTH} levels")
    if isinstance(value, dict):
        return MappingProxyType({key: _freeze(item, where, depth - 1) for key, item in value.items()})
    if isinstance(value, list):
        return tuple(_freeze(item, where, depth - 1) for item in value)
    if (
        value is None
        or isinstance(value, bool | int | str)
        or (isinstance(value, float) and not math.isnan(value))
    ):
        return value
    return None  # NaN, which is equal to nothing


def read_model_folder(path: Path, *, name: str | None = None) -> Model:
    """The model in a folder with a config.json, or described by that file.

    Raises:
        InputError: there is no such file, or it is not a model's config.json.
    """
    file = path / "config.json" if path.is_dir() else path
    if path.is_dir() and not file.is_file():
        raise InputError(
            f"{path} has no config.json",
            hint="give the folder of a Hugging Face model, or the config.json itself",
        )
    folder = file.parent.name or str(file.parent)
    return _checked(Model(name=name or folder, origin="folder", where=str(file), config_text=_read(file)))


def read_preset(name: str) -> Model:
    """A model that ships with assay.

    Raises:
        InputError: there is none of that name; the hint names the nearest.
    """
    return _preset_model(find_preset(name))


def find_model(
    name: str, *, environment: Mapping[str, str], home: Path | None, revision: str = "main"
) -> Model:
    """The model of that hub name: from the local Hugging Face cache, else the preset of that name.

    Args:
        name: `ORGANISATION/NAME`, as on the hub.
        environment: where `HF_HUB_CACHE`, `HF_HOME` and `XDG_CACHE_HOME` are looked up.
        home: the user's home folder, for the cache's usual place; None: only the environment says.
        revision: branch, tag or commit.

    Raises:
        InputError: it is in neither, or not a name of the hub.
    """
    if not _HUB_NAME.fullmatch(name) or ".." in name or "--" in name:
        raise InputError(f"not the name of a model on the hub: {name!r}", hint="write ORGANISATION/NAME")
    cache = hub_cache(environment, home)
    if cache is not None and (file := _cached_config(cache, name, revision)):
        return _checked(Model(name=name, origin="cache", where=str(file), config_text=_read(file)))
    looked = (
        f"{name} is not in the Hugging Face cache {cache}" if cache else "no Hugging Face cache was looked in"
    )
    try:
        preset = find_preset(name)
    except InputError as error:
        raise InputError(
            f"{looked}, and no preset has that name",
            hint=f"give path = the model's folder or its config.json. {error.hint}".strip(),
        ) from error
    return _preset_model(preset, note=f"{looked}: the preset that ships with assay is used")


def hub_cache(environment: Mapping[str, str], home: Path | None) -> Path | None:
    """The hub's cache folder, as `huggingface_hub` finds it."""
    for variable in ("HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE"):
        if value := environment.get(variable):
            return _at_home(value, home)
    if value := environment.get("HF_HOME"):
        return _at_home(value, home) / "hub"
    if value := environment.get("XDG_CACHE_HOME"):
        return _at_home(value, home) / "huggingface" / "hub"
    return home / ".cache" / "huggingface" / "hub" if home else None


def _at_home(path: str, home: Path | None) -> Path:
    if home is not None and (path == "~" or path.startswith("~/")):
        return home / path[2:]
    return Path(path)


_HUB_NAME = re.compile(r"[A-Za-z0-9][\w.-]{0,95}(?:/[A-Za-z0-9][\w.-]{0,95})?", re.ASCII)
_REVISION = re.compile(r"[A-Za-z0-9][\w.-]{0,95}", re.ASCII)


def _cached_config(cache: Path, name: str, revision: str) -> Path | None:
    if not _REVISION.fullmatch(revision):
        raise InputError(f"not a revision of the hub: {revision!r}", hint="write a branch, tag or commit")
    folder = cache / f"models--{name.replace('/', '--')}"
    reference = folder / "refs" / revision
    commit = revision
    if reference.is_file():
        commit = read_user_file(reference, limit_bytes=4096).text.strip()
        if not _REVISION.fullmatch(commit):
            return None
    file = folder / "snapshots" / commit / "config.json"
    return file if file.is_file() else None


def _read(file: Path) -> str:
    text = read_user_file(file, limit_bytes=CONFIG_LIMIT_BYTES).text
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise InputError(f"{file} is not UTF-8, which JSON must be") from error
    return text


def _preset_model(preset: Preset, *, note: str = "") -> Model:
    unsure = f"not verified: {preset.unverified}" if preset.unverified else ""
    return Model(
        name=preset.name,
        origin="preset",
        where=preset.name,
        config_text=preset_text(preset),
        note="; ".join(part for part in (note, unsure) if part),
    )


def _checked(model: Model) -> Model:
    """The model, if its config can be used at all."""
    if not isinstance(model.config.get("architectures", model.config.get("model_type")), tuple | str):
        raise InputError(
            f"{model.where} is not a model's config.json: it has neither `architectures` nor `model_type`",
            hint="generation_config.json, tokenizer_config.json and params.json are other files",
        )
    return model
