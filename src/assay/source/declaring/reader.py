"""Reads the declarations of an engine's source tree; also as a job of bytes for a child process."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec

from assay.engines import Engine
from assay.errors import EngineNotFound, UnknownIdiom
from assay.source.child.job import Note
from assay.source.child.read_request import ReadRequest
from assay.source.declarations import Declarations
from assay.source.declaring import arguments
from assay.source.declaring.mentions import add_mentions
from assay.source.declaring.module import Modules


def read_declarations(root: Path, engine: Engine, note: Note) -> Declarations:
    """All that the engine's source below `root` declares to its users.

    Args:
        root: the folder that holds the engine's package, such as an unpacked wheel.
        engine: which engine it is.
        note: told of each file before it is read, first those that declare, then all.

    Raises:
        EngineNotFound: the folder does not hold the engine's package.
        UnknownIdiom: its options are declared in a way that is not known.
    """
    if not (root / engine.package).is_dir():
        raise EngineNotFound(
            f"{root} holds no package {engine.package!r}", hint="give the folder that holds the package"
        )
    try:
        declarations = arguments.read(Modules(root, note), engine)
    except RecursionError as error:
        raise UnknownIdiom(f"{root}: the source is nested too deeply to be read") from error
    return add_mentions(declarations, root, engine.package, engine.environment_prefixes, note)


def read_declarations_job(request: bytes, note: Note) -> bytes:
    """The same from and to MessagePack: a `ReadRequest` in, `Declarations` out."""
    asked = msgspec.msgpack.decode(request, type=ReadRequest)
    declarations = read_declarations(Path(os.fsdecode(asked.root)), asked.engine, note)
    return msgspec.msgpack.encode(declarations)
