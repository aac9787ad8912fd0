"""What a measured server is held against: the deployment that it should be, and earlier runs of it."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING

from assay.bench import (
    Doubt,
    Meant,
    RunFile,
    RunInfo,
    Secret,
    Target,
    asked_who,
    identity_doubts,
    read_arm,
    summary_json,
    work_of,
)
from assay.deployment import read_target
from assay.engines import find_server, model_of, pretends, value_of
from assay.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from assay.engines import Server


def other_than_meant(path: Path | None, where: Target, key: Secret | None) -> tuple[Doubt, ...]:
    """Why it is not the server that a deployment file means; nothing, and nobody asked, where none is named.

    Raises:
        InputError: the file cannot be read, or starts no server, or several.
    """
    return () if path is None else tuple(identity_doubts(asked_who(where, key), meant_by(path)))


def meant_by(path: Path) -> Meant:
    """The server that a deployment file means.

    Raises:
        InputError: the file cannot be read, or starts no server, or several.
    """
    target = read_target(path, environment=os.environ, home=Path.home())
    if target.deployment is None:
        raise InputError(f"--deployment {path}: no deployment file", hint="`assay describe` writes one")
    servers = [server for launch in target.launches if (server := find_server(launch)) is not None]
    if len(servers) != 1:
        raise InputError(f"--deployment {path}: it starts {len(servers)} servers that assay knows")
    words = [word.text for word in servers[0].launch.words if word.known]
    live = target.deployment.live
    return Meant(
        engine=servers[0].engine.name,
        model=(live.model if live else None)
        or value_of(words, "--served-model-name")
        or model_of(words)
        or "",
        pretends=pretends(words, _environment(servers[0])),
        by=str(path),
    )


def _environment(server: Server) -> dict[str, str]:
    return {each.name: each.value for each in server.launch.environment if each.known}


def earlier_runs(name: str | None, info: RunInfo) -> tuple[RunFile, ...]:
    """The runs that `--baseline` names.

    Raises:
        InputError: they cannot be read, or were asked something else.
    """
    if name is None:
        return ()
    runs = read_arm(name)
    work = work_of(json.loads(summary_json(info, ())))
    for run in runs:
        if run.tool != "assay bench":
            raise InputError(
                f"--baseline: {run.path} is of {run.tool}", hint="result files of assay bench go there"
            )
        different = _different(work, run)
        if different:
            raise InputError(
                f"--baseline: {run.path} was asked something else: {', '.join(different)}",
                hint="measure with the same options as then, or name no baseline",
            )
    return runs


def _different(work: dict[str, str], run: RunFile) -> Sequence[str]:
    return [
        name
        for name, value in work.items()
        if any(each.work.get(name, "") != value for each in run.measurements)
    ]
