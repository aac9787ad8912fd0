"""Whether the server is the one that is meant, and decodes in earnest: asked before anything is timed."""

from __future__ import annotations

import json
from collections.abc import Iterator

from assay._secret import Secret
from assay._value import Value
from assay.bench.ask import OK, ask
from assay.bench.doubt import Doubt
from assay.bench.requests import Target
from assay.engines import ENGINES, says_that_it_pretends

_INFO_PATHS = ("/server_info?config_format=json", "/server_info")


class Meant(Value):
    """The server that is meant; what is empty is not held against anything."""

    engine: str = ""
    """`sglang` or `vllm`."""
    model: str = ""
    """The model's name in requests."""
    pretends: str = ""
    """What in its command or environment makes it pretend that drafts are accepted."""
    by: str = ""
    """Who says so, for messages."""


class Said(Value):
    """What a server says of itself."""

    engine: str = ""
    """The engine, where it is one that assay knows."""
    models: tuple[str, ...] = ()
    """Names of what it serves."""
    pretends: str = ""
    """What in its settings makes it pretend that drafts are accepted."""


def asked_who(where: Target, key: Secret | None) -> Said:
    """Ask it; what it does not answer stays empty."""
    engine, models = parse_who(_body(where, "/v1/models", key))
    info = (_body(where, path, key) for path in _INFO_PATHS)
    pretends = next((found for each in info if (found := says_that_it_pretends(each))), "")
    return Said(engine=engine, models=models, pretends=pretends)


def _body(where: Target, path: str, key: Secret | None) -> str:
    try:
        status, data = ask(where, path, key=key)
    except OSError:
        return ""
    return data.decode("utf-8", "replace") if status == OK else ""


def parse_who(text: str) -> tuple[str, tuple[str, ...]]:
    """Engine and models of an answer to `/v1/models`: both engines write their name as the owner.

    >>> parse_who('{"data": [{"id": "qwen", "owned_by": "vllm"}]}'), parse_who("")
    (('vllm', ('qwen',)), ('', ()))
    """
    try:
        every = json.loads(text)["data"]
        owners = {each.get("owned_by") for each in every}
        names = tuple(each["id"] for each in every if isinstance(each["id"], str))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return "", ()
    return next((name for name in ENGINES if owners == {name}), ""), names


def identity_doubts(said: Said, meant: Meant) -> Iterator[Doubt]:
    """What forbids to take the numbers for those of the server that is meant."""
    if meant.engine and said.engine and meant.engine != said.engine:
        yield Doubt(
            code="other-engine",
            blocks=True,
            text=f"the server says that it is {said.engine}; by {meant.by} it is {meant.engine}",
            mend="--base-url of that deployment, or the file of this one",
        )
    if meant.model and said.models and meant.model not in said.models:
        yield Doubt(
            code="other-model",
            blocks=True,
            text=f"the server serves {', '.join(said.models[:4])}; by {meant.by} it is {meant.model}",
            mend="--base-url of that deployment, or the file of this one",
        )
    if pretends := said.pretends or meant.pretends:
        yield Doubt(
            code="synthetic-acceptance",
            blocks=True,
            text=f"the server accepts drafted tokens by dice, not by the model: {pretends}",
            mend="start it without that: figures under speculation are made up, and so are its answers",
        )
