"""Break rollouts at random, again and again, and look whether the service always comes back.

ASSAY_RIG=DIR python scripts/soak_rollout.py [COUNT] [SEED]       root; about 15 s each; exit 1 if one did not

Each schedule starts a rollout in a process of its own and breaks things at random times: it is killed, the
link is cut for a while, the machine frozen, its power cut, sshd killed, the disk filled. All the while the
machine is looked at from within for a trial's drop-in without a switch that stays so. In the end the old
command must serve, with nobody's help. A seed gives the same faults, not the same moments of the rollout.
"""

from __future__ import annotations

import os
import random
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "src")]

from tests.rig import test_rollout as rollouts  # noqa: E402 -- the path comes first
from tests.rig.rigs import Rig  # noqa: E402

LONGEST_S = 60.0
BARE_S = 4.0
"""A trial without a switch for this long is wrong; the switch's own service takes a moment to start."""
_BARE = f"""
bare() {{
  [ -e {rollouts.PLACES.trial} ] || return 1
  for each in {rollouts.PLACES.switch} {rollouts.PLACES.switch}-trial; do
    for kind in timer service; do
      case $(systemctl show -p ActiveState --value $each.$kind) in active|activating) return 1 ;; esac
    done
  done
}}
bare && echo bare; true
"""


class Sampler(threading.Thread):
    """Looks from within whether a trial lies there with no switch."""

    def __init__(self, rig: Rig) -> None:
        super().__init__(daemon=True)
        self._rig = rig
        self._since: float | None = None
        self.bare_s = 0.0
        self.over = threading.Event()

    def run(self) -> None:
        while not self.over.wait(0.3):
            try:
                bare = "bare" in self._rig.inside("sh", "-c", _BARE)
            except (AssertionError, OSError):  # it is frozen or without power
                self._since = None
                continue
            now = time.monotonic()
            self._since = (self._since or now) if bare else None
            self.bare_s = max(self.bare_s, now - self._since if self._since else 0.0)


def faults(rig: Rig, draw: random.Random) -> list[tuple[str, Callable[[], object], Callable[[], object]]]:
    """Name, what breaks, and what mends."""

    def nothing() -> None:
        return None

    every: list[tuple[str, Callable[[], object], Callable[[], object]]] = [
        ("link", lambda: rig.call("link", "rig1", "down"), lambda: rig.call("link", "rig1", "up")),
        ("freeze", lambda: rig.call("freeze", "rig1"), lambda: rig.call("thaw", "rig1")),
        ("power", lambda: rig.call("power", "rig1", "cycle"), nothing),
        ("sshd", lambda: rig.call("sshd", "rig1", "kill"), lambda: rig.call("sshd", "rig1", "start")),
        ("disk", lambda: rig.call("fill", "rig1"), lambda: rig.call("unfill", "rig1")),
    ]
    return draw.sample(every, draw.choice([0, 1, 1, 2]))


def schedule(rig: Rig, seed: int, folder: Path) -> str:
    """One schedule; what was wrong, or nothing."""
    draw = random.Random(seed)  # noqa: S311 -- a schedule that can be had again
    rollouts.clean(rig)
    sampler = Sampler(rig)
    sampler.start()
    told = []
    with rollouts.controller(rig, folder, "lambda name: None", quiet=True) as process:
        time.sleep(draw.uniform(0.3, 3.0))
        for name, break_it, mend in faults(rig, draw):
            told.append(name)
            break_it()
            time.sleep(draw.uniform(0.1, 9.0))
            mend()
        if draw.random() < 0.5:
            told.append("kill -9")
            process.kill()
        try:
            process.wait(120)
        except Exception:  # noqa: BLE001 -- it is ended whatever it is
            process.kill()
            told.append("it hung")
    print(f"{seed}: {', '.join(told) or 'nothing'}; exit {process.returncode}", flush=True)
    try:
        rollouts.back(rig, LONGEST_S)
        wrong = ""
    except AssertionError as error:
        wrong = f"it did not come back: {error}"
    sampler.over.set()
    sampler.join()
    if sampler.bare_s > BARE_S:
        wrong = f"{wrong} a trial without a switch for {sampler.bare_s:.1f} s"
    return wrong + (" it hung" if "it hung" in told else "")


def main(count: int, first: int) -> int:
    """Run them; the number of those that went wrong."""
    rig = Rig(Path(os.environ["ASSAY_RIG"]), count=1)
    bad = 0
    try:
        for seed in range(first, first + count):
            with tempfile.TemporaryDirectory() as folder:
                wrong = schedule(rig, seed, Path(folder))
            if wrong:
                bad += 1
                print(f"{seed}: WRONG: {wrong}", flush=True)
    finally:
        rig.down()
    print(f"{count} schedules, {bad} wrong", flush=True)
    return bad


if __name__ == "__main__":
    numbers = [int(each) for each in sys.argv[1:]]
    sys.exit(bool(main(*(numbers + [200, 0][len(numbers) :]))))
