"""The points that `assay doctor` looked at, as text for 80 columns and as JSON."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

import msgspec

from assay._masking import mask
from assay.reports.harmless import harmless_lines
from assay.reports.rollout import masked

if TYPE_CHECKING:
    from collections.abc import Sequence

    from assay.rollout import Check

_SAYS = {"ok": "ok", "warning": "warning", "failed": "FAILED", "unknown": "unknown", "skipped": "skipped"}


def checks_text(found: Sequence[Check]) -> str:
    """Each point, what mends it, and how many have to be mended."""
    lines = []
    for each in found:
        lines += _wrapped(f"{_SAYS[each.status]:<8} {each.name}: {each.message}", 9)
        if each.fix:
            lines += _wrapped(f"{'':<9}fix: {each.fix}", 11)
    failed = sum(each.status == "failed" for each in found)
    lines.append(f"{failed} to be fixed" if failed else "nothing has to be fixed")
    return harmless_lines(mask("\n".join(lines)))


def checks_json(found: Sequence[Check]) -> str:
    """The same; docs/reference/doctor-json.md."""
    document = {"schema": "assay.doctor/1", "checks": masked(msgspec.to_builtins(found))}
    return msgspec.json.format(msgspec.json.encode(document), indent=2).decode()


def _wrapped(text: str, indent: int) -> list[str]:
    return textwrap.wrap(
        text, 80, subsequent_indent=" " * indent, break_long_words=False, break_on_hyphens=False
    )
