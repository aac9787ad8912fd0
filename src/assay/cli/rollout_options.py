"""The options of `assay apply`, `status`, `promote` and `rollback`: each is stated once."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from assay.cli.host_options import HostOptions

Switch = Annotated[bool, Parameter(negative=(), show_default=False)]


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class StatusOptions(HostOptions):
    """Options of `assay status`.

    Parameters
    ----------
    json
        The answer as JSON (docs/reference/rollout-json.md).
    """

    json: Switch = False


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class UndoOptions(StatusOptions):
    """Options of `assay rollback`, and of the verbs that may end with it.

    Parameters
    ----------
    dry_run
        Say what would be done; change nothing, journal nothing.
    ready_timeout
        How many seconds a token may take to come after a restart.
    journal
        The journal. Default: ASSAY_JOURNAL, or `journal.sqlite` in the user's state folder.
    """

    dry_run: Switch = False
    ready_timeout: float = 1800.0
    journal: Path | None = None


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class PromoteOptions(UndoOptions):
    """Options of `assay promote`.

    Parameters
    ----------
    watch
        Minutes to watch it before it is kept, while its users are served: errors, latency, tokens a step of
        speculation, answers. Outside the range that it was proven in it is taken back.
    proven
        Results of the change that say that range, as `assay compare` takes them. Default: those of the study
        that proved it.
    switch
        Seconds after which the machine takes the change back by itself if the watch is not heard of.
    base_url
        The server as it is reached from here. Default: where it listens there, through ssh.
    """

    watch: float | None = None
    proven: str | None = None
    switch: int = 120
    base_url: str | None = None


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class ChangeOptions(UndoOptions):
    """Options of the verbs that change a command: `assay apply`, `assay try`.

    Parameters
    ----------
    without
        An option to take away, with or without its dashes. May be given several times.
    why
        For what reason: for the journal.
    approved_by
        Who agreed: for the journal.
    switch
        Seconds after which the machine takes the change back by itself if assay is not heard of.
    stop_timeout
        How many seconds the old server may take to stop.
    hold
        How many seconds the new one must go on giving tokens.
    unchecked
        Do not ask the engine's source first whether it takes the changed command.
    cache
        Folder for fetched sources. Default: ASSAY_CACHE, or the user's cache folder.
    """

    without: Annotated[tuple[str, ...], Parameter(negative=())] = ()
    why: str = ""
    approved_by: str = ""
    switch: int = 120
    stop_timeout: float = 300.0
    hold: float = 10.0
    unchecked: Switch = False
    cache: Path | None = None


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class ApplyOptions(ChangeOptions):
    """Options of `assay apply`.

    Parameters
    ----------
    trial
        Seconds that the change then stays unless it is promoted.
    also
        Another deployment file whose service gets the same change, after the first one; may be given several
        times. If one fails, all are taken back.
    """

    trial: int = 3600
    also: Annotated[tuple[Path, ...], Parameter(negative=())] = ()
