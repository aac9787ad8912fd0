"""Verdicts on real releases against those found by hand; `-k NAME -s` shows one.

By default only some deployments are asked about; ASSAY_CASES=1 asks about all.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from tests.findings.scoring import Answer, Scorer, Wanted, group_of, name_of, say

TABLES = tomllib.loads((Path(__file__).parent / "cases.toml").read_text())
CASES: list[Wanted] = sorted(TABLES["case"], key=group_of)
FRESH: list[Wanted] = sorted(TABLES["fresh"], key=group_of)
"""Found by hand when the analysis had been made, to see how it does on what it was not made with."""

_QUICK = {group_of(each) for each in CASES} | {
    (version, deployment) for version, deployment in map(group_of, FRESH) if version == "0.5.10"
}
"""Each deployment under each release is followed anew, which takes about ten seconds."""

ALL = sorted(
    (each for each in (*CASES, *FRESH) if os.environ.get("ASSAY_CASES") or group_of(each) in _QUICK),
    key=group_of,
)

KNOWN: dict[str, tuple[str, str]] = {
    "0.5.9-llama8b-h100-log-requests-level=3": (
        "effective",
        "logging may be switched on by a request while the server runs (RequestLogger.configure)",
    ),
    "0.5.9-qwen35-sm120-disable-custom-all-reduce": (
        "effective",
        "before it gives up, the communicator tries shared memory between the ranks",
    ),
    "0.5.10-qwen32b-l40s-fp8-gemm-backend=cutlass": ("unknown", "which FP8 method a layer has is open"),
    "0.5.10-qwen32b-l40s-fp8-gemm-backend=deep_gemm": ("unknown", "which FP8 method a layer has is open"),
    "0.5.12.post1-glm45air-h100-fp8-gemm-backend=triton": (
        "effective",
        "the layer's quantization method is not told apart from that of block-wise FP8",
    ),
    "0.5.12.post1-qwen35-sm120-xbuf-enable-torch-symm-mem": (
        "effective",
        "as in 0.5.9",
    ),
}
"""Wrong answers that are known, each with its cause. The table can only shrink: a listed one that comes out
right fails the test."""

pytestmark = pytest.mark.registry


@pytest.fixture(scope="module")
def scorer(engine_tree: Callable[[str], Path], tmp_path_factory: pytest.TempPathFactory) -> Scorer:
    return Scorer(engine_tree, tmp_path_factory.mktemp("home"))


@pytest.mark.timeout(600)
@pytest.mark.parametrize("wanted", ALL, ids=name_of)
def test_the_verdict_is_the_one_found_by_hand(wanted: Wanted, scorer: Scorer) -> None:
    answer = scorer.answer(wanted)
    say(f"\n{answer}")
    known = KNOWN.get(name_of(wanted))
    if known is None:
        assert answer.is_equal, str(answer)
    else:
        assert answer.found.verdict == known[0], f"leaves the list, or changes there: {answer}"


def test_what_is_known_to_be_wrong_is_asked() -> None:
    wanted = {name_of(each): each["verdict"] for each in (*CASES, *FRESH)}
    assert all(wanted[name] != got for name, (got, _) in KNOWN.items())


@pytest.mark.timeout(1800)
def test_the_cases_meet_their_bars(scorer: Scorer, capsys: pytest.CaptureFixture[str]) -> None:
    answers = _answers("cases", CASES, scorer, capsys)
    many = len(answers)
    assert sum(each.is_equal for each in answers) >= 0.95 * many
    assert not _wrong(answers, "no_op", "dead")
    assert len(_wrong(answers, "effective")) <= 2
    assert sum(each.found.verdict == "unknown" for each in answers) <= 0.10 * many
    assert sum(each.is_near for each in answers) >= 0.80 * many


@pytest.mark.timeout(1800)
def test_fresh_cases_cite_lines_too(scorer: Scorer, capsys: pytest.CaptureFixture[str]) -> None:
    asked = [each for each in FRESH if each in ALL]
    answers = _answers("fresh cases", asked, scorer, capsys)
    assert sum(each.is_near for each in answers) >= 0.80 * len(answers)


def _answers(
    what: str, table: Sequence[Wanted], scorer: Scorer, capsys: pytest.CaptureFixture[str]
) -> list[Answer]:
    """All answers; the differences and the counts are printed."""
    answers = [scorer.answer(each) for each in table]
    many = len(answers)
    with capsys.disabled():
        say("")
        for each in answers:
            if not each.is_equal:
                say(str(each))
        say(
            f"{what}: {sum(each.is_equal for each in answers)} of {many} equal; "
            f"wrong no_op or dead {len(_wrong(answers, 'no_op', 'dead'))}, "
            f"wrong effective {len(_wrong(answers, 'effective'))}, "
            f"unknown {sum(each.found.verdict == 'unknown' for each in answers)}; "
            f"cited near {sum(each.is_near for each in answers)}, "
            f"first cited {sum(each.is_deciding_line_near for each in answers)}"
        )
    return answers


def _wrong(answers: Sequence[Answer], *verdicts: str) -> list[Answer]:
    return [each for each in answers if not each.is_equal and each.found.verdict in verdicts]
