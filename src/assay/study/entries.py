"""What a study writes into the journal: values only. All that it needs to go on after a kill."""

from __future__ import annotations

from typing import Literal

import msgspec

from assay._value import Value
from assay.candidates import Candidates
from assay.decisions import ConfirmationRule, Decision
from assay.quality import Judgement
from assay.rollout import FailureKind

Phase = Literal["baseline", "search", "confirm_a", "confirm_b"]
"""Why the server is started: to know the baseline and its noise; to learn; as one half of a pair."""

SearchName = Literal["assay", "optuna"]
"""assay's own, for starts that cost minutes; Optuna, for those that cost seconds."""

OutcomeKind = Literal["served", "failed", "crashed", "void"]
"""It was measured; it did not start; it died under load; it started, and the change did not take effect."""

Result = Literal["shipped", "not_shown", "reverted", "nothing_found", "damaged", "broken_off"]
"""How a study ends: a gain is shown, and what is kept; none is shown; harm is shown; the search found nothing
worth a confirmation; the answers are not as good any more; it could not go on."""


class Scope(Value):
    """What a study's knowledge holds for; another one of the same scope begins with it."""

    source: str
    """Digest of the engine's source tree."""
    model: str
    """Digest of the model's config.json."""
    hardware: str
    """Accelerators of the machine: `4x NVIDIA H200`."""


class Budget(Value):
    """How much a study may cost; declared before its first start."""

    hours: float
    """Of starts and measurements, all together."""
    downtime_hours: float | None = None
    """Of a service that does not serve; `None`: no limit of its own."""
    start_minutes: float = 15.0
    """What one start and its measurement is taken to cost until the first one was made."""


class StudyBegan(Value):
    """A study begins: all that is decided before its first start."""

    id: str
    """Its name."""
    target: str
    """What is tuned."""
    engine: str
    """The engine and its version."""
    scope: Scope
    """What its knowledge holds for."""
    command: str
    """Digest of the deployment's command."""
    work: str
    """Digest of what the server is asked: prompts, lengths, loads."""
    plan: str
    """Digest of all that must be the same when it goes on: candidates, loads, rule, seed."""
    candidates: Candidates
    """What is tried, and what is not."""
    levels: tuple[str, ...]
    """Names of the loads that are measured, the primary one first."""
    rule: ConfirmationRule
    """By what is decided."""
    budget: Budget
    """What it may cost."""
    gate: bool = True
    """Whether the quality of answers is looked at."""
    search: SearchName = "assay"
    """What proposes the next start."""
    questions: int = 0
    """The user's own questions that are asked where the gate looks."""
    folder: str
    """Where results go."""
    asked: str = ""
    """The words of the command line, without secrets, to go on with."""
    ran: bool | None = None
    """Whether the deployment ran before, where assay starts it itself."""


class StartBegan(Value):
    """A start of the server is about to be made."""

    id: str
    """The study."""
    number: int
    """Which start, from 1; one that was cut short is made again under its number."""
    phase: Phase
    """Why."""
    arm: tuple[int, ...]
    """For each candidate the place of its value."""
    change: str
    """In words; empty for the baseline."""


class StartEnded(Value):
    """What came of a start. Written once: nothing of it is measured again."""

    id: str
    """The study."""
    number: int
    """Which start."""
    phase: Phase
    """Why it was made."""
    arm: tuple[int, ...]
    """For each candidate the place of its value."""
    change: str
    """In words; empty for the baseline."""
    outcome: OutcomeKind
    """What came of it."""
    values: dict[str, float] = msgspec.field(default_factory=dict)
    """Output tokens a second at each load; only where it served."""
    seconds: float
    """That it took, the wait for its end included."""
    downtime_s: float = 0.0
    """From the stop of what ran before to its first token, or to its failure."""
    failure: FailureKind | None = None
    """Which kind, where it did not serve."""
    message: str = ""
    """In a sentence: of the failure, or of what shows that the change took effect."""
    lines: tuple[str, ...] = ()
    """Log lines that show it."""
    path: str = ""
    """The result file."""
    doubts: tuple[str, ...] = ()
    """Codes of what makes the measurement doubtful."""
    gate: str = ""
    """File of the answers that quality is judged by; empty where they were not asked for."""


class StartLost(Value):
    """A start that was cut short, as by a kill: its time is spent, and nothing of it counts."""

    id: str
    """The study."""
    number: int
    """Which start; it is made again."""
    seconds: float
    """That are known to be spent."""


class Remembered(Value):
    """A failure of an earlier study that this one does not repeat."""

    id: str
    """This study."""
    of: str
    """That study."""
    change: str
    """What failed."""
    message: str
    """How."""


class Judged(Value):
    """The verdict of the quality gate on the final combination."""

    id: str
    """The study."""
    judgement: Judgement | None
    """What was found; `None` where the server's answers could not be asked for."""
    message: str
    """In a sentence."""


class Decided(Value):
    """The rule's answer after a pair."""

    id: str
    """The study."""
    change: str
    """What is confirmed."""
    decision: Decision
    """What the rule says of the pairs so far."""


class OptionEnd(Value):
    """What became of one candidate."""

    name: str
    """Its name."""
    status: Literal["shipped", "not_shown", "failed", "not_tried"]
    """`shipped` it is part of what was confirmed, and not proven by itself; `not_shown` it served, and is no
    part of that; `failed` no value of it served; `not_tried` the budget did not reach it."""
    value: str
    """The value in question."""
    low: float | None = None
    """Lower end of what the search believes that it gives, as a share (nine in ten)."""
    high: float | None = None
    """Upper end."""
    message: str = ""
    """In a sentence."""


class StudyEnded(Value):
    """A study has ended."""

    id: str
    """Which."""
    result: Result
    """How."""
    change: str = ""
    """What was confirmed, in words; empty for nothing."""
    decision: Decision | None = None
    """The rule's last answer."""
    options: tuple[OptionEnd, ...] = ()
    """What became of each candidate."""
    starts: int = 0
    """Starts that were made."""
    hours: float = 0.0
    """That it took."""
    downtime_s: float = 0.0
    """That the service did not serve."""
    kept: bool = False
    """Whether the service runs with the change now."""
    message: str = ""
    """Where it stands, in a sentence."""
    command: tuple[str, ...] = ()
    """The confirmed command, masked; empty where nothing was shipped."""
