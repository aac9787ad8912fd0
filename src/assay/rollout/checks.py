"""Whether a machine has all that a rollout of a unit needs: each point by itself, with what mends it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Literal

from assay._value import Value
from assay.errors import AssayError, CommandFailed, HostError
from assay.facts import read_gpus
from assay.hosts import Script
from assay.rollout.container import container_of
from assay.rollout.machine import Machine
from assay.rollout.places import places_of
from assay.rollout.plan import Patience
from assay.rollout.prepare import (
    alone,
    has_tools,
    no_rollout,
    only,
    proven,
    runs_as_asked,
    sound,
)

if TYPE_CHECKING:
    from assay.deployment import Live
    from assay.hosts import Host

CheckStatus = Literal["ok", "warning", "failed", "unknown", "skipped"]
"""`warning`: it works, and something will be missing; `unknown`: it could not be told; `skipped`: what it
stands on failed."""
_OLDEST_SYSTEMD = 243
"""The first that says a unit's words exactly (`ExecStartEx`)."""
_CLOCK_S = 5.0
_LITTLE_KB, _LEAST_KB = 20 << 10, 1 << 10

_ROOM = r"""
for folder; do
  at=$folder
  while [ ! -d "$at" ]; do at=${at%/*}; at=${at:-/}; done
  writable=no; [ ! -w "$at" ] || writable=yes
  df -Pk -- "$at" | { read -r head; read -r a b c left e; echo "$folder ${left:-?} $writable"; }
done
"""


class Check(Value):
    """One point of a set-up."""

    name: str
    """Short: `root`, `serves`."""
    status: CheckStatus
    """How it is."""
    message: str
    """What was seen."""
    fix: str = ""
    """What to do; empty where nothing is to be done."""


def checked(name: str, look: Callable[[], str | Check]) -> Check:
    """One point: what the look says, or what it raises, with the hint as what to do."""
    try:
        found = look()
    except AssayError as error:
        details = f" ({error.details[-1].strip()})" if error.details else ""
        return Check(name=name, status="failed", message=f"{error.message}{details}", fix=error.hint)
    return found if isinstance(found, Check) else Check(name=name, status="ok", message=found)


def check_machine(host: Host, live: Live) -> Iterator[Check]:
    """Look at everything there that a rollout stands on, in the order in which it needs it; change nothing.

    What fails makes `skipped` of what cannot be looked at without it.
    """
    connected = checked("machine", lambda: _uptime(host))
    yield connected
    if connected.status == "failed":
        return
    yield checked("clock", lambda: _clock(host))
    systemd = checked("systemd", lambda: _systemd(host, live))
    yield systemd
    if systemd.status == "failed":
        yield _skipped("unit", "systemd")
        return
    machine = Machine(host, places_of(host, live.unit, user=live.user), id="-", lost_s=0)
    root = checked("root", lambda: _root(machine))
    yield root
    yield checked("tools", lambda: _tools(host))
    yield checked("python3", lambda: _python(host))
    yield checked("gpus", lambda: _gpus(host))
    if root.status == "failed":
        yield _skipped("unit", "root")
        return
    yield checked("disk", lambda: _room(machine))
    yield from _unit(machine, live)


def _unit(machine: Machine, live: Live) -> Iterator[Check]:
    state = checked("unit", lambda: _sound(machine))
    yield state
    if state.status == "failed":
        yield _skipped("serves", "unit")
        return
    yield checked("command", lambda: _command(machine))
    yield checked("restart", lambda: _alone(machine))
    yield checked("rollout", lambda: _no_rollout(machine))
    yield checked("journal", lambda: _journal(machine))
    yield checked("serves", lambda: _serves(machine, live))


def _skipped(name: str, because: str) -> Check:
    return Check(name=name, status="skipped", message=f"not looked at: see {because}")


def _uptime(host: Host) -> str:
    words = host.run(["uname", "-srm"]).checked().out.decode("utf-8", "replace").split()
    return f"{host.name} answers: {' '.join(words)}"


def _clock(host: Host) -> str | Check:
    """Between question and answer; what the way there and back took is not known to either side."""
    before = time.time()
    out = host.run(["date", "+%s.%N"]).checked().out.decode("utf-8", "replace").strip()
    after = time.time()
    try:
        there = float(out)
    except ValueError:
        raise CommandFailed(f"{host.name}: date says {out[:40]!r}") from None
    off_s = max(before - there, there - after, 0.0)
    if off_s <= _CLOCK_S:
        return f"within {max(off_s, after - before):.1f} s of this machine's"
    return Check(
        name="clock",
        status="warning",
        message=f"{off_s:.0f} s off this machine's: the journal's times and the machine's log do not fit",
        fix="let both follow a time server; switches go by a clock of their own and do not mind",
    )


def _root(machine: Machine) -> str:
    sudo = machine.sudo
    if machine.layout.user:
        return "not needed: the unit is of the user who logs in"
    machine.host.run(["true"], sudo=sudo).checked()
    return "by sudo" if sudo else "logged in as root"


