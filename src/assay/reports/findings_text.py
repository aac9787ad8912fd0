"""Pieces that reports on findings share: cited lines, tests, values, and text without secrets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from assay.diagnostics import MASK, is_secret_name, mask
from assay.reports.terminal import Style, clip, wrapped

if TYPE_CHECKING:
    from collections.abc import Iterable

    from assay.findings import Condition, Evidence

_LONGEST = 60


class Page:
    """Lines of a report in the making; secrets are hidden in all of them."""

    def __init__(self, style: Style, secrets: frozenset[str]) -> None:
        self.style = style
        self._secrets = secrets
        self._lines: list[str] = []

    def text(self) -> str:
        """All lines so far."""
        return "\n".join(self._lines)

    def blank(self) -> None:
        """An empty line, but never two."""
        if self._lines and self._lines[-1]:
            self._lines.append("")

    def title(self, text: str) -> None:
        """A heading, with an empty line before it."""
        self.blank()
        self._lines += wrapped(mask(text, self._secrets), "", "  ", self.style)

    def say(self, text: str, indent: int = 2, mark: str = "") -> None:
        """A paragraph; what follows a mark is indented behind it."""
        first, rest = " " * indent + mark, " " * (indent + len(mark))
        self._lines += wrapped(mask(text, self._secrets), first, rest, self.style) or [""]

    def quote(self, text: str, indent: int) -> None:
        """A line of source."""
        room = self.style.width - indent - 2
        self._lines.append(f"{' ' * indent}| {clip(mask(text, self._secrets), room)}")

    def cite(self, lines: Iterable[Evidence], indent: int = 2) -> None:
        """Lines of source, each with its place and what it shows."""
        for line in lines:
            self.say(f"{line.file}:{line.line}: {line.says}", indent)
            if line.text:
                self.quote(line.text, indent + 2)

    def tests(self, guards: Iterable[Condition], indent: int = 2) -> None:
        """Tests, each with what it comes out as."""
        for guard in guards:
            state = "is open" if guard.state == "open" else f"is {guard.state}"
            expr = clip(guard.expr, max(20, self.style.width - indent - 12))
            self.say(f"`{expr}` {state} ({guard.file}:{guard.line})", indent)


def shown(value: Any, name: str = "") -> str:
    """A value in text, cut where it is long; nothing of a secret.

    >>> shown(True), shown([1, 2]), shown("x", "api_key")
    ('true', '[1, 2]', '***')
    """
    if name and is_secret_name(name) and value not in (None, True, False):
        return MASK
    if isinstance(value, bool):
        return "true" if value else "false"
    return clip(f"{value:.6g}" if isinstance(value, float) else str(value), _LONGEST)


def setting(option: str, value: Any) -> str:
    """An option with its value, as on a command line.

    >>> setting("--x", True), setting("--n", 4)
    ('--x', '--n 4')
    """
    return option if value is True else f"{option} {shown(value, option)}"


def counted(number: int, noun: str) -> str:
    """`1 option`, `2 options`."""
    return f"{number} {noun}{'' if number == 1 else 's'}"
