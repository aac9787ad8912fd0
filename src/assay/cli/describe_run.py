"""What `assay describe` does once it runs: look, compare, write."""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING

from assay import reports
from assay.cli.host_options import check_target, check_user, open_host
from assay.cli.progress import Reporter
from assay.deployment import compose_service
from assay.errors import InputError
from assay.facts import (
    CONTAINER_RUNTIMES,
    LiveDeployment,
    deployment_text,
    differences,
    read_live,
    read_live_container,
    read_live_url,
)

if TYPE_CHECKING:
    from pathlib import Path

    from assay.cli.describe import DescribeOptions


def described(target: str, options: DescribeOptions) -> tuple[str, int]:
    """What is to be printed, and the exit code."""
    if options.out is not None and options.out.exists():
        raise InputError(f"{options.out} is there already", hint="name another file, or take it away")
    with Reporter(sys.stderr) as progress:
        live, name = _read(target, options, progress)
    found = differences(live)
    code = int(bool(found))
    if options.json:
        return reports.live_json(live, found), code
    config = _config_file(options.out, live)
    text = reports.remarks(live, found) + deployment_text(live, name=name, config_file=config)
    if options.out is None:
        return text.rstrip("\n"), code
    if live.config_text is not None:
        _write(options.out.with_name(f"{options.out.stem}-config.json"), live.config_text)
    _write(options.out, text)
    return reports.described(live, found, str(options.out)), code


def _read(target: str, options: DescribeOptions, progress: Reporter) -> tuple[LiveDeployment, str]:
    check_user(target, options)
    if target.startswith(("http://", "https://")):
        progress(f"asking {target}", 0, None)
        with open_host(None, options) as host:
            return read_live_url(host, target), "served"
    runtime, colon, rest = target.partition(":")
    if colon and runtime in CONTAINER_RUNTIMES:
        name, _, where = rest.partition("@")
        progress(f"looking at {target}", 0, None)
        with open_host(where or None, options) as host:
            sudo = options.sudo and host.run(["id", "-u"]).checked().out.strip() != b"0"
            return read_live_container(host, runtime, name, sudo=sudo), re.sub(r"[^\w.-]", "-", name)
    other = "docker:CONTAINER@HOST, compose:PROJECT/SERVICE@HOST, or the URL of a server"
    unit, machine = check_target(target, other=other)
    progress(f"looking at {target}", 0, None)
    with open_host(machine, options) as host:
        sudo = options.sudo and host.run(["id", "-u"]).checked().out.strip() != b"0"
        live = read_live(host, unit, sudo=sudo, user=options.user)
    name = "/".join(compose_service(unit) or (unit.removesuffix(".service"),))
    return live, re.sub(r"[^\w.-]", "-", name)


def _config_file(out: Path | None, live: LiveDeployment) -> str | None:
    """What the deployment file names as its model's path."""
    if out is None or live.config_text is None:
        return None
    return f"{out.stem}-config.json"


def _write(path: Path, text: str) -> None:
    with path.open("x", encoding="utf-8", errors="replace") as stream:
        stream.write(text)
