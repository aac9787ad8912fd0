"""One plain request to the server outside of what is timed: its models, its metrics, its caches."""

from __future__ import annotations

import contextlib
import socket
import ssl
import threading
from typing import TYPE_CHECKING

from assay._secret import Secret
from assay.bench.requests import Target

if TYPE_CHECKING:
    import http.client

_MOST_BYTES = 16 << 20
OK = 200


def ask(
    where: Target,
    path: str,
    *,
    method: str = "GET",
    body: bytes | None = None,
    key: Secret | None = None,
    wait_s: float = 10.0,
) -> tuple[int, bytes]:
    """Status and body, of which at most 16 MiB are read, for at most twice `wait_s` seconds.

    A `body` is JSON.

    Raises:
        OSError: no answer came, or no HTTP; or the key is none that a header can carry.
    """
    import http.client  # the process that drives the load does without it

    connection = _connection(where, wait_s)
    cut = threading.Timer(2 * wait_s, _cut, (connection,))  # a byte now and then resets every other limit
    cut.daemon = True
    cut.start()
    headers = {"Authorization": f"Bearer {key.reveal()}"} if key else {}
    if body is not None:
        headers["Content-Type"] = "application/json"
    try:
        connection.request(method, f"{where.form}{path}", body=body, headers=headers)
        response = connection.getresponse()
        body = response.read(_MOST_BYTES)
        if response.length:  # of a body whose length was told, so much did not come
            raise OSError(f"{path}: the answer broke off, or is longer than 16 MiB")
        return response.status, body
    except (http.client.HTTPException, ValueError) as error:
        raise OSError(str(error) or type(error).__name__) from None
    finally:
        cut.cancel()
        connection.close()


def _cut(connection: http.client.HTTPConnection) -> None:
    with contextlib.suppress(OSError):
        if connection.sock is not None:
            connection.sock.shutdown(socket.SHUT_RDWR)


def _connection(where: Target, wait_s: float) -> http.client.HTTPConnection:
    import http.client

    if where.scheme == "http":
        return http.client.HTTPConnection(where.reached.host, where.reached.port, timeout=wait_s)
    context = ssl.create_default_context()
    if not where.verify:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    to = where.reached
    connection = http.client.HTTPSConnection(to.host, to.port, timeout=wait_s, context=context)
    if where.proxy is not None:
        connection.set_tunnel(where.host, where.port)
    return connection
