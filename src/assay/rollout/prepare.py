"""Looks before anything is changed: what would make a rollout unsafe is refused here, in seconds."""

from __future__ import annotations

import hashlib
import json
import shlex
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import msgspec

from assay._masking import secrets_in_words
from assay.deployment import Hooks, UserFile, reword_unit
from assay.errors import InputError, NotReady, Refused
from assay.facts import same_command
from assay.hosts import Script
from assay.rollout import scripts
from assay.rollout.change import changed_words
from assay.rollout.hooks import Drain
from assay.rollout.machine import Machine
from assay.rollout.places import places_of
from assay.rollout.plan import Patience, Plan, steps_of
from assay.rollout.token import Service, ask_token

if TYPE_CHECKING:
    from collections.abc import Sequence

    from assay.hosts import Host, StartCommand, UnitState
    from assay.rollout.change import Change

_WHERE = frozenset({"--host", "--port"})


@dataclass(frozen=True, kw_only=True)
class Request:
    """Who wants what, and why."""

    id: str
    """Name of the rollout: letters, digits and dashes."""
    unit: str
    """Which unit."""
    user: bool = False
    """Whether it is of the user's own manager."""
    change: Change
    """What shall be otherwise."""
    who: str
    """Who asks: `user@machine`."""
    why: str = ""
    """For what reason."""
    approved_by: str = ""
    """Who agreed."""
    unit_file: UserFile | None = None
    """The user's own copy of the unit's file, into which a promotion writes; None: a drop-in is kept."""
    hooks: Hooks = field(default_factory=Hooks)
    """What is run around the restart."""
    url: str | None = None
    """Where the server answers; None: as its command says."""
    model: str | None = None
    """The model's name for requests; None: the first that the server lists."""
    patience: Patience = field(default_factory=Patience)
    """How long things may take."""


@dataclass(frozen=True, kw_only=True)
class Prepared:
    """A plan, and what is needed to carry it out. The words hold secrets: they are never written down."""

    plan: Plan
    """To be shown and journalled."""
    machine: Machine
    """Where."""
    service: Service
    """How its server is asked now; the change has no part in that."""
    before: StartCommand
    """The command as it is."""
    after: tuple[str, ...]
    """Its words as they shall be."""
    text: str
    """The drop-in; of compose the file with the change."""
    keep: str | None
    """What a promotion writes into the unit's own file; None: the trial's text becomes what is kept."""
    complaints: frozenset[str]
    """What systemd-analyze says of the unit as it is."""
    who: str
    """Who asks."""
    secrets: frozenset[str]
    """What must not be printed: values of secret options, as they run and as they stand in the unit."""
    drain: Drain
    """The hooks around it."""


def prepare(host: Host, request: Request) -> Prepared:
    """Look at everything that a rollout stands on, and make its plan. Nothing is changed.

    Raises:
        Refused: it would not be safe; the message says why, the hint what to do.
        NotReady: the service does not give a token now, so nobody could tell that it does so again.
        HostError: the machine could not be asked.
    """
    patience, places = request.patience, places_of(host, request.unit, user=request.user)
    machine = Machine(host, places, id=request.id, lost_s=patience.lost_s)
    has_tools(host)
    state = sound(machine.state(), host.name)
    before = only(machine.starts(), request.unit)
    alone(machine)
    no_rollout(machine)
    after = changed_words(before.words, request.change, dollars="no-env-expand" not in before.flags)
    running = runs_as_asked(machine, state, before)
    machine.manager.check_written()
    if after == before.words:
        raise Refused(f"{request.unit} is started so already", hint="there is nothing to change")
    if _WHERE & {*(each.flag for each in request.change.set), *request.change.unset}:
        raise Refused("where the server listens is not for assay to change", hint="its clients would lose it")
    service = machine.service(running, url=request.url, model=request.model)
    proven(machine, service, patience)
    complaints = machine.complaints(state.fragment_path)
    drain = Drain(request.hooks, machine, who=request.who)
    keep = _own_file(machine, state, request, before, after) if request.unit_file else None
    places = machine.layout
    plan = Plan(
        id=request.id,
        host=host.name,
        layout=places,
        change=request.change,
        why=request.why,
        approved_by=request.approved_by,
        before=digest(before.words),
        after=digest(after),
        originals=machine.digests((state.fragment_path, *state.drop_in_paths)),
        url=service.url,
        notes=_notes(machine, service, request.unit_file),
        patience=patience,
        steps=steps_of(places, patience, drain=drain.shown("drain"), undrain=drain.shown("undrain")),
    )
    text = machine.manager.trial_text(before, after, id=request.id)
    return Prepared(
        plan=plan, machine=machine, service=service, before=before, after=after, text=text,
        keep=keep, complaints=complaints, who=request.who, drain=drain,
        secrets=secrets_in_words(running) | secrets_in_words(after),
    )  # fmt: skip


