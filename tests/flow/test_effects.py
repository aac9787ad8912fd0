"""The ways on which an option has an effect on the world: none may be taken for nothing."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.flow.oracle import engine_source, words
from tests.flow.small_engine import write

from assay.facts import Facts
from assay.flow import baseline

WAYS = re.findall(
    r"^# ([\w-]+): (\w+)\n(.*?)(?=^# |\Z)", Path(__file__).with_name("effects.txt").read_text(), re.M | re.S
)
"""Name, `effect` or `missed`, and the module of a worker whose `main` gets the arguments. One that is missed
is taken for nothing, as docs/explanation/reach.md says; their number can only shrink.
"""


@pytest.mark.parametrize(("expected", "body"), [pytest.param(*way, id=name) for name, *way in WAYS])
def test_an_effect(tmp_path: Path, expected: str, body: str) -> None:
    write(tmp_path, worker=f"import torch, zmq\n{body}")
    command = words("--model-path", "m")
    run_a = baseline(engine_source(tmp_path), Facts(), command)
    found = run_a.alternative([*command, *words("--fast")]).difference(("fast",))
    assert found.outcome == {"effect": "effect", "missed": "none"}[expected]
