"""Runs another program: without a shell, with a time limit, and ended when we end."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
from typing import IO, TYPE_CHECKING

from assay._value import Value
from assay.errors import SourceError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

_GRACE_S = 5.0


class Outcome(Value):
    """How a program ended."""

    code: int
    """Its exit status; negative for a signal."""
    out: str
    """What it wrote to stdout."""
    err: str
    """What it wrote to stderr."""


@contextlib.contextmanager
def running(
    command: Sequence[str],
    *,
    out: IO[bytes] | int,
    err: IO[bytes] | int,
    stdin: int = subprocess.DEVNULL,
    environment: Mapping[str, str] | None = None,
) -> Iterator[subprocess.Popen[bytes]]:
    """The program, in a session of its own; all of it is ended if this block is left before it ended."""
    process = subprocess.Popen(
        list(command),
        stdin=stdin,
        stdout=out,
        stderr=err,
        env=dict(environment) if environment is not None else None,
        start_new_session=True,
    )
    with process:
        try:
            yield process
        finally:
            _end(process)


def _end(process: subprocess.Popen[bytes]) -> None:
    for number in (signal.SIGTERM, signal.SIGKILL):
        if process.poll() is not None:
            return
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, number)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(_GRACE_S)


def run_tool(
    command: Sequence[str], *, timeout_s: float, environment: Mapping[str, str] | None = None
) -> Outcome:
    """Run to its end, with nothing on stdin.

    Raises:
        SourceError: it could not be started, or took longer than `timeout_s`.
    """
    pipe = subprocess.PIPE
    try:
        with running(command, out=pipe, err=pipe, environment=environment) as process:
            out, err = process.communicate(timeout=timeout_s)
    except OSError as error:
        raise SourceError(f"cannot run {command[0]}: {error.strerror}") from error
    except subprocess.TimeoutExpired as error:
        raise SourceError(
            f"{name_of(command)} took longer than {timeout_s:,.0f} s and was ended",
            hint="try again when the network is better",
            details=last_lines((error.stderr or b"").decode(errors="replace")),
        ) from error
    return Outcome(
        code=process.returncode, out=out.decode(errors="replace"), err=err.decode(errors="replace")
    )


def name_of(command: Sequence[str]) -> str:
    """What to call a command in a message: `pip download`, `docker create`."""
    words = list(command)
    if "-m" in words:
        words = words[words.index("-m") + 1 :]
    return " ".join([words[0].rsplit("/", 1)[-1], *words[1:2]])


def last_lines(text: str, count: int = 8) -> tuple[str, ...]:
    """The last lines that say something, without secrets."""
    lines = [line.rstrip()[:500] for line in text.splitlines() if line.strip()]
    return tuple(redact(line) for line in lines[-count:])


def redact(text: str) -> str:
    """The text with whatever in its URLs may be a secret replaced by `****`.

    >>> redact("https://user:t0ken@host.example/simple/?key=1")
    'https://****@host.example/simple/?****'
    """
    text = re.sub(r"://[^/\s'\"]*@", "://****@", text)
    text = re.sub(r"(://[^\s'\"?#]*)[?#][^\s'\")]*", r"\1?****", text)
    return re.sub(r"://[^\s'\"]+", lambda match: _TOKEN.sub("/****", match[0]), text)


_TOKEN = re.compile(r"/(?=[A-Za-z_-]*[0-9])(?=[0-9_-]*[A-Za-z])[A-Za-z0-9_-]{20,}(?=/|$)")
