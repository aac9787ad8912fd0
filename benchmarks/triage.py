"""Speed and memory of `assay triage` and `assay explain`, as whole processes, beside a bare parse of `srt`.

Usage: python benchmarks/triage.py [--engine sglang==0.5.10] [--example NAME] [--runs 3] [--profile]

Prints, for each figure, the median over the runs of CPU seconds (children included) and their ratio to a bare
`ast.parse` of the engine's `srt` in the same run, with the bar that it should keep; then peak memory. With
`--profile`, where the time of a triage goes.
"""

from __future__ import annotations

import argparse
import cProfile
import os
import pstats
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import assay

EXAMPLES = Path(__file__).parents[1] / "examples" / "deployments"
ASSAY = (sys.executable, "-m", "assay")
BARE = """
import ast, gc, pathlib, sys
gc.disable()
for file in sorted(pathlib.Path(sys.argv[1]).rglob("*.py")):
    ast.parse(file.read_bytes())
"""
BARS = {"triage, nothing cached": 6.0, "triage, source read before": 2.0, "explain, source read before": 0.7}


def cpu(command: list[str]) -> float:
    """CPU seconds of one run of a command and all its children."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        sys.exit(f"{' '.join(command)} failed with {done.returncode}: {done.stderr}")
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--engine", default="sglang==0.5.10")
    parser.add_argument("--example", default="qwen35-sm120-xbuf")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--profile", action="store_true")
    options = parser.parse_args()
    deployment = EXAMPLES / f"{options.example}.toml"
    with tempfile.TemporaryDirectory() as folder:
        figures(options.engine, deployment, options.runs, Path(folder))
    if options.profile:
        profile(options.engine, deployment)


def figures(engine: str, deployment: Path, runs: int, folder: Path) -> None:
    """All figures, interleaved, so that the machine's mood falls on each alike."""
    fetched, cache, copy = folder / "fetched", folder / "cache", folder / "tree"
    explain = [*ASSAY, "explain", "schedule_policy=lpm", "-d", str(deployment)]
    cpu([*explain, "--engine", engine, "--cache", str(fetched)])
    shutil.copytree(next((fetched / "v1" / "trees").iterdir()), copy)
    where = ["--engine", str(copy), "--cache", str(cache)]
    what = {
        "bare parse of srt": [sys.executable, "-c", BARE, str(copy / "sglang" / "srt")],
        "triage, nothing cached": [*ASSAY, "triage", str(deployment), *where],
        "triage, source read before": [*ASSAY, "triage", str(deployment), *where],
        "explain, source read before": [*explain, *where],
    }
    taken: dict[str, list[float]] = {name: [] for name in what}
    for _ in range(runs):
        shutil.rmtree(cache, ignore_errors=True)
        for name, command in what.items():
            taken[name].append(cpu(command))
    bare = statistics.median(taken["bare parse of srt"])
    print(
        f"{engine}, {deployment.stem}, {runs} runs, {os.cpu_count()} cores, Python {sys.version.split()[0]}"
    )
    for name, values in taken.items():
        median = statistics.median(values)
        bar = f" (bar: {BARS[name]:g})" if name in BARS else ""
        print(f"  {name:28} {median:6.2f} s CPU, {median / bare:5.2f} times the parse{bar}")
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    print(f"  peak memory of a process     {peak:6.0f} MiB (bar: 1024)")


def profile(engine: str, deployment: Path) -> None:
    """The functions in which a triage spends most of its time."""
    profiler = cProfile.Profile()
    profiler.runcall(assay.triage, deployment, engine=engine)
    pstats.Stats(profiler).sort_stats("tottime").print_stats(25)


if __name__ == "__main__":
    main()
