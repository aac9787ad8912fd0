"""The child process: its limits hold, and whatever becomes of it is an error that names the file."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from assay.engines import ENGINES
from assay.errors import SourceError, UnknownIdiom
from assay.source.child.limits import Limits, run_limited
from assay.source.child.read_request import ReadRequest

AT = "while it read pkg/second file.py"


def test_the_reply_comes_back_whole() -> None:
    payload = bytes(range(256)) * 5000
    assert run_limited("check", b"echo " + payload) == payload


def test_progress_is_told() -> None:
    told: list[tuple[str, int, int | None]] = []
    run_limited("check", b"echo", progress=lambda *args: told.append(args))
    assert told == [("read", 1, 2), ("read", 2, 2)]


def test_an_end_while_real_source_is_read_names_its_file(tmp_path: Path) -> None:
    (tmp_path / "sglang").mkdir()
    (tmp_path / "sglang" / "launch_server.py").write_text("x = [" + "0,\n" * 600_000 + "]")
    request = msgspec.msgpack.encode(ReadRequest(root=os.fsencode(tmp_path), engine=ENGINES["sglang"]))
    with pytest.raises(SourceError, match=r"while it read sglang/launch_server\.py"):
        run_limited("declarations", request, limits=Limits(cpu_s=1))


def test_nested_brackets_are_survived() -> None:
    assert b"nested" in run_limited("check", b"parse 100000")


@pytest.mark.parametrize(
    ("request_", "limits", "reason"),
    [
        (b"overflow", Limits(), r"crashed \(SIGSEGV\)"),
        (b"segfault", Limits(), r"crashed \(SIGSEGV\)"),
        (b"kill %d" % signal.SIGKILL, Limits(), "was killed"),
        (b"recurse", Limits(recursion=500), "nested deeper than 500"),
        (b"wait", Limits(wall_s=3), "took longer than 3 s"),
        (b"flood 2000000", Limits(reply_bytes=1000), "reply of more than 1,000 bytes"),
        (b"fail no", Limits(), "failed with status 1"),
    ],
)
def test_every_end_names_the_file(request_: bytes, limits: Limits, reason: str) -> None:
    with pytest.raises(SourceError, match=reason) as caught:
        run_limited("check", request_, limits=limits)
    assert AT in caught.value.message
    assert caught.value.hint


@pytest.mark.skipif(sys.platform == "darwin", reason="macOS does not bound the address space")
def test_memory_is_bounded() -> None:
    with pytest.raises(SourceError, match=f"more than 500,000,000 bytes of memory {AT}"):
        run_limited("check", b"allocate 600000000", limits=Limits(memory_bytes=500_000_000))


def test_processor_time_is_bounded() -> None:
    with pytest.raises(SourceError, match=f"1 CPU seconds {AT}"):
        run_limited("check", b"spin", limits=Limits(cpu_s=1, wall_s=60))


def test_nothing_can_be_written(tmp_path: Path) -> None:
    target = tmp_path / "left"
    assert b"File too large" in run_limited("check", b"write " + bytes(target))
    assert target.stat().st_size == 0


def test_errors_of_ours_pass_as_they_are() -> None:
    with pytest.raises(UnknownIdiom, match="no such idiom") as caught:
        run_limited("check", b"raise no such idiom")
    assert (caught.value.hint, caught.value.details) == ("a hint", ("one", "two"))


def test_a_fault_of_ours_shows_where() -> None:
    with pytest.raises(SourceError) as caught:
        run_limited("check", b"fail no")
    assert caught.value.details[-1] == "ZeroDivisionError: no"


def test_modules_of_the_current_folder_are_not_imported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("struct", "json", "msgspec", "sglang"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('imported')")
    monkeypatch.chdir(tmp_path)
    assert run_limited("check", b"echo safe") == b"safe"


def test_an_interrupt_ends_the_child() -> None:
    class Stop(Exception):
        pass

    def stop(stage: str, done: int, total: int | None) -> None:
        del stage, total
        if done == 2:
            raise Stop

    with pytest.raises(Stop):
        run_limited("check", b"wait", progress=stop)
    children = subprocess.run(
        ["ps", "-o", "args=", "--ppid", str(os.getpid())],
        capture_output=True,
        text=True,
        check=False,
    )
    assert "assay.source.child.job" not in children.stdout
