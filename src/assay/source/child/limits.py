"""Runs a job on untrusted source in a child process with limits; whatever becomes of it is an answer."""

from __future__ import annotations

import os
import re
import selectors
import signal
import subprocess
import sys
import time
from collections import deque
from typing import IO, cast

import msgspec

from assay import errors
from assay._value import Value
from assay.errors import AssayError, SourceError
from assay.source.fetching.tool import last_lines, running
from assay.source.progress import Progress, no_progress

_NOTE = re.compile(rb"file (\d+) of (\d+) (.*)")
_CHUNK = 1 << 16


class Limits(Value):
    """What a job may use."""

    memory_bytes: int = 4 << 30
    """Address space."""
    cpu_s: int = 180
    """Processor seconds."""
    wall_s: float = 600.0
    """Seconds from start to end."""
    reply_bytes: int = 256 << 20
    """Length of its reply."""
    recursion: int = 3000
    """Depth of Python calls."""


def run_limited(
    job: str, request: bytes, *, limits: Limits | None = None, progress: Progress = no_progress
) -> bytes:
    """The job's reply to a request.

    Raises:
        AssayError: the one that the job raised.
        SourceError: it crashed or exceeded a limit; the message names the file that it was reading.
    """
    from assay.source.child.job import LIMITS

    limits = limits or Limits()
    head = LIMITS.pack(limits.memory_bytes, limits.cpu_s, limits.recursion, len(request))
    # -P: the current folder, which may be the untrusted source itself, is no place to import from
    command = (sys.executable, "-P", "-m", "assay.source.child.job", job)
    pipe = subprocess.PIPE
    with running(command, out=pipe, err=pipe, stdin=pipe) as process:
        conversation = _Conversation(process, head + request, limits, progress)
        conversation.hold()
        code = process.wait()
    return conversation.result(code)


class _Conversation:
    """What is said to one child and heard from it."""

    def __init__(
        self, process: subprocess.Popen[bytes], request: bytes, limits: Limits, progress: Progress
    ) -> None:
        self._process = process
        self._request = memoryview(request)
        self._limits = limits
        self._progress = progress
        self._reply = bytearray()
        self._line = b""
        self._said: deque[bytes] = deque(maxlen=20)
        self._file = ""
        self._broken = ""

    def hold(self) -> None:
        """Write the request and read both outputs until they end or a limit is exceeded."""
        until = time.monotonic() + self._limits.wall_s
        with selectors.DefaultSelector() as selector:
            self._register(selector)
            while selector.get_map() and not self._broken:
                left = until - time.monotonic()
                if left <= 0:
                    self._broken = f"took longer than {self._limits.wall_s:,.0f} s"
                for key, _ in selector.select(max(0.0, left)):
                    if not key.data(key.fd):
                        selector.unregister(key.fileobj)
                        cast("IO[bytes]", key.fileobj).close()
        if self._broken:
            self._process.kill()

    def _register(self, selector: selectors.BaseSelector) -> None:
        pipes = (self._process.stdin, self._process.stdout, self._process.stderr)
        stdin, stdout, stderr = (cast("IO[bytes]", pipe) for pipe in pipes)
        os.set_blocking(stdin.fileno(), False)
        selector.register(stdin, selectors.EVENT_WRITE, self._ask)
        selector.register(stdout, selectors.EVENT_READ, self._hear_reply)
        selector.register(stderr, selectors.EVENT_READ, self._hear_notes)

    def _ask(self, descriptor: int) -> bool:
        try:
            self._request = self._request[os.write(descriptor, self._request[:_CHUNK]) :]
        except BrokenPipeError:
            return False
        return len(self._request) > 0

    def _hear_reply(self, descriptor: int) -> bool:
        data = os.read(descriptor, _CHUNK)
        self._reply += data
        if len(self._reply) > self._limits.reply_bytes + 1:
            self._broken = f"gave a reply of more than {self._limits.reply_bytes:,} bytes"
        return len(data) > 0

    def _hear_notes(self, descriptor: int) -> bool:
        data = os.read(descriptor, _CHUNK)
        *lines, self._line = (self._line + data).split(b"\n")
        self._line = self._line[-_CHUNK:]
        for line in lines:
            if note := _NOTE.fullmatch(line):
                self._file = note[3].decode("utf-8", "surrogateescape")
                self._progress("read", int(note[1]), int(note[2]) or None)
            else:
                self._said.append(line)
        return len(data) > 0

    def result(self, code: int) -> bytes:
        """The reply, or the error that it stands for."""
        kind, content = bytes(self._reply[:1]), bytes(self._reply[1:])
        if self._broken or code != 0 or kind not in (b"=", b"!", b"m"):
            raise self._failure(self._broken or _ending(code, self._limits))
        if kind == b"m":
            raise self._failure(_exhausted(content, self._limits))
        if kind == b"!":
            raise _relayed(content)
        return content

    def _failure(self, what: str) -> SourceError:
        where = f" while it read {self._file}" if self._file else ""
        said = b"\n".join([*self._said, self._line]).decode(errors="replace")
        return SourceError(
            f"the reader of the engine's source {what}{where}",
            hint="look at that file: is it damaged, or meant to harm? If it is neither, report this",
            details=last_lines(said),
        )


def _ending(code: int, limits: Limits) -> str:
    """How a child ended that said nothing itself."""
    if code >= 0:
        return f"failed with status {code}"
    if -code == signal.SIGXCPU:
        return f"took more than {limits.cpu_s:,} CPU seconds"
    try:
        name = signal.Signals(-code).name
    except ValueError:
        name = f"signal {-code}"
    return {"SIGKILL": "was killed (SIGKILL): out of memory?"}.get(name, f"crashed ({name})")


def _exhausted(content: bytes, limits: Limits) -> str:
    if content == b"MemoryError":
        return f"needed more than {limits.memory_bytes:,} bytes of memory"
    return f"met code nested deeper than {limits.recursion:,} calls"


def _relayed(content: bytes) -> AssayError:
    """The error that the job raised."""
    name, message, hint, details = msgspec.msgpack.decode(content, type=tuple[str, str, str, tuple[str, ...]])
    kind = getattr(errors, name, SourceError)
    if not (isinstance(kind, type) and issubclass(kind, AssayError)):
        kind = SourceError
    return kind(message, hint=hint, details=details)
