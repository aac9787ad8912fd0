"""HTTP asked from a machine: this one, and one behind ssh."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler

import pytest
from tests.http_server import serving

from assay.errors import CommandFailed, InputError
from assay.hosts import Host, Secret, ask_http
from assay.hosts.http import parse_http_answer


class _Server(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        if self.path == "/slow":
            self.send_response(200)
            self.end_headers()
            for _ in range(100):
                self.wfile.write(b".")
                self.wfile.flush()
                time.sleep(0.05)
            return
        status, headers = (302, {"Location": "/there"}) if self.path == "/moved" else (200, {})
        body = json.dumps([self.path, self.headers.get("Authorization")]).encode()
        self._say(status, body, headers)

    def do_POST(self) -> None:
        self._say(200, self.rfile.read(int(self.headers["Content-Length"]))[::-1], {})

    def _say(self, status: int, body: bytes, headers: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in {**headers, "Content-Length": str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Quiet."""


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with serving(_Server) as at:
        yield at


def test_answers(host: Host, url: str) -> None:
    answer = ask_http(host, f"{url}/a?b=c", key=Secret("k 'ey"))
    assert answer.ok
    assert json.loads(answer.body) == ["/a?b=c", "Bearer k 'ey"]
    assert ask_http(host, url, body=b"\0abc\xff").body == b"\xffcba\0"
    assert ask_http(host, f"{url}/a", limit_bytes=3).body == b'["/'
    moved = ask_http(host, f"{url}/moved")
    assert (moved.status, moved.ok) == (302, False)


def test_no_answer(host: Host, url: str) -> None:
    answer = ask_http(host, "http://127.0.0.1:1/")
    assert answer.status is None
    assert "ConnectionRefusedError" in answer.reason
    slow = ask_http(host, f"{url}/slow", timeout_s=0.5)
    assert slow.status is None
    assert "imeout" in slow.reason
    broken = ask_http(host, url, key=Secret("planted-s3cret\n"))
    assert broken.status is None
    assert "s3cret" not in broken.reason


@pytest.mark.parametrize("wrong", ["", "-x", "file:///etc/passwd", "127.0.0.1:1", "http://a b", "http://a\n"])
def test_what_is_no_url(host: Host, wrong: str) -> None:
    with pytest.raises(InputError):
        ask_http(host, wrong)


def test_a_password_in_a_url_is_not_repeated(host: Host) -> None:
    with pytest.raises(InputError) as raised:
        ask_http(host, "http://me:planted@127.0.0.1:1/")
    assert "planted" not in str(raised.value)


@pytest.mark.parametrize("out", [b"", b"{}", b"[]", b'{"status": 200, "reason": "", "body": "*"}', b"\xff"])
def test_what_is_no_answer(out: bytes) -> None:
    with pytest.raises(CommandFailed):
        parse_http_answer(out)
