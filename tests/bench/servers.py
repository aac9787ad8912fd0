"""What the servers for the tests of `bench` are made of: scripts, chunks, events."""

from __future__ import annotations

import contextlib
import json
import socket
import ssl
import struct
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from assay.bench import Target, target

Step = bytes | float | Literal["close", "reset", "hang"]
"""What to send, seconds to wait, or how to end."""
Answer = Callable[[int, int, bytes], Sequence[Step]]
"""From the number of the connection, of the request on it, and the request, to what is done."""

HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
LAST = b"0\r\n\r\n"


def chunk(data: bytes) -> bytes:
    """One chunk of a chunked body."""
    return b"%x\r\n%s\r\n" % (len(data), data)


def event(content: object) -> bytes:
    """One server-sent event."""
    text = content if isinstance(content, str) else json.dumps(content)
    return f"data: {text}\n\n".encode()


def said(text: str, finish: str | None = None, channel: str = "content") -> bytes:
    """An event of the chat route with text in it."""
    return event({"choices": [{"index": 0, "delta": {channel: text}, "finish_reason": finish}]})


def generated(text: str, count: int, finish: object = None, **more: object) -> bytes:
    """An event of SGLang's `/generate`."""
    state = {"prompt_tokens": 8, "completion_tokens": count, "finish_reason": finish, **more}
    return event({"text": text, "meta_info": state})


def usage(prompt: int, completion: int, **more: object) -> bytes:
    """The event with the server's counts."""
    counts = {"prompt_tokens": prompt, "completion_tokens": completion, **more}
    return event({"choices": [], "usage": counts})


def streamed(*events: bytes) -> list[Step]:
    """A whole response, an event a chunk."""
    return [HEAD, *map(chunk, (*events, event("[DONE]"))), LAST]


class Scripted:
    """Answers each request as a function says; a thread a connection, which ends with it."""

    def __init__(self, answer: Answer, context: ssl.SSLContext | None = None) -> None:
        self.requests: list[bytes] = []
        self.metrics: Callable[[], str] | None = None
        """What `/metrics` says; it is asked beside the load and in no list of requests."""
        self._answer, self._context = answer, context
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._threads: list[threading.Thread] = []
        self._open: list[socket.socket] = []
        self._begin(self._accept)

    @property
    def where(self) -> Target:
        scheme = "https" if self._context else "http"
        return target(f"{scheme}://127.0.0.1:{self._listener.getsockname()[1]}", verify=False)

    def stop(self) -> None:
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for each in self._open:
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join(10)
            assert not thread.is_alive()

    def _begin(self, work: Callable[..., None], *arguments: object) -> None:
        thread = threading.Thread(target=work, args=arguments)
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        number = 0
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            number += 1
            self._open.append(connection)
            self._begin(self._serve, connection, number)

    def _serve(self, connection: socket.socket, number: int) -> None:
        with contextlib.suppress(OSError):
            if self._context:
                connection = self._context.wrap_socket(connection, server_side=True)
            with connection:
                self._follow(connection, number)

    def _follow(self, connection: socket.socket, number: int) -> None:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        nth = 0
        while request := _request(connection):
            if request.startswith(b"GET /metrics "):
                connection.sendall(_plain(self.metrics() if self.metrics else None))
                continue
            nth += 1
            self.requests.append(request)
            for step in self._answer(number, nth, request):
                if isinstance(step, bytes):
                    connection.sendall(step)
                elif isinstance(step, float):
                    time.sleep(step)
                elif step == "hang":
                    connection.recv(1)
                else:
                    if step == "reset":
                        linger = struct.pack("ii", 1, 0)
                        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
                    return


def _plain(text: str | None) -> bytes:
    status, body = ("404 Not Found", b"") if text is None else ("200 OK", text.encode())
    return f"HTTP/1.1 {status}\r\ncontent-length: {len(body)}\r\n\r\n".encode() + body


def _request(connection: socket.socket) -> bytes:
    """A whole request, or nothing where the peer is gone."""
    data = b""
    while b"\r\n\r\n" not in data:
        part = connection.recv(65536)
        if not part:
            return b""
        data += part
    head, _, body = data.partition(b"\r\n\r\n")
    size = int((head.lower() + b"\r\ncontent-length: 0").split(b"content-length: ")[1].split(b"\r\n")[0])
    while len(body) < size:
        body += connection.recv(65536)
    return head + b"\r\n\r\n" + body


@dataclass(frozen=True)
class FakeLLM:
    """A running fakellm."""

    where: Target
    pid: int
    stop: Callable[[], list[dict[str, Any]]]
    """Ends it; what it really sent, and when."""
