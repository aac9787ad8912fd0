"""What the engines' `/metrics` say: names as data, Prometheus text as samples, samples as a report; pure."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence

from assay._value import Value


class EngineMetrics(Value):
    """Names of one engine's metrics."""

    engine: str
    """The engine; also the names' prefix."""
    running: str
    """Gauge: requests in the running batch."""
    queued: str
    """Gauge: requests that wait for a place in it."""
    requests: str
    """Counter: requests that ended."""
    prompt_tokens: str
    """Counter."""
    output_tokens: str
    """Counter."""
    cached_tokens: str
    """Counter: prompt tokens from the prefix cache."""
    preempted: str
    """Counter: requests that lost their place for want of memory."""
    memory_used: str
    """Gauge: share of the KV cache in use."""
    steps: str
    """Counter: steps of speculative decoding."""
    accepted: str = ""
    """Counter: drafted tokens that were kept; empty where output tokens over steps tell it."""
    accepted_at: str = ""
    """The same with a label `position`."""
    answered: str
    """Counter: answers of the server to anybody, by status."""
    between_tokens: str
    """Histogram: seconds from one token of a request to the next, of a step of speculation its share."""


ENGINES = (
    EngineMetrics(
        engine="vllm",
        running="vllm:num_requests_running",
        queued="vllm:num_requests_waiting",
        requests="vllm:request_success_total",
        prompt_tokens="vllm:prompt_tokens_total",
        output_tokens="vllm:generation_tokens_total",
        cached_tokens="vllm:prefix_cache_hits_total",
        preempted="vllm:num_preemptions_total",
        memory_used="vllm:kv_cache_usage_perc",
        steps="vllm:spec_decode_num_drafts_total",
        accepted="vllm:spec_decode_num_accepted_tokens_total",
        accepted_at="vllm:spec_decode_num_accepted_tokens_per_pos_total",
        answered="http_requests_total",
        between_tokens="vllm:request_time_per_output_token_seconds",
    ),
    EngineMetrics(
        engine="sglang",
        running="sglang:num_running_reqs",
        queued="sglang:num_queue_reqs",
        requests="sglang:num_requests_total",
        prompt_tokens="sglang:prompt_tokens_total",
        output_tokens="sglang:generation_tokens_total",
        cached_tokens="sglang:cached_tokens_total",
        preempted="sglang:num_retracted_requests_total",
        memory_used="sglang:token_usage",
        steps="sglang:spec_verify_calls_total",
        answered="sglang:http_responses_total",
        between_tokens="sglang:inter_token_latency_seconds",
    ),
)
"""Read in the sources of vLLM 0.32.0 and SGLang 0.5.23."""

STARTED = "process_start_time_seconds"
_LINE = re.compile(r"([a-zA-Z_:][\w:]*)(?:\{(.*)\})?\s+(\S+)")
_LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')
_ABSURD = 1e18
_STATUS = ("status", "status_code")
_OF_ONE_RANK = ("tp_rank", "pp_rank", "moe_ep_rank", "pid")
"""Labels by which processes that do the same work tell it once each."""

Sample = Mapping[str, float]
"""Values by name; those with a `position` by `name@position`, those of answers 5xx by `name@5xx`, too."""


def parsed_metrics(text: str) -> dict[str, float]:
    """Prometheus text as values by name: labels are summed over, ranks that do the same work are not.

    >>> parsed_metrics('a_total{x="1"} 2\\na_total{x="2"} 3\\n# HELP a_total x\\nb{tp_rank="1"} 5')
    {'a_total': 5.0, 'b': 5.0}
    >>> parsed_metrics('a_total{status="2xx"} 2\\na_total{status="5xx"} 3')
    {'a_total': 5.0, 'a_total@5xx': 3.0}
    """
    found: dict[str, dict[tuple[tuple[str, str], ...], float]] = {}
    for line in text.splitlines():
        match = None if line.startswith("#") else _LINE.match(line)
        value = _value(match[3]) if match else None
        if match is None or value is None:
            continue
        labels = dict(_LABEL.findall(match[2] or ""))
        name = f"{match[1]}@{labels['position']}" if "position" in labels else match[1]
        rest = tuple(sorted(item for item in labels.items() if item[0] not in _OF_ONE_RANK))
        names = [name, f"{name}@5xx"] if _is_servers_fault(labels) else [name]
        for each in names:
            series = found.setdefault(each, {})
            series[rest] = max(value, series.get(rest, -math.inf))
    return {name: math.fsum(series.values()) for name, series in found.items()}


def _is_servers_fault(labels: Mapping[str, str]) -> bool:
    return any(labels.get(each, "").startswith("5") for each in _STATUS)


