"""Speed of `assay lint`, as whole processes, beside a bare parse of the same files in the same run.

Usage: python benchmarks/lint.py [--engine sglang==0.5.10] [--runs 5]

Prints, for each figure, the median over the runs of wall seconds and CPU seconds (children included), and
the bar that it should keep. Shared machines are noisy: trust the ratios, and CPU more than wall.
"""

from __future__ import annotations

import argparse
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

UNIT = Path(__file__).parents[1] / "examples" / "units" / "llm.service"
ASSAY = (sys.executable, "-m", "assay")
BARE = """
import ast, gc, pathlib, sys
gc.disable()
for file in sorted(pathlib.Path(sys.argv[1]).rglob("*.py")):
    try:
        ast.parse(file.read_bytes())
    except SyntaxError:
        pass
"""


def measured(command: list[str]) -> tuple[float, float]:
    """Wall and CPU seconds of one run of a command and all its children."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    began = time.perf_counter()
    done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False)
    wall = time.perf_counter() - began
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode not in (0, 1):
        sys.exit(f"{' '.join(command)} failed with {done.returncode}: {done.stderr}")
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--engine", default="sglang==0.5.10")
    parser.add_argument("--runs", type=int, default=5)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        figures(options.engine, options.runs, Path(folder))


def figures(engine: str, runs: int, folder: Path) -> None:
    """All figures, interleaved, so that the machine's mood falls on each alike."""
    cache, fetched = folder / "cache", folder / "fetched"
    lint = [*ASSAY, "lint", str(UNIT), "--engine", engine, "--cache"]
    measured([*lint, str(fetched)])
    tree = next((fetched / "v1" / "trees").iterdir())
    copy = folder / "folder"
    shutil.copytree(tree, copy)
    in_folder = [*ASSAY, "lint", str(UNIT), "--engine", str(copy), "--cache", str(cache)]

    def cold() -> tuple[float, float]:
        shutil.rmtree(cache, ignore_errors=True)
        return measured(in_folder)

    def again(command: list[str]) -> Callable[[], tuple[float, float]]:
        return lambda: measured(command)

    what: dict[str, Callable[[], tuple[float, float]]] = {
        "assay --help": again([*ASSAY, "--help"]),
        "assay lint --help": again([*ASSAY, "lint", "--help"]),
        "lint, release in the cache": again([*lint, str(fetched)]),
        "bare parse of the package's files": again([sys.executable, "-c", BARE, str(copy)]),
        "lint of a folder, nothing cached": cold,
        "lint of that folder again": again(in_folder),
    }
    taken: dict[str, list[tuple[float, float]]] = {name: [] for name in what}
    for _ in range(runs):
        for name, run in what.items():
            taken[name].append(run())
    medians = {
        name: tuple(statistics.median(each[side] for each in values) for side in (0, 1))
        for name, values in taken.items()
    }
    print(f"{engine}, {runs} runs, {os.cpu_count()} cores, Python {sys.version.split()[0]}")
    for name, (wall, cpu) in medians.items():
        print(f"  {name:36} {wall:6.2f} s wall {cpu:6.2f} s CPU")
    bare, first = (
        medians["bare parse of the package's files"][1],
        medians["lint of a folder, nothing cached"][1],
    )
    print(f"  cold lint / bare parse, CPU: {first / bare:.2f} (bar: 3)")
    print("  bars: --help 0.3 s wall, warm lint 0.7 s wall")


if __name__ == "__main__":
    main()
