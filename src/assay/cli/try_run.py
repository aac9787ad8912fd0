"""What `assay try` does once it runs: look, ask the source, plan, and carry the cycle out."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from assay import __version__, reports
from assay.bench import Doubt, Limits, Meant, Said, Target, check_prompts, identity_doubts, target
from assay.cli import bench_plan
from assay.cli.bench_progress import BenchProgress
from assay.cli.host_options import open_host
from assay.cli.noting import interrupted_by, new_id, nothing, noting, say, tell, who
from assay.cli.progress import Reporter
from assay.cli.rollout_check import ask_its_parser, tell_of_command
from assay.cli.rollout_run import patience_of
from assay.cli.try_target import Asked, Subject, asked, looked_at, named
from assay.deployment import Hooks, parse_engine
from assay.engines import pretends, settings_drawn_at_start
from assay.errors import InputError, Refused, SourceError
from assay.hosts import reach_url
from assay.rollout import Request, parse_change, prepare
from assay.trials import Expected, Ladder, Told, TryOut, are_one, try_once

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from assay._value import Value
    from assay.bench import Comparison, Rung
    from assay.cli.bench_options import LoadOptions
    from assay.cli.try_options import TryOptions
    from assay.facts import LiveDeployment
    from assay.rollout import Change, Prepared
    from assay.trials import ArmName, Choice, Effect, Tried

_VOID, _NOT_TRIED = 6, 3


def tried(target: str, change: tuple[str, ...], options: TryOptions, load: LoadOptions) -> tuple[str, int]:
    """What is to be printed, and the exit code."""
    wanted = parse_change(change, options.without)
    if options.keep and options.revert:
        raise InputError("--keep and --revert exclude each other")
    _check_words(options, load)
    patience = patience_of(options, trial_s=options.switch)
    called = named(target, options)
    id = new_id()
    folder = options.result_dir or Path(f"assay-try-{id}")
    with contextlib.ExitStack() as stack:
        host = stack.enter_context(open_host(called.live.host, options))
        note = nothing if options.dry_run else stack.enter_context(noting(called.live, options.journal))
        subject = stack.enter_context(looked_at(called, host, options, folder))
        found = _asked(subject, wanted, options)
        tell(reports.sifted_text(found.sifted))
        if found.sifted.change is None:
            text = reports.try_json(id, found.sifted) if options.json else reports.try_text(found.sifted)
            return text, _NOT_TRIED
        live = subject.live
        hooks = called.deployment.hooks if called.deployment else Hooks()
        request = Request(
            id=id, unit=live.unit, user=live.user, change=found.sifted.change, who=who(), why=options.why,
            approved_by=options.approved_by, hooks=hooks, url=live.url, model=live.model, patience=patience,
        )  # fmt: skip
        if live.unit_file is not None and options.keep:
            raise Refused(
                f"{called.path} names unit_file, and `assay try --keep` would keep the change in a drop-in",
                hint="leave --keep out; then `assay apply` and `assay promote` keep it in that file",
            )
        if live.unit_file is not None:  # nor is it asked for
            options = dataclasses.replace(options, revert=True)
        say("a token of the service as it is")
        prepared = prepare(host, request)
        expected = _expected(prepared, found)
        _check(prepared, subject, found, options)
        shown = reports.planned_text(prepared.plan, expected.prediction)
        done = None
        if not options.dry_run:
            tell(shown)
            done = _carried_out(
                prepared, _ladder(prepared, subject.seen, options, load, folder), expected, note, options
            )
    if options.json:
        text = reports.try_json(id, found.sifted, prepared.plan, expected.prediction, done)
    else:
        text = shown if done is None else reports.try_text(found.sifted, done)
    return text, _VOID if done is not None and done.result == "void" else 0


def _check_words(options: TryOptions, load: LoadOptions) -> None:
    """What is wrong with them is said before anybody is asked anything, and by a dry run, too.

    Raises:
        InputError: the load, its files, or a word that is used much later.
    """
    asked = bench_plan.workload(load, "")
    check_prompts(asked.prompts, asked.seed, bench_plan.levels(load))
    if options.base_url is not None:
        target(options.base_url, verify=not load.insecure)
    if options.engine is not None:
        parse_engine(options.engine)


def _expected(prepared: Prepared, found: Asked) -> Expected:
    """What both arms resolve to.

    Raises:
        Refused: to the same.
    """
    drawn = settings_drawn_at_start(prepared.after)
    prediction = found.prediction(prepared.before.words, prepared.after)
    if are_one(prediction, drawn):
        raise Refused(
            "by its source the engine resolves both commands to the same settings; nothing was tried",
            hint="`assay explain OPTION=VALUE -d FILE` says which line sets it; --unchecked tries it anyway",
        )
    fields = {each.flag: each.field for each in found.sifted.asked}
    return Expected(fields=fields, prediction=prediction, drawn=drawn)


def _pretending(prepared: Prepared, seen: LiveDeployment) -> tuple[Doubt, ...]:
    """Drafts that are accepted by dice make both arms worthless, and nothing in the figures shows it."""
    variables = dict(seen.process.environment) if seen.process else {}
    how = pretends(prepared.before.words, variables)
    return tuple(identity_doubts(Said(), Meant(pretends=how)))


def _ladder(
    prepared: Prepared, seen: LiveDeployment, options: TryOptions, load: LoadOptions, folder: Path
) -> Ladder:
    """What both arms are asked, and how they are reached."""
    return Ladder(
        reach=lambda: _reached(prepared, options, load),
        workload=bench_plan.workload(load, ""),
        levels=tuple(bench_plan.levels(load)),
        folder=folder,
        version=__version__,
        limits=Limits(
            stall_s=load.stall_timeout,
            processes=bench_plan.processes(load),
            flush=load.flush_cache,
            known=_pretending(prepared, seen),
        ),
        key=prepared.service.key or bench_plan.api_key(load, os.environ),
        metrics=lambda where: bench_plan.metrics(load, where),
    )


def _asked(subject: Subject, change: Change, options: TryOptions) -> Asked:
    with Reporter(sys.stderr) as progress:
        return asked(subject, change, options, progress)


def _check(prepared: Prepared, subject: Subject, found: Asked, options: TryOptions) -> None:
    """Whether the engine takes the command, by its source where it was not triaged, and by its own parser.

    Raises:
        Refused: it does not.
    """
    if not options.unchecked:
        _check_source(prepared, subject, found, options)
        ask_its_parser(prepared)


def _check_source(prepared: Prepared, subject: Subject, found: Asked, options: TryOptions) -> None:
    if found.sifted.triaged or subject.engine is None:
        return
    try:
        tell_of_command(prepared, subject.engine, options.cache)
    except (SourceError, InputError) as error:
        tell(reports.harmless(f"assay: {subject.engine} was not asked about the command: {error.message}"))


@contextlib.contextmanager
def _reached(prepared: Prepared, options: TryOptions, load: LoadOptions) -> Iterator[Target]:
    """The server as it is to be had from here."""
    if options.base_url is not None:
        yield target(options.base_url, verify=not load.insecure)
        return
    with reach_url(prepared.machine.host, prepared.service.url) as url:
        yield target(url, verify=not load.insecure)


def _carried_out(
    prepared: Prepared,
    ladder: Ladder,
    expected: Expected,
    note: Callable[[str, Value], None],
    options: TryOptions,
) -> Tried:
    out = TryOut(prepared=prepared, ladder=ladder, expected=expected)
    with interrupted_by(signal.SIGTERM, signal.SIGHUP), BenchProgress(sys.stderr) as progress:

        def rung_ended(arm: ArmName, rung: Rung) -> None:
            progress.clear()
            tell(f"{arm}, {reports.bench_text(rung)}\n")

        def chosen(effect: Effect, comparison: Comparison) -> Choice:
            progress.clear()
            return _choice(effect, comparison, options)

        told = Told(rung=rung_ended, progress=progress, note=note)
        try:
            return try_once(out, told=told, choose=chosen, on_step=say)
        finally:
            tell(reports.harmless(f"assay: results in {ladder.folder}"))


def _choice(effect: Effect, comparison: Comparison, options: TryOptions) -> Choice:
    """As the user says beforehand, or says now; going back is what nobody needs to say."""
    if options.keep or options.revert:
        return "keep" if options.keep else "revert"
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        return "revert"
    tell(reports.effect_text(effect))
    tell(reports.compare_text(comparison))
    print("keep the change, also over a reboot? [y/N] ", end="", file=sys.stderr, flush=True)
    return "keep" if sys.stdin.readline().strip().lower() in ("y", "yes") else "revert"
