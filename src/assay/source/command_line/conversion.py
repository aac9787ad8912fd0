"""Turns the text of an option's value into the value, as the engine's own converters do."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any, NoReturn

from assay.source.declarations import Constant, Converter
from assay.source.declaring.converter_shapes import IEC, SI, SI_PATTERN

_SI = re.compile(SI_PATTERN)
_LORA_KEYS = frozenset({"name", "path", "base_model_name", "is_3d_lora_weight"})
_WITH_UNIT = re.compile(r"\b\d+(?:\.\d+)?[kKmMgGtT]\b")


class NotConverted(ValueError):
    """The text is no value of that kind; the message says why."""


def convert(converter: Converter, text: str, keys: Constant | None = None, *, nullable: bool = False) -> Any:
    """The value of one text; `keys` are those that a JSON object may have.

    Raises:
        NotConverted: the engine would refuse the text.
    """
    if nullable and text in ("", "None"):
        return None
    try:
        value = _CONVERTERS[converter](text)
        if converter in ("json-object", "json-config"):
            _check_object(value, keys)
        return value
    except NotConverted:
        raise
    except (TypeError, ValueError, RecursionError, OverflowError) as error:
        raise NotConverted(f"invalid {_NAMES[converter]} value: {text!r}") from error


def lora_path(text: str) -> Any:
    """One value of `--lora-paths`.

    Raises:
        NotConverted: braces that hold no JSON object with a name and a path.
    """
    stripped = text.strip()
    if not (stripped.startswith("{") and stripped.endswith("}")):
        return stripped
    try:
        value = json.loads(stripped)
    except (ValueError, RecursionError) as error:
        raise NotConverted(f"not valid JSON: {stripped!r}") from error
    if "lora_path" not in value or "lora_name" not in value:
        raise NotConverted(f"{stripped!r} holds no 'lora_name' and 'lora_path'")
    return value


def lora_module(text: str) -> Any:
    """One value of vLLM's `--lora-modules`.

    Raises:
        NotConverted: it is neither `name=path` nor a JSON object with a name and a path.
    """
    if "=" in text and "," not in text:
        name, _, path = text.partition("=")
        return {"name": name, "path": path}
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise NotConverted(f"Invalid JSON format for --lora-modules: {text}") from error
    if not isinstance(value, dict) or not {"name", "path"} <= value.keys() <= _LORA_KEYS:
        raise NotConverted(f"Invalid fields for --lora-modules: {text}")
    return value


def _si_int(text: str) -> int:
    text = text.strip()
    match = _SI.fullmatch(text)
    if not match:
        try:
            return int(text)
        except ValueError as error:
            raise NotConverted(f"Invalid integer value: {text!r}") from error
    number, suffix = match.groups()
    if suffix in SI:
        return int(Decimal(number) * SI[suffix])
    if "." in number:
        raise NotConverted(f"Decimals are not allowed with IEC suffixes like {suffix!r}")
    return int(number) * IEC[suffix]


def _check_object(value: Any, keys: Constant | None) -> None:
    allowed: dict[str, list[str] | None] = keys.value if keys is not None and keys.known else {}
    if not isinstance(value, dict):
        raise NotConverted(f"must be a JSON object, got {type(value).__name__}")
    for key, inner in value.items():
        if key not in allowed:
            raise NotConverted(f"unknown key {key!r}, expected one of {', '.join(allowed)}")
        names = allowed[key]
        if names is None:
            continue
        if not isinstance(inner, dict):
            raise NotConverted(f"[{key!r}] must be a JSON object, got {type(inner).__name__}")
        for name in inner:
            if name not in names:
                expected = ", ".join(names)
                raise NotConverted(f"[{key!r}]: unknown key {name!r}, expected one of {expected}")


def _strict_json(text: str) -> Any:
    """As `orjson.loads`: no NaN or infinity, no lone surrogates, integers beyond 64 bits as floats."""
    value = json.loads(text, parse_constant=_no_constant, parse_int=_orjson_int, parse_float=_finite)
    json.dumps(value, ensure_ascii=False).encode()
    return value


def _config(text: str) -> Any:
    """JSON in which bare numbers may have a unit, as vLLM writes it out before it reads it."""
    parts = re.split(r'("(?:[^"\\]|\\.)*")', text)
    parts[::2] = [_WITH_UNIT.sub(lambda match: str(_unit_int(match.group())), part) for part in parts[::2]]
    return json.loads("".join(parts))


def _json_or_text(text: str) -> Any:
    return json.loads(text) if re.match(r"(?s)^\s*{.*}\s*$", text) else text


def _unit_int(text: str) -> int:
    text = text.strip()
    match = re.fullmatch(r"(\d+(?:\.\d+)?)([kKmMgGtT])", text)
    if not match:
        return int(text)
    number, suffix = match.groups()
    power = "kmgt".index(suffix.lower()) + 1
    if suffix.islower():
        return int(float(number) * float(10 ** (3 * power)))
    if "." in number:
        raise NotConverted(
            f"Decimals are not allowed with binary suffixes like {suffix}. "
            f"Did you mean to use {number}{suffix.lower()} instead?"
        )
    return int(number) << 10 * power


def _unit_int_or_auto(text: str) -> int:
    return -1 if text.strip() == "-1" or text.strip().lower() == "auto" else _unit_int(text)


def _folded(text: str) -> str:
    return text.lower().replace("-", "_")


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def _orjson_int(text: str) -> int | float:
    value = int(text)
    return value if -(2**63) <= value < 2**64 else _finite(text)


def _finite(text: str) -> float:
    value = float(text)
    if value in (float("inf"), float("-inf")):
        raise ValueError(f"{text} is too large")
    return value


def _nullable(text: str) -> str | None:
    return None if not text or text == "None" else text


_CONVERTERS: Mapping[Converter, Callable[[str], Any]] = {
    "text": str,
    "int": int,
    "float": float,
    "bool": bool,
    "json": json.loads,
    "json-list": _strict_json,
    "json-object": json.loads,
    "json-config": _config,
    "json-or-text": _json_or_text,
    "folded-text": _folded,
    "unit-int": _unit_int,
    "unit-int-or-auto": _unit_int_or_auto,
    "nullable-text": _nullable,
    "si-int": _si_int,
    "lora-paths": str,
    "lora-modules": str,
}
_NAMES: Mapping[Converter, str] = {
    "text": "str",
    "int": "int",
    "float": "float",
    "bool": "bool",
    "json": "loads",
    "json-list": "JSON",
    "json-object": "JSON",
    "json-config": "JSON",
    "json-or-text": "JSON",
    "folded-text": "str",
    "unit-int": "integer",
    "unit-int-or-auto": "integer",
    "nullable-text": "nullable_str",
    "si-int": "integer",
    "lora-paths": "str",
    "lora-modules": "str",
}
