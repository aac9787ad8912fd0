"""What of a study was done already: a study that goes on asks here before it starts a server."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import datetime

from assay.errors import JournalError
from assay.journal import Entry
from assay.study.entries import (
    Decided,
    Judged,
    OutcomeKind,
    Remembered,
    Scope,
    StartBegan,
    StartEnded,
    StartLost,
    StudyBegan,
    StudyEnded,
)
from assay.study.space import changed


class Record:
    """The entries of one study, by their numbers."""

    def __init__(self, began: StudyBegan, entries: Sequence[Entry]) -> None:
        """`entries`: of its subject; those of other studies are passed over."""
        self.began = began
        self.ended: dict[int, StartEnded] = {}
        """Starts that came to an end."""
        self.lost_s: dict[int, float] = {}
        """Seconds of each start that was cut short, once or several times, before it was made."""
        self.counts: Counter[str] = Counter()
        """Entries of each kind."""
        self.cut: StartLost | None = None
        """A start that was cut short and is not yet written down as that."""
        self.judged: Judged | None = None
        """The verdict of the quality gate, where it was given."""
        self.end: StudyEnded | None = None
        """How the study ended, if it did."""
        open_: tuple[StartBegan, str] | None = None
        last = ""
        for entry in entries:
            found, last = _value(entry), entry.at
            if found is None or found.id != began.id:
                continue
            self.counts[entry.kind] += 1
            match found:
                case StartBegan():
                    open_ = (found, entry.at)
                case StartEnded():
                    if found.number in self.ended:
                        raise JournalError(f"study {began.id}: start {found.number} ended twice")
                    self.ended[found.number] = found
                    open_ = None
                case StartLost():
                    self.lose(found)
                    open_ = None
                case Judged():
                    self.judged = found
                case StudyEnded():
                    self.end = found
        if open_ is not None:
            seconds = _seconds(open_[1], last)
            self.cut = StartLost(id=began.id, number=open_[0].number, seconds=seconds)

    def lose(self, lost: StartLost) -> None:
        """That start was cut short."""
        self.lost_s[lost.number] = self.lost_s.get(lost.number, 0.0) + lost.seconds


_Entry = StartBegan | StartEnded | StartLost | Judged | StudyEnded | Decided | Remembered
_TYPES: dict[str, type[_Entry]] = {
    "decision": Decided,
    "remembered": Remembered,
    "start": StartBegan,
    "start-ended": StartEnded,
    "start-lost": StartLost,
    "judged": Judged,
    "study-ended": StudyEnded,
}


def _value(entry: Entry) -> _Entry | None:
    type_ = _TYPES.get(entry.kind)
    return None if type_ is None else entry.value(type_)


def _seconds(since: str, until: str) -> float:
    return max(0.0, (datetime.fromisoformat(until) - datetime.fromisoformat(since)).total_seconds())


def studies(entries: Sequence[Entry]) -> tuple[tuple[Entry, StudyBegan], ...]:
    """The studies that begin among these entries, oldest first."""
    return tuple((entry, entry.value(StudyBegan)) for entry in entries if entry.kind == "study")


def decisions(entries: Sequence[Entry], id: str) -> tuple[Decided, ...]:
    """What the rule said in a study, in order."""
    found = (entry.value(Decided) for entry in entries if entry.kind == "decision")
    return tuple(each for each in found if each.id == id)


class Known:
    """What studies of the same scope learnt before: what fails, and how far starts differ."""

    def __init__(self, entries: Sequence[Entry], scope: Scope, *, command: str, work: str) -> None:
        """`command`, `work`: digests of the command that is tuned, and of what it is asked."""
        self.failures: list[tuple[StudyBegan, StartEnded]] = []
        """Studies and starts; of other commands only changes of one option, which fail by themselves."""
        self.baselines: list[tuple[StudyBegan, list[StartEnded]]] = []
        """Starts of the unchanged command, study by study, in order of time."""
        began = {each.id: each for _, each in studies(entries) if each.scope == scope}
        served: dict[str, list[StartEnded]] = {}
        for entry in entries:
            if entry.kind != "start-ended":
                continue
            start = entry.value(StartEnded)
            study = began.get(start.id)
            if study is None:
                continue
            same = (study.command, study.work) == (command, work)
            if start.outcome == "served" and start.phase == "baseline" and same:
                served.setdefault(start.id, []).append(start)
            elif start.outcome in _FAILED and (study.command == command or _is_single(study, start)):
                self.failures.append((study, start))
        self.baselines = [(began[id], starts) for id, starts in served.items()]

    def single(self) -> dict[tuple[str, str], tuple[str, str]]:
        """Name and value of each option that failed by itself, with the study and the message."""
        found = {}
        for study, start in self.failures:
            if _is_single(study, start):
                [pair] = changed(study.candidates.planned, start.arm)
                found[pair] = study.id, start.message
        return found


_FAILED: tuple[OutcomeKind, ...] = ("failed", "crashed", "void")


def _is_single(study: StudyBegan, start: StartEnded) -> bool:
    return len(changed(study.candidates.planned, start.arm)) == 1
