"""`assay drift`: what an upgrade of the engine does to a command."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from assay.cli.lint import output_width

Switch = Annotated[bool, Parameter(negative=(), show_default=False)]


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class DriftOptions:
    """Options of `assay drift`.

    Parameters
    ----------
    deployment
        The file that has the command: a deployment file, unit, script, compose file or manifest.
    all
        Name every new, gone and changed option, not only count those that the command does not have.
    json
        Every change as JSON (docs/reference/drift-json.md).
    cache
        Folder for fetched sources. Default: ASSAY_CACHE, or the user's cache folder.
    """

    deployment: Annotated[Path, Parameter(alias="-d")]
    all: Switch = False
    json: Switch = False
    cache: Path | None = None


def drift(older: str, newer: str, /, *, options: DriftOptions) -> int:
    """Say what going from one version of the engine to another does to a command.

    It compares what both versions declare: options that are gone or have another
    name, other defaults, choices and types, variables. What start-up code makes of
    them is not looked at. Exit code 0: the command starts and means the same;
    1: it would fail or mean something else; 2 and more: it could not be done.

    Parameters
    ----------
    older
        The version that the command is for: `sglang==0.5.10`, a folder, `installed:PATH`, `image:REF`.
    newer
        The version that it may go to, likewise.
    """
    from assay import reports  # loaded only when it runs: `--help` stays fast
    from assay.cli.progress import Reporter
    from assay.deployment import parse_engine
    from assay.drift import open_drift
    from assay.source import default_cache

    with Reporter(sys.stderr) as progress:
        found = open_drift(
            parse_engine(older),
            parse_engine(newer),
            options.deployment,
            environment=os.environ,
            home=Path.home(),
            cache=options.cache or default_cache(os.environ),
            progress=progress,
        )
    style = reports.Style(width=output_width())
    print(reports.drift_json(found) if options.json else reports.drift_text(found, style, every=options.all))
    return int(found.to_act_on)
