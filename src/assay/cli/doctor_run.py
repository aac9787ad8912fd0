"""What `assay doctor` does once it runs: look at this machine, then at the target's."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
import tempfile
import urllib.parse
from pathlib import Path
from typing import TYPE_CHECKING

from assay import __version__, reports
from assay.cli.host_options import check_target, check_user, open_host
from assay.cli.noting import journal_path, who
from assay.cli.progress import Reporter
from assay.deployment import EngineReference, Live, load_deployment, not_run, parse_engine, read_target
from assay.engines import find_server
from assay.errors import InputError, JournalError, Refused
from assay.journal import Journal
from assay.rollout import Check, check_machine, check_permission, checked
from assay.source import default_cache, open_tree, read

if TYPE_CHECKING:
    from collections.abc import Iterator

    from assay.cli.doctor import DoctorOptions
    from assay.deployment import Deployment
    from assay.engines import Engine
    from assay.hosts import Host

_LITTLE_MIB = 500
"""A release, unpacked and read, takes about 60 MiB."""


def examined(target: str | None, options: DoctorOptions) -> tuple[str, int]:
    """What is to be printed, and the exit code."""
    if target is not None and not target.endswith(".toml"):
        check_target(target)
    check_user(target or "", options)
    with Reporter(sys.stderr) as progress:

        def told(checks: Iterator[Check]) -> Iterator[Check]:
            for each in checks:
                progress(each.name, 0, None)
                yield each

        found = tuple(told(_all(target, options)))
    text = reports.checks_json(found) if options.json else reports.checks_text(found)
    return text, int(any(each.status == "failed" for each in found))


def _all(target: str | None, options: DoctorOptions) -> Iterator[Check]:
    yield checked("python", _python)
    cache = options.cache or default_cache(os.environ)
    yield checked("cache", lambda: _cache(cache))
    yield checked("journal file", lambda: _journal(options.journal))
    live, deployment = None, None
    if target and target.endswith(".toml"):
        loaded = checked("deployment", lambda: f"{target} is in order: {_loaded(target).name}")
        yield loaded
        if loaded.status == "ok":
            deployment = _loaded(target)
            live = deployment.live
            yield checked("permission", lambda: _permission(deployment))
    elif target:
        unit, host = check_target(target)
        live = Live(unit=unit, user=options.user, host=host)
    engine = parse_engine(options.engine) if options.engine else deployment.engine if deployment else None
    if engine is not None:
        yield checked("source", lambda: _source(engine, cache, target if deployment is not None else None))
    if live is None:
        if not target:
            yield checked("ssh", _ssh)
        return
    yield from _there(live, options)


def _there(live: Live, options: DoctorOptions) -> Iterator[Check]:
    if live.host is not None:
        client = checked("ssh", _ssh)
        yield client
        if client.status == "failed":
            return
    with open_host(live.host, options) as host:
        found = list(check_machine(host, live))
        yield from found
        if live.host is not None and found[0].status == "ok":
            yield checked("tunnel", lambda: _tunnel(host, live))


def _python() -> str:
    return f"{platform.python_version()} runs assay {__version__}"


def _cache(folder: Path) -> str | Check:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=folder):
            left = shutil.disk_usage(folder).free >> 20
    except OSError as error:
        raise InputError(f"{folder}: {error.strerror}", hint="--cache or ASSAY_CACHE name another") from None
    if left < _LITTLE_MIB:
        fix = "free some, or name another by --cache"
        return Check(name="cache", status="warning", message=f"{folder}: {left} MiB are left", fix=fix)
    return f"{folder} can be written, {left >> 10} GiB are left"


def _journal(named: Path | None) -> str:
    """Opened as a verb would, without an entry; one is begun if there is none."""
    path = named or journal_path()
    if not path.exists():
        parent = next(each for each in path.absolute().parents if each.exists())
        try:  # rights alone do not tell: root has them all, also where nothing can be written
            with tempfile.NamedTemporaryFile(dir=parent):
                pass
        except OSError as error:
            raise JournalError(
                f"{path} cannot be begun: {parent}: {error.strerror}",
                hint="--journal or ASSAY_JOURNAL name another",
            ) from None
        return f"{path} will be begun"
    with Journal(path, who=who()) as opened:
        return f"{path}: {len(opened.entries())} entries"


def _loaded(target: str) -> Deployment:
    return load_deployment(Path(target), environment=os.environ, home=Path.home())


def _permission(deployment: Deployment) -> str | Check:
    try:
        live = check_permission(deployment)
    except Refused as error:
        return Check(name="permission", status="warning", message=error.message, fix=error.hint)
    return f"{live.unit} may be restarted: {deployment.trials.where}"


def _source(engine: EngineReference, cache: Path, file: str | None) -> str:
    """Fetched and read; of a deployment file it is that of the engine which the command starts."""
    started = None if file is None else _started(file)
    tree = open_tree(not_run(engine), engine=started, cache=cache)
    declarations = read(tree, cache=cache)
    return f"{tree.engine} {tree.version} ({tree.origin}): {len(declarations.options)} options"


def _started(file: str) -> Engine:
    launches = read_target(Path(file), environment=os.environ, home=Path.home()).launches
    servers = [server for launch in launches if (server := find_server(launch)) is not None]
    if not servers:
        raise InputError(f"{file} starts no server that assay knows", hint="see its `command`")
    return servers[0].engine


def _ssh() -> str:
    """OpenSSH's client, which says its version on stderr."""
    try:
        command = ["ssh", "-V"]
        said = subprocess.run(command, capture_output=True, check=False, timeout=10, text=True)
    except OSError as error:
        raise InputError(f"ssh: {error.strerror}", hint="install the OpenSSH client") from None
    return said.stderr.strip()[:80]


def _tunnel(host: Host, live: Live) -> str:
    """`assay try` measures through one. Any port will do: that of a server that listens nowhere, too."""
    there = urllib.parse.urlsplit(live.url or "")
    with host.reach(there.hostname or "127.0.0.1", there.port or 22) as (address, port):
        return f"a port there is to be had here, at {address}:{port}"
