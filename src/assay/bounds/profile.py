"""Amdahl's bound from a trace of torch's profiler: what share of the time only one kind of kernel runs.

A trace is a JSON document of Chrome's trace format; events of category `kernel`, `gpu_memcpy` and
`gpu_memset` have `ts` and `dur` in microseconds. It comes from outside and is not trusted.
"""

from __future__ import annotations

import gzip
import io
import json
import math
import re
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeGuard

from assay._value import Value
from assay.engines import Effect
from assay.errors import InputError

_MOST_BYTES = 1 << 30
_KERNELS = {"kernel", "gpu_memcpy", "gpu_memset"}
_KINDS: Mapping[str, re.Pattern[str]] = {
    "all_reduce": re.compile(r"all_?reduce|cross_device_reduce|one_?shot|two_?shot|multimem", re.IGNORECASE),
    "expert_sum": re.compile(r"moe_?sum|sum_?reduce", re.IGNORECASE),
    "norm": re.compile(r"(rms|layer)_?norm|fused_add_rms", re.IGNORECASE),
    "experts": re.compile(r"fused_?moe|moe_?gemm|grouped_?gemm|cutlass.*moe|bmm_.*expert", re.IGNORECASE),
    "attention": re.compile(r"attention|attn|flash_?fwd|mla|paged|fmha|decode_?kernel", re.IGNORECASE),
    "linear_attention": re.compile(
        r"gated_?delta|chunk_.*delta|recurrent|causal_conv1d|ssm|mamba", re.IGNORECASE
    ),
    "gemm": re.compile(r"gemm|gemv|cutlass|cublas|nvjet|matmul|wgmma|xmma", re.IGNORECASE),
}
"""Kinds of kernels by their names, the first that fits."""

_REMOVES: Mapping[Effect, tuple[str, ...]] = {
    "expert_sum": ("expert_sum",),
    "norm_all_reduce": ("norm", "all_reduce"),
    "all_reduce": ("all_reduce",),
    "host": ("idle",),
    "kernels": ("attention", "linear_attention", "experts", "gemm", "other"),
}
"""What an effect can take away at the most."""


class Profile(Value):
    """How the time of one device is spent."""

    seconds: float
    """From the first kernel to the end of the last."""
    shares: dict[str, float]
    """Share of the time in which only that kind of kernel runs; `idle`: none; `overlapped`: several kinds."""
    kernels: int
    """Kernels seen."""


def profile(data: bytes, where: str = "trace") -> Profile:
    """Read a trace, plain or compressed with gzip; of several devices the first one.

    Raises:
        InputError: it is no trace, too large, or holds no kernels.
    """
    try:
        if data[:2] == b"\x1f\x8b":
            data = _inflated(data, where)
        document = json.loads(data)
    except (ValueError, RecursionError, OSError, EOFError, zlib.error) as error:
        raise InputError(f"{where}: no trace of torch's profiler: {type(error).__name__}") from error
    events = document.get("traceEvents") if isinstance(document, dict) else document
    spans = list(_spans(events if isinstance(events, list) else []))
    if not spans:
        raise InputError(f"{where}: no kernels in it", hint="profile with CUDA activities")
    device = min(each[3] for each in spans)
    return _shares([each[:3] for each in spans if each[3] == device])


def amdahl(found: Profile, effect: Effect) -> float | None:
    """The most that an effect gives: `1 / (1 - share) - 1`; `None` where the profile bounds nothing.

    >>> found = Profile(seconds=1.0, shares={"all_reduce": 0.2, "idle": 0.5, "other": 0.3}, kernels=9)
    >>> round(amdahl(found, "all_reduce"), 3), amdahl(found, "host"), amdahl(found, "admission")
    (0.25, 1.0, None)
    """
    if effect not in _REMOVES:
        return None
    share = math.fsum(found.shares.get(kind, 0.0) for kind in _REMOVES[effect])
    return 1 / (1 - share) - 1 if share < 1 else None


def _inflated(data: bytes, where: str) -> bytes:
    with gzip.GzipFile(fileobj=io.BytesIO(data)) as file:
        found = file.read(_MOST_BYTES + 1)
    if len(found) > _MOST_BYTES:
        raise InputError(f"{where}: larger than {_MOST_BYTES >> 20} MiB when unpacked")
    return found


def _spans(events: Sequence[Any]) -> Iterator[tuple[float, float, str, float]]:
    """Begin and end in seconds, kind, and device of each kernel."""
    for event in events:
        if not isinstance(event, dict) or str(event.get("cat", "")).lower() not in _KERNELS:
            continue
        at, lasts = event.get("ts"), event.get("dur")
        if not _number(at) or not _number(lasts) or lasts < 0:
            continue
        arguments = event.get("args")
        device = arguments.get("device", 0) if isinstance(arguments, dict) else 0
        yield (
            at * 1e-6,
            (at + lasts) * 1e-6,
            _kind(str(event.get("name", ""))),
            device if _number(device) else 0,
        )


def _number(value: Any) -> TypeGuard[float]:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e18


def _kind(name: str) -> str:
    return next((kind for kind, pattern in _KINDS.items() if pattern.search(name[:2000])), "other")


def _shares(spans: Sequence[tuple[float, float, str]]) -> Profile:
    """Sweeps over the ends of all kernels; what is hidden under another kind counts for neither."""
    ends = sorted(
        [(begin, 1, kind) for begin, _, kind in spans] + [(end, -1, kind) for _, end, kind in spans]
    )
    began, ended = ends[0][0], ends[-1][0]
    running: Counter[str] = Counter()
    spent: dict[str, float] = {}
    before = began
    for at, change, kind in ends:
        kinds = [each for each, count in running.items() if count]
        here = kinds[0] if len(kinds) == 1 else "overlapped" if kinds else "idle"
        spent[here] = spent.get(here, 0.0) + at - before
        running[kind] += change
        before = at
    whole = ended - began or 1.0
    shares = {kind: seconds / whole for kind, seconds in sorted(spent.items()) if seconds > 0}
    return Profile(seconds=ended - began, shares=shares, kernels=len(spans))
