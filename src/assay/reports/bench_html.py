"""One run of `assay bench` as an HTML page of its own: doubts first, ladder, distributions, timelines."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from html import escape

from assay.bench import DEFINITIONS, RequestRecord, Rung, RunInfo, tokens_per_joule
from assay.reports.charts import Points, line_chart
from assay.reports.harmless import printable
from assay.stats import quantile

_CURVE, _WINDOWS = 100, 80
_STYLE = """
body{font:15px/1.45 system-ui,sans-serif;max-width:62rem;margin:2rem auto;padding:0 1rem;color:#222}
table{border-collapse:collapse;margin:.6rem 0;display:block;overflow-x:auto}
td,th{padding:.2rem .7rem;text-align:right;border-bottom:1px solid #ddd}
td:first-child,th:first-child{text-align:left}
figure{display:inline-block;width:29rem;max-width:100%;margin:.4rem .4rem .8rem 0;vertical-align:top}
figcaption{font-weight:600} svg text{font-size:11px;fill:#555} figure p{margin:.1rem 0;font-size:13px}
.doubt{border-left:4px solid #c92a2a;background:#fff5f5;padding:.3rem .8rem;margin:.4rem 0}
.note{border-left:4px solid #aaa;padding:.3rem .8rem;margin:.4rem 0;color:#444}
dt{font-weight:600} code{background:#f3f3f3}
"""

Records = Callable[[Rung], Sequence[RequestRecord]]


def bench_html(info: RunInfo, rungs: Sequence[Rung], records: Records) -> str:
    """The page: no script, nothing from elsewhere; all that a server said is escaped."""
    model = _text(info.workload.sending.model)
    body = [
        f"<h1>assay bench: {model}</h1>",
        f"<p>{_text(info.where.url)}{_text(info.workload.sending.endpoint)}, {_text(info.started)}, "
        f"assay {_text(info.assay)}</p>",
        _doubts(rungs),
        "<h2>Ladder</h2>",
        _table(rungs),
        _ladder(rungs),
        *(_rung(rung, records(rung)) for rung in rungs),
        "<h2>Definitions</h2><dl>",
        *(f"<dt>{_text(name)}</dt><dd>{_text(text)}</dd>" for name, text in DEFINITIONS.items()),
        "</dl>",
    ]
    policy = "default-src 'none'; style-src 'unsafe-inline'"
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        f"<title>assay bench: {model}</title><style>{_STYLE}</style></head>\n<body>"
        + "\n".join(body)
        + "</body></html>\n"
    )


def _text(text: str) -> str:
    return escape(printable(text))


def _doubts(rungs: Sequence[Rung]) -> str:
    """Doubts of all rungs, those that block first."""
    every = [(rung, doubt) for rung in rungs for doubt in rung.doubts]
    every.sort(key=lambda each: not each[1].blocks)
    if not every:
        return "<p>No doubts.</p>"
    parts = ["<h2>Doubts</h2>"]
    for rung, doubt in every:
        kind = "doubt" if doubt.blocks else "note"
        parts.append(
            f'<div class="{kind}"><b>{kind}</b> at {_text(rung.level.name)}: {_text(doubt.text)} '
            f"<code>{_text(doubt.code)}</code><br>mend: {_text(doubt.mend)}</div>"
        )
    return "\n".join(parts)


_COLUMNS = (
    "load",
    "out tok/s",
    "req/s",
    "TTFT p50",
    "p90",
    "p99",
    "ITL p50",
    "TPOT p50",
    "E2E p50",
    "failed",
)


def _table(rungs: Sequence[Rung]) -> str:
    rows = []
    for rung in rungs:
        found = rung.metrics
        ended = "" if rung.ended == "complete" else f" ({rung.ended})"
        ttft = found.ttft_ms
        figures = (
            *(found.output_throughput, found.request_throughput, ttft.median, ttft.p90, ttft.p99),
            *(found.itl_ms.median, found.tpot_ms.median, found.e2e_ms.median),
        )
        cells = "".join(f"<td>{_number(each)}</td>" for each in figures)
        rows.append(f"<tr><td>{_text(rung.level.name + ended)}</td>{cells}<td>{found.failed}</td></tr>")
    head = "".join(f"<th>{name}</th>" for name in _COLUMNS)
    return f"<table><tr>{head}</tr>{''.join(rows)}</table><p>Latencies in ms.</p>"


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.4g}" if abs(value) < 10000 else f"{value:.0f}"


def _ladder(rungs: Sequence[Rung]) -> str:
    """Throughput and TTFT over the load, where several rungs share a kind of load."""
    kinds: tuple[tuple[str, Callable[[Rung], float | None]], ...] = (
        ("requests in flight", lambda rung: None if rung.level.open else rung.level.concurrency),
        ("requests a second asked for", lambda rung: rung.level.rate_per_s if rung.level.steady else None),
    )
    charts = []
    for name, load in kinds:
        known = sorted(
            ((at, rung) for rung in rungs if (at := load(rung)) is not None), key=lambda each: each[0]
        )
        if len({at for at, _ in known}) > 1:
            rates = [(at, rung.metrics.output_throughput or 0.0) for at, rung in known]
            ttft = [(at, rung.metrics.ttft_ms.median or 0.0) for at, rung in known]
            charts.append(line_chart("Output tokens a second", name, "tokens/s", [("", rates)]))
            charts.append(line_chart("TTFT, median", name, "ms", [("", ttft)]))
    return "".join(charts)


def _rung(rung: Rung, records: Sequence[RequestRecord]) -> str:
    found = rung.metrics
    done = [each for each in records if each.ok]
    gaps = [gap / 1e6 for each in done for gap in each.gaps_ns]
    curves = (
        ("TTFT", [each.ttft_ns / 1e6 for each in done]),
        ("time between arrivals (ITL)", gaps),
        ("end to end", [each.e2e_ns / 1e6 for each in done]),
    )
    charts = [
        line_chart(f"{name}: share of values below", "ms", "share", [("", _shares(values))])
        for name, values in curves
    ]
    rates, flying = _timeline(done, records)
    charts.append(line_chart("Output tokens a second over time", "s", "tokens/s", [("", rates)]))
    charts.append(line_chart("Requests in flight over time", "s", "requests", [("", flying)]))
    failures = "".join(
        f"<li>{each.count} {_text(each.outcome)}: {_text(each.example)}</li>" for each in found.failures
    )
    return (
        f"<h2>{_text(rung.level.name)}</h2><p>{found.completed} completed, {found.failed} failed in "
        f"{found.duration_s:.1f} s</p><ul>{failures}</ul>{_goodput(rung)}{_server(rung)}{_gpus(rung)}"
        + "".join(charts)
    )


def _goodput(rung: Rung) -> str:
    kept = rung.metrics.goodput
    if kept is None:
        return ""
    asked = ", ".join(f"{name} {limit:g} ms" for name, limit in kept.slos_ms.items())
    return (
        f"<p>Goodput: {kept.request_goodput:.4g} requests/s, {kept.attainment:.1%} within {_text(asked)}.</p>"
    )


def _gpus(rung: Rung) -> str:
    """What the GPUs in use did."""
    used = [each for each in rung.gpus if each.used]
    watts = [each.power_mean_w for each in used if each.power_mean_w is not None]
    if not watts:
        return ""
    per_joule = tokens_per_joule(rung.metrics.output_tokens, rung.gpus)
    tokens = "" if per_joule is None else f", {per_joule:.3g} output tokens a joule"
    hottest = max((each.temperature_most_c or 0 for each in used), default=0)
    names = _text(", ".join(sorted({each.name for each in used})))
    gpus = "one GPU" if len(used) == 1 else f"{len(used)} GPUs"
    return f"<p>{gpus} ({names}) took {sum(watts):.0f} W{tokens}, at most {hottest} C.</p>"


def _server(rung: Rung) -> str:
    server = rung.server
    if server is None:
        return ""
    length = "" if server.acceptance_length is None else f", acceptance length {server.acceptance_length:.3g}"
    return (
        f"<p>The server ({_text(server.engine)}) ran {server.running_mean:.3g} requests on average, at most "
        f"{server.running_most:g}; {server.queued_mean:.3g} waited{length}.</p>"
    )


def _shares(values: Sequence[float]) -> Points:
    """The distribution of a sample as points; the last hundredth is left out."""
    ordered = sorted(values)
    if len(ordered) < 2:
        return []
    return [(quantile(ordered, at / _CURVE), at / _CURVE) for at in range(_CURVE)]


def _timeline(done: Sequence[RequestRecord], records: Sequence[RequestRecord]) -> tuple[Points, Points]:
    """Tokens a second in equal windows, and the mean of requests in flight in each."""
    began = min((each.sent_ns for each in records), default=0)
    ended = max((each.last_byte_ns for each in records), default=0)
    width = (ended - began) / _WINDOWS
    if width <= 0:
        return [], []
    counts = [0.0] * (_WINDOWS + 1)
    for each in done:
        weight = (each.completion_tokens or 0) / len(each.events_ns)
        for at in each.events_ns:
            counts[int((at - began) / width)] += weight
    flying = [0.0] * _WINDOWS
    for each in records:
        first, last = (each.sent_ns - began) / width, (max(each.last_byte_ns, each.sent_ns) - began) / width
        for at in range(int(first), min(math.ceil(last), _WINDOWS)):
            flying[at] += min(last, at + 1) - max(first, at)
    seconds = [(at + 0.5) * width / 1e9 for at in range(_WINDOWS)]
    rates = [count * 1e9 / width for count in counts[:_WINDOWS]]
    return list(zip(seconds, rates, strict=True)), list(zip(seconds, flying, strict=True))
