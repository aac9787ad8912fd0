"""What `assay tune` does: plan, show, carry out, leave the service as it should be."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from assay import __version__, reports
from assay._masking import mask, mask_words
from assay.bench import Limits, check_prompts, target
from assay.cli import bench_plan, tune_plan
from assay.cli.bench_progress import BenchProgress
from assay.cli.noting import interrupted_by, journal_path, new_id, opened, say, tell, who
from assay.errors import InputError, Refused
from assay.journal import Journal
from assay.rollout import Patience
from assay.study import (
    Conductor,
    LiveRunner,
    Record,
    StudyBegan,
    StudyEnded,
    decisions,
    foreseen,
    known_before,
    studies,
    without_failures,
)
from assay.trials import Expected, Ladder, LocalProcess, ProcessPlan, Told

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from assay._value import Value
    from assay.bench import Rung, Target
    from assay.cli.bench_options import LoadOptions
    from assay.cli.tune_options import TuneOptions
    from assay.cli.tune_plan import Subject
    from assay.journal import Entry
    from assay.study import Conclusion, Forecast
    from assay.trials import ArmName


def tuned(target_: str, own: Sequence[str], options: TuneOptions, load: LoadOptions) -> tuple[str, int]:
    """What is to be printed, and the exit code."""
    workload = tune_plan.workload(load)
    check_prompts(workload.prompts, workload.seed, bench_plan.levels(load))
    subject = tune_plan.looked_at(target_, options)
    found = tune_plan.listed(subject, tune_plan.own_candidates(own, subject.deployment), options, load)
    id = new_id()
    ground = _ground(subject, id, options)
    where = _subject(ground)
    if options.dry_run:
        return _planned(tune_plan.began(subject, found, id, options, load), _read(options), options), 0
    _check_permission(subject)
    with opened(where, options.journal) as journal:
        entries = journal.entries(where)
        began, resumed = _study(subject, found, id, options, load, entries)
        foreseen_ = _show(began, entries)
        if not resumed:
            began = msgspec.structs.replace(began, ran=None)
            ground.begin()
            began = msgspec.structs.replace(began, ran=ground.ran)
            journal.append(where, "study", began)
            entries = journal.entries(where)
        else:
            ground = _ground(subject, began.id, options, folder=Path(began.folder), ran=began.ran)
            ground.begin()
        carried = _Carried(journal, where, began, entries, ground, options, load)
        ended = carried.out()
    return _said(began, foreseen_, ended, options, where), 0


def _subject(ground: LocalProcess) -> str:
    """What the journal calls it: where it listens tells two servers of one machine apart."""
    return f"{ground.service.url.partition('//')[2]}@{socket.gethostname()}"


def _check_permission(subject: Subject) -> None:
    if subject.deployment.live is not None:
        raise Refused(
            f"{subject.path} says that systemd runs it ([live]); only processes are tuned yet",
            hint="`assay try` tries one change of a unit",
        )
    if subject.deployment.trials.where not in ("in_place", "drained"):
        raise Refused(
            f"{subject.path} does not let assay start servers on this machine",
            hint='if that may be, write [trials] where = "in_place": the server is started again and again',
        )


def _ground(
    subject: Subject,
    id: str,
    options: TuneOptions,
    *,
    folder: Path | None = None,
    ran: bool | None = None,
) -> LocalProcess:
    launch = subject.launch
    results = folder or options.result_dir or Path(f"assay-tune-{id}")
    plan = ProcessPlan(
        words=subject.words,
        environment={**os.environ, **{each.name: each.value for each in launch.environment}},
        folder=Path(launch.directory) if launch.directory else subject.path.absolute().parent,
        logs=results.absolute() / "logs",
        mark=id,
        patience=Patience(ready_s=options.ready_timeout, stop_s=options.stop_timeout, poll_s=0.5),
    )
    return LocalProcess(plan, ran=ran)


def _planned(began: StudyBegan, entries: Sequence[Entry], options: TuneOptions) -> str:
    """A dry run ends here."""
    began = _with_memory(began, entries)
    plan = foreseen(began, entries)
    if options.json:
        return reports.study_json(began, plan)
    if plan is None:
        raise _too_little(began)
    return reports.study_plan_text(began, plan)


def _read(options: TuneOptions) -> tuple[Entry, ...]:
    path = options.journal or journal_path()
    if not path.exists():
        return ()
    with Journal(path, who=who()) as journal:
        return journal.entries()


def _with_memory(began: StudyBegan, entries: Sequence[Entry]) -> StudyBegan:
    """The plan without what failed in earlier studies."""
    found = without_failures(began.candidates, known_before(began, entries))
    return msgspec.structs.replace(began, candidates=found)


def _study(
    subject: Subject,
    found: object,
    id: str,
    options: TuneOptions,
    load: LoadOptions,
    entries: Sequence[Entry],
) -> tuple[StudyBegan, bool]:
    """A new study, or the last one that has not ended.

    Raises:
        InputError: `--resume`, and there is none, or it was begun with other options.
        Refused: nothing is to be tried, or the budget allows no confirmation.
    """
    began = tune_plan.began(subject, found, id, options, load)  # type: ignore[arg-type]
    pending = [each for _, each in studies(entries) if Record(each, entries).end is None]
    if options.resume:
        if not pending:
            raise InputError(
                "there is no study of this deployment that has not ended", hint="leave out --resume"
            )
        if pending[-1].plan != began.plan:
            raise InputError(
                f"study {pending[-1].id} was begun with other options, another file or another source",
                hint=f"it was: {pending[-1].asked}",
            )
        return pending[-1], True
    if pending:
        say(f"study {pending[-1].id} has not ended; --resume would go on with it; a new one begins")
    began = _with_memory(began, entries)
    if not began.candidates.planned:
        raise Refused("there is nothing to try", details=tuple(_left_out(began)))
    return began, False


def _left_out(began: StudyBegan) -> list[str]:
    return [f"{each.name} {each.value}: {each.why}" for each in began.candidates.left_out]


def _show(began: StudyBegan, entries: Sequence[Entry]) -> Forecast:
    plan = foreseen(began, entries)
    if plan is None:
        raise _too_little(began)
    tell(reports.study_plan_text(began, plan))
    tell(
        "\nassay: no switch watches over a process of this machine: if assay is killed, what it started runs"
    )
    tell("assay: on until `--resume` ends it, or you do\n")
    return plan


def _too_little(began: StudyBegan) -> Refused:
    return Refused(
        f"{began.budget.hours:g} h allow no baseline and confirmation at {began.budget.start_minutes:g} "
        "minutes a start",
        hint="--hours, or --start-minutes if a start takes less",
    )


class _Carried:
    """One study under way."""

    def __init__(  # noqa: PLR0913 - what a study is carried out with
        self,
        journal: Journal,
        where: str,
        began: StudyBegan,
        entries: Sequence[Entry],
        ground: LocalProcess,
        options: TuneOptions,
        load: LoadOptions,
    ) -> None:
        self._journal, self._where, self._began = journal, where, began
        self._ground, self._options, self._load = ground, options, load
        self._record = Record(began, entries)
        self._known = known_before(began, entries)
        self._left = False

    def out(self) -> StudyEnded:
        """Carry it out, and leave the service as it should be, whatever happens."""
        with interrupted_by(signal.SIGTERM, signal.SIGHUP), BenchProgress(sys.stderr) as progress:
            runner = self._runner(progress)
            conductor = Conductor(
                self._record,
                self._known,
                runner,
                note=self._note,
                say=_said_step(progress),
                seed=self._load.seed,
            )
            try:
                conclusion = conductor.run()
                return self._ended(conductor, conclusion)
            finally:
                progress.clear()
                if not self._left:
                    say("the service is left as it was")
                    tell(f"assay: {self._ground.leave(None).message}; `--resume` goes on with the study")

    def _ended(self, conductor: Conductor, conclusion: Conclusion) -> StudyEnded:
        shipped = conclusion.result == "shipped"
        change = conductor.change(conclusion) if shipped else None
        kept = change if self._options.keep else None
        left = self._ground.leave(kept)
        self._left = True
        ended = conductor.ended(conclusion)
        words = self._ground.words(change) if shipped else ()
        ended = msgspec.structs.replace(
            ended,
            kept=kept is not None and left.serves,
            message=f"{ended.message}; {left.message}".removeprefix("; "),
            command=mask_words(words),
        )
        self._note("study-ended", ended)
        return ended

    def _note(self, kind: str, value: Value) -> None:
        self._journal.append(self._where, kind, value)

    def _runner(self, progress: BenchProgress) -> LiveRunner:
        def rung_ended(arm: ArmName, rung: Rung) -> None:
            del arm, rung
            progress.clear()

        load, service = self._load, self._ground.service
        ladder = Ladder(
            reach=lambda: _reached(service.url, load),
            workload=tune_plan.workload(load),
            levels=tuple(bench_plan.levels(load)),
            folder=Path(self._began.folder),
            version=__version__,
            limits=Limits(stall_s=load.stall_timeout, flush=load.flush_cache),
            key=service.key or bench_plan.api_key(load, os.environ),
            metrics=lambda where: bench_plan.metrics(load, where),
        )
        return LiveRunner(
            ground=self._ground,
            ladder=ladder,
            told=Told(rung=rung_ended, progress=progress, note=self._note),
            expected=Expected(),
            lossy=self._options.lossy,
        )


def _said_step(progress: BenchProgress) -> Callable[[str], None]:
    def said(text: str) -> None:
        progress.clear()
        tell(reports.harmless(mask(f"assay: {text}")))

    return said


@contextlib.contextmanager
def _reached(url: str, load: LoadOptions) -> Iterator[Target]:
    yield target(url, verify=not load.insecure)


def _said(began: StudyBegan, plan: Forecast, ended: StudyEnded, options: TuneOptions, where: str) -> str:
    """The end, from the journal, as `assay show` has it."""
    with Journal(options.journal or journal_path(), who=who()) as journal:
        entries = journal.entries(where)
    record = Record(began, entries)
    if options.json:
        return reports.study_json(began, plan, record, decisions(entries, began.id))
    return reports.study_end_text(began, ended, record.judged)
