"""What rollouts print: plans, outcomes and states, with nothing that steers a terminal and no secret."""

from __future__ import annotations

import json

from assay import reports
from assay.rollout import Armed, Change, Marks, Outcome, Patience, Plan, Setting, Status, layout
from assay.rollout.plan import steps_of

PLACES = layout("llm.service")


def plan() -> Plan:
    return Plan(
        id="1",
        host="gpu1",
        layout=PLACES,
        change=Change(set=(Setting(flag="--x", value="\x1b[31m\udcff"), Setting(flag="--y")), unset=("--z",)),
        why="because\n::error::of --api-key planted",
        approved_by="",
        before="0",
        after="1",
        originals=(("/etc/llm.service", "ab" * 32),),
        url="http://127.0.0.1:1",
        patience=Patience(),
        steps=steps_of(PLACES, Patience()),
    )


def test_a_plan() -> None:
    text = reports.plan_text(plan())
    assert "\x1b" not in text
    assert "\n::error::" not in text
    assert "planted" not in text
    told = " ".join(text.split())
    for step in plan().steps:
        assert step.does in told
        assert step.undone_by in told
    assert max(map(len, text.splitlines())) <= 80
    assert "+--y, without --z" in text
    said = json.loads(reports.plan_json(plan()))
    assert said["change"]["set"][0]["value"].endswith("?")
    assert "planted" not in said["why"]


def status(marks: Marks, *, serves: bool = True) -> str:
    return reports.status_text(
        Status(host="gpu1", unit="llm.service", active="active", serves=serves, why_not="ä", marks=marks)
    )


def test_states() -> None:
    armed = Armed(id="7", who="me@here", since="then")
    assert status(Marks(boot="b")).splitlines() == ["llm.service on gpu1: active, serves"]
    assert "does not serve: ä" in status(Marks(boot="b"), serves=False)
    trial = status(Marks(boot="b", armed=armed, trial="i", switch=True, left_s=3.4, trial_file=True))
    assert "rollout 7 by me@here is on trial since then" in trial
    assert "takes it back in 3 s" in trial
    late = Marks(boot="b", armed=armed, switch=True, left_s=-30)
    assert "takes it back in 0 s" in status(late), "the machine's uptime goes on while it sleeps"
    assert "under way" in status(Marks(boot="b", armed=armed, switch=True))
    assert "SWITCH IS GONE" in status(Marks(boot="b", armed=armed))
    assert "a person must look" in status(Marks(boot="b", trial_file=True))
    assert "was taken back" in status(Marks(boot="b", reverted=armed))
    assert "promoted change is in effect: 9" in status(Marks(boot="b", kept_file=True, last="9"))


def test_outcomes() -> None:
    text = reports.outcome_text(Outcome(id="7", result="trial", downtime_s=12.5))
    assert "`assay promote` keeps it" in text
    assert "no token for 12.5 s" in text
    assert json.loads(reports.outcome_json(Outcome(id="7", result="promoted")))["result"] == "promoted"
