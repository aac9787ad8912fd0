"""The ways on which an option has an effect on the world: none may be taken for nothing."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.flow.oracle import engine_source, words
from tests.flow.small_engine import write

from assay.facts import Facts
from assay.flow import baseline

EFFECTS, VALUES = (
    re.findall(
        r"^# ([\w-]+): (\w+)\n(.*?)(?=^# |\Z)", Path(__file__).with_name(name).read_text(), re.M | re.S
    )
    for name in ("effects.txt", "values.txt")
)
"""Name, `effect`, `open` or `missed`, and the module of a worker whose `main` gets the arguments, or the end
of a `main` in which an option has chosen `n`. A missed one is taken for nothing, as reach.md says; their
number can only shrink.
"""
IMPORTS = """
import abc, asyncio, collections, contextlib, copy, dataclasses, enum, functools, importlib, inspect
import itertools, json, logging, math, multiprocessing as mp, operator, os, re, threading, types, typing
import weakref
import torch, zmq
"""
BEFORE_VALUES = """
G = 0
def use(): return G
def main(args):
    n = 5 if args.fast else 6
"""


def _outcome(folder: Path, worker: str) -> str:
    write(folder, worker=f"{IMPORTS}{worker}")
    command = words("--model-path", "m")
    run_a = baseline(engine_source(folder), Facts(), command)
    return run_a.alternative([*command, *words("--fast")]).difference(("fast",)).outcome


@pytest.mark.parametrize(("expected", "body"), [pytest.param(*way, id=name) for name, *way in EFFECTS])
def test_an_effect(tmp_path: Path, expected: str, body: str) -> None:
    found = _outcome(tmp_path, body)
    assert found in {"effect": ("effect", "raises"), "open": ("open",), "missed": ("none",)}[expected]


@pytest.mark.parametrize(("expected", "body"), [pytest.param(*way, id=name) for name, *way in VALUES])
def test_a_way_of_a_value(tmp_path: Path, expected: str, body: str) -> None:
    found = _outcome(tmp_path, BEFORE_VALUES + body)
    assert found in {"effect": ("effect", "raises"), "missed": ("none",)}[expected]
