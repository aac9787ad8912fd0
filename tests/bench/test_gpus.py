"""GPUs beside a rung, by a stand-in for NVIDIA's bindings; scripts/show_gpus.py is for real ones."""

from __future__ import annotations

import time
from collections.abc import Callable
from types import ModuleType, SimpleNamespace

import pytest
from tests.bench.servers import Scripted

from assay.bench import Level, Limits, measure, tokens_per_joule
from assay.bench import gpus as room
from assay.bench.gpus import GpuReport, GpuSample, GpuWatch, gpu_doubts, gpu_report
from assay.bench.prompts import RandomPrompts
from assay.bench.requests import Sending
from assay.bench.run import Workload

S = 10**9


class NVMLError(Exception):
    """As NVIDIA's bindings have it."""


MEMORY = {0: 101 << 30, 2: 100 << 30}
"""Bytes used, with what the driver keeps and, by the newer struct, without."""


def nvml(
    *, watts: float = 300.0, reasons: int = 0, count: int = 2, old: bool = False, mute: bool = False
) -> ModuleType:
    """Bindings for so many GPUs; the second one is idle. `mute` ones support nothing but their name."""
    began = time.monotonic()
    module = ModuleType("pynvml")

    def told(of: object) -> Callable[..., object]:
        def ask(_handle: int, *_: int) -> object:
            if mute:
                raise NVMLError
            return of(_handle) if callable(of) else of

        return ask

    def memory(handle: int, version: int = 0) -> object:
        return told(SimpleNamespace(used=MEMORY[version]))(handle)

    def energy(handle: int) -> int:
        return 7_000_000 + round(1000 * (watts if handle == 0 else 50) * (time.monotonic() - began))

    module.__dict__.update(
        NVMLError=NVMLError,
        nvmlInit=lambda: None,
        nvmlShutdown=lambda: None,
        nvmlDeviceGetCount=lambda: count,
        nvmlDeviceGetHandleByIndex=lambda at: at,
        nvmlDeviceGetName=lambda _: b"NVIDIA H200",
        nvmlDeviceGetTotalEnergyConsumption=told(energy),
        nvmlDeviceGetPowerUsage=told(lambda at: round(1000 * (watts if at == 0 else 50))),
        nvmlDeviceGetClockInfo=told(1980),
        nvmlDeviceGetTemperature=told(61),
        nvmlDeviceGetMemoryInfo=lambda at, version=0: told(SimpleNamespace(used=MEMORY[version]))(at),
        nvmlDeviceGetUtilizationRates=told(lambda at: SimpleNamespace(gpu=97 if at == 0 else 0)),
    )
    if not old:
        module.__dict__["nvmlMemory_v2"] = 2
    name = "nvmlDeviceGetCurrentClocksThrottleReasons" if old else "nvmlDeviceGetCurrentClocksEventReasons"
    module.__dict__[name] = told(lambda at: reasons if at == 0 else 1)
    return module


@pytest.mark.parametrize("old", [False, True])
def test_two_gpus_of_which_one_works(*, old: bool) -> None:
    with GpuWatch(nvml(reasons=0x4, old=old)) as watch:
        began = time.monotonic_ns()
        while time.monotonic_ns() < began + S // 2:
            time.sleep(0.01)
        ended = time.monotonic_ns()
    busy, idle = watch.report(began, ended)
    assert (busy.used, idle.used) == (True, False)
    assert busy.energy_j == pytest.approx(300 * (ended - began) / S, rel=0.02)
    assert busy.power_mean_w == pytest.approx(300, rel=0.02)
    assert (busy.name, busy.sm_least_mhz, busy.temperature_most_c) == ("NVIDIA H200", 1980, 61)
    assert (busy.memory_most_mib, busy.busy_mean_percent) == (103424 if old else 102400, 97)
    assert (busy.slowed_share, busy.capped_share, idle.capped_share) == (0.0, 1.0, 0.0)
    assert busy.samples >= 2
    assert tokens_per_joule(1500, [busy, idle]) == pytest.approx(1500 / (busy.energy_j or 1))


def test_devices_that_tell_nothing() -> None:
    with GpuWatch(nvml(mute=True)) as watch:
        pass
    (one, _) = watch.report(0, S)
    assert (one.used, one.energy_j, one.slowed_share, one.sm_mean_mhz) == (False, None, None, None)
    assert list(gpu_doubts([one])) == []
    assert tokens_per_joule(5, [one]) is None


def test_no_driver_and_no_bindings() -> None:
    def fails() -> None:
        raise NVMLError

    broken = nvml()
    broken.__dict__["nvmlInit"] = fails
    for module in (broken, None):
        with GpuWatch(module) as watch:
            pass
        assert watch.report(0, 1) == ()


def sample(at_s: float, *, energy_j: float | None = None, power_w: float | None = None) -> GpuSample:
    return GpuSample(round(at_s * S), energy_j, power_w, 1000, 50, 1, 99, 0)


def test_energy_is_read_between_two_looks() -> None:
    counted = [sample(at, energy_j=1000 + 200 * at) for at in (0, 1, 2, 3)]
    assert gpu_report(0, "x", counted, S // 2, 5 * S // 2).energy_j == pytest.approx(400)
    # no counter: power counts until the next look
    powered = [sample(at, power_w=watts) for at, watts in ((0, 100), (1, 300), (2, 300), (3, 300))]
    found = gpu_report(0, "x", powered, 0, 3 * S)
    assert found.energy_j == pytest.approx(700)
    assert found.power_most_w == 300


def test_a_gpu_that_is_slowed_by_heat_is_a_doubt() -> None:
    hot = GpuReport(index=3, name="x", samples=10, used=True, slowed_share=0.4, capped_share=0.9)
    cold = GpuReport(index=4, name="x", samples=10, used=False, slowed_share=1.0)
    assert [(each.code, each.blocks) for each in gpu_doubts([hot, cold])] == [
        ("throttled", True),
        ("power-capped", False),
    ]


def test_a_rung_has_them(monkeypatch: pytest.MonkeyPatch) -> None:
    from tests.cli.test_bench import ANSWER

    monkeypatch.setattr(room, "load_nvml", lambda: nvml(reasons=0x40))
    monkeypatch.setattr("assay.bench.run.load_nvml", lambda: nvml(reasons=0x40))
    server = Scripted(lambda *_: ANSWER)
    workload = Workload(
        sending=Sending(model="m", endpoint="/v1/completions"),
        prompts=RandomPrompts(input_tokens=8, output_tokens=2),
    )
    try:
        levels = [Level(requests=4, concurrency=2)]
        [(with_them, _)] = measure(server.where, workload, levels, limits=Limits(gpus=True))
        [(without, _)] = measure(server.where, workload, levels)
    finally:
        server.stop()
    assert len(with_them.gpus) == 2
    assert "throttled" in [each.code for each in with_them.doubts]
    assert without.gpus == ()
