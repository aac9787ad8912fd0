"""What became of each request."""

from __future__ import annotations

from itertools import pairwise
from typing import Literal

import msgspec

Outcome = Literal[
    "ok",
    "http_error",
    "error_in_stream",
    "empty",
    "truncated",
    "garbage",
    "connection",
    "unfinished",
    "endless",
    "silent",
]
"""`ok` is a whole stream with text in it; everything else is a failure and in no latency."""


class RequestRecord(msgspec.Struct, kw_only=True, omit_defaults=True):
    """One request; times are nanoseconds of CLOCK_MONOTONIC, arrivals as the kernel stamped them.

    Plain and mutable: there are many.
    """

    index: int
    """Place in the rung's order."""
    turn: int = 1
    """Of a conversation: which question it was."""
    connection: int
    nth_on_connection: int
    """1 for the first request on its connection."""
    retries: int = 0
    """1 where a kept-alive connection was gone before any byte came, and a fresh one was used."""
    due_ns: int = 0
    """When an open loop wanted it sent; 0 in a closed loop."""
    sent_ns: int
    """Just before the first byte left."""
    first_byte_ns: int = 0
    last_byte_ns: int = 0
    status: int = 0
    """HTTP status; 0 where no head came."""
    outcome: Outcome
    error: str = ""
    """What the server or the network said."""
    asked_prompt_tokens: int | None = None
    asked_output_tokens: int | None = None
    prompt_tokens: int | None = None
    """As the server counted (`usage`); `None` where it did not say."""
    completion_tokens: int | None = None
    cached_tokens: int | None = None
    reasoning_tokens: int | None = None
    accept_length: float | None = None
    """Tokens that a step of speculative decoding kept, as SGLang's `/generate` says it of a request."""
    finish_reason: str = ""
    text_chars: int = 0
    reasoning_chars: int = 0
    first_answer_ns: int = 0
    """Arrival of the first event with text or a tool call, reasoning left aside; 0 where none came."""
    events_ns: list[int] = []
    """Arrival of each event that carried text, reasoning or a tool call; equal ones shared a read."""
    tokens_at_event: list[int] = []
    """Tokens up to and with each such event, where the server says so in each (`continuous_usage_stats`)."""
    backlog_ns: list[int] = []
    """For each read that the kernel stamped: how long the bytes had waited for the client."""
    unstamped_reads: int = 0
    """Reads that it did not stamp."""

    def light(self) -> RequestRecord:
        """The same with only the first and the last arrival, which every latency of a request rests on."""
        return msgspec.structs.replace(
            self, events_ns=[*self.events_ns[:1], *self.events_ns[1:][-1:]], tokens_at_event=[], backlog_ns=[]
        )

    @property
    def ok(self) -> bool:
        """Whether it counts as a success."""
        return self.outcome == "ok"

    @property
    def ttft_ns(self) -> int:
        """From just before the send to the first event with text, reasoning or a tool call."""
        return self.events_ns[0] - self.sent_ns

    @property
    def e2e_ns(self) -> int:
        """From just before the send to the last such event."""
        return self.events_ns[-1] - self.sent_ns

    @property
    def tpot_ns(self) -> float:
        """From the first to the last such event, over output tokens less one; 0 for a single token."""
        if self.completion_tokens is None or self.completion_tokens < 2:
            return 0.0
        return (self.events_ns[-1] - self.events_ns[0]) / (self.completion_tokens - 1)

    @property
    def gaps_ns(self) -> list[int]:
        """Between arrivals; events that came in one read are one arrival."""
        stamps = self.events_ns
        return [b - a for a, b in pairwise(stamps) if b != a]
