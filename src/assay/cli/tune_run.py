"""What `assay tune` does: plan, show, carry out, leave the service as it should be."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from assay import __version__, reports
from assay._masking import mask, mask_words
from assay.bench import Limits, check_prompts, target
from assay.cli import bench_plan, tune_ground, tune_plan
from assay.cli.bench_progress import BenchProgress
from assay.cli.noting import interrupted_by, new_id, opened, read_journal, say, tell
from assay.engines import settings_drawn_at_start
from assay.errors import InputError, Refused
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
from assay.trials import Expected, Ladder, Told

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from assay._value import Value
    from assay.bench import Rung, Target
    from assay.cli.bench_options import LoadOptions
    from assay.cli.tune_options import TuneOptions
    from assay.journal import Entry
    from assay.study import Conclusion, Forecast
    from assay.trials import ArmName, Ground


def tuned(target_: str, own: Sequence[str], options: TuneOptions, load: LoadOptions) -> tuple[str, int]:
    """What is to be printed, and the exit code."""
    workload = tune_plan.workload(load)
    check_prompts(workload.prompts, workload.seed, bench_plan.levels(load))
    subject = tune_plan.looked_at(target_, options)
    found = tune_plan.listed(subject, tune_plan.own_candidates(own, subject.deployment), options, load)
    tune_ground.check_watch(subject, options)
    began = tune_plan.began(subject, found, new_id(), options, load)
    if options.dry_run:
        return _planned(began, read_journal(options.journal), options), 0
    tune_ground.check_permission(subject)
    where = tune_ground.called(subject)
    with opened(where, options.journal) as journal:
        entries = journal.entries(where)
        began, resumed = _study(began, options, entries)
        plan = _show(began, entries)
        tell(f"\n{tune_ground.caution(subject)}\n")

        def note(kind: str, value: Value) -> None:
            journal.append(where, kind, value)

        with tune_ground.opened(subject, began, note, options) as ground:
            ground.begin()
            if not resumed:
                began = msgspec.structs.replace(began, ran=ground.ran)
                note("study", began)
            ended = _Carried(began, journal.entries(where), ground, note, options, load).out()
    return _said(began, plan, ended, options, where), 0


def _planned(began: StudyBegan, entries: Sequence[Entry], options: TuneOptions) -> str:
    """A dry run ends here."""
    began = _with_memory(began, entries)
    plan = foreseen(began, entries)
    if options.json:
        return reports.study_json(began, plan)
    if plan is None:
        raise _too_little(began)
    return reports.study_plan_text(began, plan)


def _with_memory(began: StudyBegan, entries: Sequence[Entry]) -> StudyBegan:
    """The plan without what failed in earlier studies."""
    found = without_failures(began.candidates, known_before(began, entries))
    return msgspec.structs.replace(began, candidates=found)


def _study(began: StudyBegan, options: TuneOptions, entries: Sequence[Entry]) -> tuple[StudyBegan, bool]:
    """A new study, or the last one that has not ended, and whether it is that.

    Raises:
        InputError: `--resume`, and there is none, or it was begun with other options.
        Refused: nothing is to be tried.
    """
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
    return plan


def _too_little(began: StudyBegan) -> Refused:
    return Refused(
        f"{began.budget.hours:g} h allow no baseline and confirmation at {began.budget.start_minutes:g} "
        "minutes a start",
        hint="--hours, or --start-minutes if a start takes less",
    )


class _Carried:
    """One study under way."""

    def __init__(
        self,
        began: StudyBegan,
        entries: Sequence[Entry],
        ground: Ground,
        note: Callable[[str, Value], None],
        options: TuneOptions,
        load: LoadOptions,
    ) -> None:
        self._began, self._note = began, note
        self._ground, self._options, self._load = ground, options, load
        self._record = Record(began, entries)
        self._known = known_before(began, entries)
        self._left = False

    def out(self) -> StudyEnded:
        """Carry it out, and leave the service as it should be, whatever happens."""
        with interrupted_by(signal.SIGTERM, signal.SIGHUP), BenchProgress(sys.stderr) as progress:
            conductor = Conductor(
                self._record,
                self._known,
                self._runner(progress),
                note=self._note,
                say=_said_step(progress),
                seed=self._load.seed,
            )
            try:
                return self._ended(conductor, conductor.run())
            finally:
                progress.clear()
                if not self._left:
                    say("the service is left as it was")
                    tell(f"assay: {self._ground.leave(None).message}; `--resume` goes on with the study")

    def _ended(self, conductor: Conductor, conclusion: Conclusion) -> StudyEnded:
        shipped = conclusion.result == "shipped"
        change = conductor.change(conclusion) if shipped else None
        command = mask_words(self._ground.words(change)) if shipped else ()
        kept = change if self._options.keep else None
        left = self._ground.leave(kept)
        self._left = True
        ended = conductor.ended(conclusion)
        ended = msgspec.structs.replace(
            ended,
            kept=kept is not None and left.serves and left.kept,
            message=f"{ended.message}; {left.message}".removeprefix("; "),
            command=command,
        )
        self._note("study-ended", ended)
        return ended

    def _runner(self, progress: BenchProgress) -> LiveRunner:
        def rung_ended(arm: ArmName, rung: Rung) -> None:
            del arm, rung
            progress.clear()

        load, ground = self._load, self._ground
        ladder = Ladder(
            reach=lambda: _reached(ground, self._options, load),
            workload=tune_plan.workload(load),
            levels=tuple(bench_plan.levels(load)),
            folder=Path(self._began.folder),
            version=__version__,
            limits=Limits(
                stall_s=load.stall_timeout, processes=bench_plan.processes(load), flush=load.flush_cache
            ),
            key=ground.service.key or bench_plan.api_key(load, os.environ),
            metrics=lambda where: bench_plan.metrics(load, where),
        )
        return LiveRunner(
            ground=ground,
            ladder=ladder,
            told=Told(rung=rung_ended, progress=progress, note=self._note),
            expected=Expected(drawn=settings_drawn_at_start(ground.words(None))),
            lossy=self._options.lossy,
            questions=tune_plan.questions(self._options),
        )


def _said_step(progress: BenchProgress) -> Callable[[str], None]:
    def said(text: str) -> None:
        progress.clear()
        tell(reports.harmless(mask(f"assay: {text}")))

    return said


@contextlib.contextmanager
def _reached(ground: Ground, options: TuneOptions, load: LoadOptions) -> Iterator[Target]:
    """The server as it is to be had from here."""
    if options.base_url is not None:
        yield target(options.base_url, verify=not load.insecure)
        return
    with ground.reach() as url:
        yield target(url, verify=not load.insecure)


def _said(began: StudyBegan, plan: Forecast, ended: StudyEnded, options: TuneOptions, where: str) -> str:
    """The end, from the journal, as `assay show` has it."""
    entries = read_journal(options.journal, where)
    record = Record(began, entries)
    if options.json:
        return reports.study_json(began, plan, record, decisions(entries, began.id))
    return reports.study_end_text(began, ended, record.judged)
