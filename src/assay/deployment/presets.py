"""The models that ship with assay: config.json facts of models that people serve."""

from __future__ import annotations

import difflib
import functools
import tomllib
from importlib import resources

import msgspec

from assay._value import Value
from assay.errors import InputError


class Preset(Value):
    """One shipped config.json, and how sure we are of it."""

    name: str
    """Name on the hub."""
    file: str
    """The file in `models/`."""
    aliases: tuple[str, ...] = ()
    """Other models on the hub with the same config.json, as far as an engine reads it."""
    source: str
    """Where the facts come from."""
    checked: bool
    """Whether they were compared with a copy of this very model's config.json."""
    unverified: str = ""
    """What could not be compared, if not all of it."""


class _Index(Value):
    preset: tuple[Preset, ...]


@functools.cache
def presets() -> tuple[Preset, ...]:
    """Every preset, in order of the index."""
    text = _folder().joinpath("presets.toml").read_text(encoding="utf-8")
    return msgspec.convert(tomllib.loads(text), _Index).preset


def preset_text(preset: Preset) -> str:
    """The config.json of a preset."""
    return _folder().joinpath(preset.file).read_text(encoding="utf-8")


def find_preset(name: str) -> Preset:
    """The preset of that name, with or without the organisation; case does not matter.

    Raises:
        InputError: there is none; the hint names the nearest.

    >>> find_preset("qwen3-32b-fp8").name
    'Qwen/Qwen3-32B-FP8'
    """
    names = _names()
    if found := names.get(name.strip().lower()):
        return found
    close = difflib.get_close_matches(name[:100].lower(), names, n=5, cutoff=0.7)
    nearest = " or ".join(dict.fromkeys(names[key].name for key in close))
    raise InputError(
        f"no model preset is called {name[:100]!r}",
        hint=f"did you mean {nearest}?" if nearest else "docs/reference/model-presets.md lists them",
    )


@functools.cache
def _names() -> dict[str, Preset]:
    names: dict[str, Preset] = {}
    for preset in presets():
        for name in (preset.name, *preset.aliases):
            names[name.lower()] = preset
            names.setdefault(name.rpartition("/")[2].lower(), preset)
    return names


def _folder() -> resources.abc.Traversable:
    return resources.files("assay.deployment").joinpath("models")
