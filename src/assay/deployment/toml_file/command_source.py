"""The keys of a deployment file that say how the server is started."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from assay.deployment.deployment import CommandKind, CommandSource
from assay.deployment.text import Word
from assay.deployment.toml_file.section import Section, kind

if TYPE_CHECKING:
    from assay.deployment.toml_file.toml import Document

_NAMED: dict[str, tuple[CommandKind, str | None]] = {
    "unit": ("unit", None),
    "script": ("script", None),
    "compose": ("compose", "service"),
    "manifest": ("manifest", "container"),
}
_WAYS = ("command", *_NAMED)


def read_command(top: Section, resolve: Callable[[str], Path]) -> CommandSource | None:
    """The one of `command`, `unit`, `script`, `compose` and `manifest` that is there."""
    for owner, (_, selector) in _NAMED.items():
        if selector and top.has(selector) and not top.has(owner):
            top.fault(selector, f"expected `{owner}` beside it")
    way = top.one_of(_WAYS, "how the server is started")
    if way is None:
        return None
    return _inline(top) if way == "command" else _elsewhere(top, way, resolve)


def _elsewhere(top: Section, way: str, resolve: Callable[[str], Path]) -> CommandSource | None:
    command, selector = _NAMED[way]
    text = top.text(way)
    name = top.text(selector) if selector else None
    if text is None:
        return None
    path = resolve(text)
    if not path.is_file():
        top.fault(way, f"expected the path of a file, got {path}, which is not there")
        return None
    return CommandSource(kind=command, path=str(path), name=name)


def _inline(top: Section) -> CommandSource | None:
    value = top.data["command"]  # may hold secrets: never shown
    document = top.faults.document
    if isinstance(value, str):
        if value.strip():
            return CommandSource(kind="inline", script=document.written(("command",)))
        top.fault("command", "expected a command line, got an empty text")
    elif isinstance(value, list):
        words = top.texts("command")
        if words:
            return CommandSource(kind="inline", words=tuple(_word(document, n) for n in range(len(words))))
        if not value:
            top.fault("command", "expected a command line, got an empty list")
    else:
        top.fault("command", f"expected a text in quotes or a list of texts, got {kind(value)}")
    return None


def _word(document: Document, index: int) -> Word:
    span = document.spans["command", index]
    written = document.written(("command", index))
    return Word(
        text=written.text,
        file=document.file,
        start=span.start,
        end=span.end,
        offsets=written.offsets,
        syntax="toml",
    )
