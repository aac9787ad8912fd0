"""Processes of this machine in sessions of their own: found by their mark, ended with their children."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import pytest

from assay.errors import CommandFailed
from assay.hosts import (
    Child,
    end,
    environment_of,
    folder_of,
    listens,
    marked,
    running,
    session_of,
    start_child,
)

FAMILY = """
import os, sys, time
if os.fork() == 0:
    os.setsid()
    time.sleep(600)
print("up", flush=True)
time.sleep(600)
"""


def started(folder: Path, text: str, *, mark: str = "") -> Child:
    return start_child(
        [sys.executable, "-c", text, str(folder)],
        environment={"PATH": "/usr/bin", "A": "b"},
        folder=folder,
        log=folder / "log",
        mark=mark or f"t-{folder.name}",
    )


def until_up(child: Child) -> None:
    while "up" not in child.lines() and child.status is None:
        time.sleep(0.02)


def test_what_a_mark_started_is_found_and_ended_with_its_children(tmp_path: Path) -> None:
    child = started(tmp_path, FAMILY)
    until_up(child)
    found = marked(f"t-{tmp_path.name}")
    assert child.pid in found
    assert len(found) == 2  # a child in a session of its own, too
    assert environment_of(child.pid)["A"] == "b"
    assert folder_of(child.pid) == tmp_path
    assert session_of(child.pid) == (child.pid,)
    assert running(["-c", FAMILY, str(tmp_path)])[0] == child.pid
    assert end(found, patience_s=5) == ()
    assert marked(f"t-{tmp_path.name}") == ()
    assert child.status == -15


def test_who_listens_on_a_port_is_known(tmp_path: Path) -> None:
    text = """
import socket, time
taken = socket.create_server(("127.0.0.1", 0))
print(taken.getsockname()[1], flush=True)
print("up", flush=True)
time.sleep(600)
"""
    child = started(tmp_path, text)
    until_up(child)
    port = int(child.lines()[0])
    assert listens([child.pid], port)
    assert not listens([child.pid], port + 1)
    assert not listens([1], port)
    assert end(marked(f"t-{tmp_path.name}"), patience_s=5) == ()
    assert child.status is not None


def test_one_that_does_not_listen_is_killed(tmp_path: Path) -> None:
    text = "import signal, time\nsignal.signal(15, signal.SIG_IGN)\nprint('up', flush=True)\ntime.sleep(600)"
    child = started(tmp_path, text)
    until_up(child)
    assert end(marked(f"t-{tmp_path.name}"), patience_s=0.2) == ()
    assert child.status == -9


def test_its_end_and_its_last_words_are_known(tmp_path: Path) -> None:
    child = started(tmp_path, "import sys\nprint('up', flush=True)\nsys.exit(3)")
    while child.status is None:
        time.sleep(0.02)
    assert (child.status, child.lines()) == (3, ("up",))


def test_a_program_that_is_not_there_is_an_error_of_ours(tmp_path: Path) -> None:
    with pytest.raises(CommandFailed, match="cannot be started"):
        start_child(["/no/such"], environment={}, folder=tmp_path, log=tmp_path / "l", mark="m")
