"""Metrics of one rung, computed from its records; each field's docstring is its definition."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from assay._value import Value
from assay.bench.arrival_figures import WINDOWS, ArrivalFigures
from assay.bench.goodput import Goodput, goodput
from assay.bench.level import Level
from assay.bench.records import Outcome, RequestRecord
from assay.stats import Interval, Summary, batch_means, mser5, summarised

_NS = 1e9
_MS = 1e6


class Failures(Value):
    """Requests that count as failed for one reason."""

    outcome: Outcome
    """The reason."""
    count: int
    """How many."""
    example: str
    """What the server or the network said of the first."""


class Steadiness(Value):
    """The part of a rung under full load: from the end of the opening burst to the last send."""

    seconds: float
    """How long it was."""
    tokens_per_s: float
    """Output tokens a second in it."""
    interval: Interval | None
    """95 % interval of that from 8 batch means; health of this run, never ground for a verdict."""
    cut: float | None
    """Share that MSER-5 would cut off the start of tokens a second; of E2E latencies in an open loop."""
    change: float
    """By how much what is before that cut differs from what is after it, as a share."""


class Metrics(Value):
    """What a rung says of the server."""

    completed: int
    """Requests that ended with a whole stream and text in it."""
    failed: int
    """All other requests that were sent."""
    failures: tuple[Failures, ...]
    """Why they failed."""
    duration_s: float
    """From the first send to the last byte of the last response."""
    input_tokens: int | None
    """Prompt tokens of completed requests, as the server counts them."""
    output_tokens: int | None
    """Completion tokens of completed requests, as the server counts them; reasoning is part of them."""
    reasoning_tokens: int | None
    """Of these, tokens of the reasoning channel."""
    cached_tokens: int | None
    """Prompt tokens that came from the server's prefix cache."""
    request_throughput: float
    """Completed requests a second of the duration."""
    output_throughput: float | None
    """Output tokens a second of the duration."""
    total_token_throughput: float | None
    """Input and output tokens a second of the duration."""
    ttft_ms: Summary
    """Time to first token: from just before the send to the first event with text or reasoning."""
    ttft_later_ms: Summary
    """The same without the opening burst: requests sent first on each connection of a closed loop."""
    ttft_by_turn_ms: tuple[Summary, ...]
    """TTFT of the first, second, ... question of conversations, where there are any."""
    ttfo_ms: Summary
    """Time to first output: likewise, to the first event with text that is not reasoning."""
    itl_ms: Summary
    """Inter-token latency: gap between two arrivals of a response; events of one read are one arrival."""
    tpot_ms: Summary
    """Time per output token: first to last event with text, over output tokens less one; per request."""
    e2e_ms: Summary
    """End to end: from just before the send to the last event with text."""
    tokens_per_event: float | None
    """Output tokens over events with text: above 1 under speculation, or where the server batches."""
    accept_length: float | None
    """Mean of what `/generate` says of each request: tokens kept a step of speculative decoding."""
    max_output_tokens_per_s: float | None
    """Most output tokens in one whole second from the first send on, of at least two; those of a response are
    spread evenly over its events, which under speculation is an estimate."""
    goodput: Goodput | None
    """Requests that kept what was promised; `None` where nothing was."""
    shared_arrivals: float
    """Share of events that came in one read with the event before."""
    more_events_than_tokens: int
    """Completed requests with more events with text than the server counts tokens, at their end or before."""
    mean_concurrency: float
    """Requests in flight, averaged over the duration."""
    max_concurrency: int
    """Most requests in flight."""
    sent_per_s: float | None
    """Rate at which requests were sent; open loop."""
    due_per_s: float | None
    """Rate at which they were due; open loop."""
    lateness_ms: Summary
    """Open loop: by how much sends came after they were due."""
    full_load: Steadiness | None
    """The part under full load, where there is one long enough."""


def metrics(records: Sequence[RequestRecord], level: Level) -> Metrics:
    """The metrics of a rung, from its whole records in any order."""
    arrivals = ArrivalFigures(level, [each.sent_ns for each in records])
    for each in records:
        arrivals.take(each)
    return combined(records, arrivals, level)


