"""The compact file that keeps every request of a rung and every arrival, column by column."""

from __future__ import annotations

import gzip
import sys
from array import array
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, pairwise
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, get_type_hints

import msgspec

from assay._value import Value
from assay.bench.records import RequestRecord
from assay.errors import InputError

RECORDS_SCHEMA = "assay.bench.records/2"

_BLOCK = 256
"""So many requests are in memory at once."""
_WORD = 8
_MOST_BYTES = 1 << 31
"""No block is larger."""
_SERIES = ("events_ns", "tokens_at_event", "backlog_ns")
_TYPES = {name: kind for name, kind in get_type_hints(RequestRecord).items() if name not in _SERIES}
_Columns = msgspec.defstruct("_Columns", [(name, list[kind]) for name, kind in _TYPES.items()])  # type: ignore[valid-type]


class _Series(msgspec.Struct, array_like=True):
    """One list of whole numbers a request, all of a block together."""

    lengths: list[int]
    data: bytes
    """Signed words of 64 bits, all first bytes, all second bytes and so on: most are zeros in a row."""


class _Block(msgspec.Struct):
    columns: _Columns  # type: ignore[valid-type]  # made above, from RequestRecord's own fields
    events: _Series
    """Gaps: from the send to the first arrival, then from one to the next."""
    tokens: _Series
    waited: _Series


class RecordFile(Value):
    """All requests of a rung, warm-ups left out; they are read from the file each time."""

    schema: str = RECORDS_SCHEMA
    rung: str
    """Which rung, as the summary names it."""
    began_ns: int
    """CLOCK_MONOTONIC at the start of the clock."""
    ended_ns: int
    path: str = ""
    """Where it lies."""

    @property
    def records(self) -> Iterator[RequestRecord]:
        """Each request, in the order in which they were to be sent."""
        decoder = msgspec.msgpack.Decoder(_Block)
        with gzip.open(self.path) as file:
            _part(file)
            while data := _part(file):
                yield from _rows(decoder.decode(data))


def read_records(path: Path) -> RecordFile:
    """Open it.

    Raises:
        InputError: it is none, or of another version of assay.
    """
    try:
        with gzip.open(path) as file:
            found = msgspec.msgpack.decode(_part(file), type=RecordFile)
    except (OSError, EOFError, msgspec.DecodeError) as error:
        raise InputError(
            f"{path}: no file of records: {error}", hint="NAME.rungN.records of assay bench"
        ) from None
    if found.schema != RECORDS_SCHEMA:
        raise InputError(f"{path}: {found.schema}, {RECORDS_SCHEMA} was expected")
    return msgspec.structs.replace(found, path=str(path))


class RecordWriter:
    """Writes a file of records block by block (gzip over MessagePack); it appears when it is whole."""

    def __init__(self, path: Path, head: RecordFile) -> None:
        self._path, self._part = path, path.with_name(f"{path.name}.part")
        self._raw = self._part.open("wb")
        self._file = gzip.GzipFile(fileobj=self._raw, mode="wb", compresslevel=4, mtime=0, filename="")
        self._rows: list[RequestRecord] = []
        self._encoder = msgspec.msgpack.Encoder()
        self._put(self._encoder.encode(head))

    def __enter__(self) -> RecordWriter:
        """Nothing more to be done."""
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: BaseException | TracebackType | None) -> None:
        """Make it whole, or away with it."""
        if kind is None:
            self._end_block()
        self._file.close()
        self._raw.close()
        if kind is None:
            self._part.replace(self._path)
        else:
            self._part.unlink()

    def add(self, record: RequestRecord) -> None:
        """Write one more, soon."""
        self._rows.append(record)
        if len(self._rows) >= _BLOCK:
            self._end_block()

    def _end_block(self) -> None:
        rows, self._rows = self._rows, []
        if rows:
            self._put(self._encoder.encode(_block(rows)))

    def _put(self, data: bytes) -> None:
        self._file.write(len(data).to_bytes(4, "little") + data)


def _part(file: gzip.GzipFile | BinaryIO) -> bytes:
    """The next part, or nothing at the end.

    Raises:
        EOFError: it is cut off.
    """
    size = file.read(4)
    length = int.from_bytes(size, "little")
    if length > _MOST_BYTES:
        raise EOFError("a part is too large")
    data = file.read(length)
    if len(data) < length:
        raise EOFError("it is cut off")
    return data


def _block(rows: Sequence[RequestRecord]) -> _Block:
    return _Block(
        _Columns(**{name: [getattr(row, name) for row in rows] for name in _TYPES}),
        _series([_gaps(row) for row in rows]),
        _series([row.tokens_at_event for row in rows]),
        _series([row.backlog_ns for row in rows]),
    )


def _gaps(row: RequestRecord) -> list[int]:
    return [b - a for a, b in pairwise((row.sent_ns, *row.events_ns))]


def _series(lists: Sequence[Sequence[int]]) -> _Series:
    words = array("q", chain.from_iterable(lists))
    if sys.byteorder == "big":
        words.byteswap()
    raw = words.tobytes()
    return _Series(list(map(len, lists)), b"".join(raw[at::_WORD] for at in range(_WORD)))


def _lists(series: _Series) -> Iterator[list[int]]:
    count = len(series.data) // _WORD
    raw = bytearray(len(series.data))
    for at in range(_WORD):
        raw[at::_WORD] = series.data[at * count : (at + 1) * count]
    words = array("q", bytes(raw))
    if sys.byteorder == "big":
        words.byteswap()
    begin = 0
    for length in series.lengths:
        yield words[begin : begin + length].tolist()
        begin += length


def _rows(block: _Block) -> Iterator[RequestRecord]:
    columns: dict[str, list[Any]] = msgspec.structs.asdict(block.columns)
    series: Iterable[tuple[list[int], ...]] = zip(
        _lists(block.events), _lists(block.tokens), _lists(block.waited), strict=True
    )
    for values, (gaps, tokens, waited) in zip(zip(*columns.values(), strict=True), series, strict=True):
        record = RequestRecord(**dict(zip(columns, values, strict=True)))
        at = record.sent_ns
        for gap in gaps:
            at += gap
            record.events_ns.append(at)
        record.tokens_at_event, record.backlog_ns = tokens, waited
        yield record
