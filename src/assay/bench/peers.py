"""Result files of other tools, each with its own keys, as runs under one set of names.

Read in the sources of, and tried with files written by, vLLM 0.32.0, SGLang 0.5.23, guidellm 0.8.1, aiperf
0.13.0 and inference-perf 0.7.0. Names that mean something else here are mapped by meaning:
`inter_token_latency` of guidellm and aiperf is a time per output token, aiperf's `inter_chunk_latency` is the
gap between events.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from assay.bench.level import load_name
from assay.bench.result_fields import Document, carried, encodable, inside, number, text, whole
from assay.bench.results import Measurement, Objection

_FAILED = 0.01
_DELIVERED = 0.95
_WORK = (
    *("backend", "dataset_name", "num_prompts", "tokenizer_id", "random_input_len", "random_output_len"),
    *("random_range_ratio", "sharegpt_output_len"),
)
_SPREAD = ("mean", "median", "p90", "p95", "p99")


def flat(document: Document) -> Measurement:
    """One run of `vllm bench serve` or `sglang.bench_serving`: the same flat keys but for a few."""
    sglang = is_sglang(document)
    completed = whole(document, "completed") or 0
    e2e = "e2e_latency" if sglang else "e2el"
    figures = {
        "output_throughput": number(document, "output_throughput"),
        "total_token_throughput": number(
            document, "total_throughput" if sglang else "total_token_throughput"
        ),
        "request_throughput": number(document, "request_throughput"),
        "request_goodput": number(document, "request_goodput"),
        **{
            f"{what}_{ours}_ms": number(document, f"{what}_{theirs}_ms")
            for ours, theirs in (("ttft", "ttft"), ("tpot", "tpot"), ("itl", "itl"), ("e2el", e2e))
            for what in _SPREAD
        },
    }
    failed = _failed_of_flat(document)
    rate = number(document, "request_rate")
    trace = text(document, "request_rate") == "trace"
    load = load_name(whole(document, "max_concurrency"), rate, number(document, "burstiness"))
    return Measurement(
        load="trace" if trace else load,
        open=trace or rate is not None,
        figures=carried(figures, completed),
        completed=completed,
        failed=failed,
        input_tokens=whole(document, "total_input_tokens"),
        output_tokens=whole(document, "total_output_tokens"),
        work=_work_of_flat(document),
        model=text(document, "model_id") or text(document, "server_info", "model_path"),
        objections=(*_failures(completed, failed), *_zeros(document, completed)),
    )


def is_sglang(document: Document) -> bool:
    """Whether a flat document has the names that only SGLang gives."""
    return "mean_e2e_latency_ms" in document or "total_output_tokens_retokenized" in document


def _failed_of_flat(document: Document) -> int | None:
    failed = whole(document, "failed")
    errors = document.get("errors")
    if failed is None and isinstance(errors, list):  # SGLang counts none, but keeps what was said
        failed = sum(bool(each) for each in errors)
    return failed


def _work_of_flat(document: Document) -> dict[str, str]:
    found = {name: document.get(name) for name in _WORK}
    return {
        name: encodable(str(value))[:200]
        for name, value in found.items()
        if isinstance(value, str | int | float)
    }


def _zeros(document: Document, completed: int) -> Iterator[Objection]:
    if completed and number(document, "median_ttft_ms") == 0 and number(document, "median_itl_ms") == 0:
        yield Objection(
            code="no-latencies",
            blocks=True,
            text="TTFT and ITL are 0 ms with every request a success: no stream was read",
            mend="streaming must be on, and the route must be one that streams",
        )


def guidellm(document: Document) -> Iterator[Measurement]:
    """The benchmarks of guidellm's report, one for each strategy."""
    every = document.get("benchmarks")
    for each in every if isinstance(every, list) else ():
        if isinstance(each, dict):
            yield _of_guidellm(each)


