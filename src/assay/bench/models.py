"""Asks a server which model it serves, before anything is timed."""

from __future__ import annotations

import http.client
import ssl

import msgspec

from assay._secret import Secret
from assay.bench.requests import Target
from assay.errors import NotReady

_MOST_BYTES = 1 << 20


class _Model(msgspec.Struct):
    id: str


class _Models(msgspec.Struct):
    data: list[_Model]


def served_model(where: Target, *, key: Secret | None = None, wait_s: float = 10.0) -> str:
    """The first model that `/v1/models` names.

    Raises:
        NotReady: the server cannot be reached, or does not answer as one of this kind does.
    """
    hint = "is the server up, and --base-url its address? --model names the model without asking"
    headers = {"Authorization": f"Bearer {key.reveal()}"} if key else {}
    connection = _connection(where, wait_s)
    try:
        connection.request("GET", f"{where.prefix}/v1/models", headers=headers)
        response = connection.getresponse()
        data = response.read(_MOST_BYTES)
        if response.status != http.client.OK:
            raise NotReady(f"{where.url}/v1/models answered {response.status}", hint=hint)
        models = msgspec.json.decode(data, type=_Models).data
    except (OSError, http.client.HTTPException, msgspec.DecodeError, UnicodeError) as error:
        text = getattr(error, "strerror", None) or str(error) or type(error).__name__
        raise NotReady(f"{where.url}/v1/models: {text}", hint=hint) from None
    finally:
        connection.close()
    if not models:
        raise NotReady(f"{where.url}/v1/models names no model", hint="--model names it")
    return models[0].id


def _connection(where: Target, wait_s: float) -> http.client.HTTPConnection:
    if where.scheme == "http":
        return http.client.HTTPConnection(where.host, where.port, timeout=wait_s)
    context = ssl.create_default_context()
    if not where.verify:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return http.client.HTTPSConnection(where.host, where.port, timeout=wait_s, context=context)
