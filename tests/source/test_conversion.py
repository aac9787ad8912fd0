"""Converters against the engine's own; what is expected of orjson was taken from orjson itself."""

from __future__ import annotations

from typing import Any

import pytest

from assay.source.command_line.conversion import NotConverted, convert, lora_path
from assay.source.declarations import Converter

REFUSED = object()


@pytest.mark.parametrize(
    ("converter", "text", "value"),
    [
        ("text", " a ", " a "),
        ("int", " 1_0 ", 10),
        ("int", "1e3", REFUSED),
        ("float", "1e3", 1000.0),
        ("float", "infinity", float("inf")),
        ("float", "1,5", REFUSED),
        ("bool", "false", True),
        ("bool", "", False),
        ("nullable-text", "None", None),
        ("nullable-text", "", None),
        ("nullable-text", "none", "none"),
        ("json", '{"a": [1, null]}', {"a": [1, None]}),
        ("json", "{'a': 1}", REFUSED),
        ("json", "[" * 100_000, REFUSED),
        ("json", "-Infinity", float("-inf")),
        ("json-list", "[1]", [1]),
        ("json-list", "{}", {}),
        ("json-list", "[NaN]", REFUSED),
        ("json-list", "1e999", REFUSED),
        ("json-list", '"\\ud800"', REFUSED),
        ("json-list", "18446744073709551615", 2**64 - 1),
        ("json-list", "18446744073709551616", 1.8446744073709552e19),
        ("json-list", "[" * 100_000, REFUSED),
        ("si-int", "1k", 1000),
        ("si-int", " 25.6k ", 25600),
        ("si-int", "1.5M", 1_500_000),
        ("si-int", "1Mi", 1 << 20),
        ("si-int", "1.5Mi", REFUSED),
        ("si-int", "1K", REFUSED),
        ("si-int", "-1", -1),
        ("si-int", "-1k", REFUSED),
    ],
)
def test_converters(converter: Converter, text: str, value: Any) -> None:
    if value is REFUSED:
        with pytest.raises(NotConverted):
            convert(converter, text)
    else:
        assert convert(converter, text) == value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (" /x ", "/x"),
        ("name=/x", "name=/x"),
        ('{"lora_name": "n", "lora_path": "/x"}', {"lora_name": "n", "lora_path": "/x"}),
        ('{"lora_name": "n"}', REFUSED),
        ("{x}", REFUSED),
    ],
)
def test_adapters(text: str, value: Any) -> None:
    if value is REFUSED:
        with pytest.raises(NotConverted):
            lora_path(text)
    else:
        assert lora_path(text) == value
