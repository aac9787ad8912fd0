"""The summary of a run as JSON: the keys of vLLM's and SGLang's own tools, and our doubts beside them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import msgspec

from assay._value import Value
from assay.bench.gpus import tokens_per_joule
from assay.bench.level import Level
from assay.bench.metrics import Metrics
from assay.bench.records import RequestRecord
from assay.bench.requests import Endpoint, Json, Target
from assay.bench.run import Rung, Workload
from assay.stats import Summary

SUMMARY_SCHEMA = "assay.bench/1"

DEFINITIONS = {
    "ttft": "ms from just before the send to the first event with text or reasoning",
    "ttfo": "ms from just before the send to the first event with text that is not reasoning",
    "itl": "ms between two arrivals of a response; events that came in one read are one arrival",
    "tpot": "ms from the first to the last event with text, over output tokens less one, per request",
    "e2el": "ms from just before the send to the last event with text",
    "duration": "s from the first send to the last byte of the last response",
    "request_throughput": "completed requests / duration",
    "output_throughput": "output tokens of completed requests, by the server's usage / duration",
    "total_token_throughput": "input and output tokens of completed requests, by usage / duration",
    "tokens_per_event": "output tokens / events with text",
    "tokens_per_joule": "output tokens of completed requests / energy of the GPUs in use meanwhile",
    "reasoning_tokens": "output tokens that the server counts as reasoning; part of the output tokens",
    "request_goodput": "completed requests that kept every latency of --goodput / duration",
    "slo_attainment": "completed requests that kept every latency of --goodput / requests sent",
    "max_output_tokens_per_s": "most output tokens in a whole second; a response's spread over its events",
    "accept_length": "tokens a step of speculation gave: by request on /generate, else by /metrics",
    "percentiles": "p90 from 64 completed requests on, p95 from 130, p99 from 662; null below",
}


_BACKENDS: dict[Endpoint, str] = {
    "/v1/completions": "openai",
    "/v1/chat/completions": "openai-chat",
    "/generate": "sglang",
}
_Details = Sequence[Sequence[RequestRecord]]


class RunInfo(Value):
    """What a run was, for its summary."""

    where: Target
    """The server."""
    workload: Workload
    """What was sent."""
    started: str
    """Date and time, ISO 8601 with zone."""
    assay: str
    """Version of assay."""


def summary_json(info: RunInfo, rungs: Sequence[Rung], details: _Details = ()) -> bytes:
    """The document of a run so far; `details` adds the arrays of each request that vLLM and SGLang write."""
    every = [_rung(info, rung) for rung in rungs]
    for keys, records in zip(every, details, strict=False):
        keys.update(_arrays(records))
    sending = info.workload.sending
    document: dict[str, Json] = {
        "schema": SUMMARY_SCHEMA,
        "assay": info.assay,
        "date": info.started,
        "base_url": info.where.url,
        "proxy": info.where.proxy.url if info.where.proxy else None,
        "endpoint": sending.endpoint,
        "model_id": sending.model,
        "seed": info.workload.seed,
        "prompts": msgspec.to_builtins(info.workload.prompts),
        "ignore_eos": sending.ignore_eos,
        "temperature": sending.temperature,
        "extra_body": sending.extra_body,
        "headers": [name for name, _ in sending.headers],  # values may be secrets
        "definitions": dict(DEFINITIONS),
        "rungs": list(every),
    }
    return msgspec.json.format(msgspec.json.encode(document), indent=1) + b"\n"


def write_summary(path: Path, document: bytes) -> None:
    """Write it, whole or not at all."""
    part = path.with_name(f"{path.name}.part")
    part.write_bytes(document)
    part.replace(path)


def _rung(info: RunInfo, rung: Rung) -> dict[str, Json]:
    level, found = rung.level, rung.metrics
    return {
        "rung": rung.number,
        "load": level.name,
        "ended": rung.ended,
        "backend": _BACKENDS[info.workload.sending.endpoint],
        "model_id": info.workload.sending.model,
        "num_prompts": level.requests,
        "request_rate": _rate(level),
        "burstiness": None if math.isinf(level.burstiness) else level.burstiness,
        "max_concurrency": level.concurrency,
        **_ramp(level),
        "duration": found.duration_s,
        "completed": found.completed,
        "failed": found.failed,
        "total_input_tokens": found.input_tokens,
        "total_output_tokens": found.output_tokens,
        "reasoning_tokens": found.reasoning_tokens,
        "cached_tokens": found.cached_tokens,
        "request_throughput": found.request_throughput,
        **_goodput(found),
        "input_throughput": _per_s(found.input_tokens, found),
        "output_throughput": found.output_throughput,
        "total_token_throughput": found.total_token_throughput,
        "total_throughput": found.total_token_throughput,
        "concurrency": found.mean_concurrency,
        "max_concurrent_requests": found.max_concurrency,
        **_spread("ttft_ms", found.ttft_ms),
        **_spread("ttft_after_opening_ms", found.ttft_later_ms),
        **_spread("tpot_ms", found.tpot_ms),
        "mean_ttft_by_turn_ms": [each.mean for each in found.ttft_by_turn_ms] or None,
        **_spread("ttfo_ms", found.ttfo_ms),
        **_spread("itl_ms", found.itl_ms),
        **_spread("e2el_ms", found.e2e_ms),
        **_spread("e2e_latency_ms", found.e2e_ms),
        "max_itl_ms": found.itl_ms.greatest,
        "tokens_per_event": found.tokens_per_event,
        "max_output_tokens_per_s": found.max_output_tokens_per_s,
        "shared_arrivals": found.shared_arrivals,
        "sent_per_s": found.sent_per_s,
        **_spread("lateness_ms", found.lateness_ms),
        "full_load": msgspec.to_builtins(found.full_load),
        "failures": msgspec.to_builtins(found.failures),
        "client": msgspec.to_builtins(rung.client),
        "server": msgspec.to_builtins(rung.server),
        "gpus": [msgspec.to_builtins(each) for each in rung.gpus],
        "tokens_per_joule": tokens_per_joule(found.output_tokens, rung.gpus),
        **_acceptance(rung),
        "doubts": msgspec.to_builtins(rung.doubts),
    }


def _per_s(count: int | None, found: Metrics) -> float | None:
    return None if count is None or not found.duration_s else count / found.duration_s


def _acceptance(rung: Rung) -> dict[str, Json]:
    """Under the names of vLLM's tool and of SGLang's; `/generate` tells it of each request."""
    server, own = rung.server, rung.metrics.accept_length
    of_server = server.acceptance_length if server else None
    return {
        "accept_length": of_server if own is None else own,
        "spec_decode_acceptance_length": of_server,
        "spec_decode_per_position_acceptance_rates": list(server.acceptance_per_position) if server else [],
    }


def _rate(level: Level) -> Json:
    if level.arrivals == "trace":
        return "trace"
    return "inf" if level.rate_per_s is None else level.rate_per_s


def _ramp(level: Level) -> dict[str, Json]:
    """The keys that vLLM writes for a ramp."""
    if level.ramp_to_per_s is None:
        return {}
    return {
        "ramp_up_strategy": level.arrivals,
        "ramp_up_start_rps": level.rate_per_s,
        "ramp_up_end_rps": level.ramp_to_per_s,
    }


def _goodput(found: Metrics) -> dict[str, Json]:
    """The keys that both tools write; `request_goodput` is `null` where nothing was promised."""
    kept = found.goodput
    if kept is None:
        return {"request_goodput": None}
    return {
        "request_goodput": kept.request_goodput,
        "goodput_slos_ms": {**kept.slos_ms},
        "slo_attainment": kept.attainment,
        "slo_attainment_by_metric": {**kept.attainment_by_metric},
    }


def _spread(name: str, summary: Summary) -> dict[str, Json]:
    """The keys that both tools write for one latency."""
    return {
        f"mean_{name}": summary.mean,
        f"median_{name}": summary.median,
        f"std_{name}": summary.std,
        f"p90_{name}": summary.p90,
        f"p95_{name}": summary.p95,
        f"p99_{name}": summary.p99,
    }


def _arrays(records: Sequence[RequestRecord]) -> dict[str, Json]:
    """One element for each request, in seconds, as `--save-detailed` and `--output-details` have them."""
    began = min((each.sent_ns for each in records), default=0)
    return {
        "input_lens": [each.prompt_tokens for each in records],
        "output_lens": [each.completion_tokens if each.ok else 0 for each in records],
        "ttfts": [each.ttft_ns / 1e9 if each.ok else None for each in records],
        "itls": [[gap / 1e9 for gap in each.gaps_ns] for each in records],
        "latencies": [each.e2e_ns / 1e9 if each.ok else None for each in records],
        "start_times": [(each.sent_ns - began) / 1e9 for each in records],
        "errors": [each.error for each in records],
    }
