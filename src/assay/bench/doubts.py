"""Doubts about a rung: what makes its numbers less than they seem, and which option mends it; pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from assay.bench.client_report import ClientReport
from assay.bench.doubt import Code, Doubt
from assay.bench.job import Ended
from assay.bench.level import Level
from assay.bench.metrics import Metrics
from assay.bench.records import Outcome, RequestRecord
from assay.bench.requests import Target
from assay.stats import carried_from, two_groups

if TYPE_CHECKING:
    from assay.bench.run import Rung

_TOLERATED = 0.05
_FAILED = 0.01
BUSY = 0.5
"""A client process that takes more of a core than this is itself why it is late."""
_BACKLOG_MS = 1.0
_LAZY_MS = 1.0
_MERGED, _DELAYED = 0.01, 0.01
_LATE_MS = 5.0
_TEMPLATE_TOKENS = 64
_DRIFT = 0.02
_CUT, _CHANGE = 0.5, 0.1
_WAVES = 8
"""So many requests a stream, or waves of requests that began together look like a trend."""


def doubts(
    records: Sequence[RequestRecord], level: Level, found: Metrics, client: ClientReport, ended: Ended
) -> tuple[Doubt, ...]:
    """All doubts about a rung, those that block first."""
    every = [
        *_end(ended, found),
        *_failures(found),
        *_client(found, client),
        *_load(level, found),
        *_lengths(records),
        *_counts(records, found),
        *_sample(level, found),
        *(_groups(records) if level.steady else ()),
        *_arrivals(found, records),
    ]
    return tuple(sorted(every, key=lambda doubt: not doubt.blocks))


def prompts_repeated(repeated: int, requests: int) -> Iterator[Doubt]:
    """Prompts of this rung were sent before in this run."""
    if repeated:
        yield Doubt(
            code="prompts-repeated",
            blocks=True,
            text=f"{repeated} of {requests} prompts had been sent before: the prefix cache may answer them",
            mend="a --dataset-path with more lines, or a smaller --num-prompts",
        )


def through_proxy(where: Target) -> Iterator[Doubt]:
    """What a proxy adds is in every latency, and it may hold back what it passes on."""
    if where.proxy is not None:
        yield Doubt(
            code="through-proxy",
            blocks=False,
            text=f"all went through the proxy {where.proxy.url}: its own time is in every latency",
            mend="no --proxy, from a machine that reaches the server by itself",
        )


def drift(before: Sequence[Rung], now: Rung) -> Iterator[Doubt]:
    """The same load was measured earlier in this run, and gave something else."""
    earlier = next((each for each in before if each.level == now.level), None)
    if earlier is None or now.level.open or now.ended != "complete":
        return
    one, other = earlier.metrics.full_load, now.metrics.full_load
    if one is None or other is None or one.interval is None or other.interval is None:
        return
    apart = one.interval.high < other.interval.low or other.interval.high < one.interval.low
    change = other.tokens_per_s / one.tokens_per_s - 1
    if apart and abs(change) > _DRIFT:
        yield Doubt(
            code="drift",
            blocks=True,
            text=f"output tokens/s under full load are {change:+.1%} to rung {earlier.number}, the same load",
            mend="a server of the same age for every run; find what else uses the machine, or heats it",
        )


def _end(ended: Ended, found: Metrics) -> Iterator[Doubt]:
    if ended == "stalled":
        yield Doubt(
            code="stalled",
            blocks=True,
            text=f"nothing came for too long with requests in flight; {found.completed} had completed",
            mend="look at the server's log; --stall-timeout if it really needs longer",
        )
    if ended == "interrupted":
        yield Doubt(
            code="interrupted",
            blocks=True,
            text="stopped before its end",
            mend="run this rung again",
        )


_INSIDE_200: dict[Outcome, tuple[Code, str]] = {
    "endless": ("endless-stream", "responses went on far beyond what was asked for, and were cut"),
    "error_in_stream": ("errors-inside-200", "responses of status 200 carried an error"),
    "empty": ("empty-streams", "responses had no text at all"),
}


def _failures(found: Metrics) -> Iterator[Doubt]:
    total = found.completed + found.failed
    kinds = {each.outcome: each for each in found.failures}
    for outcome, (code, text) in _INSIDE_200.items():
        if each := kinds.pop(outcome, None):
            yield Doubt(
                code=code,
                blocks=each.count > _FAILED * total,
                text=f"{each.count} of {total} {text}: {each.example}",
                mend="they count as failed and are in no latency; the server's log says why",
            )
    rest = [each for each in kinds.values() if each.outcome != "unfinished"]
    if rest:
        count = sum(each.count for each in rest)
        said = "; ".join(f"{each.count} {each.outcome} ({each.example})" for each in rest)
        yield Doubt(
            code="failed-requests",
            blocks=count > _FAILED * total,
            text=f"{count} of {total} failed: {said}",
            mend="they are in no latency; a lower --max-concurrency or --request-rate, or the server's log",
        )


def _client(found: Metrics, client: ClientReport) -> Iterator[Doubt]:
    backlog = client.backlog_p99_ms
    allowed = _BACKLOG_MS + (_LAZY_MS if client.lazy_share > 0 else 0.0)
    if backlog is not None and backlog > allowed:
        yield Doubt(
            code="client-backlog",
            blocks=_spoils(backlog, found),
            text=f"bytes waited {backlog:.1f} ms (p99) for this client: it was late, not the server",
            mend=f"--client-processes {2 * client.processes}, on cores of their own"
            if client.busiest > BUSY
            else "run assay on an idle machine or core, with a lower --max-concurrency",
        )
    if client.stamps == "read" or client.unstamped_reads > _TOLERATED * client.events:
        yield Doubt(
            code="read-stamps",
            blocks=False,
            text="no kernel time stamps here: arrivals are as late as this client was",
            mend="Linux has them; keep this machine idle otherwise",
        )
    if client.clock_moved_ms:
        yield Doubt(
            code="clock-stepped",
            blocks=False,
            text=f"the system's clock was set by {client.clock_moved_ms:.1f} ms: kernel stamps were not used",
            mend="run again while no time service steps the clock",
        )


def _spoils(backlog: float, found: Metrics) -> bool:
    """Whether a late client changed the figures.

    The kernel's stamps keep gaps right as long as arrivals are not merged; what is left is that a closed loop
    sends its next request late.
    """
    gap, stay = found.itl_ms.median or 0.0, found.e2e_ms.median or 0.0
    merged = backlog > _TOLERATED * gap and found.shared_arrivals > _MERGED
    return merged or backlog > _DELAYED * stay


def _load(level: Level, found: Metrics) -> Iterator[Doubt]:
    late = found.lateness_ms
    worst = late.p99 if late.p99 is not None else late.greatest
    if worst is not None and worst > _LATE_MS and found.max_concurrency != level.concurrency:
        yield Doubt(
            code="late-sends",
            blocks=True,
            text=f"sends came up to {worst:.1f} ms after they were due",
            mend="an idle machine or core for assay, or a lower --request-rate",
        )
    asked = level.rate_per_s if level.steady else found.due_per_s
    if level.open and asked is not None and found.sent_per_s is not None:
        delivered = found.sent_per_s
        if delivered < (1 - _TOLERATED) * asked:
            more = "--max-concurrency" if level.concurrency else "--num-prompts"
            yield _below(
                f"{delivered:.3g} requests/s were sent, {asked:.3g} were asked for", f"a higher {more}"
            )
    elif not level.open and level.concurrency is not None and found.max_concurrency < level.concurrency:
        yield _below(
            f"at most {found.max_concurrency} requests were in flight, {level.concurrency} were asked for",
            f"--num-prompts of at least {4 * level.concurrency}",
        )


def _below(text: str, mend: str) -> Doubt:
    return Doubt(code="below-asked-load", blocks=True, text=text, mend=mend)


def _lengths(records: Sequence[RequestRecord]) -> Iterator[Doubt]:
    done = [each for each in records if each.ok]
    prompts = [(each.prompt_tokens, each.asked_prompt_tokens) for each in done]
    known = [(got, asked) for got, asked in prompts if got is not None and asked is not None]
    if known:
        got, asked = (sum(column) / len(known) for column in zip(*known, strict=True))
        if abs(got - asked) > max(_TOLERATED * asked, _TEMPLATE_TOKENS):
            yield Doubt(
                code="prompt-length",
                blocks=True,
                text=f"prompts have {got:.0f} tokens on average by the server's count, not {asked:.0f}",
                mend="--random-input-len in proportion, or --dataset-path with prompts of the right length",
            )
    outputs = [
        each.completion_tokens != each.asked_output_tokens
        for each in done
        if each.completion_tokens is not None and each.asked_output_tokens is not None
    ]
    if sum(outputs) > _FAILED * len(outputs):
        yield Doubt(
            code="output-length",
            blocks=True,
            text=f"{sum(outputs)} of {len(outputs)} outputs do not have the length asked for",
            mend="--ignore-eos, if the server knows it; or prompts that ask for long answers",
        )


def _counts(records: Sequence[RequestRecord], found: Metrics) -> Iterator[Doubt]:
    done = [each for each in records if each.ok]
    if done and found.output_tokens is None:
        yield Doubt(
            code="no-usage",
            blocks=True,
            text="the server counted no tokens: there is no token throughput",
            mend="a server that obeys stream_options.include_usage",
        )
    wrong = found.more_events_than_tokens
    if wrong:
        yield Doubt(
            code="count-mismatch",
            blocks=True,
            text=f"{wrong} responses have more events with text than the server counts tokens",
            mend="do not trust this server's usage; compare with its own metrics",
        )
    if found.cached_tokens and found.input_tokens and found.cached_tokens > _TOLERATED * found.input_tokens:
        share = found.cached_tokens / found.input_tokens
        yield Doubt(
            code="prefix-hits",
            blocks=True,
            text=f"{share:.0%} of the prompt tokens came from the prefix cache",
            mend="another --seed, or prompts with nothing in common, unless this is what is served",
        )


def _sample(level: Level, found: Metrics) -> Iterator[Doubt]:
    floor = carried_from(0.9)
    if found.completed < floor:
        yield Doubt(
            code="too-few-requests",
            blocks=False,
            text=f"{found.completed} completed requests carry no p90 (from {floor}) and no p99 (from "
            f"{carried_from(0.99)})",
            mend=f"--num-prompts {max(floor, 4 * (level.concurrency or 0))}",
        )
    load = found.full_load
    long_enough = level.open or found.completed >= _WAVES * (level.concurrency or 0)
    if load is None or load.cut is None or not long_enough or not level.steady:
        return
    if load.cut > _CUT and abs(load.change) > _CHANGE:
        what = "latency" if level.open else "throughput"
        yield Doubt(
            code="not-steady",
            blocks=True,
            text=f"{what} had not settled: its first {load.cut:.0%} were {load.change:+.0%} to the rest",
            mend="more --num-prompts, --num-warmups",
        )


def _groups(records: Sequence[RequestRecord]) -> Iterator[Doubt]:
    """Requests that decode at two speeds have no one speed."""
    found = two_groups(
        [each.tpot_ns / 1e6 for each in records if each.ok and (each.completion_tokens or 0) > 1]
    )
    if found is not None:
        yield Doubt(
            code="two-groups",
            blocks=False,
            text=f"TPOT falls into two groups: {found.low:.3g} ms, and {found.high:.3g} ms for "
            f"{found.share_high:.0%} of the requests",
            mend="look for two servers behind one address, throttling, or prompts of two kinds",
        )


def _arrivals(found: Metrics, records: Sequence[RequestRecord]) -> Iterator[Doubt]:
    if found.shared_arrivals > _TOLERATED:
        yield Doubt(
            code="shared-arrivals",
            blocks=False,
            text=f"{found.shared_arrivals:.0%} of the events came together with the one before: gaps are "
            "between arrivals",
            mend="nothing, where the server sends in batches; else look for Nagle or a proxy in between",
        )
    retried = sum(each.retries for each in records)
    if retried:
        yield Doubt(
            code="connections-lost",
            blocks=False,
            text=f"{retried} requests met a connection that the server had closed, and were sent again",
            mend="a longer keep-alive limit on the server",
        )