def _systemd(host: Host, live: Live) -> str | Check:
    out = host.run(["systemctl", "--version"])
    words = out.out.decode("utf-8", "replace").split()
    if not out.ok or len(words) < 2 or not words[1].isdigit():
        raise CommandFailed(f"{host.name}: no systemd", hint="assay changes systemd services only")
    if int(words[1]) < _OLDEST_SYSTEMD:
        raise CommandFailed(
            f"{host.name}: systemd {words[1]}, and {_OLDEST_SYSTEMD} is the oldest that says a unit's words"
        )
    places_of(host, live.unit, user=live.user)  # a user's own manager, or docker, is asked
    ask = ["systemctl", *(["--user"] if live.user else []), "is-system-running"]
    manager = host.run(ask).out.decode("utf-8", "replace").strip()
    if manager in ("", "offline", "unknown"):
        raise CommandFailed(f"{host.name}: systemd {words[1]} is installed and does not run there")
    return f"systemd {words[1]}, {manager}"


def _tools(host: Host) -> str:
    has_tools(host)
    return "flock, systemd-run, systemd-analyze, journalctl, busctl, sha256sum are there"


def _python(host: Host) -> str:
    said = host.run(["python3", "-I", "-c", "import sys; print('%d.%d.%d' % sys.version_info[:3])"])
    if said.status == 127:
        raise CommandFailed(
            f"{host.name}: no python3: nobody can ask the server from there", hint="install it there"
        )
    return said.checked().out.decode("utf-8", "replace").strip()


def _gpus(host: Host) -> str | Check:
    try:
        gpus = read_gpus(host).gpus
    except HostError as error:
        return Check(
            name="gpus",
            status="unknown",
            message=error.message,
            fix="without nvidia-smi nobody waits for the old server's GPU memory, and triage must be told "
            "the accelerators",
        )
    return f"{len(gpus)}x {gpus[0].name}" if gpus else "none"


def _room(machine: Machine) -> str | Check:
    places = machine.layout
    kept = places.kept.rpartition(f"/{places.unit}.d/")[0] or places.kept.rpartition("/")[0]
    folders = (places.run, kept, places.var, "/tmp")  # noqa: S108
    script = Script(text=_ROOM, arguments=folders, name="the look at disks")
    out = machine.host.run(script, sudo=machine.sudo).checked().out.decode("utf-8", "replace")
    found = [line.rsplit(" ", 2) for line in out.splitlines() if line.count(" ") >= 2]
    closed = [folder for folder, _, writable in found if writable != "yes" and folder != "/tmp"]  # noqa: S108
    if closed:
        raise CommandFailed(
            f"{machine.host.name}: {', '.join(closed)} cannot be written",
            hint="see its mount: is it read-only?",
        )
    left = {folder: int(kb) for folder, kb, _ in found if kb.isdigit()}
    full = {folder: kb for folder, kb in left.items() if kb < _LITTLE_KB}
    told = ", ".join(f"{folder} {kb >> 10} MiB" for folder, kb in (full or left).items())
    if any(kb < _LEAST_KB for kb in full.values()):
        raise CommandFailed(f"{machine.host.name}: too little room: {told}", hint="free some")
    if full:
        fix = "free some: a promotion that cannot be written stays a trial"
        return Check(name="disk", status="warning", message=f"little room: {told}", fix=fix)
    return f"room: {told}"


def _sound(machine: Machine) -> str:
    state = sound(machine.state(), machine.host.name)
    return f"{state.unit} is loaded and runs, process {state.main_pid}"


def _command(machine: Machine) -> str:
    state = machine.state()
    start = only(machine.starts(), machine.layout.unit)
    runs_as_asked(machine, state, start)
    machine.manager.check_written()
    container = container_of(start.words)
    where = f", in container {container.name}" if container else ""
    return f"what runs is what the unit says{where}"


def _alone(machine: Machine) -> str:
    alone(machine)
    return "a stop stops nothing else, and is allowed"


def _no_rollout(machine: Machine) -> str:
    no_rollout(machine)
    return "none under way"


def _journal(machine: Machine) -> str | Check:
    if machine.log(""):
        return "its lines of this boot can be read"
    return Check(
        name="journal",
        status="warning",
        message="no line of the unit in this boot can be read: a failed start would have no log lines",
        fix="see `journalctl -b -u UNIT` there: does the unit log elsewhere (StandardOutput=), or is the "
        "journal not kept?",
    )


def _serves(machine: Machine, live: Live) -> str:
    state = machine.state()
    words = runs_as_asked(machine, state, only(machine.starts(), machine.layout.unit))
    service = machine.service(words, url=live.url, model=live.model)
    began = time.monotonic()
    proven(machine, service, Patience())
    return f"{service.url} gave a token in {time.monotonic() - began:.1f} s"
