"""Makes the jobs of a rung: its requests go into one file, and each process gets its share of them."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import msgspec

from assay.bench.job import Job
from assay.bench.level import Level
from assay.bench.requests import Prompt, Target

_LAZY_NS = 1_000_000
_STAMPED = sys.platform == "linux" and sys.maxsize > 1 << 32
"""Elsewhere the kernel has no stamps, or of another shape."""


class Requests(msgspec.Struct, frozen=True):
    """The requests of a rung in a file, one after the other."""

    path: Path
    edges: list[int]
    """Where each begins, and where the last one ends."""


def written(path: Path, requests: Iterable[bytes]) -> Requests:
    """Write them to that file."""
    edges = [0]
    with path.open("wb") as file:
        for each in requests:
            file.write(each)
            edges.append(edges[-1] + len(each))
    return Requests(path=path, edges=edges)


def shares(level: Level, prompts: Sequence[Prompt], processes: int) -> list[list[int]]:
    """Which requests each process sends: streams are dealt out in turn, and requests to streams.

    Conversations stay together. `prompts` are all of the rung, warm-ups first.

    >>> shares(Level(requests=5, concurrency=3), [Prompt()] * 5, 2)
    [[0, 2, 3], [1, 4]]
    """
    streams = processes if level.open else max(1, level.concurrency or 1)
    found: list[list[int]] = [[] for _ in range(processes)]
    heads = -1
    for number, prompt in enumerate(prompts):
        heads = 0 if number == level.warmups else heads + (prompt.turn == 1)
        found[heads % streams % processes].append(number)
    return found


def jobs(  # noqa: PLR0913 - all that a job holds
    where: Target,
    level: Level,
    prompts: Sequence[Prompt],
    requests: Requests,
    due_ns: Sequence[int] | None,
    processes: int,
    connect_s: float,
    stall_s: float,
) -> Iterator[Job]:
    """One job for each process; `prompts` may have lost their texts, `due_ns` is of the timed ones."""
    for number, share in enumerate(shares(level, prompts, processes)):
        timed = [each for each in share if each >= level.warmups]
        yield Job(
            host=where.reached.host,
            port=where.reached.port,
            connect=where.connect,
            server=where.host,
            tls=where.scheme == "https",
            verify=where.verify,
            requests=str(requests.path),
            numbers=share,
            begins=[requests.edges[each] for each in share],
            ends=[requests.edges[each + 1] for each in share],
            warmups=len(share) - len(timed),
            due_ns=None if due_ns is None else [due_ns[each - level.warmups] for each in timed],
            output_tokens=[prompts[each].output_tokens or 0 for each in share],
            follows=[prompts[each].turn > 1 for each in share],
            concurrency=_streams(level, number, processes),
            process=number,
            processes=processes,
            stall_s=stall_s,
            connect_s=connect_s,
            lazy_ns=_LAZY_NS if _STAMPED else 0,
            kernel_stamps=_STAMPED,
        )


def _streams(level: Level, number: int, processes: int) -> int:
    """How many of the streams are of that process; 0: no limit."""
    every = level.concurrency or 0
    return every // processes + (number < every % processes)
