"""Why a server did not start or stay, named from how its unit ended and from its log lines; pure."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Literal

from assay._value import Value

if TYPE_CHECKING:
    from collections.abc import Sequence

    from assay.hosts import UnitState

FailureKind = Literal[
    "unknown-argument",
    "out-of-memory",
    "nccl",
    "port-in-use",
    "missing-file",
    "bad-unit",
    "start-limit",
    "killed",
    "crash-loop",
    "exited",
    "never-ready",
    "no-token",
    "not-stopped",
    "beaten",
    "hook",
]
_SIGNS: tuple[tuple[FailureKind, str], ...] = (
    ("start-limit", r"Start request repeated too quickly"),
    (
        "unknown-argument",
        r"unrecognized arguments|invalid choice|error: argument |ambiguous option|error: the foll",
    ),
    ("out-of-memory", r"OutOfMemoryError|CUDA out of memory|Not enough memory|oom-kill|Out of memory: Kill"),
    ("nccl", r"NCCL error|ncclSystemError|ncclUnhandled|DistBackendError|ncclInternalError"),
    ("port-in-use", r"[Aa]ddress already in use|EADDRINUSE|\[Errno 98\]"),
    ("missing-file", r"FileNotFoundError|No such file or directory|Failed to locate executable"),
)
"""In the order in which they count: a port in use is often the second thing that is said."""
_RAISED = re.compile(r"^(?!.*\b(?:INFO|WARNING)\b).*\b[A-Z]\w*(?:Error|Exception): \S")
"""What Python says of an error that nobody caught; of several the first: the others follow from it."""
_SAYS: dict[FailureKind, str] = {
    "unknown-argument": "the engine does not take its command line",
    "out-of-memory": "memory ran out",
    "nccl": "the processes could not talk to each other (NCCL)",
    "port-in-use": "its port is in use",
    "missing-file": "a file is missing",
    "bad-unit": "systemd does not take the unit",
    "start-limit": "systemd gave up starting it",
    "killed": "it was killed",
    "crash-loop": "it dies and is started again and again",
    "exited": "it ended",
    "never-ready": "it did not get ready in time",
    "no-token": "it answers and generates no token",
    "not-stopped": "it did not stop in time",
    "beaten": "another drop-in decides what is started",
    "hook": "a hook of the deployment file failed",
}
LINES = 12
"""Log lines that are shown."""
_LONGEST = 600


class Failure(Value):
    """Why a start came to nothing."""

    kind: FailureKind
    """Which way."""
    message: str
    """In words."""
    lines: tuple[str, ...] = ()
    """Log lines: the one that shows it first, then the last ones. Not masked yet."""


def name_failure(state: UnitState, lines: Sequence[str], *, late: FailureKind | None = None) -> Failure:
    """The failure that a unit's state and its log of this start show.

    `late` is what to call it if it still runs: `never-ready` or `no-token`.
    """
    kind, sign = _sign(lines)
    runs = state.main_pid is not None and state.active_state in ("active", "activating")
    if state.load_state not in ("loaded", "not-found"):
        kind, sign = "bad-unit", state.load_error
    elif late is not None and runs and not state.restarts:
        # a server that still runs may have said anything on its way
        kind, sign = late, None
    elif kind is None:
        kind = _by_exit(state)
    return Failure(kind=kind, message=f"{_SAYS[kind]}{_exit(state)}", lines=_shown(lines, sign))


def name_exit(lines: Sequence[str], *, status: int | None, late: FailureKind | None = None) -> Failure:
    """The failure of a process that no systemd watches, from its log and how it ended.

    Args:
        lines: its log.
        status: its exit status, negative for a signal; `None` while it runs.
        late: what to call it if it still runs.
    """
    kind, sign = _sign(lines)
    if late is not None and status is None:
        kind, sign = late, None
    elif kind is None:
        kind = "killed" if status is not None and status < 0 else "exited"
        sign = _raised(lines) or (lines[-1] if lines else None)
    ended = "" if status is None else f" (signal {-status})" if status < 0 else f" (exit status {status})"
    return Failure(kind=kind, message=f"{_SAYS[kind]}{ended}", lines=_shown(lines, sign))


def _raised(lines: Sequence[str]) -> str | None:
    """The line that names an error, with the line of its text that follows it indented, if one does."""
    for at, line in enumerate(lines):
        if _RAISED.search(line):
            more = [each for each in lines[at + 1 : at + 2] if each[:1].isspace()]
            return " ".join([line, *(each.strip() for each in more)])
    return None


def _shown(lines: Sequence[str], sign: str | None) -> tuple[str, ...]:
    """The line that shows it, then the last ones."""
    last = [one for one in lines[-LINES:] if one != sign]
    return tuple(line[:_LONGEST] for line in ([sign] if sign else []) + last)


def _sign(lines: Sequence[str]) -> tuple[FailureKind | None, str | None]:
    for kind, pattern in _SIGNS:
        found = [line for line in lines if re.search(pattern, line)]
        if found:
            return kind, found[-1]
    return None, None


def _by_exit(state: UnitState) -> FailureKind:
    if state.result == "oom-kill":
        return "out-of-memory"
    if state.exit_status == 203:
        return "missing-file"
    if state.restarts:
        return "crash-loop"
    return "killed" if state.exit_kind in ("killed", "dumped") else "exited"


def _exit(state: UnitState) -> str:
    if state.exit_status is None or state.exit_kind == "none":
        return ""
    word = "exit status" if state.exit_kind == "exited" else "signal"
    return f" ({word} {state.exit_status})"


def parse_journal(out: bytes) -> tuple[str, ...]:
    """Reads the messages of `journalctl -o json -a`, oldest first.

    A message that is no UTF-8 comes as a list of bytes; lines that are no JSON are left out.
    """
    lines = []
    for each in out.splitlines():
        try:
            message = json.loads(each).get("MESSAGE")
        except (ValueError, AttributeError, RecursionError):
            continue
        if isinstance(message, list) and all(isinstance(byte, int) and 0 <= byte < 256 for byte in message):
            message = bytes(message).decode("utf-8", "replace")
        if isinstance(message, str):
            lines.append(message)
    return tuple(lines)