def _of_guidellm(each: Document) -> Measurement:
    metrics, strategy = inside(each, "metrics"), inside(each, "config", "strategy")
    completed = whole(metrics, "request_totals", "successful") or 0
    failed = whole(metrics, "request_totals", "errored")
    figures = {
        "output_throughput": number(metrics, "output_tokens_per_second", "successful", "mean"),
        "total_token_throughput": number(metrics, "tokens_per_second", "successful", "mean"),
        "request_throughput": number(metrics, "requests_per_second", "successful", "mean"),
        "request_goodput": number(metrics, "request_goodput", "successful", "mean"),
        **_guidellm_spread(metrics, "ttft", "time_to_first_token_ms"),
        **_guidellm_spread(metrics, "tpot", "inter_token_latency_ms"),
        **_guidellm_spread(metrics, "e2el", "request_latency", scale=1000),
    }
    kind = text(strategy, "type_")
    rate = number(strategy, "rate")
    concurrency = whole(strategy, "streams") or whole(strategy, "max_concurrency")
    if rate is not None:
        concurrency = None  # only the limit of its own workers
    constant = math.inf if kind == "constant" else None
    return Measurement(
        load=load_name(1 if kind == "synchronous" else concurrency, rate, constant),
        open=rate is not None,
        figures=carried(figures, completed),
        completed=completed,
        failed=failed,
        input_tokens=whole(metrics, "prompt_token_count", "successful", "total_sum"),
        output_tokens=whole(metrics, "output_token_count", "successful", "total_sum"),
        work={"strategy": kind},
        model=text(each, "config", "backend", "model"),
        objections=(*_failures(completed, failed), *_guidellm_warnings(each)),
    )


def _guidellm_spread(
    metrics: object, ours: str, theirs: str, *, scale: float = 1.0
) -> dict[str, float | None]:
    found = {
        what: number(metrics, theirs, "successful", what)
        if what in ("mean", "median")
        else number(metrics, theirs, "successful", "percentiles", what)
        for what in _SPREAD
    }
    return {f"{what}_{ours}_ms": None if value is None else value * scale for what, value in found.items()}


def _guidellm_warnings(each: Document) -> Iterator[Objection]:
    warnings = each.get("warnings")
    for warning in warnings if isinstance(warnings, list) else ():
        said = text(warning, "message") or "see its file"
        yield Objection(code="tool-warns", blocks=False, text=f"guidellm warns: {said}")


def aiperf(document: Document) -> Measurement:
    """One run of aiperf's `profile_export_aiperf.json`."""
    completed = whole(document, "request_count", "avg") or 0
    failed = whole(document, "error_request_count", "avg") or 0
    figures = {
        "output_throughput": number(document, "output_token_throughput", "avg"),
        "total_token_throughput": number(document, "total_token_throughput", "avg"),
        "request_throughput": number(document, "request_throughput", "avg"),
        "request_goodput": number(document, "goodput", "avg"),
        **_aiperf_spread(document, "ttft", "time_to_first_token"),
        **_aiperf_spread(document, "tpot", "inter_token_latency"),
        **_aiperf_spread(document, "itl", "inter_chunk_latency"),
        **_aiperf_spread(document, "e2el", "request_latency"),
    }
    phase = _aiperf_phase(document)
    rate = number(phase, "rate")
    kind = text(phase, "type")
    load = load_name(whole(phase, "concurrency"), rate, math.inf if kind == "constant" else None)
    return Measurement(
        load=load,
        open=rate is not None,
        figures=carried(figures, completed),
        completed=completed,
        failed=failed,
        input_tokens=whole(document, "total_isl", "avg"),
        output_tokens=whole(document, "total_osl", "avg"),
        work={
            "endpoint": text(document, "input_config", "endpoint", "type"),
            "phase": kind,
            "requests": encodable(str(inside(phase, "requests")))[:20],
        },
        model=_aiperf_model(document),
        seed=str(whole(document, "run_info", "random_seed") or ""),
        objections=(*_failures(completed, failed), *_aiperf_doubts(document)),
    )


def _aiperf_spread(document: Document, ours: str, theirs: str) -> dict[str, float | None]:
    keys = {"mean": "avg", "median": "p50"}
    if text(document, theirs, "unit") not in ("ms", ""):
        return {}
    return {f"{what}_{ours}_ms": number(document, theirs, keys.get(what, what)) for what in _SPREAD}


