"""Reads fields of a JSON document that others wrote: what is not as expected counts as absent."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from assay.bench.results import FIGURES
from assay.stats import carried_from

_TAILS = {"p90": 0.9, "p95": 0.95, "p99": 0.99}
Document = Mapping[str, Any]


def inside(document: object, *path: str) -> object:
    """What stands at that path of objects; `None` where nothing does."""
    for name in path:
        if not isinstance(document, Mapping):
            return None
        document = document.get(name)
    return document


def number(document: object, *path: str) -> float | None:
    """The finite number at that path."""
    value = inside(document, *path)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if abs(value) < 1e300 and math.isfinite(value) else None


def whole(document: object, *path: str) -> int | None:
    """The number at that path, without its fraction."""
    value = number(document, *path)
    return None if value is None else int(value)


def text(document: object, *path: str) -> str:
    """The text at that path, or nothing."""
    value = inside(document, *path)
    return encodable(value)[:400] if isinstance(value, str) else ""


def encodable(value: str) -> str:
    """The text without the halves of characters that JSON can hold and UTF-8 cannot."""
    return value.encode("utf-8", "replace").decode()


def carried(figures: Mapping[str, float | None], completed: int) -> dict[str, float]:
    """The figures that are there; percentiles only where so many requests carry them."""
    kept = {}
    for name, value in figures.items():
        q = _TAILS.get(name.partition("_")[0])
        if name in FIGURES and value is not None and (q is None or completed >= carried_from(q)):
            kept[name] = value
    return kept
