"""How far a rung is, on stderr: a line that moves on a terminal, a few plain lines elsewhere."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, TextIO

from assay.reports import harmless

if TYPE_CHECKING:
    from types import TracebackType

    from assay.bench import Level, Report

_QUIET_S = 5.0
"""Silence of the server that is worth a word."""


class BenchProgress:
    """Says rate, requests in flight and time left of each rung; names a stall."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._terminal = stream.isatty()
        self._level: Level | None = None
        self._began = 0.0
        self._quiet = self._silent = False
        self._drawn = False

    def __enter__(self) -> BenchProgress:
        """Nothing is shown yet."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Leave a clean line."""
        self.clear()

    def __call__(self, level: Level, report: Report) -> None:
        """Show it."""
        now = time.monotonic()
        if level is not self._level:
            self._level, self._began = level, now
            self._quiet = self._silent = False
            if not self._terminal:
                self._line(f"assay: {level.name}: {level.requests} requests ...")
        quiet = report.quiet_s >= _QUIET_S
        if self._terminal:
            self._draw(_text(level, report, now - self._began))
        elif quiet and not self._quiet:
            self._line(
                f"assay: {level.name}: nothing has come for {report.quiet_s:.0f} s, "
                f"{report.in_flight} in flight"
            )
        elif report.silent and not self._silent and not quiet:
            self._line(f"assay: {level.name}: {_some_silent(report)}")
        self._quiet, self._silent = quiet, report.silent > 0

    def clear(self) -> None:
        """Take the moving line away."""
        if self._drawn:
            self._stream.write("\r\x1b[K")
            self._stream.flush()
            self._drawn = False

    def _draw(self, text: str) -> None:
        self._stream.write(f"\r\x1b[K{harmless(text)[:79]}")
        self._stream.flush()
        self._drawn = True

    def _line(self, text: str) -> None:
        print(harmless(text), file=self._stream, flush=True)


def _some_silent(report: Report) -> str:
    return f"{report.silent} of {report.in_flight} requests in flight brought nothing for 5 s"


def _text(level: Level, report: Report, elapsed: float) -> str:
    ended = report.done + report.failed
    text = f"{level.name}: {ended}/{level.requests}, {report.in_flight} in flight"
    if report.failed:
        text += f", {report.failed} failed"
    if report.quiet_s >= _QUIET_S:
        return f"{text}, nothing has come for {report.quiet_s:.0f} s"
    if report.silent:
        text += f", {report.silent} silent"
    if ended and elapsed > 0:
        rate = ended / elapsed
        text += f", {rate:.3g} req/s, {max(0, level.requests - ended) / rate:.0f} s left"
    return text
