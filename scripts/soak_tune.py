"""Kill studies with `kill -9` at random moments, again and again: do they come to the same end?

python scripts/soak_tune.py [KILLS] [SEED]     default 100 kills; some 5 s each; exit 1 if one was not so

Each study tunes an engine that starts at once: one option gives much, one nothing, one value of a third does
not start. It is killed at random times and gone on with by `--resume` until it ends; then comes the next one.
At each end every start has one end and one number, the large gain is shipped, and no process of it is left.
"""

from __future__ import annotations

import os
import random
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "src")]

from tests.study.engine import write  # noqa: E402 -- the path comes first

from assay.hosts import marked  # noqa: E402
from assay.journal import Journal  # noqa: E402
from assay.study import Record, studies  # noqa: E402

LONGEST_S = 12.0
_EACH = 10
"""Kills of one study at the most."""
WORDS = (
    *("+max-running-requests=8", "+page-size=7", "+schedule-policy=lpm", "--only", "--unchecked"),
    *("--max-concurrency", "4", "--num-prompts", "16", "--metrics-url", "none", "--random-input-len", "16"),
    *("--random-output-len", "4", "--hours", "0.15", "--start-minutes", "0.1", "--result-dir"),
)


class Failed(Exception):
    """Something was lost, doubled or left."""


def main() -> int:
    """As many kills as wanted; the exit code."""
    wanted = int(sys.argv[1]) if sys.argv[1:] else 100
    draw = random.Random(int(sys.argv[2]) if sys.argv[2:] else 0)  # noqa: S311 - to be repeated
    kills = ends = 0
    with tempfile.TemporaryDirectory(prefix="assay-soak-") as folder:
        while kills < wanted:
            try:
                kills += one_study(Path(folder) / str(ends), draw, min(_EACH, wanted - kills))
            except Failed as error:
                print(f"after {kills} kills: {error}")
                return 1
            ends += 1
            print(f"{kills} kills, {ends} studies: each came to the same end", flush=True)
    return 0


def one_study(folder: Path, draw: random.Random, most: int) -> int:
    """Kill one study until it ends by itself; how often it was killed."""
    folder.mkdir()
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    write(folder, port)
    kills = 0
    while True:
        seconds = draw.uniform(0.3, LONGEST_S) if kills < most else None
        code, said = run(folder, seconds, resume=began(folder))
        if code is None:
            kills += 1
            continue
        if code != 0:
            raise Failed(f"exit code {code}: {said}")
        check(folder)
        return kills


def run(folder: Path, seconds: float | None, *, resume: bool) -> tuple[int | None, str]:
    """One try; its exit code, `None` where it was killed, and what it said."""
    environment = {**os.environ, "ASSAY_JOURNAL": str(folder / "j.sqlite"), "PYTHONPATH": str(ROOT / "src")}
    words = [sys.executable, "-m", "assay", "tune", "tiny.toml", *WORDS, "results"]
    with (folder / "said").open("w+") as said:
        process = subprocess.Popen(
            [*words, *(["--resume"] if resume else [])],
            cwd=folder, env=environment, stdout=said, stderr=subprocess.STDOUT,
        )  # fmt: skip
        deadline = time.monotonic() + (seconds or 600)
        while process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.02)
        killed = process.poll() is None
        if killed:
            process.kill()
        process.wait()
        said.seek(0)
        return (None if killed else process.returncode), said.read()[-2000:]


def began(folder: Path) -> bool:
    """Whether the journal has a study."""
    path = folder / "j.sqlite"
    if not path.exists():
        return False
    with Journal(path, who="soak") as journal:
        return bool(studies(journal.entries()))


def check(folder: Path) -> None:
    """Nothing was lost, doubled or left."""
    with Journal(folder / "j.sqlite", who="soak") as journal:
        entries = journal.entries()
    found = studies(entries)
    if len(found) != 1:
        raise Failed(f"{len(found)} studies where one was begun")
    [(_, study)] = found
    record = Record(study, entries)  # refuses a start that ended twice
    numbers = sorted(record.ended)
    if numbers != list(range(1, len(numbers) + 1)):
        raise Failed(f"starts {numbers}")
    end = record.end
    if end is None or end.result != "shipped" or "--max-running-requests 8" not in end.change:
        raise Failed(f"it ended so: {end}")
    if end.starts != len(numbers) or [each.kind for each in entries].count("study-ended") != 1:
        raise Failed("the end does not fit the starts")
    if left := marked(study.id):
        raise Failed(f"processes {left} are left")


if __name__ == "__main__":
    sys.exit(main())
