"""The accelerators of a machine as `nvidia-smi` shows them, and which processes use them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal

from assay._value import Value
from assay.errors import CommandFailed

if TYPE_CHECKING:
    from assay.hosts import Host

_QUERY = "index,uuid,name,memory.total,compute_cap,driver_version,mig.mode.current,pci.bus_id,memory.used"
GPUS = ("nvidia-smi", f"--query-gpu={_QUERY}", "--format=csv,noheader,nounits")
"""The command behind `parse_gpus`."""
USERS = (
    "nvidia-smi",
    "--query-compute-apps=gpu_uuid,pid,used_memory,process_name",
    "--format=csv,noheader,nounits",
)
"""The command behind `parse_gpu_users`."""
CUDA = ("nvidia-smi", "-q", "-d", "COMPUTE")
"""The command behind `parse_cuda`."""
TOPOLOGY = ("nvidia-smi", "topo", "-m")
"""The command behind `parse_nvlink`."""
_NOT_THERE = 127
_ANSWER_S = 60.0


class Gpu(Value):
    """One device."""

    index: int
    """Its number for `nvidia-smi`; not always the one that an engine sees."""
    uuid: str
    """Its name for good: `GPU-dd0042de-…`."""
    name: str
    """As the driver names it: `NVIDIA H200`."""
    memory_mib: int | None
    """Its memory."""
    used_mib: int | None
    """How much of it is taken."""
    capability: str | None
    """CUDA compute capability: `9.0`."""
    driver: str | None
    """Version of the driver."""
    bus_id: str | None
    """Its place on the PCI bus."""
    mig: Literal["on", "off"] | None
    """Whether it is cut into instances; None where it cannot be."""


class GpuUser(Value):
    """A process that holds memory of a device."""

    gpu: str
    """The device's `uuid`."""
    pid: int
    """Its number; within a container one that the machine may not know."""
    memory_mib: int | None
    """How much it holds, if the driver says."""
    name: str
    """Its program."""


class GpuState(Value):
    """What `nvidia-smi` says of a machine; everything is empty where it is not installed."""

    gpus: tuple[Gpu, ...] = ()
    """The devices, by index."""
    users: tuple[GpuUser, ...] = ()
    """What uses them."""
    cuda: str | None = None
    """The newest version of CUDA that the driver serves; an engine's own may be older."""
    nvlink: bool | None = None
    """Whether NVLink joins every pair; None where nobody can tell."""


def read_gpus(host: Host) -> GpuState:
    """The accelerators of a machine. Four commands that only look; none makes a CUDA context.

    Raises:
        CommandFailed: nvidia-smi is there and does not answer, as where the driver is not loaded.
    """
    found = host.run(GPUS, timeout_s=_ANSWER_S)
    if found.status == _NOT_THERE:
        return GpuState()
    gpus = parse_gpus(found.checked().out)
    return GpuState(
        gpus=gpus,
        users=read_gpu_users(host),
        cuda=parse_cuda(host.run(CUDA, timeout_s=_ANSWER_S).checked().out),
        nvlink=parse_nvlink(host.run(TOPOLOGY, timeout_s=_ANSWER_S).out, len(gpus)),
    )


def read_gpu_users(host: Host) -> tuple[GpuUser, ...]:
    """The processes that hold memory of a device; none where there is no nvidia-smi.

    Raises:
        CommandFailed: nvidia-smi does not answer.
    """
    found = host.run(USERS, timeout_s=_ANSWER_S)
    return () if found.status == _NOT_THERE else parse_gpu_users(found.checked().out)


def parse_gpus(out: bytes) -> tuple[Gpu, ...]:
    """Reads a line for each device.

    Raises:
        CommandFailed: a line is not one.
    """
    return tuple(_gpu(line) for line in _lines(out))


def _gpu(line: str) -> Gpu:
    parts = [part.strip() for part in line.split(",")]
    if len(parts) < 9 or not parts[0].isdecimal():
        raise CommandFailed("nvidia-smi did not list its devices as asked", details=(line[:200],))
    # a device's name could hold a comma; everything around it cannot
    name, tail = ", ".join(parts[2:-6]), parts[-6:]
    memory, capability, driver, mig, bus, used = (None if _absent(part) else part for part in tail)
    return Gpu(
        index=int(parts[0]),
        uuid=parts[1],
        name=name,
        memory_mib=_whole(memory),
        used_mib=_whole(used),
        capability=capability if capability and re.fullmatch(r"\d+\.\d+", capability) else None,
        driver=driver,
        bus_id=bus,
        mig={"Enabled": "on", "Disabled": "off"}.get(mig or ""),  # type: ignore[arg-type]  # of the Literal
    )


def parse_gpu_users(out: bytes) -> tuple[GpuUser, ...]:
    """Reads a line for each pair of process and device.

    Raises:
        CommandFailed: a line is not one.
    """
    users = []
    for line in _lines(out):
        parts = [part.strip() for part in line.split(",", 3)]
        if len(parts) < 4 or not parts[1].isdecimal():
            raise CommandFailed("nvidia-smi did not list processes as asked", details=(line[:200],))
        memory = None if _absent(parts[2]) else _whole(parts[2])
        users.append(GpuUser(gpu=parts[0], pid=int(parts[1]), memory_mib=memory, name=parts[3]))
    return tuple(users)


def parse_cuda(out: bytes) -> str | None:
    """Reads `CUDA Version : 13.0` of `nvidia-smi -q`."""
    match = re.search(rb"^CUDA Version\s*:\s*(\d+\.\d+)\s*$", out, re.MULTILINE)
    return match[1].decode() if match else None


_COLOURS = re.compile(r"\x1b\[[0-9;]*m")


def parse_nvlink(out: bytes, count: int) -> bool | None:
    """Reads the matrix of `nvidia-smi topo -m`: whether each of `count` devices has an `NV…` link to each.

    >>> parse_nvlink(b"\\tGPU0\\tGPU1\\nGPU0\\t X \\tNV18\\nGPU1\\tNV18\\t X \\n", 2)
    True
    """
    rows = []
    for line in _COLOURS.sub("", out.decode("utf-8", "replace")).splitlines():
        words = line.split()
        if words and re.fullmatch(r"GPU\d+", words[0]) and words[1:2] != ["GPU1"] and "X" in words:
            rows.append(words[1 : count + 1])
    if count < 2 or len(rows) != count or any(len(row) != count for row in rows):
        return None
    links = [cell for at, row in enumerate(rows) for other, cell in enumerate(row) if at != other]
    return all(re.fullmatch(r"NV\d+", cell) for cell in links)


def _lines(out: bytes) -> list[str]:
    return [line for line in out.decode("utf-8", "replace").splitlines() if line.strip()]


def _absent(text: str) -> bool:
    return text.startswith("[") or text in ("N/A", "")


def _whole(text: str | None) -> int | None:
    return int(text) if text and text.isdecimal() else None
