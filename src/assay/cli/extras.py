"""What some verbs need and others do not: optional parts of the installation."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from assay.errors import InputError

_EXTRAS = {"numpy": "search", "optuna": "optuna"}


@contextlib.contextmanager
def with_numpy() -> Iterator[None]:
    """The search needs it, and what studies left behind is read by their code; so do some Optuna.

    Raises:
        InputError: one of them is not there.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        extra = _EXTRAS.get(error.name or "")
        if extra is None:
            raise
        raise InputError(
            f"{error.name} is needed, and not installed", hint=f"pip install 'assay[{extra}]'"
        ) from None
