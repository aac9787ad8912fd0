"""How an error reads on stderr: what went wrong, details, what to do next."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from assay.errors import AssayError


def print_error(error: AssayError) -> int:
    """Print it; the exit code that it stands for is returned."""
    return print_failure(error.message, hint=error.hint, details=error.details, code=error.exit_code)


def print_failure(message: str, *, hint: str, details: tuple[str, ...] = (), code: int) -> int:
    """Print a failure that has no error of ours, such as a misspelt option."""
    from assay.diagnostics import mask
    from assay.reports import harmless

    print(harmless(f"assay: error: {mask(message)}"), file=sys.stderr)
    for line in details:
        print(harmless(f"  {mask(line)}"), file=sys.stderr)
    if hint:
        print(harmless(f"  hint: {mask(hint)}"), file=sys.stderr)
    return code
