"""What the child process that reads declarations is asked."""

from __future__ import annotations

from assay._value import Value
from assay.engines import Engine


class ReadRequest(Value):
    """The request of the job `declarations`, as MessagePack; its reply is that of `Declarations`."""

    root: bytes
    """Folder that holds the package folder, as the file system spells it."""
    engine: Engine
    """The engine to read it as."""
