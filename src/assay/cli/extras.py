"""What some verbs need and others do not: optional parts of the installation."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from assay.errors import InputError


@contextlib.contextmanager
def with_numpy() -> Iterator[None]:
    """The search needs it, and what studies left behind is read by their code.

    Raises:
        InputError: it is not there.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        if error.name != "numpy":
            raise
        raise InputError(
            "studies need numpy, which is not installed", hint="pip install 'assay[search]'"
        ) from None
