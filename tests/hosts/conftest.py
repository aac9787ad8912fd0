"""Machines for the tests of hosts: this one, and this one again behind a real sshd on loopback."""

from __future__ import annotations

import shutil
from collections.abc import Iterator

import pytest
from tests.hosts.loopback import LoopbackSshd, loopback

from assay.hosts import Host, LocalHost, SshHost


@pytest.fixture(scope="session")
def sshd() -> Iterator[LoopbackSshd]:
    started = loopback()
    yield started
    started.stop()
    shutil.rmtree(started.folder)


@pytest.fixture
def own_sshd() -> Iterator[LoopbackSshd]:
    """One that a test may break."""
    started = loopback()
    yield started
    started.stop()
    shutil.rmtree(started.folder)


@pytest.fixture(scope="session", params=["local", "ssh"])
def host(request: pytest.FixtureRequest) -> Iterator[Host]:
    """One connection for all tests that do not break it."""
    if request.param == "local":
        yield LocalHost()
        return
    server: LoopbackSshd = request.getfixturevalue("sshd")
    with SshHost("loop", config=server.config) as over_ssh:
        yield over_ssh
