"""Turns the text of an option's value into the value, as the engine's own converters do."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any, NoReturn

from assay.source.declarations import Converter
from assay.source.declaring.converter_shapes import IEC, SI, SI_PATTERN

_SI = re.compile(SI_PATTERN)


class NotConverted(ValueError):
    """The text is no value of that kind; the message says why."""


def convert(converter: Converter, text: str) -> Any:
    """The value of one text.

    Raises:
        NotConverted: the engine would refuse the text.
    """
    try:
        return _CONVERTERS[converter](text)
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
    "nullable-text": "nullable_str",
    "si-int": "integer",
    "lora-paths": "str",
}
