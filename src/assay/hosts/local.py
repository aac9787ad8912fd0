"""The machine that assay runs on, spoken to as any other."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from assay.hosts.host import Host

if TYPE_CHECKING:
    from collections.abc import Sequence

    from assay.hosts.sudo import AskPassword


class LocalHost(Host):
    """This machine. Commands run in a session of their own and are not ended by Ctrl-C of the terminal."""

    name = "this machine"

    def __init__(self, *, password: AskPassword | None = None) -> None:
        super().__init__(password)

    def _shell(self, nonce: str) -> Sequence[str]:
        return ("sh", "-s", nonce)

    def _link_is_up(self) -> bool:
        return True

    def reach(self, address: str, port: int) -> contextlib.AbstractContextManager[tuple[str, int]]:
        """As it is."""
        return contextlib.nullcontext((address, port))

    def close(self) -> None:
        """Nothing is kept open."""
