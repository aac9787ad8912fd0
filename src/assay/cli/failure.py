"""How an error reads on stderr: what went wrong, details, what to do next."""

from __future__ import annotations

import contextlib
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from assay.errors import AssayError


def print_error(error: AssayError) -> int:
    """Print it; the exit code that it stands for is returned."""
    return print_failure(error.message, hint=error.hint, details=error.details, code=error.exit_code)


def print_failure(message: str, *, hint: str, details: tuple[str, ...] = (), code: int) -> int:
    """Print a failure that has no error of ours, such as a misspelt option.

    Where stderr cannot be written the exit code still says it: 1 would mean something else.
    """
    from assay.diagnostics import mask
    from assay.reports import harmless

    lines = [f"assay: error: {mask(message)}", *(f"  {mask(line)}" for line in details)]
    if hint:
        lines.append(f"  hint: {mask(hint)}")
    with contextlib.suppress(OSError):
        for line in lines:
            print(harmless(line), file=sys.stderr)
    return code
