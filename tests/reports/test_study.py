"""A study as text and as JSON: the plan, the end, the list of all."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from assay import reports
from assay.candidates import Candidate, Candidates, LeftOut, Level
from assay.decisions import ConfirmationRule, decide
from assay.findings import Evidence
from assay.journal import Journal
from assay.rollout import parse_change
from assay.study import (
    Budget,
    OptionEnd,
    Record,
    Scope,
    StartEnded,
    StudyBegan,
    StudyEnded,
    forecast,
    studies,
)

SEQS = Candidate(
    name="--seqs", levels=(Level(text="1"), Level(text="8", change=parse_change(["seqs=8"]))), present=0,
    ordered=True, effect="admission", risk="numerics", bound=0.2, reason="changes how many run at once",
)  # fmt: skip
OUT = LeftOut(
    name="--mixed", value="on", why="nothing reads it",
    evidence=(Evidence(file="a.py", line=3, text="x", says="declares it"),),
)  # fmt: skip
BEGAN = StudyBegan(
    id="20261201-1", target="tiny (tiny.toml)", engine="vllm 0.32.0", command="c", work="w", plan="p",
    scope=Scope(source="s", model="m", hardware="1x CPU"), levels=("concurrency 8",),
    candidates=Candidates(planned=(SEQS,), left_out=(OUT,), triaged=False, why_not_triaged="not followed"),
    rule=ConfirmationRule(), budget=Budget(hours=8.0), folder="f",
)  # fmt: skip
PLAN = forecast(BEGAN.budget, BEGAN.rule, baseline=4)
DECISION = decide({"concurrency 8": [0.5, 0.48, 0.52, 0.49]}, "concurrency 8", BEGAN.rule)
ENDED = StudyEnded(
    id=BEGAN.id, result="shipped", change="--seqs 8", decision=DECISION, starts=14, hours=3.5,
    options=(
        OptionEnd(name="--seqs", status="shipped", value="8", low=0.4, high=0.7, message="confirmed"),
        OptionEnd(name="--page", status="failed", value="7", message="7: failed: no size 7"),
    ),
    message="it did not run before, and does not now", command=("serve", "--seqs", "8"),
)  # fmt: skip


def in_one_line(text: str) -> str:
    return " ".join(text.split())


def test_the_plan_says_what_is_tried_what_is_not_and_what_it_can_show() -> None:
    assert PLAN is not None
    text = reports.study_plan_text(BEGAN, PLAN)
    assert max(map(len, text.splitlines())) <= 80
    told = in_one_line(text)
    assert "1. --seqs: 1 -> 8 changes how many run at once, at most 20 %, numerics" in told
    assert "--mixed on: nothing reads it a.py:3: declares it" in told
    assert "not triaged: not followed" in told
    assert "a start takes 15 min (an assumption: --start-minutes)" in told
    assert "a gain of 2.3 % or more at concurrency 8 four times in five" in told


def test_a_budget_that_allows_no_confirmation_has_no_forecast() -> None:
    assert forecast(Budget(hours=1.9), BEGAN.rule, baseline=4) is None
    assert forecast(Budget(hours=2.0), BEGAN.rule, baseline=4) is not None


def test_the_end_has_decision_and_every_option() -> None:
    told = in_one_line(reports.study_end_text(BEGAN, ENDED))
    assert "study 20261201-1: shipped: the gain is shown" in told
    assert "decision: ship" in told
    assert "+ --seqs 8: shipped, +40.0 to +70.0 % confirmed" in told
    assert "x --page 7: failed 7: failed: no size 7" in told
    assert "the command: serve --seqs 8" in told


@pytest.fixture
def journal(tmp_path: Path) -> Journal:
    opened = Journal(tmp_path / "j", who="ann@here", clock=lambda: datetime(2026, 12, 1, tzinfo=UTC))
    start = StartEnded(
        id=BEGAN.id, number=1, phase="baseline", arm=(0,), change="", outcome="served", seconds=9.0,
        values={"concurrency 8": 100.0}, doubts=("client-backlog",),
    )  # fmt: skip
    opened.append("s", "study", BEGAN)
    opened.append("s", "start-ended", start)
    return opened


def test_a_study_that_has_not_ended_says_how_to_go_on(journal: Journal) -> None:
    with journal:
        entries = journal.entries()
    record = Record(BEGAN, entries)
    text = reports.study_show_text(BEGAN, PLAN, record, ())
    assert "baseline, as it is: 9 s" in text
    assert "100 at concurrency 8 tok/s (doubts: client-backlog)" in text
    assert "`assay tune … --resume` goes on" in text
    [(entry, began)] = studies(entries)
    assert reports.history_text([(entry, began, None)]).startswith("20261201-1  not ended")
    assert reports.history_text([]) == "no study is in the journal"
    [listed] = json.loads(reports.history_json([(entry, began, ENDED)]))["studies"]
    assert (listed["who"], listed["result"], listed["change"]) == ("ann@here", "shipped", "--seqs 8")


def test_every_key_of_the_json_is_documented(journal: Journal) -> None:
    with journal:
        record = Record(BEGAN, journal.entries())
    found = json.loads(reports.study_json(BEGAN, PLAN, record))
    page = (Path(__file__).parents[2] / "docs" / "reference" / "tune-json.md").read_text()
    for key in (*found, *found["forecast"], *found["starts"][0], *found["candidates"]["planned"][0]):
        assert f"`{key}`" in page, key
    assert found["schema"] == reports.TUNE_SCHEMA
