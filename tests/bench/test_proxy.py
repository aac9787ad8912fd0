"""Everything goes through a proxy where one is named: http with whole URLs, https by CONNECT."""

from __future__ import annotations

import contextlib
import socket
import ssl
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace
from tests.bench.servers import Scripted, Step
from tests.cli.test_bench import ANSWER

from assay.bench import Level, Target, asked_who, measure, served_model, target
from assay.bench.prompts import RandomPrompts
from assay.bench.requests import Sending
from assay.bench.run import Workload
from assay.cli import main
from assay.errors import NotReady

WORKLOAD = Workload(
    sending=Sending(model="m", endpoint="/v1/completions"),
    prompts=RandomPrompts(input_tokens=8, output_tokens=2),
)


class Proxy:
    """Passes bytes on, and remembers the first line of each connection."""

    def __init__(self, *, answer: bytes = b"HTTP/1.1 200 Connection established\r\n\r\n") -> None:
        self.lines: list[bytes] = []
        self._answer = answer
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._open: list[socket.socket] = []
        self._threads: list[threading.Thread] = []
        self._begin(self._accept)

    @property
    def where(self) -> Target:
        return target(f"http://127.0.0.1:{self._listener.getsockname()[1]}")

    def stop(self) -> None:
        for each in (self._listener, *self._open):
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()
        for thread in self._threads:
            thread.join(10)

    def _begin(self, work: object, *arguments: object) -> None:
        thread = threading.Thread(target=work, args=arguments)  # type: ignore[arg-type]  # any of the below
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            self._open.append(connection)
            self._begin(self._serve, connection)

    def _serve(self, client: socket.socket) -> None:
        head = b""
        while b"\r\n\r\n" not in head:
            with contextlib.suppress(OSError):
                if part := client.recv(65536):
                    head += part
                    continue
            return
        line = head.partition(b"\r\n")[0]
        self.lines.append(line)
        word = line.split(b" ")[1].removeprefix(b"http://").partition(b"/")[0].decode()
        server = socket.create_connection((word.rpartition(":")[0], int(word.rpartition(":")[2])))
        self._open.append(server)
        if line.startswith(b"CONNECT "):
            for at in range(0, len(self._answer), 7):  # in pieces, as networks do
                client.sendall(self._answer[at : at + 7])
        else:
            server.sendall(head)
        self._begin(_pump, server, client)
        _pump(client, server)


def _pump(one: socket.socket, other: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while data := one.recv(65536):
            other.sendall(data)
    with contextlib.suppress(OSError):
        other.shutdown(socket.SHUT_RDWR)


@pytest.fixture
def proxy() -> Iterator[Proxy]:
    running = Proxy()
    yield running
    running.stop()


@pytest.fixture
def certified(tmp_path: Path) -> ssl.SSLContext:
    command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"]
    files = ["-keyout", str(tmp_path / "key"), "-out", str(tmp_path / "cert")]
    more = ["-nodes", "-days", "2", "-subj", "/CN=localhost"]
    subprocess.run([*command, *more, *files], check=True, capture_output=True, timeout=60)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "cert", tmp_path / "key")
    return context


@contextlib.contextmanager
def served(context: ssl.SSLContext | None = None) -> Iterator[Scripted]:
    def answer(_connection: int, _nth: int, request: bytes) -> list[Step]:
        if b"/v1/models" in request.partition(b"\r\n")[0]:
            return [
                b'HTTP/1.1 200 OK\r\nContent-Length: 46\r\n\r\n{"data": [{"id": "qwen", "owned_by": "vllm"}]}'
            ]
        return list(ANSWER)

    server = Scripted(answer, context)
    try:
        yield server
    finally:
        server.stop()


def test_plain_requests_name_the_whole_url(proxy: Proxy) -> None:
    with served() as server:
        where = replace(server.where, proxy=proxy.where)
        assert served_model(where) == "qwen"
        [(rung, records)] = measure(where, WORKLOAD, [Level(requests=6, concurrency=2)])
        assert [each.outcome for each in records] == ["ok"] * 6
        assert "through-proxy" in [each.code for each in rung.doubts]
        url = server.where.url.encode()
        assert proxy.lines[0] == b"GET " + url + b"/v1/models HTTP/1.1"
        assert proxy.lines[1:] == [b"POST " + url + b"/v1/completions HTTP/1.1"] * 2
        assert all(b"Host: " + url.removeprefix(b"http://") in each for each in server.requests)


def test_tls_goes_through_the_proxy_unseen(proxy: Proxy, certified: ssl.SSLContext) -> None:
    with served(certified) as server:
        where = replace(server.where, proxy=proxy.where)
        assert asked_who(where, None).engine == "vllm"
        [(rung, records)] = measure(where, WORKLOAD, [Level(requests=6, concurrency=2)])
        assert [each.outcome for each in records] == ["ok"] * 6
        assert rung.client.stamps == "kernel"
        there = server.where.url.removeprefix("https://").encode()
        assert {line.rpartition(b" ")[0] for line in proxy.lines} == {b"CONNECT " + there}
        assert all(each.startswith((b"POST /v1/", b"GET /")) for each in server.requests)


@pytest.mark.parametrize("answer", [b"HTTP/1.1 407 Proxy Authentication Required\r\n\r\n", b"x\r\n\r\n"])
def test_a_proxy_that_does_not_connect(certified: ssl.SSLContext, answer: bytes) -> None:
    proxy = Proxy(answer=answer)
    try:
        with served(certified) as server, pytest.raises(NotReady, match="the proxy does not connect"):
            list(
                measure(
                    replace(server.where, proxy=proxy.where), WORKLOAD, [Level(requests=2, concurrency=1)]
                )
            )
    finally:
        proxy.stop()


def test_the_option(proxy: Proxy, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from tests.cli.test_bench import options

    with served() as server:
        load = ("--max-concurrency", "2", "--num-prompts", "4", "--proxy", proxy.where.url)
        assert main(options(server, tmp_path, *load)) == 0
        assert "[through-proxy]" in capsys.readouterr().out
        assert f'"proxy": "{proxy.where.url}"' in (tmp_path / "r.json").read_text()
        assert main(options(server, tmp_path, "--proxy", "https://127.0.0.1:1")) == 2
