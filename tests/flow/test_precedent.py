"""A run that start-up code treats as run A is taken from run A, and only such a run."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent, indent

import pytest
from tests.flow.oracle import engine_source, words

from assay.facts import Facts
from assay.flow import EngineSource, baseline, resolve
from assay.flow.resolution import Resolution

ENGINE = """
import argparse, copy, dataclasses, functools, os
from typing import Optional, List

@dataclasses.dataclass
class ServerArgs:
    model_path: str = "m"
    wanted: int = 1
    other: int = 2
    words: Optional[List[str]] = None

    def __post_init__(self):
@@

    @staticmethod
    def add_cli_args(parser):
        parser.add_argument("--model-path", type=str, default=ServerArgs.model_path)
        parser.add_argument("--wanted", type=int, default=ServerArgs.wanted)
        parser.add_argument("--other", type=int, default=ServerArgs.other)
        parser.add_argument("--words", type=str, nargs="*", default=ServerArgs.words)

    @classmethod
    def from_cli_args(cls, args):
        attrs = [attr.name for attr in dataclasses.fields(cls)]
        return cls(**{attr: getattr(args, attr) for attr in attrs})

    def check_server_args(self):
@check

SEEN = 0
KEPT = []
NAMED = {}

@functools.cache
def cached():
    return SEEN.wanted

def helper(record):
    return record.wanted

def prepare_server_args(argv):
    parser = argparse.ArgumentParser()
    ServerArgs.add_cli_args(parser)
    raw_args = parser.parse_args(argv)
@end
"""
LAUNCH = """
from sglang.srt.server_args import prepare_server_args

if __name__ == "__main__":
    server_args = prepare_server_args(sys.argv[1:])
