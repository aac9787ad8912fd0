"""Power, clocks and throttling of this machine's NVIDIA GPUs beside a rung, by NVML where it is there."""

from __future__ import annotations

import contextlib
import math
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

from assay._value import Value
from assay.bench.doubt import Doubt
from assay.bench.undisturbed import undisturbed

if TYPE_CHECKING:
    from types import ModuleType

_EVERY_S, _JOIN_S = 0.2, 5.0
_IDLE_PERCENT = 1
_SLOWED = 0.05
_CAPPED, _HARDWARE, _HOT, _HARDWARE_HOT, _BRAKE = 0x4, 0x8, 0x20, 0x40, 0x80
"""Bits of NVML's clock event reasons: software power cap; hardware slowdown; thermal; power brake."""
_SLOW = _HARDWARE | _HOT | _HARDWARE_HOT | _BRAKE
_CLOCK_SM, _TEMPERATURE_GPU = 1, 0


class GpuSample(NamedTuple):
    """One look at one GPU; what a device does not tell is None."""

    at_ns: int
    """CLOCK_MONOTONIC."""
    energy_j: float | None
    """Since the driver was loaded."""
    power_w: float | None
    """As the driver averages it."""
    sm_mhz: int | None
    """Clock of its multiprocessors."""
    temperature_c: int | None
    """Of the chip."""
    memory_mib: int | None
    """In use."""
    busy_percent: int | None
    """Share of the time in which a kernel ran."""
    reasons: int | None
    """Why its clocks are not at their highest, NVML's bits."""


class GpuReport(Value):
    """One GPU while the clock of a rung ran; None: it does not tell."""

    index: int
    """As NVML counts."""
    name: str
    """As the driver names it."""
    samples: int
    """How often it was asked."""
    used: bool
    """Whether anything ran on it."""
    energy_j: float | None = None
    """By its own counter, else by its power over time."""
    power_mean_w: float | None = None
    """Energy over time."""
    power_most_w: float | None = None
    """Largest sample."""
    sm_mean_mhz: float | None = None
    """Mean clock of its multiprocessors."""
    sm_least_mhz: int | None = None
    """Lowest."""
    temperature_most_c: int | None = None
    """Highest."""
    memory_most_mib: int | None = None
    """Most in use."""
    busy_mean_percent: float | None = None
    """Share of the time in which a kernel ran."""
    slowed_share: float | None = None
    """Share of samples that were slowed by heat, by the power brake or by the board."""
    capped_share: float | None = None
    """Share of samples at the power limit, which a GPU under full load often is."""


class GpuWatch:
    """A thread that samples while it is entered; without NVML it does nothing."""

    def __init__(self, nvml: ModuleType | None) -> None:
        self._nvml: Any = nvml  # a library without types
        self._handles: list[Any] = []
        self._names: list[str] = []
        self._samples: list[list[GpuSample]] = []
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True, name="assay-gpus")

    def __enter__(self) -> GpuWatch:
        """Find the devices and take the first sample; a driver that is not there is no error."""
        if self._nvml is None:
            return self
        try:
            self._nvml.nvmlInit()
            count = self._nvml.nvmlDeviceGetCount()
            self._handles = [self._nvml.nvmlDeviceGetHandleByIndex(at) for at in range(count)]
            self._names = [_name(self._nvml.nvmlDeviceGetName(each)) for each in self._handles]
        except self._nvml.NVMLError:
            self._handles = []
            return self
        self._samples = [[] for _ in self._handles]
        self._look()
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Sample no more."""
        self._stop.set()
        if self._thread.ident is not None:
            self._thread.join(_JOIN_S)
        if self._handles:
            self._look()
            with contextlib.suppress(self._nvml.NVMLError):
                self._nvml.nvmlShutdown()

    def report(self, began_ns: int, ended_ns: int) -> tuple[GpuReport, ...]:
        """What they did between two moments of CLOCK_MONOTONIC; after the watch."""
        named = zip(self._names, self._samples, strict=True)
        return tuple(gpu_report(at, name, each, began_ns, ended_ns) for at, (name, each) in enumerate(named))

    def _watch(self) -> None:
        with undisturbed():
            while not self._stop.wait(_EVERY_S):
                self._look()

    def _look(self) -> None:
        for handle, samples in zip(self._handles, self._samples, strict=True):
            samples.append(self._sample(handle))

    @property
    def _memory(self) -> tuple[int, ...]:
        """The version of the struct that, as `nvidia-smi`, does not count what the driver keeps for itself
        (615 MiB of an H200 with driver 580); drivers before 510 have the other only.
        """
        kind = getattr(self._nvml, "nvmlMemory_v2", None)
        return (kind,) if kind is not None else ()

    def _sample(self, handle: Any) -> GpuSample:
        nvml = self._nvml
        # the name until driver 535, and the one since then
        reasons = getattr(nvml, "nvmlDeviceGetCurrentClocksEventReasons", None)
        reasons = reasons or nvml.nvmlDeviceGetCurrentClocksThrottleReasons
        at_ns = time.monotonic_ns()
        energy = self._told(lambda: nvml.nvmlDeviceGetTotalEnergyConsumption(handle) / 1000)
        power = self._told(lambda: nvml.nvmlDeviceGetPowerUsage(handle) / 1000)
        return GpuSample(
            at_ns=at_ns,
            energy_j=energy,
            power_w=power,
            sm_mhz=self._whole(lambda: nvml.nvmlDeviceGetClockInfo(handle, _CLOCK_SM)),
            temperature_c=self._whole(lambda: nvml.nvmlDeviceGetTemperature(handle, _TEMPERATURE_GPU)),
            memory_mib=self._whole(lambda: nvml.nvmlDeviceGetMemoryInfo(handle, *self._memory).used >> 20),
            busy_percent=self._whole(lambda: nvml.nvmlDeviceGetUtilizationRates(handle).gpu),
            reasons=self._whole(lambda: reasons(handle)),
        )

    def _told(self, ask: Callable[[], float]) -> float | None:
        """What the device says; None where it does not support that."""
        try:
            return float(ask())
        except self._nvml.NVMLError:
            return None

    def _whole(self, ask: Callable[[], float]) -> int | None:
        told = self._told(ask)
        return None if told is None else int(told)


def load_nvml() -> ModuleType | None:
    """NVIDIA's own bindings, where the extra `assay[gpu]` is installed."""
    try:
        import pynvml
    except ImportError:
        return None
    module: ModuleType = pynvml
    return module


