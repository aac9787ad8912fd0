"""The ways on which an object comes to a call of its method: none may be taken for no call at all."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.flow.oracle import engine_source, words
from tests.flow.small_engine import write

from assay.facts import Facts
from assay.flow import baseline

WORKER = """
import torch, zmq
import asyncio, atexit, collections, concurrent.futures, contextlib, contextvars, copy, dataclasses, functools
import heapq, itertools, multiprocessing, operator, pickle, queue, signal, threading, types, weakref


class A:
    def __init__(self, args):
        self.args = args

    def go(self, *_rest):
        if self.args.fast:
            zmq.send(1)


def use():
    G.go()


def main(args):
"""
WAYS = re.findall(
    r"^# ([\w-]+): (\w+)\n(.*?)(?=^# |\Z)", Path(__file__).with_name("ways.txt").read_text(), re.M | re.S
)
"""Name, whether assay follows it or only says that it does not know, and the body of a function that makes an
`A` and has its `go` called.
"""


@pytest.mark.parametrize(("expected", "body"), [pytest.param(*way, id=name) for name, *way in WAYS])
def test_a_way(tmp_path: Path, expected: str, body: str) -> None:
    write(tmp_path, worker=WORKER + body)
    command = words("--model-path", "m")
    run_a = baseline(engine_source(tmp_path), Facts(), command)
    found = run_a.alternative([*command, *words("--fast")]).difference(("fast",))
    assert found.outcome == {"followed": "effect", "open": "open"}[expected]
