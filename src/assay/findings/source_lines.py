"""Lines of the engine's source, read again where no value holds them; nothing outside the tree is read."""

from __future__ import annotations

from pathlib import Path

_MOST_BYTES = 8 << 20


def text_of(root: Path, file: str) -> str | None:
    """The text of a file of the tree; None if it is not there, is too large, or lies outside.

    Args:
        root: the folder that holds the engine's package.
        file: a path from there.
    """
    path = (root / file).resolve()
    if not path.is_relative_to(root.resolve()) or not path.is_file() or path.stat().st_size > _MOST_BYTES:
        return None
    return path.read_text(encoding="utf-8", errors="replace")


def lines_of(root: Path, file: str) -> list[str]:
    """Its lines; none if it cannot be read."""
    return (text_of(root, file) or "").splitlines()