"""
PLAIN = "return ServerArgs.from_cli_args(raw_args)"


def source(folder: Path, body: str, check: str = "pass", end: str = PLAIN) -> EngineSource:
    file = folder / "sglang" / "srt" / "server_args.py"
    file.parent.mkdir(parents=True)
    text = ENGINE.replace("@@", indent(dedent(body), " " * 8))
    (folder / "sglang" / "launch_server.py").write_text(LAUNCH)
    text = text.replace("@check", indent(dedent(check), " " * 8)).replace(
        "@end", indent(dedent(end), " " * 4)
    )
    file.write_text(text)
    return engine_source(folder)


def both(made: EngineSource, *more: str) -> tuple[Resolution, Resolution, Resolution]:
    """Run A; run B beside it; run B by itself."""
    run_a = baseline(made, Facts(), words("--model-path", "m"))
    other = words("--model-path", "m", *more)
    return run_a.resolution, run_a.alternative(other).resolution, resolve(made, Facts(), other)


def is_taken(one: Resolution, other: Resolution) -> bool:
    """Whether a resolution was made from another one."""
    return any(a is b for a, b in zip(one.fields, other.fields, strict=True))


UNREAD = [
    "self.other = 3",
    "if self.other == 2:\n    self.model_path = 'n'",
    "if os.environ.get('X') == '1':\n    self.wanted = 9",
]
READ = [
    "self.other = self.wanted * 10",
    "if getattr(self, 'want' + 'ed') > 4:\n    raise ValueError('no')",
    "self.other = helper(self)",
    "self.other = vars(self)['wanted']",
    "self.other = self.__dict__['wanted']",
    "for name, value in vars(self).items():\n    if name == 'wanted':\n        self.other = value",
    "self.other = dataclasses.asdict(self)['wanted']",
    "self.other = copy.copy(self).wanted",
    "self.other = copy.deepcopy(self).wanted",
    "self.other = copy.deepcopy([self])[0].wanted",
    "self.other = dataclasses.replace(self, words=None).wanted",
    "self.other = [getattr(self, f.name) for f in dataclasses.fields(self)][1]",
    "self.wanted = 7",
    "self.wanted += 1",
    "setattr(self, 'wanted', 8)",
]


@pytest.mark.parametrize("body", UNREAD)
def test_the_rest_of_run_a_is_taken_where_nothing_reads_the_option(tmp_path: Path, body: str) -> None:
    run_a, beside, alone = both(source(tmp_path, body), "--wanted", "5")
    assert beside == alone
    assert is_taken(run_a, beside)
    held = beside.field("wanted")
    assert held is not None
    assert (held.value, held.provenance.how) == (5, "asked")


@pytest.mark.parametrize("body", READ)
def test_a_run_is_followed_where_something_reads_or_sets_the_option(tmp_path: Path, body: str) -> None:
    run_a, beside, alone = both(source(tmp_path, body), "--wanted", "5")
    assert beside == alone
    assert not is_taken(run_a, beside)


@pytest.mark.parametrize(
    ("check", "end"),
    [
        ("assert self.wanted < 4, 'too many'", PLAIN),
        ("pass", "made = ServerArgs.from_cli_args(raw_args)\nmade.other = raw_args.wanted\nreturn made"),
        ("pass", "made = ServerArgs.from_cli_args(raw_args)\nmade.other = len(argv)\nreturn made"),
        (
            "pass",
            "if '--wanted' in argv:\n    os.environ['X'] = '1'\nreturn ServerArgs.from_cli_args(raw_args)",
        ),
    ],
)
def test_what_comes_before_and_after_the_record_counts_too(tmp_path: Path, check: str, end: str) -> None:
    body = "if os.environ.get('X') == '1':\n    self.other = 9"
    run_a, beside, alone = both(source(tmp_path, body, check, end), "--wanted", "5")
    assert beside == alone
    assert not is_taken(run_a, beside)


LAST = "\nreturn ServerArgs.from_cli_args(raw_args)"
BEFORE = [
    "if raw_args.wanted > 4:\n    raise ValueError('no')",
    "if raw_args.wanted > 4:\n    raw_args.other = 8",
    "raw_args.wanted = raw_args.wanted * 2",
    "raw_args.other = raw_args.wanted",
    "raw_args.other = raw_args.wanted or 3",
    "raw_args.other = 8 if isinstance(raw_args.wanted, int) else 9",
    "raw_args.other = 8 if raw_args.wanted is None else 9",
    "raw_args.other = type(raw_args.wanted).__name__",
    "raw_args.other = vars(raw_args)['wanted']",
    "raw_args.other = f'{raw_args.wanted}'",
    "raw_args.other = [raw_args.wanted]",
    "raw_args.other = len(argv)",
    "raw_args.other = argv[-1]",
    "raw_args.other = argv[1:]",
    "raw_args.other = argv + ['x']",
    "raw_args.other = argv == ['--model-path', 'm']",
    "raw_args.other = 8 if argv else 9",
    "raw_args.other = argv.index('--model-path')",
    "raw_args.other = ' '.join(argv)",
    "for word in argv:\n    raw_args.other = word",
    "if '--wanted' in argv:\n    raw_args.other = 8",
    "if '--other' in argv:\n    raw_args.other = 8",
    "if any(word == '--wanted' for word in argv):\n    raw_args.other = 8",
    "argv.append('x')\nraw_args.other = '5' in argv",
    "raw_args.other = os.environ.get('X', 3)",
    "setattr(raw_args, 'other', getattr(raw_args, 'wan' + 'ted'))",
]


@pytest.mark.parametrize("before", BEFORE)
def test_whatever_is_done_before_the_record_is_filled(tmp_path: Path, before: str) -> None:
    made = source(tmp_path, "self.model_path = 'n'", end=before + LAST)
    _, beside, alone = both(made, "--wanted", "5")
    assert beside == alone
    _, beside, alone = both(made, "--words", "a", "b")
    assert beside == alone


@pytest.mark.parametrize(
    ("kept", "seen"),
    [
        ("global SEEN\nSEEN = raw_args.wanted", "SEEN"),
        ("KEPT.append(raw_args.wanted)", "KEPT[-1]"),
        ("NAMED['x'] = raw_args.wanted", "NAMED.get('x', 3)"),
        ("ServerArgs.seen = raw_args.wanted", "self.seen"),
        ("os.environ['X'] = str(raw_args.wanted)", "os.environ['X']"),
        ("global SEEN\nSEEN = raw_args", "SEEN.wanted"),
        ("global SEEN\nSEEN = lambda: raw_args.wanted", "SEEN()"),
        ("global SEEN\nSEEN = raw_args\ncached()", "cached()"),
    ],
)
def test_what_is_kept_elsewhere_is_another_way_to_the_option(tmp_path: Path, kept: str, seen: str) -> None:
    made = source(tmp_path, f"self.other = {seen}", end=kept + LAST)
    _, beside, alone = both(made, "--wanted", "5")
    assert beside == alone
    held = beside.field("other")
    assert held is not None
    assert str(held.value) == "5"


def test_a_line_that_perhaps_sets_the_option_counts(tmp_path: Path) -> None:
    made = source(tmp_path, "if os.environ.get('X') == '1':\n    self.wanted = 9")
    facts = Facts(environment_is_complete=False)
    other = words("--model-path", "m", "--wanted", "5")
    beside = baseline(made, facts, words("--model-path", "m")).alternative(other).resolution
    assert beside == resolve(made, facts, other)
    held = beside.field("wanted")
    assert held is not None
    assert [each.value for each in held.candidates] == [9, 5]


def test_values_that_are_equal_and_of_another_type_differ(tmp_path: Path) -> None:
    made = source(tmp_path, "self.other = self.words")
    run_a = baseline(made, Facts(), words("--model-path", "m", "--words", "a"))
    for more in (("--words", "a"), ("--words", "a", "b"), ("--words",)):
        other = words("--model-path", "m", *more)
        assert run_a.alternative(other).resolution == resolve(made, Facts(), other)


def test_other_facts_in_between_do_no_harm(tmp_path: Path) -> None:
    made = source(tmp_path, "if os.environ.get('X') == '1':\n    self.other = 9")
    run_a = baseline(made, Facts(environment_is_complete=False), words("--model-path", "m"))
    other = words("--model-path", "m", "--wanted", "5")
    resolve(made, Facts(), other)
    facts = Facts(environment_is_complete=False)
    assert run_a.alternative(other).resolution.fields == resolve(made, facts, other).fields
