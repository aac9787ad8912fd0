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


class NotConverted(ValueError):
    """The text is no value of that kind; the message says why."""


def convert(converter: Converter, text: str, keys: Constant | None = None) -> Any:
    """The value of one text; `keys` are those that a JSON object may have.

    Raises:
        NotConverted: the engine would refuse the text.
    """
    try:
        value = _CONVERTERS[converter](text)
        if converter == "json-object":
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
    allowed: dict[str, list[str]] = keys.value if keys is not None and keys.known else {}
    if not isinstance(value, dict):
        raise NotConverted(f"must be a JSON object, got {type(value).__name__}")
    for key, inner in value.items():
        if key not in allowed:
            raise NotConverted(f"unknown key {key!r}, expected one of {', '.join(allowed)}")
        if not isinstance(inner, dict):
            raise NotConverted(f"[{key!r}] must be a JSON object, got {type(inner).__name__}")
        for name in inner:
            if name not in allowed[key]:
                expected = ", ".join(allowed[key])
                raise NotConverted(f"[{key!r}]: unknown key {name!r}, expected one of {expected}")


def _strict_json(text: str) -> Any:
    """As `orjson.loads`: no NaN or infinity, no lone surrogates, integers beyond 64 bits as floats."""
    value = json.loads(text, parse_constant=_no_constant, parse_int=_orjson_int, parse_float=_finite)
    json.dumps(value, ensure_ascii=False).encode()
    return value


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
    "nullable-text": _nullable,
    "si-int": _si_int,
    "lora-paths": str,
}
_NAMES: Mapping[Converter, str] = {
    "text": "str",
    "int": "int",
    "float": "float",
    "bool": "bool",
    "json": "loads",
    "json-list": "JSON",
    "json-object": "JSON",
    "nullable-text": "nullable_str",
    "si-int": "integer",
    "lora-paths": "str",
}
