"""HTTP asked from a machine itself: a server there often listens on its loopback only."""

from __future__ import annotations

import base64
import contextlib
import json
import urllib.parse
from typing import TYPE_CHECKING

from assay._value import Value
from assay.errors import CommandFailed, InputError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from assay._secret import Secret
    from assay.hosts.host import Host

_SPARE_S = 10.0
"""How much longer than the answer Python itself may take to start."""

# run by the machine's own python3, isolated; what is asked comes on stdin, as it may hold a key
_ASK = r"""
import base64, http.client, json, socket, sys, time, urllib.parse
asked = json.load(sys.stdin)
url = urllib.parse.urlsplit(asked["url"])
kind = http.client.HTTPSConnection if url.scheme == "https" else http.client.HTTPConnection
headers = {"Accept": "*/*", "Connection": "close"}
body = None
if asked["body"] is not None:
    body = base64.b64decode(asked["body"])
    headers["Content-Type"] = "application/json"
if asked["key"]:
    headers["Authorization"] = "Bearer " + asked["key"]
said = {"status": None, "reason": "", "body": ""}
end = time.monotonic() + asked["timeout_s"]
try:
    connection = kind(url.hostname, url.port, timeout=asked["timeout_s"])
    path = url.path + ("?" + url.query if url.query else "")
    connection.request("POST" if body is not None else "GET", path or "/", body, headers)
    answer = connection.getresponse()
    data = bytearray()
    while len(data) < asked["limit_bytes"]:
        left = end - time.monotonic()
        if left <= 0:
            raise TimeoutError("timed out")
        if connection.sock:
            connection.sock.settimeout(left)
        part = answer.read1(65536)
        if not part:
            break
        data += part
    said.update(status=answer.status, body=base64.b64encode(bytes(data[:asked["limit_bytes"]])).decode())
except (OSError, http.client.HTTPException) as error:
    said["reason"] = type(error).__name__ + ": " + str(error)[:200]
except ValueError as error:
    said["reason"] = type(error).__name__  # its text may hold the key
print(json.dumps(said))
"""


class HttpAnswer(Value):
    """What a server answered, or that it did not."""

    status: int | None
    """Its status; None if there was no whole answer."""
    body: bytes
    """The answer's body, at most what was asked for."""
    reason: str = ""
    """Why there was none, as the machine's Python says it: `ConnectionRefusedError: …`."""

    @property
    def ok(self) -> bool:
        """Whether it answered with a status of success."""
        return self.status is not None and 200 <= self.status < 300


def ask_http(
    host: Host,
    url: str,
    *,
    body: bytes | None = None,
    key: Secret | None = None,
    timeout_s: float = 10.0,
    limit_bytes: int = 8 << 20,
) -> HttpAnswer:
    """GET, or POST of a JSON `body`, run on the machine by its own `python3`. No redirect is followed.

    `key` goes over stdin and is sent as a bearer token; no process list shows it.

    Raises:
        CommandFailed: the machine has no python3.
        InputError: that is no http URL.
    """
    if not url.startswith(("http://", "https://")) or any(char <= " " for char in url):
        raise InputError(f"{url!r} is not the URL of a server, such as http://127.0.0.1:30000")
    if "@" in urllib.parse.urlsplit(url).netloc:
        raise InputError("a URL with a user or a password in it is not taken", hint="leave that part out")
    asked = {
        "url": url,
        "body": None if body is None else base64.b64encode(body).decode(),
        "key": key.reveal() if key else "",
        "timeout_s": timeout_s,
        "limit_bytes": limit_bytes,
    }
    command = ["python3", "-I", "-c", _ASK]
    done = host.run(command, stdin=json.dumps(asked).encode(), timeout_s=timeout_s + _SPARE_S)
    if done.status == 127:
        raise CommandFailed(f"{host.name}: there is no python3 to ask {url} with", hint="install it there")
    return parse_http_answer(done.checked().out)


def parse_http_answer(out: bytes) -> HttpAnswer:
    """Reads what the program above printed.

    Raises:
        CommandFailed: that is no answer.
    """
    try:
        said = json.loads(out)
        return HttpAnswer(
            status=said["status"], reason=said["reason"], body=base64.b64decode(said["body"], validate=True)
        )
    except (ValueError, KeyError, TypeError) as error:
        raise CommandFailed("python3 did not say what was answered") from error


@contextlib.contextmanager
def reach_url(host: Host, url: str) -> Iterator[str]:
    """That URL of a server of the machine as it is to be had from here, for the length of a block.

    Raises:
        HostError: it is not.
    """
    there = urllib.parse.urlsplit(url)
    port = there.port or (443 if there.scheme == "https" else 80)
    with host.reach(there.hostname or "127.0.0.1", port) as (address, here):
        shown = f"[{address}]" if ":" in address else address
        yield f"{there.scheme}://{shown}:{here}{there.path}"
