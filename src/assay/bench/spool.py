"""The files into which workers record while the clock runs, read back one exchange at a time."""

from __future__ import annotations

import os
import struct
from array import array
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import BinaryIO

import msgspec

from assay.bench.job import Exchange

HEAD = struct.Struct("<IIq")
"""In front of each exchange: its bytes, its place in the rung, and when it was sent (0: never)."""
PIECE = 1 << 20
"""Bytes that are written at once: more would keep reads waiting."""


class SpoolWriter:
    """Takes exchanges as they end; writes them a piece at a time."""

    def __init__(self, file: int) -> None:
        self._file = file
        self._encoder = msgspec.msgpack.Encoder()
        self._parts: deque[bytes] = deque()
        self.waiting = 0
        """Bytes that are not written yet."""

    def add(self, exchange: Exchange) -> None:
        """Take one."""
        data = self._encoder.encode(exchange)
        self._parts += (HEAD.pack(len(data), exchange.index, exchange.sent_ns), data)
        self.waiting += HEAD.size + len(data)

    def write(self) -> None:
        """Write about a piece."""
        parts, size = [], 0
        while self._parts and size < PIECE:
            parts.append(self._parts.popleft())
            size += len(parts[-1])
        self.waiting -= size
        data = memoryview(b"".join(parts))
        while data:
            data = data[os.write(self._file, data) :]


class Spool:
    """What the workers of a rung recorded; only where each exchange lies is held in memory."""

    def __init__(self, paths: Sequence[Path]) -> None:
        self._paths = tuple(paths)
        self._places = _Places()
        for number, path in enumerate(paths):
            if path.exists():
                with path.open("rb") as file:
                    self._places.walk(file, number, path.stat().st_size)
        self._order = sorted(range(len(self._places.index)), key=self._places.index.__getitem__)

    def sent_ns(self, begin: int = 0) -> list[int]:
        """Send times from that place in the rung on, in the rung's order."""
        index, sent = self._places.index, self._places.sent_ns
        return [sent[at] for at in self._order if index[at] >= begin]

    def exchanges(self) -> Iterator[Exchange]:
        """What was sent, in the order of the rung."""
        decoder, places = msgspec.msgpack.Decoder(Exchange), self._places
        with ExitStack() as stack:
            files = [stack.enter_context(path.open("rb")) if path.exists() else None for path in self._paths]
            for at in self._order:
                file = files[places.file[at]]
                assert file is not None
                file.seek(places.start[at])
                yield decoder.decode(file.read(places.size[at]))


class _Places:
    """Where each exchange that was sent lies; plain arrays, since there are many."""

    def __init__(self) -> None:
        self.index, self.sent_ns, self.file, self.start, self.size = (array("q") for _ in range(5))

    def walk(self, file: BinaryIO, number: int, length: int) -> None:
        """Add those of one file; a cut-off end is left out."""
        at = 0
        while at + HEAD.size <= length:
            file.seek(at)
            size, index, sent_ns = HEAD.unpack(file.read(HEAD.size))
            at += HEAD.size
            if sent_ns and at + size <= length:
                for column, value in zip(
                    (self.index, self.sent_ns, self.file, self.start, self.size),
                    (index, sent_ns, number, at, size),
                    strict=True,
                ):
                    column.append(value)
            at += size
