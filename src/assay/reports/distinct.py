"""Findings of several servers, each told once: one line of a file can concern them all."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from assay.diagnostics import Diagnostic, LintResult


def distinct(results: Sequence[LintResult]) -> Iterator[tuple[Diagnostic, LintResult]]:
    """Every finding with the result that it belongs to, without those that an earlier result has too."""
    seen = set()
    for result in results:
        for found in result.diagnostics:
            key = (found.code, found.place, found.message)
            if key not in seen:
                seen.add(key)
                yield found, result
