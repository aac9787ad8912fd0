"""What a running server says of itself: its models, its resolved settings, whether it has metrics."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import msgspec

from assay._masking import may_be_secret_name
from assay._value import Value
from assay.hosts import ask_http

if TYPE_CHECKING:
    from assay._secret import Secret
    from assay.hosts import Host

Settings = dict[str, bool | int | float | str | None]
"""Resolved settings by the engine's own names."""
_INFO_PATHS = ("/server_info?config_format=json", "/server_info", "/get_server_info")
"""vLLM's, where `VLLM_SERVER_DEV_MODE` is set; SGLang's; SGLang's name until 0.5.x, which newer ones keep."""


class ServedModel(Value):
    """What a server serves."""

    name: str
    """As requests name it."""
    root: str | None = None
    """Where it was loaded from, if the server says."""


class Served(Value):
    """A server's answers; each is empty where it gave none."""

    url: str
    """Where it was asked."""
    models: tuple[ServedModel, ...] = ()
    """Of `/v1/models`."""
    settings: Settings = msgspec.field(default_factory=dict)
    """Of `/server_info`: settings as the engine resolved them, without secrets and without lists."""
    labels: Settings = msgspec.field(default_factory=dict)
    """Of `/metrics`: labels of metrics that say how it is set up (vLLM: `vllm:cache_config_info`)."""
    metrics: bool = False
    """Whether `/metrics` gives any."""
    notes: tuple[str, ...] = ()
    """What could not be asked, and why."""


def read_served(host: Host, url: str, *, key: Secret | None = None) -> Served:
    """Three questions to a server from the machine `host`; a server that does not answer is no error.

    Raises:
        CommandFailed: the machine has no python3.
        InputError: that is no URL.
    """
    base, notes = url.rstrip("/"), []
    listed = ask_http(host, f"{base}/v1/models", key=key)
    models = parse_models(listed.body) if listed.ok else ()
    if not models:
        notes.append(f"{base}/v1/models: {_why(listed.status, listed.reason)}")
    settings: Settings = {}
    for path in _INFO_PATHS if listed.status else ():
        said = ask_http(host, base + path, key=key)
        settings = parse_server_info(said.body) if said.ok else {}
        if settings:
            break
    answer = ask_http(host, f"{base}/metrics", key=key) if listed.status else listed
    return Served(
        url=base,
        models=models,
        settings=settings,
        labels=parse_labels(answer.body) if answer.ok else {},
        metrics=answer.ok and parse_has_metrics(answer.body),
        notes=tuple(notes),
    )


def _why(status: int | None, reason: str) -> str:
    return reason or f"status {status}, or not the answer of such a server"


def parse_models(body: bytes) -> tuple[ServedModel, ...]:
    """Reads the list of `/v1/models`; nothing where it is none.

    >>> parse_models(b'{"data": [{"id": "qwen", "root": "/models/qwen"}]}')
    (ServedModel(name='qwen', root='/models/qwen'),)
    """
    try:
        entries = json.loads(body)["data"]
        return tuple(ServedModel(name=each["id"], root=_text(each.get("root"))) for each in entries)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return ()


def parse_server_info(body: bytes) -> Settings:
    """Reads the settings of `/server_info`, which stand at its top; nothing where it is none.

    Values of names that may be a secret's are dropped here and go no further.
    """
    try:
        said = json.loads(body)
    except (ValueError, RecursionError):
        return {}
    if not isinstance(said, dict):
        return {}
    if "vllm_config" in said:
        said = _of_sections(said["vllm_config"])
    plain = (bool, int, float, str, type(None))
    return {
        name: value.removeprefix("torch.") if isinstance(value, str) else value
        for name, value in said.items()
        if isinstance(value, plain) and not may_be_secret_name(name)
    }


def _of_sections(config: object) -> dict[str, object]:
    """vLLM's settings stand in sections; names that several have, with several values, get the section's.

    >>> _of_sections({"a_config": {"x": 1, "y": 2}, "b_config": {"x": 1, "y": 3}, "z": 4})
    {'x': 1, 'a_config.y': 2, 'b_config.y': 3, 'z': 4}
    """
    if not isinstance(config, dict):
        return {}
    found: dict[str, object] = {}
    sections = {name: each for name, each in config.items() if isinstance(each, dict)}
    held: dict[str, list[object]] = {}
    for section in sections.values():
        for name, value in section.items():
            held.setdefault(str(name), []).append(value)
    for title, section in sections.items():
        for name, value in section.items():
            alone = all(each == value for each in held[str(name)])
            found[str(name) if alone else f"{title}.{name}"] = value
    return found | {str(name): each for name, each in config.items() if name not in sections}


_INFO = re.compile(
    rb"^(?:\w+:)?\w+_info\{(?P<labels>[^\n]*)\} 1(?:\.0)?(?: \d+)?\r?$", re.MULTILINE | re.ASCII
)
_LABEL = re.compile(r'(?P<name>[A-Za-z_]\w*)="(?P<value>(?:[^"\\]|\\.)*)"', re.ASCII)
_WRITTEN: dict[str, bool | None] = {"True": True, "False": False, "None": None}
_OF_PYTHON = ("python", "process")
"""Metrics of the client library, not of the server."""


def parse_labels(body: bytes) -> Settings:
    """Reads labels of metrics named `…_info`, as Python wrote them; those with several values are no facts.

    >>> parse_labels(b'vllm:cache_config_info{block_size="16",cache_dtype="auto",x="None"} 1.0\\n')
    {'block_size': 16, 'cache_dtype': 'auto', 'x': None}
    """
    found: Settings = {}
    several = set()
    for line in _INFO.finditer(body):
        if line[0].decode("ascii", "replace").startswith(_OF_PYTHON):
            continue
        for label in _LABEL.finditer(line["labels"].decode("utf-8", "replace")):
            name, value = label["name"], _plain(label["value"])
            if may_be_secret_name(name):
                continue
            if name in found and found[name] != value:
                several.add(name)
            found[name] = value
    return {name: value for name, value in found.items() if name not in several}


def _plain(text: str) -> bool | int | float | str | None:
    if text in _WRITTEN:
        return _WRITTEN[text]
    for number in (int, float):
        try:
            return number(text)
        except ValueError:
            continue
    return text


def parse_has_metrics(body: bytes) -> bool:
    """Whether it is a page in Prometheus' text format with at least one type line."""
    return body.startswith(b"# ") and b"# TYPE " in body


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None
