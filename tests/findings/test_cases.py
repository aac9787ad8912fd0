"""Verdicts on real releases against those found by hand: `pytest tests/findings/test_cases.py -k NAME -s` shows one."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from tests.findings.scoring import Answer, Scorer, Wanted, group_of, name_of

TABLES = tomllib.loads((Path(__file__).parent / "cases.toml").read_text())
CASES: list[Wanted] = sorted(TABLES["case"], key=group_of)
FRESH: list[Wanted] = sorted(TABLES["fresh"], key=group_of)
ALL = sorted([*CASES, *FRESH], key=group_of)

pytestmark = pytest.mark.registry

KNOWN: frozenset[str] = frozenset()
"""Wrong answers of the worst kind (`no_op` or `dead`) that are known; the list can only shrink."""


@pytest.fixture(scope="module")
def scorer(engine_tree: Callable[[str], Path], tmp_path_factory: pytest.TempPathFactory) -> Scorer:
    return Scorer(engine_tree, tmp_path_factory.mktemp("home"))


@pytest.mark.parametrize("wanted", ALL, ids=name_of)
def test_no_option_is_wrongly_said_to_do_nothing(wanted: Wanted, scorer: Scorer) -> None:
    answer = scorer.answer(wanted)
    print(f"\n{answer}")
    wrong = not answer.is_equal and answer.found.verdict in ("no_op", "dead")
    assert wrong == (name_of(wanted) in KNOWN), str(answer)


@pytest.mark.timeout(1800)
def test_verdicts_found_by_hand(scorer: Scorer, capsys: pytest.CaptureFixture[str]) -> None:
    answers = _answers("cases", CASES, scorer, capsys)
    many = len(answers)
    assert sum(each.is_equal for each in answers) >= 0.95 * many
    assert not _wrong(answers, "no_op", "dead")
    assert len(_wrong(answers, "effective")) <= 2
    assert sum(each.found.verdict == "unknown" for each in answers) <= 0.10 * many
    assert sum(each.is_near for each in answers) >= 0.80 * many


@pytest.mark.timeout(1800)
def test_verdicts_found_by_hand_after_the_analysis_was_made(
    scorer: Scorer, capsys: pytest.CaptureFixture[str]
) -> None:
    answers = _answers("fresh cases", FRESH, scorer, capsys)
    assert {name_of(each.wanted) for each in _wrong(answers, "no_op", "dead")} <= KNOWN


def _answers(
    what: str, table: Sequence[Wanted], scorer: Scorer, capsys: pytest.CaptureFixture[str]
) -> list[Answer]:
    """All answers; the differences and the counts are printed."""
    answers = [scorer.answer(each) for each in table]
    many = len(answers)
    with capsys.disabled():
        print()
        for each in answers:
            if not each.is_equal:
                print(each)
        print(
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