def _own_file(
    machine: Machine, state: UnitState, request: Request, before: StartCommand, after: tuple[str, ...]
) -> str:
    """What a promotion writes into the unit's file; from here on that is where it is kept.

    Raises:
        Refused: the file here is not the one there, or does not state the command by itself.
    """
    file, there = request.unit_file, state.fragment_path
    assert file is not None
    if machine.layout.compose or not there.startswith(machine.layout.kept.rpartition(f"/{state.unit}.d/")[0]):
        raise Refused(
            f"{machine.host.name}: {file.path} cannot be copied over {there or 'a compose file'}",
            hint="unit_file is for units whose file lies where people write them; leave it out for others",
        )
    digest_here = hashlib.sha256(file.text.encode("utf-8", "surrogateescape")).hexdigest()
    if machine.digests((there,))[0][1] != digest_here:
        raise Refused(
            f"{there} on {machine.host.name} is not {file.path} as it is here",
            hint="bring one to the other, reload and restart, see that it serves, then try again",
        )
    machine.layout = msgspec.structs.replace(machine.layout, kept=there)
    try:
        return reword_unit(file, state.unit, before.words, after, dollars="no-env-expand" not in before.flags)
    except InputError as error:
        raise Refused(error.message, hint=error.hint, details=error.details) from error


def _notes(machine: Machine, service: Service, unit_file: UserFile | None) -> tuple[str, ...]:
    """What a person should know before saying yes."""
    told = [
        f"if the change fails, systemd starts {each} (OnFailure=)" for each in machine.manager.on_failure()
    ]
    if unit_file is not None:
        told.append(f"`assay promote` writes it into {unit_file.path} here and {machine.layout.kept} there")
    if not service.own:
        told.append(
            f"{service.url} is not where the command listens: a token from there is only known to be of "
            "this unit if nothing answers with one while it is stopped"
        )
    return tuple(told)


def digest(words: Sequence[str]) -> str:
    """SHA-256 of a command's words."""
    return hashlib.sha256(json.dumps(list(words)).encode()).hexdigest()


def has_tools(host: Host) -> None:
    """Everything that a rollout's scripts use is there.

    Raises:
        Refused: something is not.
    """
    tools = host.run(Script(text=scripts.CHECK, name="the look for tools"))
    if not tools.ok:
        raise Refused(
            f"{host.name} lacks {tools.out.decode('utf-8', 'replace').strip()}", hint="install it there"
        )


def sound(state: UnitState, host: str) -> UnitState:
    """The state, if a rollout can stand on it."""
    unit = state.unit
    if state.load_state == "masked":
        raise Refused(f"{host}: {unit} is masked", hint=f"see why; `systemctl unmask {unit}` makes it usable")
    if state.load_state != "loaded":
        raise Refused(
            f"{host}: {unit} is not loaded: {state.load_error or state.load_state}", hint="mend it first"
        )
    if not state.fragment_path:
        raise Refused(f"{host}: {unit} has no file: it was made by a program", hint="change that one")
    if state.need_daemon_reload:
        raise Refused(
            f"{host}: {unit} was edited but never reloaded: a restart would bring that edit in, too",
            hint="`systemctl daemon-reload` and a restart, or take the edit back; then try again",
        )
    if state.job is not None:
        raise Refused(
            f"{host}: systemd is at {unit} just now (job {state.job})", hint="wait until it is done"
        )
    if state.active_state != "active" or state.main_pid is None:
        raise Refused(
            f"{host}: {unit} does not run ({state.active_state}, {state.sub_state})",
            hint="there is no way back to a service that does not serve: start it first",
        )
    return state


