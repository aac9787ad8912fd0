"""The user's own copy of a unit's file: written when a change is kept there, or taken back."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import TYPE_CHECKING

from assay import reports
from assay.cli.noting import tell
from assay.deployment import Edit, UserFile, read_user_file
from assay.diagnostics import write_edits
from assay.errors import HostError, InputError, Refused

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from assay.deployment import Live
    from assay.hosts import Host
    from assay.rollout import Look


def own_file(deployment: Path, live: Live) -> UserFile | None:
    """What `unit_file` of a deployment file names, from that file's folder on; None where it names none.

    Raises:
        InputError: it cannot be read.
    """
    if live.unit_file is None:
        return None
    return read_user_file(deployment.absolute().parent / Path(live.unit_file).expanduser())


@contextlib.contextmanager
def kept_in_step(
    host: Host, look: Callable[[], Look], own: UserFile | None, *, dry_run: bool
) -> Iterator[None]:
    """A block that changes the unit's own file there: it is the same here before, and is written here after.

    Raises:
        Refused: it is not the same; nothing was changed.
        HostError: the one there cannot be read.
    """
    if own is not None:
        _check_same(host, look(), own)
    yield
    if own is not None and not dry_run:
        _follow(host, look(), own)


def _check_same(host: Host, look: Look, own: UserFile) -> None:
    if _there(host, look) != own.text:
        raise Refused(
            f"{own.path} is not {look.machine.layout.kept} as it is on {host.name}",
            hint="bring one to the other without a restart, then try again; leave unit_file out to act there "
            "only: assay then says what it did",
        )


def _follow(host: Host, look: Look, own: UserFile) -> None:
    """Write here what stands there now; that it cannot be written is said, as the machine is done."""
    try:
        new = _there(host, look)
        edit = Edit(file=own.path, start=0, end=len(own.text), text=new)
        differences = write_edits((own,), (edit,)) if new != own.text else ()
    except (HostError, InputError) as error:
        where = f"{host.name}:{look.machine.layout.kept}"
        tell(reports.harmless(f"assay: {error.message}; copy {where} over {own.path} by hand"))
        return
    if differences:
        tell(reports.harmless(f"assay: {own.path} is written as it is there now"))


def _there(host: Host, look: Look) -> str:
    data = host.read(look.machine.layout.kept, sudo=look.machine.sudo)
    return data.decode("utf-8", "surrogateescape")
