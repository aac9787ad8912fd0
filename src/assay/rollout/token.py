"""Ready means a generated token: not a health page, and not of another server."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from assay._value import Value

if TYPE_CHECKING:
    from assay._secret import Secret
    from assay.hosts import HttpAnswer


class Asks(Protocol):
    """A machine from which the server is asked."""

    def http(
        self, url: str, *, body: bytes | None = None, key: Secret | None = None, timeout_s: float = 10.0
    ) -> HttpAnswer:
        """Ask it."""


@dataclass(frozen=True, kw_only=True)
class Service:
    """How a unit's server is asked."""

    url: str
    """Where, as seen from its own machine."""
    model: str | None = None
    """The model's name; None: the first that it lists."""
    key: Secret | None = None
    """What it wants to hear, if anything."""
    own: bool = True
    """Whether the server itself listens there; False: that may be a proxy, which answers also without it."""


class Token(Value):
    """What came of asking for a token."""

    came: bool
    """Whether one was generated."""
    answered: bool
    """Whether anybody answered at all."""
    why: str
    """What was said instead."""


def ask_token(machine: Asks, service: Service, *, timeout_s: float) -> Token:
    """Ask for a completion of one token."""
    model = service.model
    if model is None:
        listed = machine.http(f"{service.url}/v1/models", key=service.key, timeout_s=timeout_s)
        model = _first_model(listed.body) if listed.ok else None
        if model is None:
            why = listed.reason or f"/v1/models: status {listed.status}"
            return Token(came=False, answered=listed.status is not None, why=why)
    body = json.dumps({"model": model, "prompt": "Hello", "max_tokens": 1, "temperature": 0}).encode()
    said = machine.http(f"{service.url}/v1/completions", body=body, key=service.key, timeout_s=timeout_s)
    if said.ok and has_token(said.body):
        return Token(came=True, answered=True, why="")
    why = said.reason or f"/v1/completions: status {said.status}, no token"
    return Token(came=False, answered=said.status is not None, why=why)


def has_token(body: bytes) -> bool:
    """Whether a completion holds one.

    >>> has_token(b'{"choices": [{"text": ""}], "usage": {"completion_tokens": 1}}'), has_token(b"{}")
    (True, False)
    """
    try:
        said = json.loads(body)
        tokens = (said.get("usage") or {}).get("completion_tokens")
        return bool(said["choices"][0].get("text")) or (isinstance(tokens, int) and tokens > 0)
    except (ValueError, KeyError, TypeError, IndexError, AttributeError, RecursionError):
        return False


def _first_model(body: bytes) -> str | None:
    try:
        name = json.loads(body)["data"][0]["id"]
    except (ValueError, KeyError, TypeError, IndexError, RecursionError):
        return None
    return name if isinstance(name, str) else None
