"""The options of `assay tune` beside those of the load, and of `assay history` and `show`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from assay.cli.rollout_options import Switch, UndoOptions


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class TuneOptions(UndoOptions):
    """Options of `assay tune`.

    Parameters
    ----------
    hours
        Budget: hours of starts and measurements, all together. The confirmation's share is kept.
    downtime
        Budget: hours that the service may be without a token, all together. Default: no limit of its own.
    start_minutes
        What one start and its measurement takes, until the first one was made or an earlier study knows.
    only
        Try your own candidates only, none of the engine's table.
    lossy
        Your word that options may be tried that make answers less precise (8-bit caches, quantisation).
    no_quality
        Do not look at the quality of answers.
    search
        What proposes the next start: assay's own search, or Optuna's TPE, which needs hundreds of starts and
        so a server that starts in seconds (pip install 'assay[optuna]').
    questions
        Your own questions with what is right, one JSON object a line, asked of the server before and after.
    primary
        The load at which the gain must be shown, as `concurrency 16`. Default: the one with most requests.
    margin
        A loss up to this share at any load is none that matters.
    keep
        Leave the service running with what was shipped. Default: it is left as it was.
    watch
        With --keep, of a unit: minutes to watch the change, while its users are served, before it is kept.
    resume
        Go on with the last study of this deployment that has not ended.
    unchecked
        Do not ask the engine's source what each value does here; by its declarations only.
    switch
        Of a unit: seconds after which the machine takes a change back by itself if assay is not heard of.
    hold
        Of a unit: how many seconds a start must go on giving tokens before it is measured.
    base_url
        The server as it is reached from here. Default: where it listens there, through ssh.
    stop_timeout
        How many seconds the server may take to stop.
    engine
        Engine to ask about instead of the file's: `sglang==0.5.9`, a folder, `installed:PATH`, `image:REF`.
    cache
        Folder for fetched sources. Default: ASSAY_CACHE, or the user's cache folder.
    result_dir
        Folder of the results. Default: assay-tune-ID.
    why
        For what reason: for the journal.
    approved_by
        Who agreed: for the journal.
    json
        What came of it as JSON (docs/reference/tune-json.md).
    """

    hours: float = 8.0
    downtime: float | None = None
    start_minutes: float = 15.0
    only: Switch = False
    lossy: Switch = False
    no_quality: Annotated[Switch, Parameter(name="--no-quality")] = False
    search: Literal["assay", "optuna"] = "assay"
    questions: Path | None = None
    primary: str | None = None
    margin: float = 0.03
    keep: Switch = False
    watch: float | None = None
    resume: Switch = False
    unchecked: Switch = False
    switch: int = 120
    hold: float = 10.0
    base_url: str | None = None
    stop_timeout: float = 300.0
    engine: str | None = None
    cache: Path | None = None
    result_dir: Path | None = None
    why: str = ""
    approved_by: str = ""
    json: Switch = False


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class HistoryOptions:
    """Options of `assay history` and `assay show`.

    Parameters
    ----------
    journal
        The journal. Default: ASSAY_JOURNAL, or `journal.sqlite` in the user's state folder.
    json
        The answer as JSON (docs/reference/tune-json.md).
    """

    journal: Path | None = None
    json: Switch = False
