"""A rung of `assay bench` as text for 80 columns."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from assay.bench import DEFINITIONS, Rung, tokens_per_joule
from assay.reports.harmless import harmless, printable
from assay.stats import Summary

_FIRST = 26
_LABELS = {"e2el": "E2E", "output_throughput": "tokens/s", "request_goodput": "goodput"}


def bench_text(rung: Rung, width: int = 80) -> str:
    """Everything about one rung: figures, each with its definition, then doubts."""
    found, level = rung.metrics, rung.level
    ended = "" if rung.ended == "complete" else f", {rung.ended}"
    lines = [
        f"{level.name}: {found.completed} completed, {found.failed} failed in {found.duration_s:.1f} s{ended}"
    ]
    lines += [
        _row("", ("mean", "median", "p90", "p99")),
        _latency("TTFT ms", found.ttft_ms),
        _latency("  after the opening burst", found.ttft_later_ms) if not level.open else "",
        *_by_turn(rung),
        _latency("TTFO ms (not reasoning)", found.ttfo_ms),
        _latency("ITL ms (between arrivals)", found.itl_ms),
        _latency("TPOT ms", found.tpot_ms),
        _latency("E2E ms", found.e2e_ms),
        _latency("sent late by, ms", found.lateness_ms) if level.open else "",
        _row("requests/s", (_number(found.request_throughput),)),
        *_goodput(rung),
        _row("output tokens/s", (_number(found.output_throughput), *_interval(rung))),
        _row("  busiest second", (_number(found.max_output_tokens_per_s),)),
        _row("  reasoning tokens", _reasoning(rung)) if found.reasoning_tokens else "",
        _row("input + output tokens/s", (_number(found.total_token_throughput),)),
        _row("tokens per event", (_number(found.tokens_per_event),)),
        _row("in flight, mean", (_number(found.mean_concurrency),)),
        *_server(rung),
        *_gpus(rung),
    ]
    lines += _doubts(rung, width)
    return "\n".join(harmless(line) for line in lines if line)


def bench_definitions(width: int = 80) -> str:
    """What each figure means."""
    names = ("ttft", "ttfo", "itl", "tpot", "e2el", "output_throughput", "request_goodput", "percentiles")
    lines = ["Definitions"]
    for name in names:
        label = _LABELS.get(name, name.upper() if len(name) < 5 else name)
        lines += textwrap.wrap(
            f"{label}: {DEFINITIONS[name]}", width, initial_indent="  ", subsequent_indent="    "
        )
    return "\n".join(lines)


def bench_ladder(rungs: Sequence[Rung]) -> str:
    """All rungs of a run, one a line."""
    lines = [_step("load", ("out tok/s", "req/s", "TTFT p50", "ITL p50", "TPOT p50", "doubts"))]
    for rung in rungs:
        found = rung.metrics
        figures = (
            found.output_throughput,
            found.request_throughput,
            found.ttft_ms.median,
            found.itl_ms.median,
            found.tpot_ms.median,
        )
        blocking = sum(doubt.blocks for doubt in rung.doubts)
        lines.append(_step(rung.level.name, [*map(_number, figures), str(blocking or "-")]))
    return "\n".join(lines)


def _step(name: str, cells: Sequence[str]) -> str:
    sizes = (10, 9, 10, 9, 10, 8)
    return f"{name[:23]:<24}{''.join(f'{cell:>{size}}' for cell, size in zip(cells, sizes, strict=True))}"


def _row(name: str, cells: Sequence[str]) -> str:
    return f"  {name:<{_FIRST}}{''.join(f'{cell:>12}' for cell in cells)}".rstrip()


def _latency(name: str, summary: Summary) -> str:
    if not summary.count:
        return ""
    return _row(name, [_number(each) for each in (summary.mean, summary.median, summary.p90, summary.p99)])


def _number(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:.0f}" if abs(value) >= 10000 else f"{value:.4g}"


def _by_turn(rung: Rung) -> list[str]:
    """The first four turns of conversations, and the last."""
    turns = rung.metrics.ttft_by_turn_ms
    shown = [*range(min(4, len(turns))), *([len(turns) - 1] if len(turns) > 4 else [])]
    return [_latency(f"  of question {at + 1}", turns[at]) for at in shown]


def _gpus(rung: Rung) -> list[str]:
    """What the GPUs in use did."""
    used = [each for each in rung.gpus if each.used]
    if not used:
        return []
    watts = [each.power_mean_w for each in used if each.power_mean_w is not None]
    clocks = [each.sm_mean_mhz for each in used if each.sm_mean_mhz is not None]
    lines = []
    if watts:
        per_joule = tokens_per_joule(rung.metrics.output_tokens, rung.gpus)
        told = "" if per_joule is None else f"  {per_joule:.3g} output tokens a joule"
        lines.append(
            _row(f"power of {len(watts)} GPU{'s' * (len(watts) > 1)}, W", (_number(sum(watts)), told))
        )
    if clocks:
        hottest = max((each.temperature_most_c or 0 for each in used), default=0)
        lines.append(_row("clock, MHz", (_number(sum(clocks) / len(clocks)), f"  at most {hottest} C")))
    return lines


def _server(rung: Rung) -> list[str]:
    """What the server said of itself."""
    server, found = rung.server, rung.metrics
    length = found.accept_length or (server.acceptance_length if server else None)
    lines = [_row("accept length", (_number(length),))] if length else []
    if server is None:
        return lines
    ran = f"  most {_number(server.running_most)}; queued {_number(server.queued_mean)}"
    lines.append(_row("server ran, mean", (_number(server.running_mean), ran)))
    if server.cached_tokens and server.prompt_tokens:
        share = f"  {server.cached_tokens / server.prompt_tokens:.0%} of the prompt tokens"
        lines.append(_row("server had in its cache", (_number(server.cached_tokens), share)))
    return lines


def _goodput(rung: Rung) -> list[str]:
    kept = rung.metrics.goodput
    if kept is None:
        return []
    asked = ", ".join(f"{name} {limit:g}" for name, limit in kept.slos_ms.items())
    figures = (_number(kept.request_goodput), f"{kept.attainment:.1%}")
    return [_row("goodput, requests/s", figures), f"    within {asked} ms"]


def _reasoning(rung: Rung) -> tuple[str, ...]:
    found = rung.metrics
    made, of = found.reasoning_tokens, found.output_tokens
    return (str(made), f"  {made / of:.0%} of the output tokens") if made and of else ("-",)


def _interval(rung: Rung) -> tuple[str, ...]:
    load = rung.metrics.full_load
    if load is None or load.interval is None:
        return ()
    return (f"  full load {_number(load.interval.low)} to {_number(load.interval.high)}",)


def _doubts(rung: Rung, width: int) -> list[str]:
    lines = []
    for doubt in rung.doubts:
        mark = "doubt" if doubt.blocks else "note"
        text = f"{mark}: {printable(doubt.text)} [{doubt.code}]"
        lines += textwrap.wrap(
            text, width, initial_indent="  ", subsequent_indent="    ", break_on_hyphens=False
        )
        lines += textwrap.wrap(
            f"mend: {doubt.mend}", width, initial_indent="    ", subsequent_indent="      "
        )
    return lines
