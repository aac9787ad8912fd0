"""What the verbs of rollouts do once they run: open machine and journal, look, act, render."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from assay import reports
from assay.cli.extras import with_numpy
from assay.cli.host_options import check_target, check_user, open_host
from assay.cli.noting import interrupted_by, new_id, nothing, noting, say, subject_of, tell, who
from assay.cli.own_file import kept_in_step, own_file
from assay.deployment import Hooks, Live, load_deployment
from assay.engines import is_followed, server_of
from assay.errors import InputError
from assay.rollout import (
    Change,
    Intent,
    Look,
    Outcome,
    Patience,
    Prepared,
    Request,
    apply,
    apply_all,
    check_permission,
    parse_change,
    prepare,
    promote,
    rollback,
    status,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from assay._value import Value
    from assay.cli.rollout_options import (
        ApplyOptions,
        ChangeOptions,
        PromoteOptions,
        StatusOptions,
        UndoOptions,
    )
    from assay.cli.tune_options import TuneOptions
    from assay.deployment import Deployment
    from assay.hosts import Host


def applied(path: Path, change: tuple[str, ...], options: ApplyOptions) -> str:
    """Prepare, show the plan, carry it out; of several deployments all or none."""
    asked = parse_change(change, options.without)
    id, paths = new_id(), (path, *options.also)
    with contextlib.ExitStack() as stack:
        names = [id] if len(paths) == 1 else [f"{id}-{at}" for at in range(1, len(paths) + 1)]
        parts = [
            _prepared(each, asked, name, options, stack) for each, name in zip(paths, names, strict=True)
        ]
        plans = [each.plan for each, _ in parts]
        if options.dry_run:
            shown = reports.plan_json if options.json else reports.plan_text
            return reports.together([shown(each) for each in plans], json=options.json)
        for plan in plans:
            print(reports.plan_text(plan), file=sys.stderr)
        if len(parts) == 1:
            [(prepared, note)] = parts
            outcomes: tuple[Outcome, ...] = (apply(prepared, note=note, on_step=say),)
        else:
            outcomes = apply_all(parts, id=id, trial_s=options.trial, on_step=say)
    told = reports.outcome_json if options.json else reports.outcome_text
    return reports.together([told(each) for each in outcomes], json=options.json)


def _prepared(
    path: Path, change: Change, id: str, options: ApplyOptions, stack: contextlib.ExitStack
) -> tuple[Prepared, Callable[[str, Value], None]]:
    """One deployment, looked at and asked about, and what writes into its journal, until the stack ends."""
    check_user(str(path), options)
    deployment = load_deployment(path, environment=os.environ, home=Path.home())
    live = check_permission(deployment)
    request = Request(
        id=id,
        unit=live.unit,
        user=live.user,
        change=change,
        who=who(),
        hooks=deployment.hooks,
        unit_file=own_file(path, live),
        why=options.why,
        approved_by=options.approved_by,
        url=live.url,
        model=live.model,
        patience=patience_of(options, trial_s=options.switch if options.also else options.trial),
    )
    from assay.cli.rollout_check import ask_its_parser

    host = stack.enter_context(open_host(live.host, options))
    note = nothing if options.dry_run else stack.enter_context(noting(live, options.journal))
    prepared = prepare(host, request)
    if not options.unchecked:
        _check(prepared, deployment, options)
        ask_its_parser(prepared)
    return prepared, note


def _check(prepared: Prepared, deployment: Deployment, options: ApplyOptions) -> None:
    """Ask the engine's source about the changed command, and say what is worth knowing."""
    from assay.cli.rollout_check import tell_of_command

    server = server_of(prepared.before.words)
    if server is not None and not is_followed(server.engine):
        tell(f"assay: the start-up code of {server.engine.name} is not followed yet, so it was not asked")
        return
    tell_of_command(prepared, deployment.engine, options.cache)


def stands(target: str, options: StatusOptions) -> tuple[str, int]:
    """What `assay status` prints, and its exit code."""
    live, hooks = _live(target, options)
    with open_host(live.host, options) as host:
        seen = status(_look(host, live, hooks, Patience(lost_s=0)))
    marks = seen.marks
    fine = (
        seen.serves
        and (marks.armed is None or marks.switch)
        and not (marks.trial_file and not marks.armed)
        and not (marks.drained and not marks.armed)
    )
    text = reports.status_json(seen) if options.json else reports.status_text(seen)
    return text, 0 if fine else 1


