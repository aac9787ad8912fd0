"""Progress on stderr: a line that moves on a terminal, a few plain lines elsewhere."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from types import TracebackType

_QUIET_S = 0.5
"""Work that is done sooner shows nothing."""
_EVERY_S = 0.1
"""How often a terminal's line is drawn again."""


class Reporter:
    """A `Progress` for people: says what takes long, and nothing of what does not."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._terminal = stream.isatty()
        self._began = time.monotonic()
        self._drawn = 0.0
        self._said = ""
        self._shown = False

    def __enter__(self) -> Reporter:
        """Start the clock."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Leave a clean line."""
        if self._shown and self._terminal:
            self._stream.write("\r\x1b[K")
            self._stream.flush()

    def __call__(self, stage: str, done: int, total: int | None) -> None:
        """Show the stage, and how far it is where the whole is known."""
        now = time.monotonic()
        if now - self._began < _QUIET_S:
            return
        if not self._terminal:
            if stage != self._said:
                self._said = stage
                print(f"assay: {stage} ...", file=self._stream, flush=True)
        elif now - self._drawn >= _EVERY_S:
            self._drawn = now
            share = f" {100 * done // total} %" if total else ""
            text = f"assay: {stage}{share}"
            self._stream.write(f"\r\x1b[K{text[:78]}")
            self._stream.flush()
            self._shown = True
