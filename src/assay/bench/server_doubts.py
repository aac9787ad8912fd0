"""Doubts about a rung that only the server's own metrics can raise; pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from assay.bench.doubt import Doubt
from assay.bench.metrics import Metrics
from assay.bench.records import RequestRecord
from assay.bench.server_metrics import ServerReport

_FOREIGN = 0.01
_HITS = 0.05
_QUEUED = 0.05


def server_doubts(
    server: ServerReport, records: Sequence[RequestRecord], warmups: Sequence[RequestRecord], found: Metrics
) -> Iterator[Doubt]:
    """What the server's counters say against the rung; `records` and `warmups` are all that we sent."""
    if server.restarted:
        yield Doubt(
            code="server-restarted",
            blocks=True,
            text="the server began anew while the rung ran, or its counters went back",
            mend="look at its log, then run this rung again",
        )
        return
    yield from _foreign(server, [*records, *warmups], found)
    if server.preempted:
        yield Doubt(
            code="preempted",
            blocks=False,
            text=f"{server.preempted:.0f} times a running request lost its place for want of KV cache",
            mend="a lower load, or more memory for the server's KV cache",
        )
    if server.queued_mean > _QUEUED * max(1, found.max_concurrency):
        yield Doubt(
            code="server-queued",
            blocks=False,
            text=f"{server.queued_mean:.1f} requests waited in the server's queue on average; it ran at most "
            f"{server.running_most:.0f}: TTFT has that wait in it",
            mend="nothing, where that is what is measured; else a lower load, or a larger limit there",
        )
    hits = server.cached_tokens or 0.0
    if found.cached_tokens is None and server.prompt_tokens and hits > _HITS * server.prompt_tokens:
        yield Doubt(
            code="prefix-hits",
            blocks=True,
            text=f"{hits / server.prompt_tokens:.0%} of the prompt tokens came from the prefix cache, "
            "by the server's metrics",
            mend="another --seed, or prompts with nothing in common, unless this is what is served",
        )


def _foreign(server: ServerReport, ours: Sequence[RequestRecord], found: Metrics) -> Iterator[Doubt]:
    """Work of others; what is less than ours means that these metrics are not of all that served us."""
    seen = []
    if server.busy_before:
        seen.append(f"it had {server.busy_before:.0f} requests before ours began")
    most = found.max_concurrency
    if server.held_most > most + max(1, most // 20):
        seen.append(f"it held up to {server.held_most:.0f} requests, ours were {most}")
    excess, short = _excess(server, ours)
    seen += excess
    if seen:
        yield Doubt(
            code="foreign-traffic",
            blocks=True,
            text=f"the server did work that was not ours: {'; '.join(seen)}",
            mend="measure while nobody else uses it",
        )
    if short:
        yield Doubt(
            code="counters-short",
            blocks=False,
            text=f"the server's metrics know of less than we got: {short}; are they of one of several?",
            mend="--metrics-url of the process that serves, or measure without a balancer in between",
        )


def _excess(server: ServerReport, ours: Sequence[RequestRecord]) -> tuple[list[str], str]:
    """What the counters have above ours, and below; tokens only where every request of ours is known."""
    if all(each.ok and each.completion_tokens is not None for each in ours):
        pairs = [
            ("prompt tokens", server.prompt_tokens, sum(each.prompt_tokens or 0 for each in ours)),
            ("output tokens", server.output_tokens, sum(each.completion_tokens or 0 for each in ours)),
        ]
    else:
        pairs = [("requests", server.requests, sum(1 + each.retries for each in ours))]
    known = [(name, theirs, mine) for name, theirs, mine in pairs if theirs is not None and mine]
    excess, short = [], []
    for name, theirs, mine in known:
        if theirs > (1 + _FOREIGN) * mine:
            excess.append(f"{theirs:.0f} {name}, ours were {mine}")
        elif theirs < (1 - _FOREIGN) * mine and name != "requests":
            short.append(f"{theirs:.0f} {name} of {mine}")
    return excess, "; ".join(short)
