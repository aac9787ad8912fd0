"""Which values are asked about where the user named none."""

from __future__ import annotations

from typing import Any

import pytest

from assay.findings import values_to_ask
from assay.source import Constant, Option, Site

SITE = Site(file="a.py", line=1)


def option(**more: Any) -> Option:
    known: dict[str, Any] = {
        "flags": ("--x",),
        "dest": "x",
        "field": "x",
        "action": "store",
        "default": Constant(known=True),
        "declared_at": SITE,
        "first_line": 1,
        "last_line": 1,
    }
    return Option(**(known | more))


CHOICES = Constant(known=True, value=["a", "b", "c"])


@pytest.mark.parametrize(
    ("of", "resolved", "values"),
    [
        (option(action="store_const", nargs=0, const=Constant(known=True, value=True)), False, (True,)),
        (option(action="boolean", nargs=0), True, (False,)),
        (option(choices=CHOICES), "b", ("a", "c")),
        (option(choices=CHOICES, nargs="+"), ["b"], (["a"], ["c"])),
        (option(choices=Constant(known=True, value=["a"])), "a", ("a",)),
        (option(converter="int"), 8, (16, 4)),
        (option(converter="int"), None, (1,)),
        (option(converter="int"), -1, (1,)),
        (option(converter="int"), 1, (2,)),
        (option(converter="float"), 0.8, (0.4, 0.8800000000000001)),
        (option(converter="float"), 4.0, (8.0, 2.0)),
        (option(converter="float"), None, (0.5,)),
        (option(converter="int", nargs="+"), [4, 8], ([8], [2])),
        (option(converter="json"), None, ({"probe": 1},)),
        (option(), "text", ("assay-probe",)),
        (option(nargs="*"), None, (["assay-probe"],)),
    ],
)
def test_values(of: Option, resolved: Any, values: tuple[Any, ...]) -> None:
    assert values_to_ask(of, resolved) == values
