"""Servers for the tests of `bench`: one that follows a script, and fakellm, whose true times are known."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import socket
import ssl
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.bench.servers import Answer, FakeLLM, Scripted

from assay.bench import target


@pytest.fixture
def scripted() -> Iterator[Callable[..., Scripted]]:
    """`scripted(answer)` is a running server."""
    running: list[Scripted] = []

    def begin(answer: Answer, context: ssl.SSLContext | None = None) -> Scripted:
        running.append(Scripted(answer, context))
        return running[-1]

    yield begin
    for server in running:
        server.stop()


@pytest.fixture(scope="session")
def fakellm_program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """fakellm, compiled from the folder that ASSAY_FAKELLM names."""
    folder = os.environ.get("ASSAY_FAKELLM")
    if not folder:
        pytest.skip("ASSAY_FAKELLM does not name the folder of fakellm.c: known times were NOT tested")
    program = tmp_path_factory.mktemp("fakellm") / "fakellm"
    subprocess.run(["cc", "-O2", "-o", str(program), f"{folder}/fakellm.c"], check=True, timeout=60)
    return program


@pytest.fixture
def fakellm(fakellm_program: Path, tmp_path: Path) -> Iterator[Callable[..., FakeLLM]]:
    """`fakellm("--itl-ms", "5")` is a running one."""
    spec = importlib.util.spec_from_file_location("truth", f"{os.environ['ASSAY_FAKELLM']}/truth.py")
    assert spec is not None
    assert spec.loader is not None
    truth = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(truth)
    with contextlib.ExitStack() as stack:

        def begin(*options: str) -> FakeLLM:
            with socket.socket() as free:
                free.bind(("127.0.0.1", 0))
                port = free.getsockname()[1]
            log = tmp_path / f"truth{port}.bin"
            process = stack.enter_context(
                subprocess.Popen(
                    [str(fakellm_program), "--port", str(port), "--log", str(log), *options],
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.PIPE,
                )
            )
            stack.callback(process.kill)
            assert process.stderr is not None
            assert b"fakellm" in process.stderr.readline()

            def stop() -> list[dict[str, Any]]:
                process.terminate()
                process.wait(10)
                return list(truth.read(log))

            return FakeLLM(target(f"http://127.0.0.1:{port}"), process.pid, stop)

        yield begin
