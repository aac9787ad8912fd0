"""What NVIDIA's management library says of the accelerators, from facts."""

from __future__ import annotations

from typing import Any

from assay.flow.interpreter import Interpreter
from assay.flow.outside.modelled import constant, partly
from assay.flow.values import Choice, Instance, Native, Unknown


class NVMLError(RuntimeError):
    """`pynvml.NVMLError`."""


_HANDLE = partly("pynvml.Device", {"__init__": constant(None)})
_MEMORY = partly("pynvml.Memory", {})
_LINKED, _NOT_LINKED = 0, 2
_MIB = 1 << 20


def _begin(i: Interpreter, *_arguments: Any, **_keywords: Any) -> None:
    """`nvmlInit()`: raises where no driver of NVIDIA is."""
    vendor = i.force(i.outside.fact(i, "accelerator.vendor"))
    missing = i.error(NVMLError, "NVML Shared Library Not Found")
    if isinstance(vendor, Unknown):
        i.machine.may_raise(Unknown("whether NVML is there", ("nvml",), "bool"), missing)
    elif vendor != "nvidia":
        raise missing


def _handle(_i: Interpreter, index: Any = 0, *_rest: Any) -> Instance:
    made = Instance(_HANDLE)
    made.attributes["index"] = index
    return made


def _memory(i: Interpreter, *_arguments: Any, **_keywords: Any) -> Instance:
    made = Instance(_MEMORY)
    mib = i.outside.fact(i, "accelerator.memory_mib")
    made.attributes["total"] = i.lift(lambda each: each * _MIB, mib, label="bytes")
    for name in ("free", "used"):
        made.attributes[name] = Unknown(f"{name} memory of an accelerator", kind="int")
    return made


def _linked(i: Interpreter, *_arguments: Any, **_keywords: Any) -> Any:
    linked = i.force(i.outside.fact(i, "accelerator.nvlink"))
    if isinstance(linked, Unknown):
        return Choice(linked, _LINKED, _NOT_LINKED)
    return _LINKED if linked else _NOT_LINKED


def _fact(name: str) -> Native:
    return Native(name, lambda i, *_a, **_k: i.outside.fact(i, name))


_FUNCTIONS: dict[str, Any] = {
    "nvmlInit": Native("nvmlInit", _begin),
    "nvmlShutdown": constant(None),
    "nvmlDeviceGetCount": _fact("accelerator.count"),
    "nvmlDeviceGetHandleByIndex": Native("nvmlDeviceGetHandleByIndex", _handle),
    "nvmlDeviceGetName": _fact("accelerator.name"),
    "nvmlDeviceGetCudaComputeCapability": _fact("accelerator.capability"),
    "nvmlDeviceGetMemoryInfo": Native("nvmlDeviceGetMemoryInfo", _memory),
    "nvmlDeviceGetP2PStatus": Native("nvmlDeviceGetP2PStatus", _linked),
    "NVML_P2P_CAPS_INDEX_NVLINK": 2,
    "NVML_P2P_STATUS_OK": _LINKED,
    "NVMLError": NVMLError,
}
NAMES: dict[str, Any] = {
    f"{module}.{name}": value
    for module in ("pynvml", "vllm.third_party.pynvml")
    for name, value in _FUNCTIONS.items()
}
