"""A shell's process: fed on stdin, read on stdout and stderr, none of which waits for another."""

from __future__ import annotations

import collections
import contextlib
import os
import selectors
import subprocess
import time
from typing import TYPE_CHECKING, Literal

from assay.hosts.wire import Framed

if TYPE_CHECKING:
    from collections.abc import Sequence

_CHUNK = 1 << 16
_LAST_WORDS_S = 1.0

Frame = tuple[Literal["out", "err"], list[str]]


class Late(Exception):
    """Nothing was said in time."""


class Lost(Exception):
    """The other side fell silent for good before it had said all."""


class Conversation:
    """One process and what it says. Used as a context, it is ended when the block is left."""

    def __init__(self, command: Sequence[str], nonce: str, limit_bytes: int) -> None:
        """Raises OSError where the program cannot be started."""
        pipe = subprocess.PIPE
        # a session of its own: Ctrl-C is ours to handle, in order
        self._process = subprocess.Popen(
            list(command), stdin=pipe, stdout=pipe, stderr=pipe, start_new_session=True
        )
        assert self._process.stdin
        assert self._process.stdout
        assert self._process.stderr
        self._stdin = self._process.stdin
        self.out = Framed(nonce, limit_bytes)
        self.err = Framed(nonce, limit_bytes)
        self._frames: collections.deque[Frame] = collections.deque()
        self._unsent = memoryview(b"")
        self._last = False
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._process.stdout, selectors.EVENT_READ, "out")
        self._selector.register(self._process.stderr, selectors.EVENT_READ, "err")
        self._open = {"out", "err"}
        os.set_blocking(self._stdin.fileno(), False)

    def __enter__(self) -> Conversation:
        return self

    def __exit__(self, *reason: object) -> None:
        # not its group: a command may have left a server running on purpose
        self._process.kill()
        self._selector.close()
        with contextlib.suppress(BrokenPipeError):
            self._stdin.close()
        for stream in (self._process.stdout, self._process.stderr):
            assert stream
            stream.close()
        self._process.wait()

    def say(self, data: bytes, *, last: bool = False) -> None:
        """Send bytes, as the other side takes them; after the last ones it sees the end of its input."""
        waiting = bool(self._unsent)
        self._unsent = memoryview(bytes(self._unsent) + data)
        self._last = last
        if not waiting and not self._stdin.closed:
            self._selector.register(self._stdin, selectors.EVENT_WRITE, "in")

    def next_frame(self, deadline: float) -> Frame:
        """What is said next; `deadline` is by the monotonic clock.

        Raises:
            Late: nothing, until then.
            Lost: the process ended, or closed its stdout.
        """
        while not self._frames:
            if "out" not in self._open:
                raise Lost
            self._listen(deadline)
        return self._frames.popleft()

    def _listen(self, deadline: float) -> None:
        events = self._selector.select(max(0.0, deadline - time.monotonic()))
        if not events and time.monotonic() >= deadline:
            raise Late
        for key, _ in events:
            self._handle(key)

    def last_words(self) -> bytes:
        """What was said on stderr before the command, once all has come that will."""
        deadline = time.monotonic() + _LAST_WORDS_S
        with contextlib.suppress(Late):
            while "err" in self._open:
                self._listen(deadline)
        self.err.finish()
        return bytes(self.err.preamble)

    @property
    def heard_all_of_err(self) -> bool:
        """Whether stderr was closed."""
        return "err" not in self._open

    def _handle(self, key: selectors.SelectorKey) -> None:
        if key.data == "in":
            self._write()
            return
        data = os.read(key.fd, _CHUNK)
        if not data:
            self._selector.unregister(key.fileobj)
            self._open.discard(key.data)
            return
        name: Literal["out", "err"] = "out" if key.data == "out" else "err"
        stream = self.out if name == "out" else self.err
        self._frames.extend((name, words) for words in stream.feed(data))

    def _write(self) -> None:
        try:
            self._unsent = self._unsent[os.write(self._stdin.fileno(), self._unsent[:_CHUNK]) :]
        except BlockingIOError:
            return
        except BrokenPipeError:
            self._unsent, self._last = memoryview(b""), True
        if not self._unsent:
            self._selector.unregister(self._stdin)
            if self._last:
                with contextlib.suppress(BrokenPipeError):
                    self._stdin.close()
