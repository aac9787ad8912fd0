"""A server's process as it runs: its words and those variables that are known to hold no secret."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import msgspec

from assay._masking import may_be_secret_name
from assay._value import Value
from assay.errors import CommandFailed, InputError
from assay.hosts import Script

if TYPE_CHECKING:
    from assay.hosts import Host

ALLOWED = (
    *("SGLANG_", "SGL_", "VLLM_", "NCCL_", "CUDA_", "NVIDIA_", "TORCH", "PYTORCH_", "TRITON_", "FLASHINFER_"),
    *("OMP_", "MKL_", "HSA_", "HIP_", "ROCR_", "RCCL_", "AITER_", "GLOO_", "UCX_", "NVSHMEM_"),
    *("HF_HOME=", "HF_HUB_CACHE=", "HF_HUB_OFFLINE=", "TRANSFORMERS_", "LD_LIBRARY_PATH=", "VIRTUAL_ENV="),
)
"""Beginnings of the variables that are read, with `=` behind whole names. No other one leaves the machine."""
_ANSWER_S = 30.0

# the choice is made there: what is not chosen is never sent
_READ = r"""
cat "/proc/$1/cmdline" || exit 1
printf '\0\n'
grep -zaE "^($2)" "/proc/$1/environ"
[ $? -le 1 ] || exit 3
"""
_ENVIRONMENT_CLOSED = 3


class RunningProcess(Value):
    """What a process was started with."""

    pid: int
    """Its number."""
    words: tuple[str, ...]
    """Its words, program first; may hold secrets. Some programs write others over them."""
    environment: tuple[tuple[str, str], ...]
    """Name and value of the variables on the list, by name."""
    environment_read: bool = True
    """False if only its user and root may read them, and we are neither."""

    def __repr__(self) -> str:
        return f"RunningProcess(pid={self.pid}, words=<{len(self.words)}>)"


def read_process(host: Host, pid: int, *, sudo: bool = False) -> RunningProcess:
    """A process's words and variables; only its user and root may read the latter.

    Raises:
        CommandFailed: it is not there.
        InputError: that is no process's number.
    """
    if pid < 1:
        raise InputError(f"{pid} is not the number of a process")
    script = Script(text=_READ, arguments=(str(pid), "|".join(ALLOWED)), name=f"the reading of process {pid}")
    result = host.run(script, timeout_s=_ANSWER_S, sudo=sudo)
    if result.status != _ENVIRONMENT_CLOSED:
        return parse_process(pid, result.checked().out)
    return msgspec.structs.replace(parse_process(pid, result.out), environment_read=False)


def parse_process(pid: int, out: bytes) -> RunningProcess:
    """Reads what the script printed: words, an empty line, and the variables on the list.

    Names that look like a secret's are left out even where their beginning is on the list.

    Raises:
        CommandFailed: that is no answer.
    """
    words, mark, rest = out.partition(b"\0\0\n")
    if not mark:
        raise CommandFailed(f"process {pid} has no words: it has ended, or belongs to the kernel")
    variables = {}
    for each in rest.split(b"\0"):
        name, equals, value = each.decode("utf-8", "surrogateescape").partition("=")
        if equals and re.fullmatch(r"[A-Za-z_]\w*", name, re.ASCII) and not may_be_secret_name(name):
            variables[name] = value
    return RunningProcess(
        pid=pid,
        words=tuple(word.decode("utf-8", "surrogateescape") for word in words.split(b"\0")),
        environment=tuple(sorted(variables.items())),
    )
