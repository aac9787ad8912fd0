"""From the raw record of an exchange to what became of the request; pure."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from itertools import accumulate, count, repeat
from operator import add, gt, sub

import msgspec

from assay.bench.events import Chunk, EventSplitter, Generation, Usage
from assay.bench.framing import Framing
from assay.bench.job import Exchange
from assay.bench.records import Outcome, RequestRecord

_OK = 200
_DECODER = msgspec.json.Decoder(Chunk)
_MANY = msgspec.json.Decoder(list[Chunk])
_SHOWN = 300
_BODY_KEPT = 4096


def parsed(exchange: Exchange, offset_ns: int | None, secrets: Sequence[str] = ()) -> RequestRecord:
    """The record of one request.

    `offset_ns` is CLOCK_REALTIME minus CLOCK_MONOTONIC; `None` uses the stamps of the reads alone. `secrets`
    are taken out of what the server says.
    """
    reader = _Reader(exchange, offset_ns)
    if not reader.took_plain():
        reader = _Reader(exchange, offset_ns)
        reader.take_reads()
    record = reader.finished()
    for secret in secrets:
        record.error = record.error.replace(secret, "***")
    return record


def arrivals(exchange: Exchange, offset_ns: int | None) -> tuple[list[int], list[int]]:
    """Arrival of each read, and how long each that the kernel stamped had waited.

    A stamp of the kernel later than the read itself, or earlier than the one before, is none: the read's own
    takes its place, as it does where there is no stamp (Linux begins to stamp a moment after it was asked).
    """
    reads = exchange.stamps_ns
    if offset_ns is None:
        return reads, []
    words = array("q", exchange.kernel)
    stamps = [
        seconds * 1_000_000_000 + more - offset_ns
        for seconds, more in zip(words[::2], words[1::2], strict=True)
    ]
    in_order = not any(map(gt, stamps, stamps[1:])) and not any(map(gt, stamps, reads))
    if in_order and all(words[::2]):
        return stamps, list(map(sub, reads, stamps))
    found, waited, before = [], [], 0
    for read_ns, stamp, seconds in zip(reads, stamps, words[::2], strict=True):
        at = read_ns
        if seconds:
            at = max(before, min(stamp, read_ns))
            waited.append(read_ns - at)
        found.append(at)
        before = at
    return found, waited


class _Body(Framing):
    """A response whose body is kept, read by read."""

    def __init__(self) -> None:
        super().__init__()
        self.parts: list[bytes] = []
        self.encoded = False

    def on_body(self, body: bytes) -> None:
        self.parts.append(body)

    def on_header(self, name: bytes, value: bytes) -> None:
        super().on_header(name, value)
        self.encoded |= name.lower() == b"content-encoding" and value.lower() != b"identity"

    def taken(self) -> bytes:
        data = b"".join(self.parts)
        self.parts.clear()
        return data


class _Reader:
    """Reads one response from its start to its end."""

    def __init__(self, exchange: Exchange, offset_ns: int | None) -> None:
        self._exchange = exchange
        self._stamps, backlog = arrivals(exchange, offset_ns)
        self._body = _Body()
        self._events = EventSplitter()
        self._plain = b""
        self._done = False
        self._any = False
        self._broken = ""
        self._failure = ""
        self._text = ""
        stamps = self._stamps or [0]
        self.record = RequestRecord(
            index=exchange.index,
            connection=exchange.connection,
            retries=exchange.retries,
            nth_on_connection=exchange.nth_on_connection,
            due_ns=exchange.due_ns,
            sent_ns=exchange.sent_ns,
            first_byte_ns=stamps[0],
            last_byte_ns=stamps[-1],
            outcome="ok",
            backlog_ns=backlog,
            unstamped_reads=len(exchange.sizes) - len(backlog),
            events_ns=[],
            tokens_at_event=[],
        )

    def took_plain(self) -> bool:
        """Take a response of the usual form at once; whether it was one, else nothing is to be kept.

        That is a whole one with status 200, events of one line `data: {…}`, a blank line after each, and
        `[DONE]` last. A blank line of the body ends at the same byte of the raw response, and chunks can only
        add some to it: as many in both means that they are the same.
        """
        exchange, body = self._exchange, self._body
        if exchange.fate != "complete":
            return False
        body.feed(exchange.data)
        data = body.taken()
        plain = body.done and not body.error and body.status == _OK and not body.encoded
        if not (plain and data.startswith(b"data: {") and data.endswith(b"\n\ndata: [DONE]\n\n")):
            return False
        parts = exchange.data.split(b"\n\n")
        if b"\r" in data or b"\n\n\n" in data or len(parts) - 1 != data.count(b"\n\n"):
            return False
        try:
            chunks = _MANY.decode(b"[" + data[6:-16].replace(b"\n\ndata: ", b",") + b"]")
        except (msgspec.DecodeError, UnicodeDecodeError):
            return False
        if len(chunks) != len(parts) - 2:
            return False
        self._any = self._done = True
        record, text = self.record, 0
        for at_ns, chunk in zip(self._ends(parts), chunks, strict=False):
            said = chunk.only_text
            if said:
                record.events_ns.append(at_ns)
                text += said
                record.first_answer_ns = record.first_answer_ns or at_ns
            else:
                self._chunk(at_ns, chunk)
        record.text_chars += text
        return True

    def _ends(self, parts: Sequence[bytes]) -> Iterator[int]:
        """Arrival of the end of each part, the blank line behind it included."""
        edges = list(accumulate(self._exchange.sizes))
        ends = map(add, accumulate(map(len, parts[:-1])), count(2, 2))
        return map(self._stamps.__getitem__, map(bisect_left, repeat(edges), ends))

    def take_reads(self) -> None:
        """Take a response read by read, whatever it is."""
        at = 0
        for number, size in enumerate(self._exchange.sizes):
            self._take(number, self._exchange.data[at : at + size])
            at += size

    def _take(self, number: int, data: bytes) -> None:
        self._body.feed(data)
        body = self._body.taken()
        if len(self._plain) < _BODY_KEPT:
            self._plain += body[:_BODY_KEPT]
        if self._body.status == _OK and body:
            for event in self._events.feed(body):
                self._event(self._stamps[number], event)

    def _event(self, at_ns: int, data: bytes) -> None:
        self._any = True
        if data == b"[DONE]":
            self._done = True
            return
        try:
            chunk = _DECODER.decode(data)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            self._broken = self._broken or f"an event is not as expected: {error}"
            return
        self._chunk(at_ns, chunk)

    def _chunk(self, at_ns: int, chunk: Chunk) -> None:
        self._failure = self._failure or chunk.failure
        if chunk.meta_info is not None:
            self._generated(at_ns, chunk.text or "", chunk.meta_info)
            return
        text, reasoning, call = chunk.said()
        record = self.record
        if text or reasoning or call:
            record.events_ns.append(at_ns)
            if (text or call) and not record.first_answer_ns:
                record.first_answer_ns = at_ns
            record.text_chars += text
            record.reasoning_chars += reasoning
            if chunk.usage is not None and chunk.usage.completion_tokens is not None:
                record.tokens_at_event.append(chunk.usage.completion_tokens)
        record.finish_reason = chunk.finish or record.finish_reason
        if chunk.usage is not None:
            self._usage(chunk.usage)

    def _generated(self, at_ns: int, text: str, state: Generation) -> None:
        """An event of `/generate`: it brought tokens where the server's count grew.

        Without a count, where its text is not the one before. Text comes whole each time, or only the new.
        """
        record, before = self.record, self._text
        count, known = state.completion_tokens, record.completion_tokens or 0
        grew = bool(text and text != before) if count is None else count > known
        if grew:
            record.events_ns.append(at_ns)
            record.first_answer_ns = record.first_answer_ns or at_ns
            if count is not None:
                record.tokens_at_event.append(count)
        whole = text.startswith(before) and not (grew and text == before)
        record.text_chars = len(text) if whole else record.text_chars + len(text)
        self._text = text or before
        record.prompt_tokens = state.prompt_tokens or record.prompt_tokens
        record.completion_tokens = record.completion_tokens if count is None else count
        record.cached_tokens = record.cached_tokens if state.cached_tokens is None else state.cached_tokens
        record.reasoning_tokens = state.reasoning_tokens or record.reasoning_tokens
        record.accept_length = state.spec_accept_length or record.accept_length
        record.finish_reason = state.ending.type or record.finish_reason

    def _usage(self, usage: Usage) -> None:
        record = self.record
        record.prompt_tokens = usage.prompt_tokens
        record.completion_tokens = usage.completion_tokens
        record.cached_tokens = usage.cached
        record.reasoning_tokens = usage.reasoning

    def finished(self) -> RequestRecord:
        record = self.record
        if self._exchange.sizes:
            record.status = self._body.status
        record.outcome, error = self._outcome()
        record.error = error[:_SHOWN]
        if len(record.tokens_at_event) != len(record.events_ns):
            record.tokens_at_event = []
        return record

    def _outcome(self) -> tuple[Outcome, str]:
        """What it counts as, and why; the gravest first."""
        fate, detail = self._exchange.fate, self._exchange.detail
        if fate == "unfinished":
            return "unfinished", detail or "we stopped before it ended"
        if fate in ("endless", "silent"):
            return fate, detail
        if fate == "garbage" or self._body.error:
            return "garbage", detail or self._body.error
        if fate in ("closed", "reset", "unreachable") and not self._exchange.sizes:
            return "connection", detail or "closed before any byte came"
        if self._body.head and self._body.status != _OK:
            return "http_error", f"{self._body.status}: {self._plain.decode('utf-8', 'replace').strip()}"
        if self._failure:
            return "error_in_stream", self._failure
        if fate != "complete":
            return "truncated", detail or "the connection was closed within the response"
        return self._of_whole_response()

    def _of_whole_response(self) -> tuple[Outcome, str]:
        if self._body.encoded:
            return "garbage", "the response is compressed although we asked for none"
        if self._broken:
            return "garbage", self._broken
        if not self._any and self._plain.strip():
            return "garbage", f"no stream of events: {self._plain.decode('utf-8', 'replace').strip()}"
        if not self.record.events_ns:
            return "empty", "a stream without any text"
        if not self.record.finish_reason and not self._done:
            return "truncated", "the stream ended without a finish reason"
        return "ok", ""
