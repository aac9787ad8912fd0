"""What Docker Compose and Kubernetes, which are written in Go, take an unquoted YAML value for."""

from __future__ import annotations

import math
import re
from decimal import Decimal
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from assay.deployment.containers.yaml_text import YamlScalar

GoType = Literal["str", "int", "float", "bool", "null", "timestamp"]
"""A scalar's type."""

NAMES: dict[GoType, str] = {
    "str": "text",
    "int": "an integer",
    "float": "a number",
    "bool": "a boolean",
    "null": "null",
    "timestamp": "a date",
}
"""Each type in a sentence."""

_INTEGER = re.compile("[-+]?(?:0[xX][0-9a-fA-F]+|0[oO][0-7]+|0[bB][01]+|0[0-7]*|[1-9][0-9]*)")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_SPECIAL_FLOAT = re.compile(r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)")
_DATE = re.compile(r"[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}(?:[Tt ][0-9].*)?")
_BOOLEANS = {"true", "True", "TRUE", "false", "False", "FALSE"}
_OLD_BOOLEANS = {
    *("y", "Y", "yes", "Yes", "YES", "on", "On", "ON"),
    *("n", "N", "no", "No", "NO", "off", "Off", "OFF"),
}
_NULLS = {"", "~", "null", "Null", "NULL"}
_EXPLICIT: dict[str, GoType] = {
    "int": "int",
    "float": "float",
    "bool": "bool",
    "null": "null",
    "timestamp": "timestamp",
}
_LONGEST = 400  # no number that fits 64 bits is longer


def go_type(scalar: YamlScalar, *, kubernetes: bool = False) -> GoType:
    """The type that Compose (go-yaml v3) or Kubernetes (go-yaml v2) gives a scalar.

    They read `0777` and `0o17` as integers and `1e3` as a float; for Kubernetes `y`, `no` and `on` are
    booleans too, for Compose a date is no text. PyYAML's type of each differs.
    """
    if scalar.tagged:
        return _EXPLICIT.get(scalar.tag, "str")
    return _plain_type(scalar.text, kubernetes=kubernetes) if scalar.style == "plain" else "str"


def _plain_type(text: str, *, kubernetes: bool) -> GoType:
    if text in _NULLS:
        return "null"
    if text in _BOOLEANS or (kubernetes and text in _OLD_BOOLEANS):
        return "bool"
    if _SPECIAL_FLOAT.fullmatch(text):
        return "float"
    if len(text) > _LONGEST or text[0] not in "+-.0123456789":
        return "str"
    if _DATE.fullmatch(text):
        return "str" if kubernetes else "timestamp"
    digits = text if text[0] == "." else text.replace("_", "")
    if _INTEGER.fullmatch(digits) and -(1 << 63) <= _integer(digits) < 1 << 64:
        return "int"
    return "float" if _FLOAT.fullmatch(digits) and math.isfinite(float(digits)) else "str"


def _integer(digits: str) -> int:
    sign = -1 if digits[0] == "-" else 1
    digits = digits.lstrip("+-")
    if len(digits) > 1 and digits[0] == "0" and digits[1] in "01234567":
        return sign * int(digits, 8)
    return sign * int(digits, 0)


def go_text(scalar: YamlScalar) -> str:
    """The text that Compose turns an unquoted value into where it takes numbers: `0777` becomes `511`."""
    kind = go_type(scalar)
    if kind == "int":
        return str(_integer(scalar.text.replace("_", "")))
    if kind == "bool":
        return scalar.text.lower()
    if kind == "float" and not _SPECIAL_FLOAT.fullmatch(scalar.text):
        return _go_float(float(scalar.text.replace("_", "")))
    return scalar.text


def _go_float(number: float) -> str:
    """A float as Go prints it: the shortest digits, an exponent from 1e+06 on and below 1e-04."""
    exact = Decimal(repr(number))
    if number == 0:
        return "-0" if math.copysign(1, number) < 0 else "0"
    if -4 <= exact.adjusted() < 6:
        text = format(exact, "f")
        return text.rstrip("0").rstrip(".") if "." in text else text
    digits = "".join(map(str, exact.as_tuple().digits)).rstrip("0")
    mantissa = digits[0] + ("." + digits[1:] if digits[1:] else "")
    sign = "-" if number < 0 else ""
    return f"{sign}{mantissa}e{'-' if exact.adjusted() < 0 else '+'}{abs(exact.adjusted()):02d}"
