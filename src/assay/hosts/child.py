"""A server of this machine as a process of ours: its own session, so that it outlives us; found by a mark."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from assay.errors import CommandFailed

MARK = "ASSAY_START"
"""The variable that marks a process and all that it starts."""
# some programs write their title over their environment, where the mark stands; this forbids it
_KEEP_ENVIRONMENT = "SPT_NOENV"
_LINES, _TAIL_BYTES = 400, 256 << 10
_POLL_S = 0.1
_LISTENS = b"0A"
"""State of a socket in /proc/net/tcp."""


class Child:
    """One process, with its log."""

    def __init__(self, process: subprocess.Popen[bytes], log: Path) -> None:
        self._process = process
        self.log = log
        """Where its output goes."""

    @property
    def pid(self) -> int:
        """Its number; also that of its session."""
        return self._process.pid

    @property
    def status(self) -> int | None:
        """Its exit status, negative for a signal; `None` while it runs."""
        return self._process.poll()

    def let_go(self) -> None:
        """It goes on without us."""
        self._process.returncode = 0  # or its destructor would complain that it runs

    def lines(self) -> tuple[str, ...]:
        """The last lines of its log."""
        with self.log.open("rb") as stream:
            stream.seek(max(0, stream.seek(0, os.SEEK_END) - _TAIL_BYTES))
            return tuple(stream.read().decode("utf-8", "replace").splitlines()[-_LINES:])


def start_child(
    words: Sequence[str], *, environment: Mapping[str, str], folder: Path, log: Path, mark: str
) -> Child:
    """Start a command in a session of its own; Ctrl-C does not reach it, and our end does not end it.

    Args:
        words: program first; the program is looked for in the PATH of `environment`.
        environment: all of its variables; the mark is added.
        folder: its working folder.
        log: file for its output, which must not be there.
        mark: by which it is found again: `marked`. Empty: none.

    Raises:
        CommandFailed: it cannot be started.
    """
    variables = {**environment, _KEEP_ENVIRONMENT: "1", **({MARK: mark} if mark else {})}
    try:
        log.parent.mkdir(parents=True, exist_ok=True)
        with log.open("xb") as stream:
            process = subprocess.Popen(
                list(words),
                stdin=subprocess.DEVNULL,
                stdout=stream,
                stderr=subprocess.STDOUT,
                env=variables,
                cwd=folder,
                start_new_session=True,
            )
    except OSError as error:
        raise CommandFailed(f"{words[0]} cannot be started: {error.strerror}: {error.filename}") from error
    return Child(process, log)


def marked(mark: str) -> tuple[int, ...]:
    """Every process of that mark, and every other one of their sessions."""
    wanted = f"{MARK}={mark}".encode()
    every = tuple(_processes())
    found = {pid for pid in every if wanted in _read(pid, "environ").split(b"\0")}
    sessions = {_session(pid) for pid in found} - {os.getsid(0), 0}
    return tuple(sorted(found | {pid for pid in every if _session(pid) in sessions}))


def running(tail: Sequence[str]) -> tuple[int, ...]:
    """Processes whose words end with these, whatever starts them.

    Raises:
        ValueError: fewer than two words, which may be anybody's.
    """
    if len(tail) < 2:
        raise ValueError("two words at least were expected")
    wanted = [word.encode("utf-8", "surrogateescape") for word in tail]
    return tuple(
        pid for pid in _processes() if _read(pid, "cmdline").split(b"\0")[:-1][-len(wanted) :] == wanted
    )


def session_of(pid: int) -> tuple[int, ...]:
    """All processes of the session of one; of itself alone where that session is ours."""
    session = _session(pid)
    if session in (0, os.getsid(0)):
        return (pid,)
    return tuple(each for each in _processes() if _session(each) == session)


def environment_of(pid: int) -> dict[str, str]:
    """The variables that a process was started with; empty where they may not be read."""
    pairs = (each.partition(b"=") for each in _read(pid, "environ").split(b"\0") if b"=" in each)
    return {
        name.decode("utf-8", "surrogateescape"): value.decode("utf-8", "surrogateescape")
        for name, _, value in pairs
    }


def folder_of(pid: int) -> Path | None:
    """The working folder of a process."""
    with contextlib.suppress(OSError):
        return Path(os.readlink(f"/proc/{pid}/cwd"))
    return None


def listens(processes: Sequence[int], port: int) -> bool:
    """Whether one of these processes listens on that port of this machine."""
    inodes = set()
    for table in ("tcp", "tcp6"):
        for line in _text(Path("/proc/net") / table).splitlines()[1:]:
            fields = line.split()
            if fields[3] == _LISTENS and int(fields[1].rpartition(b":")[2], 16) == port:
                inodes.add(f"socket:[{int(fields[9])}]")
    return any(inodes & _open_files(pid) for pid in processes)


def end(processes: Sequence[int], *, patience_s: float) -> tuple[int, ...]:
    """Ask them to end, wait, then end them; those that are still there.

    A leader is asked first: its children end with it, most servers see to that.
    """
    left = [pid for pid in processes if _alive(pid)]
    for pid in left:
        if _session(pid) == pid or pid == left[0]:
            _send(pid, signal.SIGTERM)
    deadline = time.monotonic() + patience_s
    while (left := [pid for pid in processes if _alive(pid)]) and time.monotonic() < deadline:
        time.sleep(_POLL_S)
    for pid in left:
        _send(pid, signal.SIGKILL)
    deadline = time.monotonic() + 10
    while (left := [pid for pid in processes if _alive(pid)]) and time.monotonic() < deadline:
        time.sleep(_POLL_S)
    return tuple(left)


def _send(pid: int, what: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.kill(pid, what)


def _alive(pid: int) -> bool:
    """Whether it runs; one that has ended and was not waited for does not."""
    fields = _fields(pid)
    return bool(fields) and fields[0] not in (b"Z", b"X")


def _processes() -> Iterator[int]:
    with contextlib.suppress(OSError):
        for name in os.listdir("/proc"):
            if name.isdigit() and int(name) != os.getpid():
                yield int(name)


def _session(pid: int) -> int:
    fields = _fields(pid)
    return int(fields[3]) if len(fields) > 3 else 0


def _fields(pid: int) -> list[bytes]:
    """What stands behind the name in `stat`: state, parent, group, session."""
    return _read(pid, "stat").rpartition(b")")[2].split()


def _open_files(pid: int) -> set[str]:
    """What its file descriptors lead to."""
    found = set()
    folder = f"/proc/{pid}/fd"
    with contextlib.suppress(OSError):
        for name in os.listdir(folder):
            with contextlib.suppress(OSError):
                found.add(os.readlink(f"{folder}/{name}"))
    return found


def _read(pid: int, name: str) -> bytes:
    return _text(Path(f"/proc/{pid}/{name}"))


def _text(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""
