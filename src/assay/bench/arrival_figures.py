"""What the arrivals of all responses add up to, taken in one response at a time so that none must be kept."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Sequence

from assay.bench.level import Level
from assay.bench.records import RequestRecord
from assay.stats import Tally

WINDOWS = 200
"""Into so many the part under full load is divided."""
_NS = 1_000_000_000


class ArrivalFigures:
    """Gaps, waits and token rates of a rung."""

    def __init__(self, level: Level, sent_ns: Iterable[int]) -> None:
        """`sent_ns` are the send times of all requests that will be taken in."""
        sent = sorted(sent_ns)
        opening = 0 if level.open else min(level.concurrency or 0, len(sent)) - 1
        self.events = 0
        """Of completed requests."""
        self.received = 0
        """Of all."""
        self.unstamped_reads = 0
        self.mismatched = 0
        """Completed requests with more events with text than tokens."""
        self.gaps = Tally()
        """Between arrivals of completed requests, ns."""
        self.waits = Tally()
        """How long reads waited for the client, ns."""
        self.seconds = _Rate(sent[0] if sent else 0, _NS)
        """Tokens in each second from the first send on."""
        first, last = (sent[opening], sent[-1]) if sent else (0, 0)
        self.full_load = _Rate(first, (last - first) // WINDOWS)
        """Tokens in each window under full load: from the end of the opening burst to the last send."""

    def take(self, record: RequestRecord) -> None:
        """Take in one request."""
        events = record.events_ns
        self.received += len(events)
        self.unstamped_reads += record.unstamped_reads
        self.waits.add(record.backlog_ns)
        if not record.ok:
            return
        self.events += len(events)
        self.gaps.add(record.gaps_ns)
        tokens = record.completion_tokens
        if tokens is None:
            return
        self.mismatched += len(events) > tokens or max(record.tokens_at_event, default=0) > tokens
        self.seconds.add(events, tokens)
        self.full_load.add(events, tokens)


class _Rate:
    """Tokens by windows of equal width; those of a response are spread evenly over its events."""

    def __init__(self, began_ns: int, width_ns: int) -> None:
        self.began_ns, self.width_ns = began_ns, width_ns
        self._tokens: defaultdict[int, float] = defaultdict(float)

    def add(self, events: Sequence[int], tokens: int) -> None:
        """Add the tokens of a response, whose events are in order."""
        if self.width_ns <= 0:
            return
        began, width = self.began_ns, self.width_ns
        each, done = tokens / len(events), 0
        while done < len(events):
            window = (events[done] - began) // width
            end = bisect_left(events, began + (window + 1) * width, done)
            self._tokens[window] += (end - done) * each
            done = end

    @property
    def most(self) -> float:
        """Tokens of the fullest window."""
        return max(self._tokens.values(), default=0.0)

    def windows(self, count: int) -> list[float]:
        """Tokens in each of the first so many windows."""
        return [self._tokens.get(number, 0.0) for number in range(count)]
