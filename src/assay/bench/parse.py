"""From the raw record of an exchange to what became of the request; pure."""

from __future__ import annotations

import struct
from collections.abc import Sequence

import msgspec

from assay.bench.events import Chunk, EventSplitter, Generation, Usage
from assay.bench.framing import Framing
from assay.bench.job import Exchange
from assay.bench.records import Outcome, RequestRecord

_TIMESPEC = struct.Struct("@qq")
_DECODER = msgspec.json.Decoder(Chunk)
_SHOWN = 300
_BODY_KEPT = 4096


def parsed(exchange: Exchange, offset_ns: int | None, secrets: Sequence[str] = ()) -> RequestRecord:
    """The record of one request.

    `offset_ns` is CLOCK_REALTIME minus CLOCK_MONOTONIC; `None` uses the stamps of the reads alone. `secrets`
    are taken out of what the server says.
    """
    reader = _Reader(exchange, offset_ns)
    for number, data in enumerate(exchange.reads):
        reader.take(number, data)
    record = reader.finished()
    for secret in secrets:
        record.error = record.error.replace(secret, "***")
    return record


def arrivals(exchange: Exchange, offset_ns: int | None) -> tuple[list[int], list[int]]:
    """Arrival of each read, and how long each that the kernel stamped had waited.

    A stamp of the kernel later than the read itself, or earlier than the one before, is none: the read's own
    takes its place, as it does where there is no stamp (Linux begins to stamp a moment after it was asked).
    """
    if offset_ns is None:
        return exchange.stamps_ns, []
    found, waited, before = [], [], 0
    for read_ns, data in zip(exchange.stamps_ns, exchange.kernel, strict=True):
        at = read_ns
        if len(data) == _TIMESPEC.size:
            seconds, nanoseconds = _TIMESPEC.unpack(data)
            at = max(before, min(seconds * 1_000_000_000 + nanoseconds - offset_ns, read_ns))
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
            unstamped_reads=len(exchange.reads) - len(backlog),
            events_ns=[],
            tokens_at_event=[],
        )

    def take(self, number: int, data: bytes) -> None:
        self._body.feed(data)
        body = self._body.taken()
        if len(self._plain) < _BODY_KEPT:
            self._plain += body[:_BODY_KEPT]
        if self._body.status == 200 and body:
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
        if self._exchange.reads:
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
        if fate in ("closed", "reset", "unreachable") and not self._exchange.reads:
            return "connection", detail or "closed before any byte came"
        if self._body.head and self._body.status != 200:
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
