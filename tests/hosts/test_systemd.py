"""What systemctl and busctl printed on a rig host (systemd 252) is read right; `tests/rig` asks live ones."""

from __future__ import annotations

from pathlib import Path

import pytest

from assay.errors import CommandFailed, InputError
from assay.hosts import LocalHost, start_commands, unit_state
from assay.hosts.systemd import parse_exec_start, parse_show

PRINTED = Path(__file__).parent / "systemd"

STATES: dict[str, dict[str, object]] = {
    "running.service": {
        "load_state": "loaded",
        "active_state": "active",
        "sub_state": "running",
        "restarts": 0,
        "exit_kind": "none",
        "exit_status": None,
        "job": None,
        "need_daemon_reload": False,
        "fragment_path": "/run/systemd/system/running.service",
        # sorted by file name, wherever they lie
        "drop_in_paths": (
            "/etc/systemd/system/running.service.d/10-b.conf",
            "/run/systemd/system/running.service.d/50-a.conf",
        ),
    },
    "slow.service": {"active_state": "activating", "sub_state": "start"},
    "failed.service": {
        "active_state": "failed",
        "result": "exit-code",
        "exit_kind": "exited",
        "exit_status": 3,
        "main_pid": None,
    },
    "killed.service": {"result": "signal", "exit_kind": "killed", "exit_status": 9},
    "bad.service": {
        "load_state": "bad-setting",
        "load_error": "org.freedesktop.systemd1.BadUnitSetting "
        '"Unit bad.service has a bad unit file setting."',
        "invocation_id": "",
    },
    "missing.service": {"result": "exit-code", "exit_status": 203},
    "reload.service": {"active_state": "active", "need_daemon_reload": True},
    "never.service": {"active_state": "inactive", "invocation_id": "", "exit_kind": "none"},
    "masked.service": {"load_state": "masked"},
    "nosuch.service": {"load_state": "not-found", "fragment_path": ""},
    "dbus.socket": {"load_state": "loaded", "sub_state": "running", "main_pid": None, "restarts": 0},
}


@pytest.mark.parametrize("unit", STATES)
def test_states(unit: str) -> None:
    state = parse_show((PRINTED / f"{unit}.txt").read_bytes())
    assert state.unit == unit
    assert {key: getattr(state, key) for key in STATES[unit]} == STATES[unit]


def test_what_differs_from_start_to_start() -> None:
    running = parse_show((PRINTED / "running.service.txt").read_bytes())
    slow = parse_show((PRINTED / "slow.service.txt").read_bytes())
    looping = parse_show((PRINTED / "loop.service.txt").read_bytes())
    assert len(running.invocation_id) == 32
    assert running.main_pid
    assert slow.job
    assert looping.restarts > 0


def test_words_are_exact() -> None:
    (command,) = parse_exec_start((PRINTED / "words.service.json").read_bytes())
    assert command.path == "/usr/bin/python3"
    assert command.failure_ignored
    assert command.words[3:] == ('{"a": "b c"}', "50%", "words.service", "$A", "${B}", "", "\u00e4\nx")


@pytest.mark.parametrize(
    "printed", [b"", b"Id=a.service\n", b"{}", b'{"data": 1}', b'{"data": [[1]]}', b"\xff"]
)
def test_what_is_no_answer(printed: bytes) -> None:
    with pytest.raises(CommandFailed):
        parse_show(printed)
    with pytest.raises(CommandFailed):
        parse_exec_start(printed)


@pytest.mark.parametrize(
    "unit", ["llm", "-p.service", "a b.service", "", "a.service\n", "../x.service", "--version"]
)
def test_names_that_are_none(unit: str) -> None:
    for ask in (unit_state, start_commands):
        with pytest.raises(InputError):
            ask(LocalHost(), unit)
