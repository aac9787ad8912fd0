"""A port of a machine behind ssh, to be had on this machine's loopback for a while."""

from __future__ import annotations

import contextlib
import os
import select
import socket
import subprocess
import tempfile
import time
from typing import IO, TYPE_CHECKING

from assay.errors import HostError, InputError, Unreachable
from assay.hosts.ssh_failure import unreachable

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_TRIES = 3
# of two settings of one name ssh takes the first; forwards of the user's own may be in use elsewhere
_OWN = tuple(
    word
    for setting in ("ClearAllForwardings=no", "ExitOnForwardFailure=no", "ControlPath=none")
    for word in ("-o", setting)
)
_MARK = b"assay-tunnel-is-up\n"
# it ends with our end of its stdin, so it does not outlive an assay that was killed
_HOLD = f"printf '{_MARK.decode().strip()}\\n'; exec cat >/dev/null"


@contextlib.contextmanager
def tunnel(
    ssh: Sequence[str], name: str, to: tuple[str, int], *, limit_s: float
) -> Iterator[tuple[str, int]]:
    """Address and port here that lead to `to` there, over an ssh of its own.

    `ssh` are the words of the client with its options; what they say of forwardings is overruled.

    Raises:
        Unreachable: no connection.
        HostError: no port was to be had.
        InputError: the address is none.
    """
    address, port = to
    if not address or any(each.isspace() or each in "'\"/[]" for each in address):
        raise InputError(f"{address!r} is not an address that a server listens on")
    there = f"[{address}]:{port}" if ":" in address else f"{address}:{port}"
    for _ in range(_TRIES):
        here = _free_port()
        command = (ssh[0], *_OWN, *ssh[1:], "-L", f"127.0.0.1:{here}:{there}", "-T", "--", name, _HOLD)
        with tempfile.TemporaryFile() as said:
            process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=said, start_new_session=True
            )
            try:
                _wait_until_up(process, name, said, limit_s)
                if str(here).encode() not in _text(said):  # else somebody else was quicker to listen there
                    yield "127.0.0.1", here
                    return
            finally:
                _end(process)
    raise HostError(f"{name}: no port of this machine was to be had for a tunnel", hint="try again")


def _free_port() -> int:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port


def _wait_until_up(process: subprocess.Popen[bytes], name: str, said: IO[bytes], limit_s: float) -> None:
    assert process.stdout is not None, "it was asked for"
    deadline = time.monotonic() + limit_s
    seen = b""
    while _MARK not in seen:
        part = _read_soon(process.stdout, deadline)
        if part is None:
            raise Unreachable(f"{name}: no tunnel after {limit_s:g} s")
        if not part:
            process.wait()
            raise unreachable(name, _text(said).decode("utf-8", "replace"))
        seen = (seen + part)[-65536:]


def _read_soon(stream: IO[bytes], deadline: float) -> bytes | None:
    """What comes next; empty at the end, None where nothing comes in time."""
    ready, _, _ = select.select([stream], [], [], max(0.0, deadline - time.monotonic()))
    return os.read(stream.fileno(), 4096) if ready else None


def _text(said: IO[bytes]) -> bytes:
    said.seek(0)
    return said.read(65536)


def _end(process: subprocess.Popen[bytes]) -> None:
    for stream in (process.stdin, process.stdout):
        if stream is not None:
            stream.close()
    process.terminate()
    try:
        process.wait(5)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
