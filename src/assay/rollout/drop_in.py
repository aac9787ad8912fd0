"""The drop-in that changes a unit's command, and where everything of a rollout lies on a machine."""

from __future__ import annotations

import hashlib
import re
from typing import TYPE_CHECKING

from assay._value import Value
from assay.deployment import quote_systemd
from assay.errors import Refused

if TYPE_CHECKING:
    from collections.abc import Sequence

    from assay.hosts import StartCommand

_PREFIX = {
    "ignore-failure": "-",
    "no-env-expand": ":",
    "privileged": "+",
    "no-setuid": "!",
    "ambient": "!!",
}


class ComposeProject(Value):
    """Where a service of docker compose comes from."""

    program: tuple[str, ...]
    """How compose is called: `docker compose`, or `docker-compose`."""
    project: str
    """The project's name."""
    service: str
    """The service's."""
    folder: str
    """From which its paths are read."""
    files: tuple[str, ...]
    """The compose files, in their order."""
    env_file: str = ""
    """The file with variables for them, where one was named."""


class Layout(Value):
    """Paths and names of one unit's rollouts on its machine."""

    unit: str
    """The unit."""
    run: str
    """Folder of marks that vanish with a reboot, as the trial itself does."""
    var: str
    """Folder of what must outlive a reboot: what a promotion replaced."""
    trial: str
    """The drop-in of a trial."""
    kept: str
    """The drop-in of a promoted change. Its name sorts before the trial's, and after most others."""
    switch: str
    """Name of the dead-man's switch: its timer and its service."""
    user: bool = False
    """Whether the unit is of a user's own manager (`systemctl --user`); all of this is that user's then."""
    compose: ComposeProject | None = None
    """The service of docker compose, if it is one: then `trial` and `kept` are compose files."""


class UnitFolders(Value):
    """Where a manager, the machine's or a user's own, looks for units, and where state is kept."""

    config: str
    """What stays: `/home/me/.config/systemd/user`."""
    runtime: str
    """What goes with the manager: `/run/user/1000/systemd/user`."""
    state: str
    """Where programs keep what they must remember: `/home/me/.local/state`."""


_MACHINE = UnitFolders(config="/etc/systemd/system", runtime="/run/systemd/system", state="/var/lib")


def layout(unit: str, user: UnitFolders | None = None) -> Layout:
    """Where things lie for a unit of the machine's manager, or with `user` of that user's own.

    >>> layout("llm.service").trial
    '/run/systemd/system/llm.service.d/zz-assay-2-trial.conf'
    """
    slug = _slug(unit)
    folders = user or _MACHINE
    return Layout(
        unit=unit,
        run=f"{folders.runtime.rpartition('/systemd/')[0]}/assay/{slug}",
        var=f"{folders.state}/assay/{slug}",
        trial=f"{folders.runtime}/{unit}.d/zz-assay-2-trial.conf",
        kept=f"{folders.config}/{unit}.d/zz-assay-1-kept.conf",
        switch=f"assay-revert-{slug}",
        user=user is not None,
    )


def compose_layout(unit: str, project: ComposeProject, kept: str) -> Layout:
    """Where things lie for a service of docker compose whose command stands in the file `kept`."""
    slug = _slug(unit)
    var = f"{_MACHINE.state}/assay/{slug}"
    return Layout(
        unit=unit,
        run=f"{var}/run",  # its marks outlive a reboot, as the container's command does
        var=var,
        trial=f"{var}/run/trial.yaml",
        kept=kept,
        switch=f"assay-revert-{slug}",
        compose=project,
    )


def _slug(unit: str) -> str:
    """A unit's own name may have an @ or a backslash, which another unit's name would read otherwise."""
    slug = re.sub(r"[^A-Za-z0-9]+", "-", unit.removesuffix(".service"))[:40].strip("-")
    return f"{slug}-{hashlib.sha256(unit.encode()).hexdigest()[:8]}"


def drop_in(start: StartCommand, words: Sequence[str], *, remark: str) -> str:
    """The text of a drop-in that makes systemd start these words as it started those of `start`.

    `words` are as systemd holds them: `%` resolved, `$` not; so `$` stays as it is, and `%` is doubled.

    Raises:
        Refused: a prefix of the command is not known, or its program cannot be written.
    """
    unknown = sorted(set(start.flags) - _PREFIX.keys())
    if unknown:
        raise Refused(f"the unit's command has a prefix that assay does not know: {', '.join(unknown)}")
    prefix = "".join(_PREFIX[flag] for flag in start.flags)
    program = start.path
    if not program.startswith("/") or not re.fullmatch(r"[\w./+@:~-]+", program, re.ASCII):
        raise Refused(f"the program {program!r} cannot be written into a unit safely")
    if words[0] != program:
        prefix, program = f"{prefix}@", f"{program} {quote_systemd(words[0], dollars=False)}"
    rest = " ".join(quote_systemd(word, dollars=False) for word in words[1:])
    clean = "".join(each if each.isprintable() else " " for each in remark)
    return f"# {clean}\n[Service]\nExecStart=\nExecStart={prefix}{program} {rest}".rstrip(" ") + "\n"
