"""Which line decides about an option, where functions only hand on what their caller does."""

from __future__ import annotations

from collections.abc import Container
from typing import Any

from assay.flow.interpreter import Interpreter


def place(i: Interpreter, through: Container[str]) -> tuple[Any, str, tuple[Any, ...]]:
    """Site, name of the function, and the tests held there; functions named in `through` are passed over."""
    site, held = i.site, len(i.machine.guards)
    function = ""
    for called_from, held_there, called in reversed(i.callers):
        function = called.name
        if function not in through:
            break
        site, held = called_from, held_there
    return site, function, tuple(i.machine.guards[:held])