def _value(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if abs(value) < _ABSURD else None


def engine_of(sample: Sample) -> EngineMetrics | None:
    """Whose metrics these are."""
    return next((each for each in ENGINES if each.running in sample), None)


class ServerReport(Value):
    """What the server said of itself while a rung ran, warm-ups included; `None` where it did not say."""

    engine: str
    """By the names of its metrics."""
    samples: int
    """How often it was asked."""
    running_mean: float
    """Requests in the running batch."""
    running_most: float
    """Most of them."""
    queued_mean: float
    """Requests that waited in its queue."""
    queued_most: float
    """Most of them."""
    held_most: float
    """Most that it ran and queued at once."""
    busy_before: float
    """Requests that it ran or held when nothing of ours was sent yet."""
    requests: float | None
    """Requests that ended."""
    prompt_tokens: float | None
    """Prompt tokens that it counted."""
    output_tokens: float | None
    """Output tokens that it counted."""
    cached_tokens: float | None
    """Prompt tokens that came from its prefix cache."""
    preempted: float | None
    """Requests that lost their place for want of KV cache."""
    memory_used_most: float | None
    """Largest share of the KV cache in use."""
    acceptance_length: float | None
    """Tokens that a step of speculative decoding gave, the one that is never drafted included."""
    acceptance_per_position: tuple[float, ...] = ()
    """Share of steps that kept the first, second, ... drafted token."""
    started: float | None = None
    """When its process began, seconds since 1970, as it says."""
    restarted: bool = False
    """Whether it began anew meanwhile."""


def server_report(samples: Sequence[Sample]) -> ServerReport | None:
    """The report of a rung from the first sample, taken before it, to the last, taken after it."""
    names = engine_of(samples[0]) if samples else None
    if names is None or len(samples) < 2:
        return None
    first, last = samples[0], samples[-1]
    within = samples[1:-1] or samples[1:]
    running = [each.get(names.running, 0.0) for each in within]
    queued = [each.get(names.queued, 0.0) for each in within]
    memory = [each[names.memory_used] for each in within if names.memory_used in each]
    counters = (names.requests, names.prompt_tokens, names.output_tokens)
    grown = [_grown(first, last, name) for name in counters]
    return ServerReport(
        engine=names.engine,
        samples=len(samples),
        running_mean=math.fsum(running) / len(running),
        running_most=max(running),
        queued_mean=math.fsum(queued) / len(queued),
        queued_most=max(queued),
        held_most=max(map(sum, zip(running, queued, strict=True))),
        busy_before=first.get(names.running, 0.0) + first.get(names.queued, 0.0),
        requests=grown[0],
        prompt_tokens=grown[1],
        output_tokens=grown[2],
        cached_tokens=_grown(first, last, names.cached_tokens),
        preempted=_grown(first, last, names.preempted),
        memory_used_most=max(memory, default=None),
        acceptance_length=_acceptance(first, last, names),
        acceptance_per_position=_per_position(first, last, names),
        started=last.get(STARTED),
        restarted=first.get(STARTED) != last.get(STARTED) or any((each or 0) < 0 for each in grown),
    )


def _grown(first: Sample, last: Sample, name: str) -> float | None:
    """By how much a counter grew; engines show some only after their first use."""
    return last[name] - first.get(name, 0.0) if name in last else None


def _acceptance(first: Sample, last: Sample, names: EngineMetrics) -> float | None:
    steps = _grown(first, last, names.steps)
    if not steps or steps < 0:
        return None
    if names.accepted:
        accepted = _grown(first, last, names.accepted)
        return None if accepted is None else 1 + accepted / steps
    made = _grown(first, last, names.output_tokens)
    return None if made is None else made / steps


def _per_position(first: Sample, last: Sample, names: EngineMetrics) -> tuple[float, ...]:
    steps = _grown(first, last, names.steps)
    if not names.accepted_at or not steps or steps < 0:
        return ()
    rates: list[float] = []
    while (grown := _grown(first, last, f"{names.accepted_at}@{len(rates)}")) is not None:
        rates.append(grown / steps)
    return tuple(rates)


class TrafficReport(Value):
    """What a server said of everybody's requests between two looks; `None` where it did not say."""

    running: float
    """The most requests that it ran at a look."""
    answered: float | None
    """Requests that it answered, of whatever kind."""
    errors: float | None
    """Those of them that it answered with a status of 500 or above."""
    token_ms: float | None
    """Mean time from one token of a request to the next; `None` also where too few came."""
    acceptance_length: float | None
    """Tokens that a step of speculative decoding gave."""


_FEWEST_TOKENS = 4


def traffic_report(first: Sample, last: Sample) -> TrafficReport | None:
    """What happened between two samples; `None` where these are no engine's, or of two lives of one."""
    names = engine_of(last)
    if names is None or first.get(STARTED) != last.get(STARTED):
        return None
    tokens = _grown(first, last, f"{names.between_tokens}_count")
    seconds = _grown(first, last, f"{names.between_tokens}_sum")
    enough = tokens is not None and seconds is not None and tokens >= _FEWEST_TOKENS
    answered = _grown(first, last, names.answered)
    return TrafficReport(
        running=max(first.get(names.running, 0.0), last.get(names.running, 0.0)),
        answered=answered,
        errors=None if answered is None else _grown(first, last, f"{names.answered}@5xx") or 0.0,
        token_ms=1000 * (seconds or 0.0) / (tokens or 1.0) if enough else None,
        acceptance_length=_acceptance(first, last, names) if enough else None,
    )
