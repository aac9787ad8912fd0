"""Lets what was measured be kept before Ctrl-C or SIGTERM has its way."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager

_HELD = (signal.SIGINT, signal.SIGTERM)


@contextmanager
def undisturbed() -> Iterator[None]:
    """Hold both back in this thread while it is entered; what came meanwhile comes at its end.

    Threads that run beside it must hold them back too: the system gives a signal to any that does not.
    """
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _HELD)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
