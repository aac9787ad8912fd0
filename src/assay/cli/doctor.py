"""`assay doctor`: whether everything is there that the other verbs need."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from assay.cli.host_options import HostOptions

Switch = Annotated[bool, Parameter(negative=(), show_default=False)]


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class DoctorOptions(HostOptions):
    """Options of `assay doctor`.

    Parameters
    ----------
    engine
        Engine whose source is fetched, instead of the file's: `sglang==0.5.9`, a folder, `installed:PATH`.
    journal
        The journal. Default: ASSAY_JOURNAL, or `journal.sqlite` in the user's state folder.
    cache
        Folder for fetched sources. Default: ASSAY_CACHE, or the user's cache folder.
    json
        The list of checks as JSON (docs/reference/doctor-json.md).
    """

    engine: str | None = None
    journal: Path | None = None
    cache: Path | None = None
    json: Switch = False


def doctor(target: str | None = None, *, options: DoctorOptions | None = None) -> int:
    """Check the set-up end to end, and say what to fix. Nothing is changed.

    This machine: Python, cache, engine's source, journal, ssh. With a target
    also that machine: connection, root, systemd, tools, disks, clock, the unit,
    its journal, and a token from its server. Exit code 0: nothing has to be
    fixed; 1: something has.

    Parameters
    ----------
    target
        A deployment file, or `UNIT@HOST`. Default: only this machine is looked at.
    """
    from assay.cli import doctor_run  # loaded only when it runs: `--help` stays fast

    text, code = doctor_run.examined(target, options or DoctorOptions())
    print(text)
    return code
