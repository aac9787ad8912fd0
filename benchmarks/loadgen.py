"""What the load generator costs and how wrong it is, against a server that knows the truth (fakellm).

Usage: ASSAY_FAKELLM=FOLDER python benchmarks/loadgen.py [--streams 64,256] [--itl-ms 50] [--runs 3]

FOLDER holds fakellm.c and truth.py; the C is compiled with cc into a temporary folder. A row for each run and
number of streams: CPU of the client while the clock ran, in seconds per million events; error of TTFT after
the opening burst (what the client saw, less first send minus request read of the server); error of every gap
between two arrivals; output tokens/s as reported over the true ones; how long bytes waited for the client;
the machine's load. Client and server share this machine, and whoever else runs: trust CPU and ratios.
`--peer NAME=PATH`, repeated, sets other load generators beside it (`loadgen_peers.py` says which and how),
each pinned to core 0 and the server to core 1, with `--tokenizer FOLDER` for those that want one; prints
medians. Then assay too is run as a program: all of its processes count, parsing and report included, and the
CPU of a run of one request is taken off, as from every tool.
`--fifo` (root) puts both into the real-time class, client on core 0 and server on core 1.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import socket
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from statistics import median
from types import ModuleType

from loadgen_peers import TOOLS, Load, cpu_of, figures, named, word_numbers

from assay.bench import Level, RandomPrompts, RequestRecord, Rung, Sending, Workload, measure, target
from assay.stats import quantile


def loaded(path: Path) -> ModuleType:
    """The module that reads fakellm's log."""
    spec = importlib.util.spec_from_file_location("truth", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def compiled(folder: Path, into: str) -> str:
    """fakellm."""
    program = f"{into}/fakellm"
    subprocess.run(["cc", "-O2", "-o", program, str(folder / "fakellm.c")], check=True)
    return program


@contextmanager
def server(command: Sequence[str]) -> Iterator[int]:
    """A running fakellm; its port."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with subprocess.Popen(
        [*command, "--port", str(port)], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    ) as process:
        assert process.stderr is not None
        process.stderr.readline()
        try:
            yield port
        finally:
            process.terminate()


def matched(records: Sequence[RequestRecord], truth: Sequence[dict]) -> Iterator[tuple[RequestRecord, dict]]:
    """Each record with the server's account of it: connections pair in order, and requests on each."""
    ours, theirs = defaultdict(list), defaultdict(list)
    for each in sorted(records, key=lambda each: each.sent_ns):
        ours[each.connection].append(each)
    for each in truth:
        theirs[each["t_accept"]].append(each)
    for number, accepted in zip(sorted(ours), sorted(theirs), strict=True):
        yield from zip(ours[number], theirs[accepted], strict=True)


def errors_ms(rung: Rung, records: Sequence[RequestRecord], truth: Sequence[dict]) -> tuple[list, list]:
    """Errors of TTFT after the opening burst, and of every gap; in order."""
    ttft, itl = [], []
    for record, true in matched(records, truth):
        sends = true["t_send"]
        if record.index >= (rung.level.concurrency or 0):
            ttft.append((record.ttft_ns - (sends[0] - true["t_request"])) / 1e6)
        gaps = zip(pairwise(record.events_ns), pairwise(sends), strict=True)
        itl += [abs((b - a) - (d - c)) / 1e6 for (a, b), (c, d) in gaps]
    return sorted(ttft), sorted(itl)


def measured(arguments: argparse.Namespace, program: str, truth: ModuleType, streams: int) -> str:
    """One run: its row."""
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "truth.bin"
        pin = ["chrt", "-f", "50", "taskset", "-c", "1"] if arguments.fifo else []
        options = ["--ttft-ms", str(arguments.ttft_ms), "--itl-ms", str(arguments.itl_ms), "--log", str(log)]
        level = Level(requests=streams * arguments.waves, concurrency=streams)
        prompts = RandomPrompts(input_tokens=64, output_tokens=arguments.tokens)
        workload = Workload(
            sending=Sending(model="fake", endpoint="/v1/completions"), prompts=prompts, seed=arguments.seed
        )
        with server([*pin, program, *options]) as port:
            where = target(f"http://127.0.0.1:{port}")
            [(rung, records)] = list(measure(where, workload, [level]))
        ttft, itl = errors_ms(rung, records, list(truth.read(log)))
        spans = list(truth.read(log))
    first, last = min(each["t_request"] for each in spans), max(each["t_done"] for each in spans)
    true_rate = sum(each["tokens"] for each in spans) * 1e9 / (last - first)
    assert rung.metrics.output_throughput is not None
    figures = (
        f"{streams:>7}{rung.client.events:>9}{rung.client.cpu_s * 1e6 / rung.client.events:>9.1f}",
        "".join(f"{quantile(ttft, q):>8.3f}" for q in (0.5, 0.99)),
        "".join(f"{quantile(itl, q):>8.3f}" for q in (0.5, 0.99)),
        f"{rung.metrics.shared_arrivals:>8.2%}{rung.metrics.output_throughput / true_rate:>9.4f}",
        f"{rung.client.backlog_p99_ms or 0:>9.2f}{rung.client.lazy_share:>6.2f}{os.getloadavg()[0]:>6.1f}",
    )
    return "".join(figures)


def beside(arguments: argparse.Namespace, program: str, truth: ModuleType, words: dict[str, int]) -> None:
    """Every tool at every number of streams: medians of its runs."""
    tools = named(arguments.peer)
    start = {}
    for name, path in tools.items():
        alone = [one(arguments, program, truth, words, (name, path, 0)) for _ in range(arguments.runs)]
        start[name] = median(each["cpu_s"] for each in alone)
        print(f"{name:<13} one request: {start[name]:.2f} CPU s {alone[0]['failed'][-200:]}", flush=True)
    print(_PEERS_HEAD)
    for streams in map(int, arguments.streams.split(",")):
        rows = defaultdict(list)
        for _ in range(arguments.runs):
            for name, path in tools.items():
                rows[name].append(one(arguments, program, truth, words, (name, path, streams)))
        for name, found in rows.items():
            print(peer_row(name, streams, found, start[name]), flush=True)


_PEERS_HEAD = (
    "                              CPU us   error of later TTFT ms  of ITL ms           tok/s        \n"
    "             streams  events   /event       p50       p99       p50     p99      /true    load"
)


def one(
    arguments: argparse.Namespace,
    program: str,
    truth: ModuleType,
    words: dict[str, int],
    tool: tuple[str, str, int],
) -> dict:
    """One run of one tool; 0 streams is one request, for its start-up."""
    name, path, streams = tool
    command, read = TOOLS[name]
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "truth.bin"
        tokens = arguments.tokens if streams else 2
        options = [
            "--ttft-ms",
            str(arguments.ttft_ms),
            "--itl-ms",
            str(arguments.itl_ms),
            "--tokens",
            str(tokens),
        ]
        with server(["taskset", "-c", "1", program, *options, "--log", str(log)]) as port:
            requests = streams * arguments.waves or 1
            load = Load(
                f"http://127.0.0.1:{port}", streams or 1, requests, tokens, Path(folder), arguments.tokenizer
            )
            cpu_s, failed = cpu_of(command(path, load), "0", arguments.timeout_s)
        found = {"cpu_s": cpu_s, "failed": failed, "load": os.getloadavg()[0]}
        accounts = list(truth.read(log))[-requests:]
        if not failed and streams:
            found |= figures(read(load, accounts, words), accounts, streams)
            found["events"] = sum(len(each["t_send"]) for each in accounts)
    return found


def peer_row(name: str, streams: int, runs: Sequence[dict], start_s: float) -> str:
    """Medians of the runs that ended."""
    ended = [each for each in runs if not each["failed"]]
    if not ended:
        return f"{name:<13}{streams:>7}  {runs[0]['failed'][-90:]}"

    def middle(key: str) -> float | None:
        values = [each[key] for each in ended if key in each]
        return median(values) if values else None

    def cell(key: str, width: int) -> str:
        value = middle(key)
        return f"{'-':>{width}}" if value is None else f"{value:>{width}.3f}"

    per_event = median([(each["cpu_s"] - start_s) * 1e6 / each["events"] for each in ended])
    errors = cell("ttft_p50", 10) + cell("ttft_p99", 10) + cell("itl_p50", 10) + cell("itl_p99", 8)
    head = f"{name:<13}{streams:>7}{ended[0]['events']:>8}{per_event:>9.1f}"
    return f"{head}{errors}{cell('rate', 11)}{cell('load', 8)}"


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
    arguments = parser.parse_args()
    if not os.environ.get("ASSAY_FAKELLM"):
        sys.exit("ASSAY_FAKELLM must name the folder of fakellm.c")
    folder = Path(os.environ["ASSAY_FAKELLM"])
    if arguments.peer:
        with tempfile.TemporaryDirectory() as built:
            program = compiled(folder, built)
            beside(arguments, program, loaded(folder / "truth.py"), word_numbers(folder / "fakellm.c"))
        return
    if arguments.fifo:
        os.sched_setaffinity(0, {0})
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(50))
    print(
        "                 CPU us  TTFT error ms    ITL error ms  shared   tok/s  backlog            \n"
        "streams   events  /event     p50     p99     p50     p99  events   /true   p99 ms  lazy  load"
    )
    with tempfile.TemporaryDirectory() as built:
        program = compiled(folder, built)
        truth = loaded(folder / "truth.py")
        for streams in map(int, arguments.streams.split(",")):
            for _ in range(arguments.runs):
                print(measured(arguments, program, truth, streams), flush=True)


if __name__ == "__main__":
    main()
