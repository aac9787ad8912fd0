"""Collections of which parts may be there on some paths only."""

from __future__ import annotations

from assay.flow.values import OPENED, OpenDict, OpenList, VDict, VList


class Declared(VDict):
    """A dict in which a key may be there on some paths only: its value is then a `Choice` with `MISSING`."""

    __slots__ = ()


class Log(VList):
    """The log of a record: one entry, which holds all that was declared."""

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__([("", Declared())])

    @property
    def declared(self) -> Declared:
        """What was declared, by option."""
        entry: Declared = self[0][1]
        return entry


OPENED[Log] = OpenList
OPENED[Declared] = OpenDict
