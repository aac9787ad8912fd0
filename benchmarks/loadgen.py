"""What the load generator costs and how wrong it is, against a server that knows the truth (fakellm).

Usage: ASSAY_FAKELLM=FOLDER python benchmarks/loadgen.py [--streams 64,256] [--itl-ms 50] [--runs 3]

FOLDER holds fakellm.c and truth.py; the C is compiled with cc into a temporary folder. A row for each run and
number of streams: CPU of the client while the clock ran, in seconds per million events; error of TTFT after
the opening burst (what the client saw, less first send minus request read of the server), and its own part,
without the time that a request lay in the server's socket until it was read; error of every gap between two
arrivals; output tokens/s as reported over the true ones; how long bytes waited for the client;
the machine's load. Client and server share this machine, and whoever else runs: trust CPU and ratios.
`--peer NAME=PATH`, repeated, sets other load generators beside it (`loadgen_peers.py` says which and how),
each pinned to core 0 and the server to core 1, with `--tokenizer FOLDER` for those that want one; prints
medians. Then assay too is run as a program: all of its processes count, parsing and report included, and the
CPU of a run of one request is taken off, as from every tool.
`--fifo` (root) puts both into the real-time class, client on core 0 and server on core 1: for a machine that
others use.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Any

from loadgen_peers import TOOLS, Load, figures, named, spent, word_numbers
from loadgen_server import Account, Instrument, instrument, server

from assay.bench import (
    Level,
    Limits,
    RandomPrompts,
    RequestRecord,
    Rung,
    Sending,
    Workload,
    measure,
    target,
)
from assay.stats import quantile


def matched(
    records: Sequence[RequestRecord], truth: Sequence[Account]
) -> Iterator[tuple[RequestRecord, Account]]:
    """Each record with the server's account of it: connections pair in order, and requests on each."""
    ours: dict[int, list[RequestRecord]] = defaultdict(list)
    theirs: dict[int, list[Account]] = defaultdict(list)
    for each in sorted(records, key=lambda each: each.sent_ns):
        ours[each.connection].append(each)
    for account in truth:
        theirs[account["t_accept"]].append(account)
    for number, accepted in zip(sorted(ours), sorted(theirs), strict=True):
        yield from zip(ours[number], theirs[accepted], strict=True)


def errors_ms(
    rung: Rung, records: Sequence[RequestRecord], accounts: Sequence[Account]
) -> tuple[list[float], list[float], list[float]]:
    """Errors of TTFT after the opening burst, the same without the server's queue, of every gap; in order."""
    ttft, own, itl = [], [], []
    for record, true in matched(records, accounts):
        sends = true["t_send"]
        if record.index >= (rung.level.concurrency or 0):
            error = record.ttft_ns - (sends[0] - true["t_request"])
            ttft.append(error / 1e6)
            own.append((error - (true["t_request"] - true["t_kernel"])) / 1e6)
        gaps = zip(pairwise(record.events_ns), pairwise(sends), strict=True)
        itl += [abs((b - a) - (d - c)) / 1e6 for (a, b), (c, d) in gaps]
    return sorted(ttft), sorted(own), sorted(itl)


def measured(arguments: argparse.Namespace, made: Instrument, streams: int) -> str:
    """One run: its row."""
    pin = pinned("1", arguments) if arguments.fifo else []
    options = ["--ttft-ms", str(arguments.ttft_ms), "--itl-ms", str(arguments.itl_ms)]
    level = Level(requests=streams * arguments.waves, concurrency=streams)
    prompts = RandomPrompts(input_tokens=64, output_tokens=arguments.tokens)
    sending = Sending(model="fake", endpoint="/v1/completions")
    workload = Workload(sending=sending, prompts=prompts, seed=arguments.seed)
    with tempfile.TemporaryDirectory() as folder:
        with server(made, Path(folder), options, pin) as port:
            limits = Limits(processes=arguments.client_processes)
            where = target(f"http://127.0.0.1:{port}")
            [(rung, records)] = list(measure(where, workload, [level], limits=limits))
        accounts = made.accounts(Path(folder))
    ttft, own, itl = errors_ms(rung, records, accounts)
    first, last = min(each["t_request"] for each in accounts), max(each["t_done"] for each in accounts)
    true_rate = sum(each["tokens"] for each in accounts) * 1e9 / (last - first)
    assert rung.metrics.output_throughput is not None
    figures = (
        f"{streams:>7}{rung.client.events:>9}{rung.client.cpu_s * 1e6 / rung.client.events:>9.1f}",
        *("".join(f"{quantile(errors, q):>8.3f}" for q in (0.5, 0.99)) for errors in (ttft, own, itl)),
        f"{rung.metrics.shared_arrivals:>8.2%}{rung.metrics.output_throughput / true_rate:>9.4f}",
        f"{rung.client.backlog_p99_ms or 0:>9.2f}{rung.client.lazy_share:>6.2f}{os.getloadavg()[0]:>6.1f}",
    )
    return "".join(figures)


def pinned(core: str, arguments: argparse.Namespace) -> list[str]:
    """What is put before a command that is to stay on that core."""
    return [*(("chrt", "-f", "50") if arguments.fifo else ()), "taskset", "-c", core]


