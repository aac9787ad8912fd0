"""One plain request to the server outside of what is timed: its models, its metrics, its caches."""

from __future__ import annotations

import http.client
import ssl

from assay._secret import Secret
from assay.bench.requests import Target

_MOST_BYTES = 16 << 20


def ask(
    where: Target, path: str, *, method: str = "GET", key: Secret | None = None, wait_s: float = 10.0
) -> tuple[int, bytes]:
    """Status and body, of which at most 16 MiB are read.

    Raises:
        OSError: no answer came, or no HTTP.
    """
    headers = {"Authorization": f"Bearer {key.reveal()}"} if key else {}
    connection = _connection(where, wait_s)
    try:
        connection.request(method, f"{where.prefix}{path}", headers=headers)
        response = connection.getresponse()
        return response.status, response.read(_MOST_BYTES)
    except (http.client.HTTPException, UnicodeError) as error:
        raise OSError(str(error) or type(error).__name__) from None
    finally:
        connection.close()


def _connection(where: Target, wait_s: float) -> http.client.HTTPConnection:
    if where.scheme == "http":
        return http.client.HTTPConnection(where.host, where.port, timeout=wait_s)
    context = ssl.create_default_context()
    if not where.verify:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return http.client.HTTPSConnection(where.host, where.port, timeout=wait_s, context=context)
