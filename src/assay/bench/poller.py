"""Which descriptors are ready: epoll where there is one, poll elsewhere, waits finer than a millisecond."""

from __future__ import annotations

import math
import select

READ, WRITE = 1, 4
"""The same numbers in epoll and in poll."""
_MANY = 4096


class Poller:
    """epoll, or poll on systems without it (macOS)."""

    def __init__(self) -> None:
        self._epoll = select.epoll() if hasattr(select, "epoll") else None
        self._poll = None if self._epoll else select.poll()

    def watch(self, fd: int, mask: int) -> None:
        """Watch a new descriptor."""
        (self._epoll or self._poll).register(fd, mask)  # type: ignore[union-attr]  # one of them is there

    def change(self, fd: int, mask: int) -> None:
        """Watch a known descriptor for something else."""
        (self._epoll or self._poll).modify(fd, mask)  # type: ignore[union-attr]

    def forget(self, fd: int) -> None:
        """Watch no longer; before the descriptor is closed."""
        (self._epoll or self._poll).unregister(fd)  # type: ignore[union-attr]

    def ready(self, wait_s: float, *, fine: bool) -> list[tuple[int, int]]:
        """What is ready within so many seconds; `fine` where the end of the wait matters below 1 ms."""
        if self._epoll is None:
            assert self._poll is not None
            return self._poll.poll(math.ceil(wait_s * 1000))
        if fine and wait_s > 0:
            select.select([self._epoll], [], [], wait_s)
            return self._epoll.poll(0, _MANY)
        return self._epoll.poll(wait_s, _MANY)
