"""Switches that have their opposite by `--enable-` and `--disable-`, as in vLLM 0.33, in a small tree."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from assay.engines import ENGINES
from assay.source import parse
from assay.source.declaring.arguments import read
from assay.source.declaring.module import Modules

PARSER = """
    import argparse

    class EnableDisableAction(argparse.BooleanOptionalAction):
        _inverse_prefixes = {"--enable-": "--disable-", "--disable-": "--enable-"}

    class FlexibleArgumentParser(argparse.ArgumentParser):
        def parse_args(self, args):
            args = [arg.replace("_", "-") for arg in args if arg != "--config"]
            create_nested_dict = "--optimization-level"
            return super().parse_args(args)
"""
SERVER = """
    import argparse
    from vllm.parser import FlexibleArgumentParser

    class Args:
        enable_x: bool = False

        @staticmethod
        def add_cli_args(parser):
            parser.add_argument("--enable-x", action=argparse.BooleanOptionalAction, default=None)
            parser.add_argument("--disable-y", action=argparse.BooleanOptionalAction, default=None)
            return parser

    def main():
        parser = FlexibleArgumentParser()
        parser = Args.add_cli_args(parser)
        parser.parse_args([])

    main()
"""


@dataclass(frozen=True)
class Word:
    text: str
    known: bool = True


@pytest.mark.parametrize(
    ("flag", "dest", "value"),
    [
        ("--enable-x", "enable_x", True),
        ("--disable-x", "enable_x", False),
        ("--no-enable-x", "enable_x", False),
        ("--disable_x", "enable_x", False),
        ("--disable-y", "disable_y", True),
        ("--enable-y", "disable_y", False),
    ],
)
def test_both_ways_of_saying_no(
    write_tree: Callable[[dict[str, str]], Path], flag: str, dest: str, value: object
) -> None:
    root = write_tree({"vllm/parser.py": PARSER, "vllm/entrypoints/openai/api_server.py": SERVER})
    parsed = parse(read(Modules(root), ENGINES["vllm"]), [Word(flag)])
    assert parsed.problems == ()
    assert parsed.namespace[dest].value is value
