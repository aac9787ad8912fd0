"""Whether what bears an option's name is of something else: each way to read it is a veto."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.flow.oracle import engine_source
from tests.flow.small_engine import write

NAMESAKE = '''
class Scheduler:
    def __init__(self, decode_gap: int = 3):
        """Waits for decode_gap steps."""
        self.decode_gap = decode_gap
        assert self.decode_gap > 0, "the decode_gap must be positive"

    def step(self, gap):
        return Scheduler(decode_gap=gap)
'''


def only_namesakes(tmp_path: Path, **files: str) -> bool:
    write(tmp_path, **{"scheduler": NAMESAKE, "worker": "def main(args): ...\n"} | files)
    source = engine_source(tmp_path)
    option = next(option for option in source.declarations.options if option.dest == "decode_gap")
    return source.namesakes.only(option)


def test_an_attribute_of_another_class_is_a_namesake(tmp_path: Path) -> None:
    assert only_namesakes(tmp_path)


@pytest.mark.parametrize(
    "reader",
    [
        "def f(args): return args.decode_gap",
        "def f(args): return getattr(args, 'decode_gap')",
        "def f(args): return ['decode_gap'][0]",
        "def f(args): return [getattr(args, n) for n in 'decode_gap max_gap'.split()]",
        "def f(prefix, args): return getattr(args, f'{prefix}decode_gap')",
        "import sys\nasked = '--decode-gap' in sys.argv",
        "class A:\n    def f(self): return self.args.decode_gap",
        "from sglang.srt.server_args import ServerArgs\n"
        "class A(ServerArgs):\n    def f(self): return self.decode_gap",
        "def f(args):\n    match args:\n        case A(decode_gap=g): return g",
        "def g(**all): return f(**vars(all))\ndef f(*, decode_gap, **rest): return decode_gap",
        "class A:\n    def fill(self, args):\n        for k, v in vars(args).items(): setattr(self, k, v)\n"
        "    def f(self): return self.decode_gap",
        "def f(args) return args.decode_gap  # cannot be parsed",
    ],
)  # fmt: skip
def test_what_may_read_it_is_none(tmp_path: Path, reader: str) -> None:
    assert not only_namesakes(tmp_path, worker=reader)


def test_a_file_that_is_no_python_may_name_it(tmp_path: Path) -> None:
    assert not only_namesakes(tmp_path, worker__json='{"decode_gap": 3}')


def test_an_attribute_that_no_other_class_gives_itself_is_a_reader(tmp_path: Path) -> None:
    """It may be a mixin of the arguments class."""
    mixin = "class Mixin:\n    def f(self): return self.decode_gap\n"
    assert not only_namesakes(tmp_path, scheduler=mixin)
