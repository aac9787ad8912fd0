"""Studies from their first to their last start on a made-up server, killed wherever a kill can hit."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import msgspec
import pytest

from assay._value import Value
from assay.candidates import Candidate, Candidates, Level
from assay.decisions import ConfirmationRule
from assay.errors import JournalError, MeasurementError
from assay.journal import Journal
from assay.quality import Judgement
from assay.quality.judge import QualityVerdict
from assay.rollout import Change, parse_change
from assay.study import (
    Budget,
    Conclusion,
    Conductor,
    Judged,
    Record,
    Remembered,
    Scope,
    StartBegan,
    StartEnded,
    StudyBegan,
    StudyEnded,
    decisions,
    known_before,
    studies,
)

SUBJECT = "127.0.0.1:1@here"
SCOPE = Scope(source="s", model="m", hardware="1x CPU")


def candidate(name: str, *values: str, present: str = "1", ordered: bool = False) -> Candidate:
    levels = [Level(text=present)]
    levels += [Level(text=each, change=parse_change([f"{name}={each}"])) for each in values]
    return Candidate(name=name, levels=tuple(levels), present=0, ordered=ordered, origin="own", reason="r")


LARGE = candidate("--seqs", "8")
NULL = candidate("--block", "32")
DIES = candidate("--page", "7", "9")


def study(*candidates: Candidate, hours: float = 10.0, id: str = "one", command: str = "c") -> StudyBegan:
    return StudyBegan(
        id=id, target="t", engine="e", scope=SCOPE, command=command, work="w", plan="p",
        candidates=Candidates(planned=candidates, left_out=(), triaged=False),
        levels=("concurrency 8", "concurrency 1"), rule=ConfirmationRule(),
        budget=Budget(hours=hours, start_minutes=6.0), folder="f", gate=False,
    )  # fmt: skip


class Kill(BaseException):
    """As a kill -9: nothing runs after it."""


class Server:
    """A server whose options do known things; what a start gives depends on its number alone."""

    def __init__(self, *, gain: float = 0.5, noise: float = 0.01) -> None:
        self.gain, self.noise = gain, noise
        self.judgement: Judgement | None = None
        self.made: list[int] = []

    def run(self, start: StartBegan, change: Change | None, *, gate: bool) -> StartEnded:
        del gate
        self.made.append(start.number)
        ended = StartEnded(
            id=start.id, number=start.number, phase=start.phase, arm=start.arm, change=start.change,
            outcome="served", seconds=360.0, downtime_s=60.0,
        )  # fmt: skip
        values = {each.flag: each.value for each in change.set} if change else {}
        if values.get("--page") == "7":
            return msgspec.structs.replace(ended, outcome="failed", failure="exited", message="no size 7")
        if values.get("--page") == "9":
            return msgspec.structs.replace(ended, outcome="crashed", message="under load")
        draw = random.Random(start.number)
        speed = 100 * math.exp((self.gain if values.get("--seqs") == "8" else 0) + draw.gauss(0, self.noise))
        alone = 20 * math.exp(draw.gauss(0, self.noise))
        return msgspec.structs.replace(ended, values={"concurrency 8": speed, "concurrency 1": alone})

    def judge(self, baselines: Sequence[StartEnded], candidate: StartEnded) -> Judged:
        del baselines
        return Judged(id=candidate.id, judgement=self.judgement, message="as it was said")


class Book:
    """A journal, and what is carried out with it."""

    def __init__(self, path: Path) -> None:
        ticks = iter(range(10**6))
        self.journal = Journal(
            path, who="t", clock=lambda: datetime(2026, 12, 1, tzinfo=UTC) + timedelta(seconds=next(ticks))
        )

    def begin(self, began: StudyBegan) -> StudyBegan:
        self.journal.append(SUBJECT, "study", began)
        return began

    def go_on(
        self, began: StudyBegan, server: Server, *, between: Callable[[], None] = lambda: None
    ) -> tuple[Conclusion, StudyEnded]:
        entries = self.journal.entries(SUBJECT)

        def note(kind: str, value: Value) -> None:
            between()
            self.journal.append(SUBJECT, kind, value)
            between()

        record = Record(began, entries)
        conductor = Conductor(record, known_before(began, entries), server, note=note)
        conclusion = conductor.run()
        ended = conductor.ended(conclusion)
        note("study-ended", ended)
        return conclusion, ended


@pytest.fixture
def book(tmp_path: Path) -> Book:
    return Book(tmp_path / "j.sqlite")


def test_a_large_gain_ships_and_what_dies_is_survived(book: Book) -> None:
    began = book.begin(study(LARGE, NULL, DIES))
    server = Server()
    found, ended = book.go_on(began, server)
    assert (found.result, ended.change) == ("shipped", "--seqs 8")
    assert found.decision is not None
    assert found.decision.levels[0].ratio == pytest.approx(math.exp(0.5), rel=0.03)
    status = {each.name: (each.status, each.value) for each in ended.options}
    assert status == {
        "--seqs": ("shipped", "8"), "--block": ("not_shown", "32"), "--page": ("failed", "7, 9"),
    }  # fmt: skip
    dead = ended.options[2].message
    assert dead == "7: failed: no size 7; 9: crashed: under load"
    assert server.made == list(range(1, ended.starts + 1))
    assert ended.hours == pytest.approx(ended.starts / 10)


@pytest.mark.parametrize("noise", [0.003, 0.4])
def test_a_gain_far_beyond_chance_is_found_on_quiet_and_on_noisy_machines(book: Book, noise: float) -> None:
    found, _ = book.go_on(book.begin(study(LARGE)), Server(gain=2.0, noise=noise))
    assert found.decision is not None
    assert found.decision.levels[0].ratio > 4


def test_what_fails_by_itself_is_started_once(book: Book) -> None:
    began = book.begin(study(LARGE, DIES, NULL))
    book.go_on(began, Server())
    record = Record(began, book.journal.entries(SUBJECT))
    with_7 = [each for each in record.ended.values() if "--page 7" in each.change]
    assert [each.change for each in with_7] == ["--page 7"]


def test_nothing_is_shipped_where_nothing_gains(book: Book) -> None:
    found, ended = book.go_on(book.begin(study(NULL, DIES)), Server())
    assert found.result in ("nothing_found", "not_shown")
    assert ended.options[0].status == "not_shown"


def test_a_loss_is_not_shipped(book: Book) -> None:
    found, ended = book.go_on(book.begin(study(LARGE)), Server(gain=-0.4))
    assert found.result == "nothing_found"
    assert ended.options[0].status == "not_shown"
    assert ended.options[0].high is not None
    assert ended.options[0].high < 0


@pytest.mark.parametrize(
    ("verdict", "result"),
    [("same", "shipped"), ("numerics_changed", "shipped"), ("suspicious", "damaged"), ("damaged", "damaged")],
)
def test_answers_that_are_not_as_good_are_not_shipped(
    book: Book, verdict: QualityVerdict, result: str
) -> None:
    server = Server()
    server.judgement = Judgement(
        verdict=verdict, reasons=(), needs_word=False, smallest_share=None, smallest_k3=None
    )
    found, _ = book.go_on(book.begin(msgspec.structs.replace(study(LARGE), gate=True)), server)
    assert found.result == result


def test_the_budget_is_kept_and_the_confirmation_has_its_share(book: Book) -> None:
    began = book.begin(study(LARGE, NULL, DIES, hours=1.7))  # 17 starts
    found, ended = book.go_on(began, Server())
    assert found.result == "shipped"
    assert ended.hours <= 1.7
    small = book.begin(study(LARGE, hours=0.5, id="two"))  # 5 starts
    found, ended = book.go_on(small, Server())
    assert (found.result, ended.starts) == ("nothing_found", 4)


def test_a_baseline_that_does_not_serve_ends_it(book: Book) -> None:
    class Dead(Server):
        def run(self, start: StartBegan, change: Change | None, *, gate: bool) -> StartEnded:
            found = super().run(start, change, gate=gate)
            return msgspec.structs.replace(found, outcome="failed", message="no memory")

    with pytest.raises(MeasurementError, match="own command does not serve: no memory"):
        book.go_on(book.begin(study(LARGE)), Dead())


def test_what_failed_in_an_earlier_study_is_remembered(book: Book) -> None:
    book.go_on(book.begin(study(LARGE, DIES)), Server())
    entries = book.journal.entries(SUBJECT)
    again = study(LARGE, DIES, NULL, id="two")
    assert set(known_before(again, entries).single()) == {("--page", "7"), ("--page", "9")}
    server = Server()
    _, ended = book.go_on(book.begin(again), server)
    record = Record(again, book.journal.entries(SUBJECT))
    assert [each.change for each in record.ended.values() if "--page" in each.change] == []
    told = [each.value(Remembered) for each in book.journal.entries(SUBJECT) if each.kind == "remembered"]
    assert [each.of for each in told] == ["one", "one"]
    other = study(DIES, id="three", command="other")
    assert set(known_before(other, entries).single()) == {("--page", "7"), ("--page", "9")}
    elsewhere = msgspec.structs.replace(again, scope=Scope(source="t", model="m", hardware="1x CPU"))
    assert known_before(elsewhere, entries).single() == {}
    del ended


def test_noise_of_earlier_studies_is_used(book: Book) -> None:
    book.go_on(book.begin(study(LARGE)), Server())
    again = study(LARGE, id="two")
    known = known_before(again, book.journal.entries(SUBJECT))
    assert [len(starts) for _, starts in known.baselines] == [4]
    other = msgspec.structs.replace(again, work="another load")
    assert known_before(other, book.journal.entries(SUBJECT)).baselines == []


@pytest.mark.parametrize("seed", range(25))
def test_killed_anywhere_it_comes_to_the_same_decision(tmp_path: Path, seed: int) -> None:
    """Between any two entries, before and after each start; killed once or several times."""
    began = study(LARGE, NULL, DIES, hours=2.2)
    whole = Book(tmp_path / "whole.sqlite")
    wanted, wanted_end = whole.go_on(whole.begin(began), Server())
    draw = random.Random(seed)
    book, server = Book(tmp_path / "killed.sqlite"), Server()
    book.begin(began)
    for _ in range(50):
        left = draw.randrange(1, 60)

        def between() -> None:
            nonlocal left
            left -= 1
            if left == 0:
                raise Kill

        try:
            found, ended = book.go_on(began, server, between=between)
            break
        except Kill:
            continue
    assert (found.result, found.arm, found.decision) == (wanted.result, wanted.arm, wanted.decision)
    assert ended.options == wanted_end.options
    entries = book.journal.entries(SUBJECT)
    record, straight = Record(began, entries), Record(began, whole.journal.entries(SUBJECT))
    assert record.ended == straight.ended
    assert len(decisions(entries, began.id)) == len(decisions(whole.journal.entries(SUBJECT), began.id))


def test_a_record_of_another_plan_is_refused(book: Book) -> None:
    began = book.begin(study(LARGE, NULL))
    book.go_on(began, Server())
    other = msgspec.structs.replace(
        began, candidates=Candidates(planned=(DIES, LARGE), left_out=(), triaged=False)
    )
    with pytest.raises(JournalError, match=r"was search \(--block 32\), and would now be search"):
        book.go_on(other, Server())


def test_studies_are_found_in_the_journal(book: Book) -> None:
    began = book.begin(study(LARGE))
    assert [each for _, each in studies(book.journal.entries())] == [began]
    assert Record(began, book.journal.entries()).end is None
