"""Where requests go, and their bytes."""

from __future__ import annotations

from typing import Literal
from urllib.parse import urlsplit

import msgspec

from assay._secret import Secret
from assay._value import Value
from assay.errors import InputError, WorkloadError

Endpoint = Literal["/v1/completions", "/v1/chat/completions", "/generate"]
Json = str | int | float | bool | None | list["Json"] | dict[str, "Json"]


class Target(Value):
    """Where requests go."""

    scheme: Literal["http", "https"]
    host: str
    port: int
    prefix: str = ""
    """Path in front of `/v1/…`."""
    verify: bool = True
    """Whether the certificate is checked."""
    proxy: Target | None = None
    """An HTTP proxy that all goes through; for https it is asked to connect, and sees nothing more."""

    @property
    def reached(self) -> Target:
        """Where connections are made to."""
        return self.proxy or self

    @property
    def form(self) -> str:
        """What stands before a request's path: a proxy that reads requests wants the whole URL."""
        return self.url if self.proxy is not None and self.scheme == "http" else self.prefix

    @property
    def connect(self) -> bytes:
        """What a proxy is asked first, or nothing."""
        if self.proxy is None or self.scheme == "http":
            return b""
        there = f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"
        return f"CONNECT {there} HTTP/1.1\r\nHost: {there}\r\n\r\n".encode("ascii")

    @property
    def url(self) -> str:
        """As people write it."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.scheme}://{host}:{self.port}{self.prefix}"


def target(url: str, *, verify: bool = True, option: str = "--base-url") -> Target:
    """Read a base URL, with or without `/v1` at its end.

    >>> target("http://localhost:8000/v1").url
    'http://localhost:8000'
    """
    try:
        parts = urlsplit(url if "//" in url else f"http://{url}")
        port = parts.port
    except ValueError as error:
        raise InputError(f"{option} {url}: {error}") from None
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.username or parts.query:
        raise InputError(f"{option} {url}: expected http://HOST:PORT or https://HOST:PORT")
    scheme: Literal["http", "https"] = "https" if parts.scheme == "https" else "http"
    prefix = parts.path.rstrip("/").removesuffix("/v1")
    if not all(33 <= ord(letter) < 127 for letter in prefix + parts.hostname):
        raise InputError(f"{option}: only printable ASCII without spaces may stand in host and path")
    return Target(
        scheme=scheme,
        host=parts.hostname,
        prefix=prefix,
        verify=verify,
        port=port or (443 if scheme == "https" else 80),
    )


class Prompt(Value):
    """One thing to ask."""

    text: str = ""
    """The prompt; for chat, what the user says."""
    messages: tuple[dict[str, Json], ...] = ()
    """A whole conversation, in place of `text`; chat only."""
    asked_tokens: int | None = None
    """How long the prompt should be, in the server's tokens."""
    output_tokens: int | None = None
    """How many tokens to ask for."""
    turn: int = 1
    """Above 1: sent when the prompt before it in the list was answered."""
    at_s: float = 0.0
    """When a trace wants it sent, from its start."""


class Sending(Value):
    """What all requests of a run share."""

    endpoint: Endpoint = "/v1/chat/completions"
    """The route."""
    model: str
    """As the server names it."""
    ignore_eos: bool = True
    """Ask for exactly the output length (vLLM, SGLang)."""
    temperature: float = 0.0
    """0: greedy, so that both arms of a comparison get the same work."""
    extra_body: dict[str, Json] = msgspec.field(default_factory=dict)
    """Members added to each request's JSON, or put in place of ours."""
    headers: tuple[tuple[str, str], ...] = ()
    """Added to each request."""


def body(prompt: Prompt, sending: Sending) -> bytes:
    """The JSON of a request."""
    if sending.endpoint == "/generate":
        return msgspec.json.encode(_generate(prompt, sending))
    chat = sending.endpoint == "/v1/chat/completions"
    content: dict[str, object] = {"model": sending.model}
    if chat:
        content["messages"] = list(prompt.messages) or [{"role": "user", "content": prompt.text}]
    elif prompt.messages:
        raise WorkloadError("conversations need the chat route", hint="--endpoint /v1/chat/completions")
    else:
        content["prompt"] = prompt.text
    if prompt.output_tokens is not None:
        content["max_tokens"] = prompt.output_tokens
    content |= {
        "temperature": sending.temperature,
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    if sending.ignore_eos:
        content["ignore_eos"] = True
    content |= sending.extra_body
    return msgspec.json.encode(content)


def _generate(prompt: Prompt, sending: Sending) -> dict[str, object]:
    """The members of SGLang's own route; `sampling_params` of the user's join ours."""
    if prompt.messages:
        raise WorkloadError("conversations need the chat route", hint="--endpoint /v1/chat/completions")
    extra = dict(sending.extra_body)
    more = extra.pop("sampling_params", {})
    if not isinstance(more, dict):
        raise WorkloadError("--extra-body: sampling_params is an object")
    sampling: dict[str, object] = {"temperature": sending.temperature, "ignore_eos": sending.ignore_eos}
    if prompt.output_tokens is not None:
        sampling["max_new_tokens"] = prompt.output_tokens
    return {"text": prompt.text, "sampling_params": sampling | more, "stream": True, **extra}


def request_bytes(where: Target, sending: Sending, prompt: Prompt, key: Secret | None) -> bytes:
    """A whole HTTP/1.1 request, ready to be sent."""
    data = body(prompt, sending)
    host = f"[{where.host}]" if ":" in where.host else where.host
    headers = [
        ("Host", f"{host}:{where.port}"),
        ("User-Agent", "assay"),
        ("Accept", "text/event-stream"),
        ("Accept-Encoding", "identity"),
        ("Content-Type", "application/json"),
        ("Content-Length", str(len(data))),
        *([("Authorization", f"Bearer {key.reveal()}")] if key else []),
        *sending.headers,
    ]
    for name, value in headers:
        if not name or set(name + value) & set("\r\n\0") or set(name) & set(": "):
            raise InputError(f"header {name!r} cannot be sent: a line end or a colon stands where none may")
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers)
    try:
        head = f"POST {where.form}{sending.endpoint} HTTP/1.1\r\n{lines}\r\n".encode("latin-1")
    except UnicodeEncodeError:
        raise InputError("a header, or the API key, has letters that HTTP cannot carry") from None
    return head + data