def _name(told: str | bytes) -> str:
    return told.decode("utf-8", "replace") if isinstance(told, bytes) else told


def gpu_report(
    index: int, name: str, samples: Sequence[GpuSample], began_ns: int, ended_ns: int
) -> GpuReport:
    """One GPU between two moments; energy is read off its counter, straight between two samples."""
    within = [each for each in samples if began_ns <= each.at_ns <= ended_ns] or list(samples[-1:])
    energy_j = _energy(samples, began_ns, ended_ns)
    seconds = (ended_ns - began_ns) / 1e9
    clocks = _values(each.sm_mhz for each in within)
    busy = _values(each.busy_percent for each in within)
    reasons = [each.reasons for each in within if each.reasons is not None]
    return GpuReport(
        index=index,
        name=name,
        samples=len(within),
        used=max(busy, default=0) > _IDLE_PERCENT,
        energy_j=energy_j,
        power_mean_w=None if energy_j is None or seconds <= 0 else energy_j / seconds,
        power_most_w=max(_values(each.power_w for each in within), default=None),
        sm_mean_mhz=_mean(clocks),
        sm_least_mhz=int(min(clocks)) if clocks else None,
        temperature_most_c=_most(each.temperature_c for each in within),
        memory_most_mib=_most(each.memory_mib for each in within),
        busy_mean_percent=_mean(busy),
        slowed_share=_share(reasons, _SLOW),
        capped_share=_share(reasons, _CAPPED),
    )


def _values(every: Iterator[float | None]) -> list[float]:
    return [each for each in every if each is not None]


def _mean(values: Sequence[float]) -> float | None:
    return math.fsum(values) / len(values) if values else None


def _most(every: Iterator[int | None]) -> int | None:
    return max((each for each in every if each is not None), default=None)


def _share(reasons: Sequence[int], bits: int) -> float | None:
    return sum(bool(each & bits) for each in reasons) / len(reasons) if reasons else None


def _energy(samples: Sequence[GpuSample], began_ns: int, ended_ns: int) -> float | None:
    """By its counter; where it has none, by its power, taken for constant until the next sample."""
    told = [(each.at_ns, each.energy_j) for each in samples if each.energy_j is not None]
    if len(told) < 2:
        told, joules = [], 0.0
        powered = [(each.at_ns, each.power_w) for each in samples if each.power_w is not None]
        for (at_ns, power_w), (next_ns, _) in pairwise(powered):
            told.append((at_ns, joules))
            joules += power_w * (next_ns - at_ns) / 1e9
        told += [(powered[-1][0], joules)] if powered else []
    if len(told) < 2 or ended_ns <= began_ns:
        return None
    return _at(told, ended_ns) - _at(told, began_ns)


def _at(told: Sequence[tuple[int, float]], moment_ns: int) -> float:
    """Straight between two samples; before the first and after the last, as those around go."""
    after = next((at for at, (at_ns, _) in enumerate(told) if at_ns >= moment_ns), len(told) - 1)
    (from_ns, one), (to_ns, other) = told[max(after, 1) - 1], told[max(after, 1)]
    return one + (other - one) * (moment_ns - from_ns) / (to_ns - from_ns)


def tokens_per_joule(output_tokens: int | None, gpus: Sequence[GpuReport]) -> float | None:
    """Output tokens of a rung over the energy of the GPUs on which anything ran; None: it is not told."""
    energies = [each.energy_j for each in gpus if each.used]
    if not energies or output_tokens is None or any(each is None for each in energies):
        return None
    joules = math.fsum(each for each in energies if each is not None)
    return output_tokens / joules if joules > 0 else None


def gpu_doubts(gpus: Sequence[GpuReport]) -> Iterator[Doubt]:
    """GPUs that were slowed measure their cooling."""
    for each in gpus:
        if each.used and each.slowed_share is not None and each.slowed_share > _SLOWED:
            yield Doubt(
                code="throttled",
                blocks=True,
                text=f"GPU {each.index} was slowed by heat, power brake or board in {each.slowed_share:.0%} "
                f"of the looks at it: down to {each.sm_least_mhz} MHz, up to {each.temperature_most_c} C",
                mend="see its cooling and power supply; measure again once it is cool",
            )
    capped = [each for each in gpus if each.used and (each.capped_share or 0.0) > _SLOWED]
    if capped:
        yield Doubt(
            code="power-capped",
            blocks=False,
            text=f"{len(capped)} of {len(gpus)} GPUs were at their power limit, GPU {capped[0].index} in "
            f"{capped[0].capped_share:.0%} of the looks at it",
            mend="nothing, where that limit is what is served; else see `nvidia-smi -q -d POWER`",
        )
