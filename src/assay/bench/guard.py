"""Finds responses that never end or fall silent, so that one bad stream ends neither run nor memory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from assay.bench.connection import Connection
from assay.bench.job import Fate, Job

_READS, _READS_A_TOKEN = 1000, 16
"""So many reads a response may take, and more for each token asked for."""
_BYTES, _BYTES_A_TOKEN = 32 << 20, 16 << 10
_BYTES_A_PAIR = 16
"""Routes that send all text again in each event: so many for each pair of tokens."""
_UNKNOWN_TOKENS = 65536
_HELD = 2 << 30
"""Bytes of all responses under way; above it none may hold more than its share and what it may need."""
_LOOKED_AT = 8
"""Responses with fewer reads than this hold at most half a megabyte."""

_SILENT_NS = 5_000_000_000
_SURELY_NEWS = 256
"""A read longer than this is no mere comment."""

Ending = tuple[Connection, Fate, str]


class Guard:
    """Looks at the connections a few times a second."""

    def __init__(self, job: Job) -> None:
        self._tokens, self._stall_ns = job.output_tokens, int(job.stall_s * 1e9)
        self._sizes: dict[int, tuple[int, int]] = {}

    def last_news(self, connections: Iterable[Connection]) -> int:
        """When something came that was more than a comment that keeps a connection open; 0: never."""
        return max(
            (each.stamps[-1] for each in connections if each.reads and _news(each.reads[-1])), default=0
        )

    def silent(self, connections: Iterable[Connection], now: int) -> int:
        """How many responses under way brought nothing for five seconds."""
        return sum(
            now - (each.stamps[-1] if each.stamps else each.sent_ns) > _SILENT_NS
            for each in connections
            if each.state == "busy"
        )

    def endings(self, connections: Iterable[Connection], now: int) -> Iterator[Ending]:
        """Exchanges that are to end now, with the reason."""
        busy = [each for each in connections if each.state == "busy" and each.index >= 0]
        long = [each for each in busy if len(each.reads) > _LOOKED_AT]
        held = {each.index: self._size(each) for each in long}
        self._sizes = {index: size for index, size in self._sizes.items() if index in held}
        crowded = sum(held.values()) > _HELD
        for each in long:
            tokens = self._asked(each)
            most = _BYTES + tokens * (_BYTES_A_TOKEN + _BYTES_A_PAIR * tokens)
            if crowded:
                most = min(most, max(_HELD // len(busy), self._due(each)))
            if held[each.index] > most or len(each.reads) > _READS + _READS_A_TOKEN * tokens:
                size, reads = held[each.index] / 1e6, len(each.reads)
                yield each, "endless", f"{size:.1f} MB in {reads} reads, and no end"
        for each in busy:
            if each.stamps and now - each.stamps[-1] > self._stall_ns:
                silent = (now - each.stamps[-1]) / 1e9
                yield each, "silent", f"nothing came for {silent:.0f} s in the midst of the response"

    def _due(self, each: Connection) -> int:
        """Bytes that an honest answer may have, at the very most."""
        tokens = self._tokens[each.index] if each.index < len(self._tokens) else 0
        return (64 << 10) + tokens * (4096 + _BYTES_A_PAIR // 2 * tokens)

    def _asked(self, each: Connection) -> int:
        tokens = self._tokens[each.index] if each.index < len(self._tokens) else 0
        return tokens or _UNKNOWN_TOKENS

    def _size(self, each: Connection) -> int:
        """Bytes of a response so far; each read is counted once."""
        count, size = self._sizes.get(each.index, (0, 0))
        size += sum(map(len, each.reads[count:]))
        self._sizes[each.index] = (len(each.reads), size)
        return size


def _news(data: bytes) -> bool:
    return len(data) > _SURELY_NEWS or b"data" in data
