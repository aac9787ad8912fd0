"""What docker says of a service of compose, in systemd's words; and the shell functions for it."""

from __future__ import annotations

import json
import subprocess

import pytest

from assay.errors import CommandFailed, Refused
from assay.rollout.compose_manager import parse_boxes, state_of, words_of
from assay.rollout.compose_scripts import functions_of
from assay.rollout.drop_in import ComposeProject
from assay.rollout.places import parse_labels

PROJECT = ComposeProject(
    program=("docker", "compose"),
    project="llm",
    service="server",
    folder="/srv/a b",
    files=("/srv/a b/c.yml", "/srv/a b/more.yml"),
)


def printed(**state: object) -> str:
    told = {"Status": "running", "Pid": 7, "StartedAt": "2026-12-01T10:00:00Z", "ExitCode": 0, **state}
    labels = {"com.docker.compose.config-hash": "abc", "secret": "of-a-label"}
    return json.dumps(["0123456789abcdef", "2026-12-01", told, 2, None, ["serve", "--api-key", "x"], labels])


def test_a_container_that_runs() -> None:
    [box] = parse_boxes(["starting", printed()])
    state = state_of(box, unit="compose:llm/server", files=("/c.yml", "/more.yml"), starting=False)
    assert (state.active_state, state.main_pid, state.restarts, state.job) == ("active", 7, 2, None)
    assert (state.fragment_path, state.drop_in_paths) == ("/c.yml", ("/more.yml",))
    assert state.invocation_id == "0123456789ab-2026-12-01T10:00:00Z"
    assert "api-key" not in repr(box)


@pytest.mark.parametrize(
    ("told", "expected"),
    [
        ({"Status": "exited", "Pid": 0}, ("inactive", "success", "exited", 0)),
        ({"Status": "exited", "Pid": 0, "ExitCode": 1}, ("failed", "exit-code", "exited", 1)),
        ({"Status": "exited", "Pid": 0, "ExitCode": 137}, ("failed", "exit-code", "killed", 9)),
        (
            {"Status": "exited", "Pid": 0, "ExitCode": 137, "OOMKilled": True},
            ("failed", "oom-kill", "killed", 9),
        ),
        ({"Status": "restarting", "Pid": 0, "ExitCode": 3}, ("activating", "exit-code", "exited", 3)),
        ({"Status": "created", "Pid": 0}, ("activating", "success", "none", None)),
    ],
)
def test_a_container_that_does_not(told: dict[str, object], expected: tuple[object, ...]) -> None:
    [box] = parse_boxes([printed(**told)])
    state = state_of(box, unit="u", files=("/c.yml",), starting=True)
    assert (state.active_state, state.result, state.exit_kind, state.exit_status) == expected
    assert (state.main_pid, state.job) == (None, 1)


def test_no_container() -> None:
    state = state_of(None, unit="u", files=("/c.yml",), starting=False)
    assert (state.active_state, state.main_pid) == ("inactive", None)
    with pytest.raises(CommandFailed):
        parse_boxes(["[1, 2"])


def test_an_entry_point_that_only_goes_before() -> None:
    server = ("python3", "-m", "sglang.launch_server", "--port", "1")
    assert words_of(("/entry.sh",), server) == server
    assert words_of(("vllm", "serve"), ("m", "--port", "1")) == ("vllm", "serve", "m", "--port", "1")


def test_the_functions_call_compose_with_the_right_files() -> None:
    text = functions_of(PROJECT, "/srv/a b/c.yml")
    stand_in = 'docker() { printf "<%s>" "$@"; }\n'
    script = f"{stand_in}{text}trial=/t.yaml\nold up; echo; new up"
    told = subprocess.run(["sh", "-euc", script], capture_output=True, check=True, text=True).stdout
    head = "<compose><-p><llm><--project-directory></srv/a b>"
    old, new = told.splitlines()
    assert old == f"{head}<-f></srv/a b/c.yml><-f></srv/a b/more.yml><up>"
    assert new == f"{head}<-f></t.yaml><-f></srv/a b/more.yml><up>"


def test_labels() -> None:
    line = b'["/srv", "/srv/a.yml,/srv/b.yml", "/srv/e", "2.29.1"]\n'
    found = parse_labels(line + b"docker compose\n", "llm", "server", "gpu1")
    assert found.program == ("docker", "compose")
    assert (found.files, found.env_file) == (("/srv/a.yml", "/srv/b.yml"), "/srv/e")
    with pytest.raises(CommandFailed, match="docker compose is not installed"):
        parse_labels(line + b"docker-compose\n", "llm", "server", "gpu1")
    with pytest.raises(Refused, match="2 containers"):
        parse_labels(line * 2 + b"docker compose\n", "llm", "server", "gpu1")
    with pytest.raises(CommandFailed, match="no service"):
        parse_labels(b"docker compose\n", "llm", "server", "gpu1")
