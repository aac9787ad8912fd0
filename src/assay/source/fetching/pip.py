"""Fetches the wheel of a release with the user's own pip and all of its settings."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from assay.errors import EngineNotFound, InputError, SourceError
from assay.source.fetching.pip_failure import Attempt, failure_of, no_fitting_wheel
from assay.source.fetching.tool import run_tool

if TYPE_CHECKING:
    from assay.source.progress import Progress

TIMEOUT_S = 900.0
"""For all attempts together."""
_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?")
_VERSION = re.compile(r"[0-9A-Za-z][0-9A-Za-z.!+_-]*")
_ARCHITECTURES = ("x86_64", "aarch64")
_GLIBC_MINORS = range(40, 16, -1)
_PYTHONS = ("3.12", "3.11", "3.13", "3.10")


def fetch_wheel(
    name: str, version: str, into: Path, *, progress: Progress, timeout_s: float = TIMEOUT_S
) -> Path:
    """Download the wheel of one release into the folder `into`, whatever platform it was built for.

    The wheel for this machine is asked for first, then those for Linux servers: the engine is only read here.

    Raises:
        InputError: name or version is malformed.
        EngineNotFound: the index has no such package, version or wheel.
        SourceError: the index could not be reached or refused us; `details` ends pip's own words.
    """
    requirement = _requirement(name, version)
    pip = _find_pip()
    until = time.monotonic() + timeout_s
    attempts: list[Attempt] = []
    for number, tags in enumerate([(), *_server_tags()]):
        progress(f"fetch {requirement}", number, None)
        left = max(0.1, until - time.monotonic())
        attempt = _download(pip, requirement, tags, into, left)
        if attempt.code == 0:
            return _only_wheel(into, requirement)
        if (error := failure_of(attempt, requirement)) is not None:
            raise error
        attempts.append(attempt)
    raise no_fitting_wheel(attempts, name, version)


def _requirement(name: str, version: str) -> str:
    """The word for pip, which can be neither an option nor a URL."""
    if not _NAME.fullmatch(name) or not _VERSION.fullmatch(version):
        raise InputError(
            f"not a release: {name!r} in version {version!r}", hint="write it like sglang==0.5.10"
        )
    return f"{name}=={version}"


def _find_pip() -> tuple[str, ...]:
    if sys.executable and importlib.util.find_spec("pip") is not None:
        return (sys.executable, "-P", "-m", "pip")
    for name in ("pip3", "pip"):
        if found := shutil.which(name):
            return (found,)
    raise SourceError(
        "no pip here to fetch a release with: this Python has none, nor is pip3 or pip on the PATH",
        hint="install pip (python -m ensurepip), or name the file of a wheel: ./sglang-0.5.10-….whl",
    )


def _server_tags() -> list[tuple[str, ...]]:
    """Options that make pip take wheels for Linux servers, one set for each Python."""
    platforms = [
        f"--platform={tag}_{architecture}"
        for architecture in _ARCHITECTURES
        for tag in (*(f"manylinux_2_{minor}" for minor in _GLIBC_MINORS), "manylinux2014", "linux")
    ]
    return [("--implementation=cp", f"--python-version={python}", *platforms) for python in _PYTHONS]


def _download(
    pip: tuple[str, ...], requirement: str, tags: tuple[str, ...], into: Path, timeout_s: float
) -> Attempt:
    log = into / "pip.log"
    log.unlink(missing_ok=True)
    options = ("--no-input", "--no-color", "--disable-pip-version-check", f"--log={log}")
    command = (*pip, "download", *options, "--progress-bar=off", "--no-deps", "--only-binary=:all:")
    # pip's own temporary files go where they are removed even if it is killed
    environment = {**os.environ, "TMPDIR": str(into)}
    outcome = run_tool(
        (*command, *tags, f"--dest={into}", requirement), timeout_s=timeout_s, environment=environment
    )
    said = log.read_text(errors="replace") if log.exists() else ""
    return Attempt(code=outcome.code, err=outcome.err, log=said)


def _only_wheel(folder: Path, requirement: str) -> Path:
    wheels = sorted(folder.glob("*.whl"))
    if len(wheels) != 1:
        found = ", ".join(path.name for path in wheels) or "none"
        raise EngineNotFound(f"pip fetched no single wheel for {requirement}: {found}")
    return wheels[0]
