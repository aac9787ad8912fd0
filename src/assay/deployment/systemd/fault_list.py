"""Collecting the faults of a file: in the order of the file, each once, and not without end."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from assay.deployment.launch import Fault, FaultKind
from assay.deployment.text import Edit, UserFile

if TYPE_CHECKING:
    from collections.abc import Iterable

LIMIT_FAULTS = 200
"""Who has more has given the wrong file."""


class Span(NamedTuple):
    """A stretch of a file, in offsets."""

    file: UserFile
    start: int
    end: int

    def edit(self, text: str) -> Edit:
        """Replace it."""
        return Edit(file=self.file.path, start=self.start, end=self.end, text=text)


class FaultList:
    """The faults found so far."""

    def __init__(self) -> None:
        self._found: dict[tuple[FaultKind, str, int], Fault] = {}

    def add(
        self,
        kind: FaultKind,
        span: Span,
        message: str,
        *,
        refused: bool = False,
        advice: str = "",
        edits: Iterable[Edit] = (),
    ) -> None:
        """Note a fault, unless one of its kind stands there already."""
        key = (kind, span.file.path, span.start)
        if key in self._found or len(self._found) >= LIMIT_FAULTS:
            return
        self._found[key] = Fault(
            kind=kind,
            place=span.file.place(span.start, span.end),
            message=message,
            refused=refused,
            help=advice,
            edits=tuple(edits),
        )

    def all(self) -> tuple[Fault, ...]:
        """Every fault, by file in the order they came up, and by place."""
        files = {path: at for at, path in enumerate(dict.fromkeys(key[1] for key in self._found))}
        keys = sorted(self._found, key=lambda key: (files[key[1]], key[2]))
        return tuple(self._found[key] for key in keys)


def shown(text: str, limit: int = 120) -> str:
    """A text for a message: in backticks, control characters escaped, cut where it is long."""
    cut = text if len(text) <= limit else text[: limit - 1] + "…"
    return "`" + "".join(char if char.isprintable() else repr(char)[1:-1] for char in cut) + "`"
