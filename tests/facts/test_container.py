"""What container engines print of a container is read right."""

from __future__ import annotations

import json

import pytest

from assay.errors import CommandFailed, InputError
from assay.facts import read_container
from assay.facts.container import parse_container
from assay.hosts import LocalHost

STATE = {"Status": "running", "Running": True, "Pid": 432, "OOMKilled": False, "ExitCode": 0}
COMPOSE = {"com.docker.compose.project": "llm", "com.docker.compose.service": "server"}
PORTS = {"30000/tcp": [{"HostIp": "0.0.0.0", "HostPort": "8080"}, {"HostIp": "::", "HostPort": "8080"}]}


def printed(**other: object) -> bytes:
    fields = {
        "name": "/llm-server-1",
        "image": "lmsysorg/sglang:v0.5.10",
        "entry": None,
        "command": ["python3", "-m", "sglang.launch_server", "--port", "30000"],
        "state": STATE,
        "restarts": 2,
        "network": "llm_default",
        "ports": {**PORTS, "9000/udp": None},
        "address": "172.18.0.2",
        "labels": COMPOSE,
    }
    return json.dumps(list({**fields, **other}.values())).encode()


def test_a_service_of_compose() -> None:
    state = parse_container(printed())
    assert (state.name, state.pid, state.status, state.restarts) == ("llm-server-1", 432, "running", 2)
    assert state.compose == "llm/server"
    assert state.published == ((30000, 8080),)
    assert "sglang" not in repr(state)


@pytest.mark.parametrize(
    ("other", "url", "there"),
    [
        ({}, "http://127.0.0.1:30000", "http://127.0.0.1:8080"),
        ({"ports": None}, "http://127.0.0.1:30000", "http://172.18.0.2:30000"),
        ({"ports": None, "address": ""}, "http://127.0.0.1:30000", None),
        ({"network": "host"}, "http://127.0.0.1:30000", "http://127.0.0.1:30000"),
        ({}, None, None),
    ],
)
def test_where_it_answers(other: dict[str, object], url: str | None, there: str | None) -> None:
    assert parse_container(printed(**other)).reached(url) == there


def test_one_that_ended() -> None:
    state = parse_container(printed(state={"Status": "exited", "Pid": 0}, entry=["/entry"], command=None))
    assert (state.pid, state.status, state.words) == (None, "exited", ("/entry",))


@pytest.mark.parametrize("out", [b"", b"[]", b"{}", b"[1,2,3,4,5,6,7,8,9,10]", b"\xff"])
def test_what_is_no_answer(out: bytes) -> None:
    with pytest.raises(CommandFailed):
        parse_container(out)


@pytest.mark.parametrize(("runtime", "name"), [("docker", "-v"), ("docker", "a b"), ("sh", "a")])
def test_names_that_are_none(runtime: str, name: str) -> None:
    with LocalHost() as host, pytest.raises(InputError):
        read_container(host, runtime, name, sudo=False)
