"""Asks a server which model it serves, before anything is timed."""

from __future__ import annotations

import msgspec

from assay._secret import Secret
from assay.bench.ask import OK, ask
from assay.bench.requests import Target
from assay.errors import NotReady


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
    try:
        status, data = ask(where, "/v1/models", key=key, wait_s=wait_s)
        if status != OK:
            raise NotReady(f"{where.url}/v1/models answered {status}", hint=hint)
        models = msgspec.json.decode(data, type=_Models).data
    except (OSError, msgspec.DecodeError, UnicodeError) as error:
        text = getattr(error, "strerror", None) or str(error) or type(error).__name__
        raise NotReady(f"{where.url}/v1/models: {text}", hint=hint) from None
    if not models:
        raise NotReady(f"{where.url}/v1/models names no model", hint="--model names it")
    return models[0].id
