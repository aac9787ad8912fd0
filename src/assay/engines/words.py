"""What a server's command line says by itself: its model, where it listens, which engine it is."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from assay._secret import Secret
from assay.deployment import launch_of_words, unwrap
from assay.engines import probes
from assay.engines.engine import Engine, Server, find_server

if TYPE_CHECKING:
    from collections.abc import Sequence


def value_of(words: Sequence[str], *flags: str) -> str | None:
    """The last value that a command line gives to one of these flags.

    >>> value_of(["serve", "--port", "1", "--port=2"], "--port")
    '2'
    """
    found = None
    for at, word in enumerate(words):
        name, equals, value = word.partition("=")
        if name in flags:
            found = value if equals else words[at + 1] if at + 1 < len(words) else found
    return found


def model_of(words: Sequence[str]) -> str | None:
    """Which model a command line names: a folder, or a name of the hub.

    >>> model_of(["vllm", "serve", "Qwen/Qwen3-8B", "--port", "1"]), model_of(["x", "--model-path", "m"])
    ('Qwen/Qwen3-8B', 'm')
    """
    named = value_of(words, "--model-path", "--model")
    server = server_of(words) if named is None else None
    if server is not None and server.engine.model_word and server.arguments:
        first = server.arguments[0].text
        return None if first.startswith("-") else first
    return named


def key_of(words: Sequence[str]) -> Secret | None:
    """The key that the server asks its clients for."""
    key = value_of(words, "--api-key")
    return Secret(key) if key else None


_PORTS = {"sglang": 30000, "vllm": 8000}
"""What engines listen on unless told."""


def url_of(words: Sequence[str]) -> str | None:
    """Where the server can be asked from its own machine; None if its port is not known."""
    server = server_of(words)
    port = value_of(words, "--port") or str(_PORTS.get(server.engine.name if server else "", ""))
    if not re.fullmatch(r"\d{1,5}", port):
        return None
    address = value_of(words, "--host") or "127.0.0.1"
    if not re.fullmatch(r"[\w.:-]+", address, re.ASCII):
        return None
    address = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(address, address)  # noqa: S104 -- asked, not bound
    return (
        f"http://[{address}]:{port}" if ":" in address and "[" not in address else f"http://{address}:{port}"
    )


_DRAWN = {"sglang": frozenset({"random_seed"}), "vllm": frozenset({"instance_id"})}
"""Settings that an engine draws anew at each start where nobody gives them."""


def is_followed(engine: Engine) -> bool:
    """Whether assay follows what that engine does with its options, and not only at its start."""
    start = probes.STARTS.get(engine.name)
    return start is not None and bool(start.serve)


def settings_drawn_at_start(words: Sequence[str]) -> frozenset[str]:
    """Those of the server that a command line starts: they differ between two starts of one command."""
    server = server_of(words)
    return _DRAWN.get(server.engine.name, frozenset()) if server else frozenset()


def server_of(words: Sequence[str]) -> Server | None:
    """The one server that these words start, wrappers taken off; None if there is none, or several."""
    found = [find_server(launch) for launch in unwrap(launch_of_words(tuple(words)))]
    return found[0] if len(found) == 1 else None