def combined(records: Sequence[RequestRecord], arrivals: ArrivalFigures, level: Level) -> Metrics:
    """The metrics of a rung, from its records, light ones are enough, and what all arrivals add up to."""
    done = [each for each in records if each.ok]
    duration = _duration_s(records)
    per_s = 1 / duration if duration else 0.0
    later = _after_opening(records, level)
    given = _total([each.prompt_tokens for each in done])
    made = _total([each.completion_tokens for each in done])
    events = arrivals.events
    stays = [(each.sent_ns, each.last_byte_ns) for each in records if each.last_byte_ns]
    return Metrics(
        completed=len(done),
        failed=len(records) - len(done),
        failures=_failures(records),
        duration_s=duration,
        input_tokens=given,
        output_tokens=made,
        reasoning_tokens=_total([each.reasoning_tokens for each in done]),
        cached_tokens=_total([each.cached_tokens for each in done]),
        request_throughput=len(done) * per_s,
        output_throughput=None if made is None else made * per_s,
        total_token_throughput=None if made is None or given is None else (made + given) * per_s,
        ttft_ms=summarised([each.ttft_ns / _MS for each in done]),
        ttft_later_ms=summarised([each.ttft_ns / _MS for each in later if each.ok]),
        ttft_by_turn_ms=_by_turn(done),
        ttfo_ms=summarised(_ttfo_ms(done)),
        itl_ms=arrivals.gaps.summary(scale=_MS, independent=len(done)),
        tpot_ms=summarised(_tpot_ms(done)),
        e2e_ms=summarised([each.e2e_ns / _MS for each in done]),
        tokens_per_event=made / events if made is not None and events else None,
        accept_length=_mean([each.accept_length for each in done]),
        max_output_tokens_per_s=None if made is None or duration < 2 else arrivals.seconds.most,
        goodput=goodput(records, level.slos, duration),
        shared_arrivals=1 - (arrivals.gaps.count + len(done)) / events if events else 0.0,
        more_events_than_tokens=arrivals.mismatched,
        mean_concurrency=sum(end - start for start, end in stays) / _NS * per_s,
        max_concurrency=_most(stays),
        sent_per_s=_per_s([each.sent_ns for each in records]) if level.open else None,
        due_per_s=_per_s([each.due_ns for each in records]) if level.open else None,
        lateness_ms=summarised([(each.sent_ns - each.due_ns) / _MS for each in records if each.due_ns]),
        full_load=None if made is None or not level.steady else _full_load(done, level, arrivals),
    )


def _duration_s(records: Sequence[RequestRecord]) -> float:
    ends = [each.last_byte_ns for each in records if each.last_byte_ns]
    return (max(ends) - min(each.sent_ns for each in records)) / _NS if ends else 0.0


def _total(counts: Sequence[int | None]) -> int | None:
    """The sum; `None` where the server did not count every one."""
    known = [each for each in counts if each is not None]
    return sum(known) if known and len(known) == len(counts) else None


def _mean(values: Sequence[float | None]) -> float | None:
    known = [each for each in values if each is not None]
    return sum(known) / len(known) if known else None


def _failures(records: Sequence[RequestRecord]) -> tuple[Failures, ...]:
    counts = Counter(each.outcome for each in records if not each.ok)
    first = {each.outcome: each.error for each in reversed(records)}
    return tuple(
        Failures(outcome=outcome, count=count, example=first[outcome])
        for outcome, count in counts.most_common()
    )


def _after_opening(records: Sequence[RequestRecord], level: Level) -> list[RequestRecord]:
    """The requests that were sent after the burst with which a closed loop opens."""
    burst = 0 if level.open else level.concurrency or 0
    return sorted(records, key=lambda each: each.sent_ns)[burst:]


def _by_turn(done: Sequence[RequestRecord]) -> tuple[Summary, ...]:
    """Nothing where there are no conversations."""
    most = max((each.turn for each in done), default=1)
    turns = range(1, most + 1) if most > 1 else ()
    return tuple(summarised([each.ttft_ns / _MS for each in done if each.turn == turn]) for turn in turns)


def _tpot_ms(done: Sequence[RequestRecord]) -> list[float]:
    return [each.tpot_ns / _MS for each in done if (each.completion_tokens or 0) > 1]


def _ttfo_ms(done: Sequence[RequestRecord]) -> list[float]:
    """Only where something was reasoned: elsewhere it is the TTFT."""
    if not any(each.reasoning_chars for each in done):
        return []
    return [(each.first_answer_ns - each.sent_ns) / _MS for each in done if each.first_answer_ns]


def _most(stays: Sequence[tuple[int, int]]) -> int:
    changes = sorted([(start, 1) for start, _ in stays] + [(end, -1) for _, end in stays])
    now = most = 0
    for _, change in changes:
        now += change
        most = max(most, now)
    return most


def _per_s(times: Sequence[int]) -> float | None:
    span = max(times, default=0) - min(times, default=0)
    return (len(times) - 1) * _NS / span if span else None


def _full_load(done: Sequence[RequestRecord], level: Level, arrivals: ArrivalFigures) -> Steadiness | None:
    """Tokens a second in equal windows between the end of the opening burst and the last send."""
    width = arrivals.full_load.width_ns
    if width <= 0 or len(done) < 2:
        return None
    rates = [count * _NS / width for count in arrivals.full_load.windows(WINDOWS)]
    stays = [float(each.e2e_ns) for each in sorted(done, key=lambda each: each.sent_ns)]
    series = stays if level.open else rates  # in an open loop throughput is what was sent
    cut = mser5(series)
    return Steadiness(
        seconds=width * WINDOWS / _NS,
        tokens_per_s=sum(rates) / WINDOWS,
        interval=batch_means(rates),
        cut=cut,
        change=_change(series, cut),
    )


def _change(rates: Sequence[float], cut: float | None) -> float:
    at = round((cut or 0.0) * len(rates))
    if not at or not sum(rates[at:]):
        return 0.0
    return sum(rates[:at]) / at / (sum(rates[at:]) / (len(rates) - at)) - 1
