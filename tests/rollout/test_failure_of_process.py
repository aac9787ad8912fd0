"""What a process that no systemd watches died of, from its log and its exit status."""

import pytest

from assay.rollout import name_exit

PYDANTIC = (
    "Traceback (most recent call last):",
    "pydantic_core._pydantic_core.ValidationError: 1 validation error for VllmConfig",
    "  Value error, Total number of attention heads (8) must be divisible by tensor parallel size (3).",
    "    For further information visit https://errors.pydantic.dev/2/v/value_error",
)
WORKER = (
    "(Worker pid=7) INFO 12-01 starting",
    "(Worker pid=7) WARNING ImportError: no flash",
    "(Worker pid=7) ERROR [x.py:1] ValueError: No common block size for 7 (CPU_ATTN: [MultipleOf(32)]).",
    "RuntimeError: Engine core initialization failed. See root cause above.",
)


@pytest.mark.parametrize(
    ("lines", "status", "kind", "shown"),
    [
        (PYDANTIC, 1, "exited", "must be divisible by tensor parallel size (3)"),
        (WORKER, 1, "exited", "No common block size for 7"),
        (("torch.OutOfMemoryError: CUDA out of memory",), 1, "out-of-memory", "CUDA out of memory"),
        (("loading",), -9, "killed", "loading"),
        ((), 0, "exited", ""),
    ],
)
def test_the_line_that_shows_it_comes_first(
    lines: tuple[str, ...], status: int, kind: str, shown: str
) -> None:
    found = name_exit(lines, status=status)
    assert found.kind == kind
    assert shown in (found.lines[0] if found.lines else "")


def test_one_that_still_runs_is_late() -> None:
    found = name_exit(("ValueError: a warning of sorts",), status=None, late="never-ready")
    assert (found.kind, found.message) == ("never-ready", "it did not get ready in time")