def _aiperf_phase(document: Document) -> object:
    """The phase that was measured; the last where several were."""
    phases = inside(document, "input_config", "phases")
    measured = [
        each
        for each in (phases if isinstance(phases, list) else ())
        if text(each, "kind") in ("profiling", "")
    ]
    return measured[-1] if measured else None


def _aiperf_model(document: Document) -> str:
    items = inside(document, "input_config", "models", "items")
    return text(items[0], "name") if isinstance(items, list) and items else ""


def _aiperf_doubts(document: Document) -> Iterator[Objection]:
    if document.get("was_cancelled") is True or document.get("is_complete") is False:
        yield Objection(
            code="interrupted",
            blocks=True,
            text="aiperf says that the run did not come to its end",
            mend="run it again",
        )
    differ = whole(document, "usage_discrepancy_count", "avg")
    if differ:
        yield Objection(
            code="count-mismatch",
            blocks=False,
            text=f"aiperf's token counts differ from the server's in {differ} requests",
            mend="--use-server-token-count",
        )


def inference_perf(document: Document) -> Measurement:
    """One stage of inference-perf's `stage_N_lifecycle_metrics.json`; it gives seconds."""
    load, found = inside(document, "load_summary"), inside(document, "successes")
    completed, failed = whole(found, "count") or 0, whole(document, "failures", "count")
    latency, rates = inside(found, "latency"), inside(found, "throughput")
    concurrency, asked = whole(load, "concurrency"), number(load, "requested_rate")
    rate = None if concurrency else asked  # of a closed loop it is the number of requests
    figures = {
        "output_throughput": number(rates, "output_tokens_per_sec"),
        "total_token_throughput": number(rates, "total_tokens_per_sec"),
        "request_throughput": number(rates, "requests_per_sec"),
        **_inference_perf_spread(latency, "ttft", "time_to_first_token"),
        **_inference_perf_spread(latency, "tpot", "time_per_output_token"),
        **_inference_perf_spread(latency, "itl", "inter_token_latency"),
        **_inference_perf_spread(latency, "e2el", "request_latency"),
    }
    return Measurement(
        load=load_name(concurrency, rate),
        open=rate is not None,
        figures=carried(figures, completed),
        completed=completed,
        failed=failed,
        input_tokens=whole(found, "prompt_tokens", "total"),
        output_tokens=whole(found, "output_tokens", "total"),
        work={"requests": str(whole(load, "count"))},
        objections=(*_failures(completed, failed), *_inference_perf_doubts(document, rate)),
    )


def _inference_perf_spread(latency: object, ours: str, theirs: str) -> dict[str, float | None]:
    found = {what: number(latency, theirs, what) for what in _SPREAD}
    return {f"{what}_{ours}_ms": None if value is None else value * 1e3 for what, value in found.items()}


def _inference_perf_doubts(document: Document, rate: float | None) -> Iterator[Objection]:
    sent = number(document, "load_summary", "achieved_rate")
    if rate and sent is not None and sent < _DELIVERED * rate:
        yield Objection(
            code="below-asked-load",
            blocks=True,
            text=f"{sent:.3g} requests/s were sent, {rate:.3g} were asked for",
            mend="more num_workers, or a lower rate",
        )
    differ = whole(document, "successes", "token_count_mismatches")
    counted = inside(document, "successes", "client_fallback_requests")
    own = (whole(counted, "prompt") or 0) + (whole(counted, "output") or 0)
    if differ or own:
        yield Objection(
            code="count-mismatch",
            blocks=False,
            text=f"its token counts differ from the server's in {differ or 0} requests, are its own in {own}",
            mend="a server that obeys stream_options.include_usage",
        )


def _failures(completed: int, failed: int | None) -> Iterator[Objection]:
    if not completed:
        yield Objection(code="none-answered", blocks=True, text="no request was answered")
    elif failed and failed > _FAILED * (completed + failed):
        yield Objection(
            code="failed-requests",
            blocks=True,
            text=f"{failed} of {completed + failed} requests failed",
            mend="the server's log says why; a lower load",
        )