def beside(arguments: argparse.Namespace, made: Instrument) -> None:
    """Every tool at every number of streams: medians of its runs."""
    tools = named(arguments.peer)
    start = {}
    for name, path in tools.items():
        alone = [one(arguments, made, (name, path, 0)) for _ in range(arguments.runs)]
        start[name] = median(each["cpu_s"] for each in alone)
        print(f"{name:<13} one request: {start[name]:.2f} CPU s {alone[0]['failed'][-200:]}", flush=True)
    print(_PEERS_HEAD)
    for streams in map(int, arguments.streams.split(",")):
        rows = defaultdict(list)
        for _ in range(arguments.runs):
            for name, path in tools.items():
                rows[name].append(one(arguments, made, (name, path, streams)))
        for name, found in rows.items():
            print(peer_row(name, streams, found, start[name]), flush=True)


_PEERS_HEAD = (
    "                              CPU us   error of later TTFT ms, and its own part     of ITL ms"
    "           tok/s   peak\n             streams  events   /event       p50       p99       p50       p99"
    "       p50     p99      /true     MB    load"
)


def one(arguments: argparse.Namespace, made: Instrument, tool: tuple[str, str, int]) -> dict[str, Any]:
    """One run of one tool; 0 streams is one request, for its start-up."""
    name, path, streams = tool
    command, read = TOOLS[name]
    tokens = arguments.tokens if streams else 2
    requests = streams * arguments.waves or 1
    options = [
        "--ttft-ms",
        str(arguments.ttft_ms),
        "--itl-ms",
        str(arguments.itl_ms),
        "--tokens",
        str(tokens),
    ]
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        with server(made, folder, options, pinned("1", arguments)) as port:
            where = f"http://127.0.0.1:{port}"
            load = Load(where, streams or 1, requests, tokens, folder, arguments.tokenizer)
            found = spent([*pinned("0", arguments), *command(path, load)], arguments.timeout_s)
        found["load"] = os.getloadavg()[0]
        accounts = made.accounts(folder)[-requests:]
        if not found["failed"] and streams:
            reported = read(load, accounts, word_numbers(made.source / "fakellm.c"))
            found |= figures(reported, accounts, streams)
            found["events"] = sum(len(each["t_send"]) for each in accounts)
    return found


def peer_row(name: str, streams: int, runs: Sequence[dict[str, Any]], start_s: float) -> str:
    """Medians of the runs that ended."""
    ended = [each for each in runs if not each["failed"]]
    if not ended:
        return f"{name:<13}{streams:>7}  {runs[0]['failed'][-90:]}"

    def middle(key: str) -> float | None:
        values = [each[key] for each in ended if key in each]
        return median(values) if values else None

    def cell(key: str, width: int, digits: int = 3) -> str:
        value = middle(key)
        return f"{'-':>{width}}" if value is None else f"{value:>{width}.{digits}f}"

    per_event = median([(each["cpu_s"] - start_s) * 1e6 / each["events"] for each in ended])
    kinds = ("ttft_p50", "ttft_p99", "own_p50", "own_p99", "itl_p50")
    errors = "".join(cell(kind, 10) for kind in kinds) + cell("itl_p99", 8)
    head = f"{name:<13}{streams:>7}{ended[0]['events']:>8}{per_event:>9.1f}"
    return f"{head}{errors}{cell('rate', 11)}{cell('peak_mb', 7, 0)}{cell('load', 8, 1)}"


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--streams", default="64,256")
    parser.add_argument("--itl-ms", type=float, default=50)
    parser.add_argument("--ttft-ms", type=float, default=100)
    parser.add_argument("--tokens", type=int, default=96)
    parser.add_argument("--waves", type=int, default=2, help="requests of each stream")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--fifo", action="store_true")
    parser.add_argument("--peer", action="append", default=[], help="NAME=PATH of another load generator")
    parser.add_argument("--tokenizer", default="", help="folder of a tokenizer, for peers")
    parser.add_argument("--timeout-s", type=float, default=120)
    parser.add_argument("--client-processes", type=int, default=1)
    arguments = parser.parse_args()
    if not os.environ.get("ASSAY_FAKELLM"):
        sys.exit("ASSAY_FAKELLM must name the folder of fakellm.c")
    with tempfile.TemporaryDirectory() as built:
        made = instrument(Path(os.environ["ASSAY_FAKELLM"]), Path(built))
        if arguments.peer:
            beside(arguments, made)
        else:
            alone(arguments, made)


def alone(arguments: argparse.Namespace, made: Instrument) -> None:
    """assay only: every run."""
    if arguments.fifo:
        os.sched_setaffinity(0, {0})
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(50))
    print(
        "                 CPU us  TTFT error ms    its own part    ITL error ms  shared   tok/s  backlog\n"
        "streams   events  /event     p50     p99     p50     p99     p50     p99  events   /true   p99 ms"
        "  lazy  load"
    )
    for streams in map(int, arguments.streams.split(",")):
        for _ in range(arguments.runs):
            print(measured(arguments, made, streams), flush=True)


if __name__ == "__main__":
    main()