def only(starts: tuple[StartCommand, ...], unit: str) -> StartCommand:
    """Its one command."""
    if len(starts) != 1:
        raise Refused(
            f"{unit} has {len(starts)} ExecStart= in effect", hint="assay changes services that have one"
        )
    return starts[0]


def alone(machine: Machine) -> None:
    """A stop must be allowed and stop nothing else, and nothing else may start the unit meanwhile."""
    hindrances = machine.manager.hindrances()
    if hindrances:
        raise Refused(
            f"{machine.host.name}: {machine.layout.unit} has {', '.join(hindrances)}: a restart is "
            "forbidden, or would do more than that",
            hint="see RefuseManualStart=, RefuseManualStop= and those settings whose names end in Action=",
        )
    coupled = machine.manager.coupled()
    if coupled:
        raise Refused(
            f"{machine.host.name}: {machine.layout.unit} is coupled to {', '.join(coupled)}: a stop would "
            "stop them, too, and a start would not start them, or they would start it meanwhile",
            hint="see Requires=, BindsTo=, PartOf=, Upholds= and sockets; Wants= is harmless",
        )


def no_rollout(machine: Machine) -> None:
    """No rollout of the unit is under way, and nothing of one is left."""
    marks = machine.marks()
    unit, host = machine.layout.unit, machine.host.name
    if marks.armed is not None:
        raise Refused(
            f"{host}: rollout {marks.armed.id} of {unit} by {marks.armed.who} is under way since "
            f"{marks.armed.since}",
            hint="`assay promote` or `assay rollback` ends it; `assay status` says how far it is",
        )
    if marks.trial_file:
        path = machine.layout.trial
        raise Refused(
            f"{host}: {path} is there, and no rollout is under way",
            hint=f"see what it is; if it is of no use: rm {shlex.quote(path)}; systemctl daemon-reload",
        )


def runs_as_asked(machine: Machine, state: UnitState, before: StartCommand) -> tuple[str, ...]:
    """The words of what runs; they must be what the unit says: that is what a restore brings back."""
    if state.main_pid is None or machine.words(state.main_pid) is None:
        raise Refused(
            f"{machine.host.name}: the words of process {state.main_pid} cannot be read, so nobody could "
            "tell the old server from the new one",
            hint="see whether it still runs, and whether root may read /proc there",
        )
    running = known_words(machine, state, before)
    if not same_command(before.words, running):
        raise Refused(
            f"{machine.host.name}: process {state.main_pid} was started with other words than {state.unit} "
            "has now, so a restore would not bring back what runs",
            hint="restart it as it is, see that it serves, then try again",
        )
    return running


def known_words(machine: Machine, state: UnitState, start: StartCommand) -> tuple[str, ...]:
    """The words of the process that runs, with all variables put in; else those of the unit."""
    running = machine.words(state.main_pid) if state.main_pid else None
    return running if running and any(word.startswith("--") for word in running) else start.words


def proven(machine: Machine, service: Service, patience: Patience) -> None:
    """The service gives a token now.

    Raises:
        NotReady: it does not.
        CommandFailed: the machine cannot ask.
    """
    token = ask_token(machine, service, timeout_s=patience.token_s)
    if not token.came:
        raise NotReady(
            f"{machine.host.name}: {machine.layout.unit} gives no token at {service.url}: {token.why}",
            hint="a service that does not serve cannot be proven to serve again: mend it first",
        )
