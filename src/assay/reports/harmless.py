"""Makes text that others wrote harmless where it is shown: to terminals, and to runners of workflows."""

from __future__ import annotations

import re

_UNSEEN = "\N{REPLACEMENT CHARACTER}"
_COMMAND = re.compile(r"^(?P<before>\s*):(?=:)")


def printable(text: str) -> str:
    """One line: control characters, marks that turn the direction of text, and broken bytes are shown.

    >>> printable("a\\x1b[31mb\\n\\u202ec")
    'a\ufffd[31mb\ufffd\ufffdc'
    """
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else _UNSEEN for char in text)


def harmless(line: str) -> str:
    """The same for a line of its own: no workflow's runner takes it for a command (`::error::`, `##[error]`).

    >>> harmless("  ::error::x"), harmless("a ##[error]b"), harmless("a::b")
    ('  : :error::x', 'a ## [error]b', 'a::b')
    """
    return _COMMAND.sub(r"\g<before>: ", printable(line)).replace("##[", "## [")


def harmless_lines(text: str) -> str:
    """The same for each line of a text; tabs stay."""
    lines = (line.removesuffix("\r") for line in text.split("\n"))
    return "\n".join("\t".join(harmless(part) for part in line.split("\t")) for line in lines)
