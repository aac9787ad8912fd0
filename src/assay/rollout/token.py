"""Ready means a generated token: not a health page, and not of another server."""

from __future__ import annotations

import json
import urllib.parse
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from assay._value import Value
from assay.engines import key_of, url_of
from assay.errors import Refused

if TYPE_CHECKING:
    from collections.abc import Sequence

    from assay._secret import Secret
    from assay.hosts import HttpAnswer


_LOOPBACK = ("localhost", "127.0.0.1", "::1")


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


def service_of(
    words: Sequence[str],
    *,
    url: str | None,
    model: str | None,
    reached: Callable[[str | None], str | None] = lambda url: url,
) -> Service:
    """How the server with these words is asked; `reached` says where its own address is to be had.

    Raises:
        Refused: nobody says where.
    """
    own = url_of(words)
    where = url or reached(own)
    if where is None:
        raise Refused("where the server answers is not known", hint="name it: url, in [live] of the file")
    return Service(url=where.rstrip("/"), model=model, key=key_of(words), own=_same_place(where, own))


def _same_place(url: str, own: str | None) -> bool:
    """Whether a URL leads to where the command says that it listens; another name may be a proxy's."""
    if own is None:
        return False
    one, other = urllib.parse.urlsplit(url), urllib.parse.urlsplit(own)
    try:
        return one.port == other.port and one.hostname in (other.hostname, *_LOOPBACK)
    except ValueError:  # no number, which whoever asks there will say
        return False


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
