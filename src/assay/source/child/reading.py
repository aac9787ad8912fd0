"""Reads what a tree declares, in a child process, once for each digest."""

from __future__ import annotations

import functools
import os
from pathlib import Path

import msgspec

from assay._version import __version__
from assay.engines import engine_named
from assay.errors import SourceError
from assay.source.child.limits import run_limited
from assay.source.child.read_request import ReadRequest
from assay.source.declarations import Declarations
from assay.source.fetching.cache import Cache
from assay.source.fetching.tree import Tree
from assay.source.progress import Progress, no_progress

SCHEMA = 1
"""Counts up when `Declarations` changes its meaning without changing its fields."""


def read(tree: Tree, *, cache: Path, progress: Progress = no_progress) -> Declarations:
    """All that the tree declares, from the cache where this assay has read that digest before.

    Raises:
        UnknownIdiom: it declares its options in a way that assay does not know.
        SourceError: it cannot be read within the limits; the message names the file.
    """
    store = Cache(cache)
    schema = f"{SCHEMA} {tree.engine} {_reader_identity()}"
    if (known := store.cached(tree.digest, "declarations", schema)) is not None and (
        declarations := _decoded(known)
    ) is not None:
        return declarations
    request = msgspec.msgpack.encode(
        ReadRequest(root=os.fsencode(tree.root), engine=engine_named(tree.engine))
    )
    reply = run_limited("declarations", request, progress=progress)
    declarations = _decoded(reply)
    if declarations is None:
        raise SourceError(f"the reader gave no declarations of {tree.origin}", hint="report this")
    store.store(tree.digest, "declarations", schema, reply)
    return declarations


def _decoded(data: bytes) -> Declarations | None:
    try:
        return msgspec.msgpack.decode(data, type=Declarations)
    except msgspec.MsgspecError:
        return None


@functools.cache
def _reader_identity() -> str:
    """assay's version, and the state of the code that reads: so that a developer never sees an old answer."""
    home = Path(__file__).parents[2]
    files = sorted((*home.glob("source/**/*.py"), *home.glob("engines/**/*.py")))
    states = [(str(file.relative_to(home)), file.stat().st_size, file.stat().st_mtime_ns) for file in files]
    return f"{__version__} {states}"
