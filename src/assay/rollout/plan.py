"""The plan of a rollout: what is done, in which order, and how each step is undone; shown before anything."""

from __future__ import annotations

from assay._value import Value
from assay.rollout.change import Change
from assay.rollout.drop_in import Layout


class Patience(Value):
    """How long things may take."""

    switch_s: int = 120
    """The switch takes the change back this long after its last renewal."""
    trial_s: int = 3600
    """How long a change that serves stays without being promoted."""
    stop_s: float = 300.0
    """Until the old server and all of its processes are gone."""
    ready_s: float = 1800.0
    """From the start to the first token."""
    hold_s: float = 10.0
    """How long it must then go on, and give more tokens."""
    token_s: float = 30.0
    """For one token."""
    lost_s: float = 300.0
    """How long a machine that does not answer is waited for."""
    poll_s: float = 1.0
    """Between two looks."""


class Step(Value):
    """One step of a plan."""

    name: str
    """Short: `arm`, `write`, `stop`."""
    does: str
    """What happens, in a sentence."""
    undone_by: str
    """What takes it back; `nothing to undo` for a look."""


class Plan(Value):
    """Everything that a rollout will do. No part of it holds a command line: those hold secrets."""

    id: str
    """Name of the rollout."""
    host: str
    """The machine."""
    layout: Layout
    """The unit, and where its drop-ins and marks lie."""
    change: Change
    """What is changed."""
    why: str
    """For what reason, in the user's words."""
    approved_by: str
    """Who agreed, if anybody was asked."""
    before: str
    """Digest (SHA-256) of the command as it is, in JSON."""
    after: str
    """Digest of the command as it shall be."""
    originals: tuple[tuple[str, str], ...]
    """Path and SHA-256 of the unit's file and drop-ins; they are not touched."""
    url: str
    """Where the server is asked for a token, from its own machine."""
    notes: tuple[str, ...] = ()
    """What else may happen, and what could not be made sure of."""
    patience: Patience
    """How long things may take."""
    steps: tuple[Step, ...]
    """In their order; one fails: all is taken back."""


class _Says(Value):
    """What the steps are called where they differ."""

    arm: str
    write: str
    verify: str
    reload: str
    start: str
    revert: str
    restart: str


_OF_A_UNIT = _Says(
    arm="a timer there takes everything back {switch_s} s after assay was last heard of",
    write="{trial} is written; the unit's own files are not touched",
    verify="systemd-analyze looks at the unit; any new complaint ends the rollout",
    reload="systemctl daemon-reload; ",
    start="{unit} is started with the change",
    revert="the switch, or assay itself: the drop-in is removed, systemd reloaded",
    restart="the switch, or assay itself: the drop-in is removed, systemd reloaded, the service restarted",
)
_OF_COMPOSE = _Says(
    arm="a timer there takes everything back {switch_s} s after assay was last heard of; a unit of systemd "
    "takes it back at boot",
    write="{trial} is written, the compose file with the change; the compose files are not touched",
    verify="`docker compose config` looks at it; any new complaint ends the rollout",
    reload="",
    start="a container of {unit} is made and started with the change, other services are left alone; what "
    "lies in the old one and in no volume is gone, as by any `docker compose up`",
    revert="the switch, or assay itself: that file is removed",
    restart="the switch, or assay itself: that file is removed, `docker compose up` with the files as before",
)


def steps_of(layout: Layout, patience: Patience, *, drain: str = "", undrain: str = "") -> tuple[Step, ...]:
    """The steps of a rollout of one systemd unit; with the hooks' commands, where there are any."""
    unit = layout.unit
    says = _OF_COMPOSE if layout.compose else _OF_A_UNIT
    told: tuple[tuple[str, str, str], ...] = (
        ("arm", says.arm.format(switch_s=patience.switch_s), "it is stopped at the end"),
        ("write", says.write.format(trial=layout.trial), says.revert),
        ("verify", says.verify, "nothing to undo"),
        ("reload", f"{says.reload}the command in effect must be the planned one", says.revert),
        (
            "stop",
            f"{unit} is stopped and all of its processes are waited for: it does not serve from here",
            says.restart,
        ),
        ("start", says.start.format(unit=unit), says.restart),
        ("ready", f"a generated token is waited for, at most {patience.ready_s:g} s", says.restart),
        ("hold", f"it must go on for {patience.hold_s:g} s and give more tokens", says.restart),
        (
            "trial",
            f"the switch is set to {patience.trial_s} s: `assay promote` keeps the change until then",
            says.restart,
        ),
    )
    if drain:
        first = ("drain", f"run here: {drain}", f"the last step, also when the rollout fails: {undrain}")
        told = (first, *told, ("undrain", f"run here: {undrain}", "nothing to undo"))
    return tuple(Step(name=name, does=does, undone_by=undone) for name, does, undone in told)


class Outcome(Value):
    """How a rollout, or a part of it, ended."""

    id: str
    """Its name."""
    result: str
    """`trial`, `restored`, `promoted`, `rolled-back`, `needs-a-person`, `refused` (nothing was changed)."""
    downtime_s: float = 0.0
    """Seconds between the stop and the next token; of a rollback, those until it was seen to serve."""
    drained_s: float = 0.0
    """Seconds from the drain hook to the end of the undrain hook; 0 without hooks, or while drained."""
    failure: str = ""
    """Which kind of failure, if any."""
    message: str = ""
    """In words."""
    lines: tuple[str, ...] = ()
    """Log lines; for a trial, what of the change the server did not take. Masked."""
