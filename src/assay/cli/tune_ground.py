"""Where `assay tune` starts servers: the unit of the deployment file, or a process of this machine."""

from __future__ import annotations

import contextlib
import os
import socket
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from assay.cli.host_options import open_host
from assay.cli.noting import say, subject_of, who
from assay.cli.rollout_run import patience_of
from assay.cli.watch_run import watch_plan, watch_rule
from assay.deployment import compose_service
from assay.errors import InputError, Refused
from assay.facts import same_command
from assay.rollout import check_permission as check_unit
from assay.rollout import service_of
from assay.study import promote_watched
from assay.trials import LocalProcess, ProcessPlan, SystemdUnit, UnitPlan

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from assay._value import Value
    from assay.cli.tune_options import TuneOptions
    from assay.cli.tune_plan import Subject
    from assay.rollout import Look, Patience
    from assay.study import StudyBegan
    from assay.trials import Ground


def check_permission(subject: Subject) -> None:
    """Whether the file lets assay start servers there.

    Raises:
        Refused: it does not, or asks for what studies do not do yet.
    """
    if subject.deployment.live is not None:
        check_unit(subject.deployment)
        return
    if subject.deployment.hooks.drain:
        raise Refused(
            f"{subject.path} has [hooks] and no [live]: a mark on the unit's machine says that it is drained",
            hint="name the unit in [live], or take the server out of its balancer yourself, and [hooks] out",
        )
    if subject.deployment.trials.where not in ("in_place", "drained"):
        raise Refused(
            f"{subject.path} does not let assay start servers on this machine",
            hint='if that may be, write [trials] where = "in_place": the server is started again and again',
        )


def called(subject: Subject) -> str:
    """What the journal calls it: of processes, where it listens tells two of one machine apart."""
    if subject.deployment.live is not None:
        return subject_of(subject.deployment.live)
    service = service_of(subject.words, url=None, model=None)
    return f"{service.url.partition('//')[2]}@{socket.gethostname()}"


def caution(subject: Subject) -> str:
    """What happens when assay is killed."""
    if subject.deployment.live is not None:
        return (
            "assay: each change stands under a switch on the machine: if assay is killed, the service goes\n"
            "assay: back by itself; `--resume` goes on"
        )
    return (
        "assay: no switch watches over a process of this machine: if assay is killed, what it started runs\n"
        "assay: on until `--resume` ends it, or you do"
    )


@contextlib.contextmanager
def opened(
    subject: Subject, began: StudyBegan, note: Callable[[str, Value], None], options: TuneOptions
) -> Iterator[Ground]:
    """Where the study's servers are started, for the length of a block.

    Raises:
        HostError: the machine cannot be asked.
        Refused: the unit's command is not the file's, so that its candidates are not those of the unit.
    """
    live = subject.deployment.live
    if live is None:
        yield LocalProcess(_process(subject, began, options), ran=began.ran)
        return
    if live.unit_file is not None or compose_service(live.unit):
        raise Refused(
            f"{subject.path}: studies start systemd units only, and keep a change in a drop-in",
            hint="`assay try` and `assay apply` do the rest; leave unit_file out to have a drop-in kept",
        )
    with open_host(live.host, options) as host:
        plan = UnitPlan(
            unit=live.unit,
            user=live.user,
            id=began.id,
            who=who(),
            note=note,
            why=options.why or f"study {began.id}",
            approved_by=options.approved_by,
            hooks=subject.deployment.hooks,
            url=live.url,
            model=live.model,
            patience=_patience(options),
            keep=_watched(subject, note, options),
        )
        ground = SystemdUnit(host, plan)
        if not same_command(ground.words(None), subject.words):
            raise Refused(
                f"the command of {live.unit} is not the one that {subject.path} says",
                hint="`assay describe` writes a file of what runs",
            )
        with ground.drained(say):
            yield ground


def _watched(
    subject: Subject, note: Callable[[str, Value], None], options: TuneOptions
) -> Callable[[Callable[[], Look]], None] | None:
    """What keeps the change that was shipped, where it is watched first."""
    if options.watch is None:
        return None
    rule = watch_rule(options.watch)

    def keep(look: Callable[[], Look]) -> None:
        promote_watched(watch_plan(rule, look, note, options, subject=called(subject)))

    return keep


def check_watch(subject: Subject, options: TuneOptions) -> None:
    """`--watch` is of a unit that is kept.

    Raises:
        InputError: there is nothing to watch, or that is no time.
    """
    if options.watch is None:
        return
    watch_rule(options.watch)
    if not options.keep or subject.deployment.live is None:
        raise InputError(
            "--watch goes with --keep, of a deployment with [live]: else nothing is kept under a switch"
        )


def _process(subject: Subject, began: StudyBegan, options: TuneOptions) -> ProcessPlan:
    launch = subject.launch
    return ProcessPlan(
        words=subject.words,
        environment={**os.environ, **{each.name: each.value for each in launch.environment}},
        folder=Path(launch.directory) if launch.directory else subject.path.absolute().parent,
        logs=Path(began.folder) / "logs",
        mark=began.id,
        patience=_patience(options),
    )


def _patience(options: TuneOptions) -> Patience:
    """How long things may take; starts are many, so they are looked at more often."""
    return msgspec.structs.replace(patience_of(options, trial_s=options.switch), poll_s=0.5)
