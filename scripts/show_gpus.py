"""Watch this machine's GPUs for some seconds as `assay bench` does beside a load, and print what was seen.

pip install nvidia-ml-py; python scripts/show_gpus.py [SECONDS]      exit 1: none, or not all of it is told

For a machine with GPUs, which the tests have not: the energy counter is held against the mean of the power
readings, and the clock, temperature and memory against what `nvidia-smi` says at the end.
"""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "src"))

from assay.bench.gpus import GpuWatch, load_nvml

_APART = 0.1
"""Energy over time and the mean of power readings may differ so much: readings are averages themselves."""


def main(seconds: float) -> int:
    """Watch, print, compare; the exit code."""
    nvml = load_nvml()
    if nvml is None:
        print("no pynvml: pip install nvidia-ml-py")
        return 1
    with GpuWatch(nvml) as watch:
        began = time.monotonic_ns()
        time.sleep(seconds)
        ended = time.monotonic_ns()
    found = watch.report(began, ended)
    wrong = not found
    for each in found:
        print(each)
        known = each.power_mean_w is not None and each.power_most_w is not None
        if not known or each.sm_mean_mhz is None or each.temperature_most_c is None:
            print(f"  GPU {each.index} does not say all")
            wrong = True
        elif each.power_mean_w > each.power_most_w * (1 + _APART):
            print(f"  GPU {each.index}: its energy counter and its power readings do not fit")
            wrong = True
    fields = "index,power.draw,clocks.sm,temperature.gpu,memory.used,utilization.gpu"
    said = subprocess.run(
        ["nvidia-smi", f"--query-gpu={fields}", "--format=csv,noheader"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    print(said.stdout)
    return int(wrong)


if __name__ == "__main__":
    sys.exit(main(float(sys.argv[1]) if sys.argv[1:] else 5.0))
