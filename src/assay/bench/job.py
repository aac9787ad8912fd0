"""What passes between assay and the worker process that drives the load."""

from __future__ import annotations

from typing import Literal

import msgspec

Ended = Literal["complete", "interrupted", "stalled"]
"""How a rung ended: every request was answered, somebody stopped it, or nothing came for too long."""

Fate = Literal["complete", "closed", "reset", "garbage", "unreachable", "unfinished", "endless", "silent"]
"""How one exchange ended: whole response, peer closed, network error, no HTTP, no connection, we stopped, far
more than was asked for, nothing more in its midst."""

GO = b"g"
"""Sent to a worker that is ready, with CLOCK_MONOTONIC in 8 bytes at which it is to begin."""
STALLED = b"s"
"""Sent before the end of a worker's input, which means stop, where a stall is why."""


class Job(msgspec.Struct, frozen=True):
    """One rung, ready to be driven; plain, since it crosses a pipe once."""

    host: str
    port: int
    connect: bytes
    """What a proxy at that address is asked before all else; empty: there is none, or it reads requests."""
    server: str
    """Whose certificate is looked for."""
    tls: bool
    verify: bool
    requests: str
    """The file with all requests of the rung."""
    numbers: list[int]
    """Place in the rung of each request that is this process's to send, warm-ups first."""
    begins: list[int]
    """Where each begins in the file."""
    ends: list[int]
    """Where it ends."""
    warmups: int
    """So many of them come before the clock starts."""
    due_ns: list[int] | None
    """Open loop: when each timed request is due, from the start of the clock. `None`: closed loop."""
    output_tokens: list[int]
    """What each request asks for; 0: not said."""
    follows: list[bool]
    """Whether each request waits for the one before it to end, and goes on the same connection."""
    concurrency: int
    """At most so many at once; 0: no limit (open loop)."""
    process: int
    """Which of the processes that drive the rung this is, from 0."""
    processes: int
    stall_s: float
    """A response in whose midst nothing comes for so long is cut."""
    connect_s: float
    lazy_ns: int
    """Reads wait so long for company where that costs nothing; 0: never."""
    kernel_stamps: bool


class Exchange(msgspec.Struct, array_like=True):
    """One request and the raw response with its stamps, as recorded while the clock ran."""

    index: int
    connection: int
    nth_on_connection: int
    retries: int
    due_ns: int
    sent_ns: int
    fate: Fate
    detail: str
    stamps_ns: list[int]
    """When each read returned, CLOCK_MONOTONIC."""
    kernel: bytes
    """What the kernel says of each read: a struct timespec of CLOCK_REALTIME, zeros where it said nothing."""
    sizes: list[int]
    """How many bytes each read brought."""
    data: bytes
    """All of them."""


class Report(msgspec.Struct, frozen=True):
    """What the worker says a few times a second, and once more at the end."""

    sent: int
    done: int
    failed: int
    in_flight: int
    quiet_s: float
    """Seconds since the last event of any response."""
    ready: bool = False
    """All connections stand and the warm-ups are through: it waits for the word."""
    silent: int = 0
    """Responses under way of which nothing came for five seconds, others may go on."""
    ended: Ended | None = None
    error: str = ""
    """Why nothing could be sent at all."""
    began_ns: int = 0
    """CLOCK_MONOTONIC at the start of the clock."""
    ended_ns: int = 0
    offset_ns: int = 0
    """CLOCK_REALTIME minus CLOCK_MONOTONIC at the start."""
    offset_moved_ns: int = 0
    """By how much that had changed at the end."""
    cpu_s: float = 0.0
    """CPU seconds of the worker while the clock ran."""
    busiest: float = 0.0
    """Share of a core that it took then; of several processes the largest."""
    lazy_share: float = 0.0
    """Share of turns that waited for company."""
