"""Amdahl's bound from traces: what is hidden counts for nobody, and hostile traces end in our error."""

from __future__ import annotations

import gzip
import json
from typing import Any

import pytest

from assay.bounds import amdahl, profile
from assay.errors import InputError


def kernel(name: str, at: float, lasts: float, device: int = 0) -> dict[str, Any]:
    return {"ph": "X", "cat": "kernel", "name": name, "ts": at, "dur": lasts, "args": {"device": device}}


EVENTS = [
    {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "ts": 0, "dur": 1000},
    kernel("ncclDevKernel_AllReduce_Sum_bf16_RING_LL", 0, 100),
    kernel("void moe_sum_kernel<bf16, 8>", 100, 50),
    kernel("sm90_xmma_gemm_bf16", 150, 400),
    kernel("ncclDevKernel_AllReduce_Sum_bf16_RING_LL", 300, 200),  # under the multiplication
    kernel("void vllm::rms_norm_kernel<bf16>", 700, 300),
    kernel("sm90_xmma_gemm_bf16", 0, 5000, device=3),
]


@pytest.mark.parametrize("packed", [False, True])
def test_shares_are_of_what_runs_alone(packed: bool) -> None:  # noqa: FBT001
    data = json.dumps({"traceEvents": EVENTS}).encode()
    found = profile(gzip.compress(data) if packed else data)
    assert found.seconds == pytest.approx(1e-3)
    expected = {
        "all_reduce": 0.1,
        "expert_sum": 0.05,
        "gemm": 0.2,
        "overlapped": 0.2,
        "norm": 0.3,
        "idle": 0.15,
    }
    assert found.shares == pytest.approx(expected)
    assert amdahl(found, "all_reduce") == pytest.approx(1 / 0.9 - 1)
    assert amdahl(found, "norm_all_reduce") == pytest.approx(1 / 0.6 - 1)
    assert amdahl(found, "host") == pytest.approx(1 / 0.85 - 1)
    assert amdahl(found, "prefill") is None


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{",
        b"\x1f\x8b broken",
        b"[" * 100_000,
        b'{"traceEvents": 3}',
        json.dumps([{"cat": "kernel", "ts": "x", "dur": None}, 5]).encode(),
        json.dumps([kernel("x", float("inf"), 1)]).encode(),
    ],
    ids=lambda data: str(data[:12]),
)
def test_what_is_no_trace_is_refused(data: bytes) -> None:
    with pytest.raises(InputError):
        profile(data)
