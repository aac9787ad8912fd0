"""How far slow work has come, told to whoever asked for it."""

from __future__ import annotations

from typing import Protocol


class Progress(Protocol):
    """Called now and then during slow work, from the thread that does it."""

    def __call__(self, stage: str, done: int, total: int | None) -> None:
        """`stage` says what is being done; `total` is None while it is not known."""


def no_progress(stage: str, done: int, total: int | None) -> None:
    """Tell nobody."""
