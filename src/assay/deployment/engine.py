"""Which engine, and where its source is to be had."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Literal

from assay._value import Value
from assay.errors import InputError


class EngineReference(Value):
    """Where the source of an engine is to be had, as the user named it."""

    kind: Literal["release", "folder", "installed", "image"]
    """A published release, a folder or checkout, a package installed on this machine, a container image."""
    engine: str | None
    """Name of the engine where the reference says it (`sglang`), else None: then the source tells."""
    value: str
    """The version of a release; the path of a folder; the interpreter, environment folder or empty string of
    an installed package; the reference of an image."""

    def __str__(self) -> str:
        """As the user would write it."""
        if self.kind == "release":
            return f"{self.engine}=={self.value}"
        if self.kind == "folder":
            return self.value
        return f"{self.kind}:{self.value}"


_RELEASE = re.compile(r"(?P<engine>[A-Za-z][A-Za-z0-9._-]*?)\s*==\s*(?P<version>[A-Za-z0-9.!+_-]+)")


def parse_engine(text: str) -> EngineReference:
    """Read `sglang==0.5.10`, a path, `installed:[PATH]` or `image:REF`.

    Raises:
        InputError: the text is none of these.

    >>> parse_engine("sglang==0.5.10")
    EngineReference(kind='release', engine='sglang', value='0.5.10')
    >>> str(parse_engine("image:lmsysorg/sglang:v0.5.10"))
    'image:lmsysorg/sglang:v0.5.10'
    """
    text = text.strip()
    if match := _RELEASE.fullmatch(text):
        return EngineReference(kind="release", engine=match["engine"].lower(), value=match["version"])
    if text.startswith("image:") and len(text) > len("image:"):
        return EngineReference(kind="image", engine=None, value=text.removeprefix("image:"))
    if text == "installed" or text.startswith("installed:"):
        return EngineReference(kind="installed", engine=None, value=text.partition(":")[2])
    if text.startswith((".", "/", "~")):
        return EngineReference(kind="folder", engine=None, value=text)
    raise InputError(
        f"not an engine: {text!r}",
        hint="write a release (sglang==0.5.10), a folder that begins with ./, / or ~, "
        "installed:PATH_OF_ENVIRONMENT, or image:REFERENCE",
    )


def not_run(engine: EngineReference) -> EngineReference:
    """The environment's folder in place of an interpreter: what a target names is looked at and never run."""
    path = Path(engine.value)
    if engine.kind != "installed" or not path.is_file():
        return engine
    return parse_engine(f"installed:{path.parent.parent}")
