"""The options of `assay try` beside those of the load: each is stated once."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated  # noqa: F401 -- cyclopts looks it up here for inherited fields

from cyclopts import Parameter

from assay.cli.rollout_options import ChangeOptions, Switch


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class TryOptions(ChangeOptions):
    """Options of `assay try`.

    Parameters
    ----------
    keep
        Keep the change once both arms are measured, whatever the figures say. Never where it did not take.
    revert
        Take it back once both arms are measured. Default: a terminal is asked, else it is taken back.
    in_place
        With UNIT@HOST: this service may be restarted. A deployment file says so itself, in [trials].
    engine
        Engine to ask about instead of the file's: `sglang==0.5.9`, a folder, `installed:PATH`, `image:REF`.
    base_url
        The server as it is reached from here. Default: where it listens there, through ssh.
    result_dir
        Folder of the results. Default: assay-try-ID.
    json
        What came of it as JSON (docs/reference/try-json.md).
    """

    keep: Switch = False
    revert: Switch = False
    in_place: Switch = False
    engine: str | None = None
    base_url: str | None = None
    result_dir: Path | None = None
    json: Switch = False