def promoted(target: str, options: PromoteOptions) -> str:
    """What `assay promote` prints."""
    if options.watch is None:
        if options.proven is not None:
            raise InputError("--proven goes with --watch", hint="--watch 30 watches for half an hour")
        return _after(target, options, promote)
    with with_numpy():
        from assay.cli.watch_run import watch_plan, watch_rule
        from assay.study import promote_watched
    rule = watch_rule(options.watch)
    if options.dry_run:
        said = _after(target, options, promote)
        tell(f"assay: before that it is watched for {options.watch:g} minutes")
        return said
    live, hooks = _live(target, options)
    own = own_file(Path(target), live)
    patience = Patience(ready_s=_positive(options.ready_timeout, "--ready-timeout"))
    with open_host(live.host, options) as host, noting(live, options.journal) as note:

        def look() -> Look:
            return _look(host, live, hooks, patience)

        plan = watch_plan(rule, look, note, options, subject=subject_of(live))
        with kept_in_step(host, look, own, dry_run=False), interrupted_by(signal.SIGTERM, signal.SIGHUP):
            found = promote_watched(plan)
    return reports.watched_json(found) if options.json else reports.watched_text(found)


def rolled_back(target: str, options: UndoOptions) -> str:
    """What `assay rollback` prints."""
    return _after(target, options, rollback)


def _after(target: str, options: UndoOptions, act: Callable[..., Intent | Outcome]) -> str:
    live, hooks = _live(target, options)
    own = own_file(Path(target), live)
    patience = Patience(ready_s=_positive(options.ready_timeout, "--ready-timeout"))
    with open_host(live.host, options) as host, contextlib.ExitStack() as stack:
        note = nothing if options.dry_run else stack.enter_context(noting(live, options.journal))
        look = _look(host, live, hooks, patience)

        def shown(kind: str, body: Value) -> None:
            note(kind, body)
            if isinstance(body, Intent):
                tell(reports.intent_text(body))

        with kept_in_step(host, lambda: look, own, dry_run=options.dry_run):
            done = act(look, note=shown, on_step=say, dry_run=options.dry_run)
    if isinstance(done, Intent):
        return reports.intent_json(done) if options.json else reports.intent_text(done)
    return reports.outcome_json(done) if options.json else reports.outcome_text(done)


def _look(host: Host, live: Live, hooks: Hooks, patience: Patience) -> Look:
    look = Look(host, live.unit, url=live.url, model=live.model, patience=patience, user=live.user)
    if live.unit_file is not None:
        look.kept_in_its_file()
    return look.hooked(hooks, who=who())


def _live(target: str, options: StatusOptions) -> tuple[Live, Hooks]:
    """Where it runs, and what is run around a restart: as a deployment file says, or as is written."""
    check_user(target, options)
    if target.endswith(".toml"):
        deployment = load_deployment(Path(target), environment=os.environ, home=Path.home())
        if deployment.live is None:
            raise InputError(
                f"{target} does not say where it runs", hint="write [live], as `assay describe` does"
            )
        return deployment.live, deployment.hooks
    unit, host = check_target(target)
    return Live(unit=unit, user=options.user, host=host), Hooks()


def patience_of(options: ChangeOptions | TuneOptions, *, trial_s: int) -> Patience:
    """How long things may take, as the user says."""
    if not 5 <= options.switch <= trial_s <= 7 * 86400:
        raise InputError(
            f"--switch {options.switch} and --trial {trial_s} do not go together",
            hint="--switch is at least 5 s, --trial at least as long and at most a week",
        )
    return Patience(
        switch_s=options.switch,
        trial_s=trial_s,
        stop_s=_positive(options.stop_timeout, "--stop-timeout"),
        ready_s=_positive(options.ready_timeout, "--ready-timeout"),
        hold_s=_positive(options.hold, "--hold"),
        token_s=min(30.0, max(2.0, options.switch / 3)),
    )


def _positive(seconds: float, option: str) -> float:
    if not 0 < seconds <= 7 * 86400:
        raise InputError(f"{option} {seconds:g}: expected a number of seconds above 0 and up to a week")
    return seconds
