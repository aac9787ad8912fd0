"""What the timed process holds: nothing of an exchange that is over, though nothing is collected there."""

from __future__ import annotations

import gc
import socket
import weakref
from collections.abc import Iterator
from contextlib import contextmanager

from tests.bench.servers import HEAD, LAST, chunk, said

from assay.bench.connection import Connection
from assay.bench.framing import Framing


@contextmanager
def no_collector() -> Iterator[None]:
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def test_a_response_that_is_over_is_let_go() -> None:
    with no_collector():
        framing = Framing()
        framing.feed(HEAD + chunk(said("a")) + LAST)
        assert framing.done
        gone = weakref.ref(framing)
        framing.close()
        del framing
        assert gone() is None


def test_a_connection_keeps_nothing_of_what_was_on_it() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener, no_collector():
        connection = Connection(1, socket.AF_INET, listener.getsockname(), None)
        connection.reads.append(HEAD)
        first = weakref.ref(connection.follow())
        connection.clear()
        assert first() is None
        last = weakref.ref(connection.framing)
        connection.close()
        del connection
        assert last() is None
