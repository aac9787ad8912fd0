"""assay tunes LLM inference servers by evidence.

The verbs of the program are functions here, with the same names and values.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from assay._version import __version__

if TYPE_CHECKING:
    from pathlib import Path

    from assay.diagnostics import LintResult

__all__ = ["__version__", "lint"]


def lint(path: Path | str, *, engine: str | None = None, cache: Path | None = None) -> tuple[LintResult, ...]:
    """Check every server that a file starts against its engine's own source, as `assay lint` does.

    Args:
        path: a systemd unit, script, compose file, manifest or deployment file.
        engine: `sglang==0.5.10`, a folder, `installed:PATH` or `image:REF`; None: what the file says.
        cache: folder for fetched sources; None: ASSAY_CACHE, or the user's cache folder.

    Raises:
        InputError: the file cannot be read, or nothing says which version of the engine runs.
        SourceError: the engine's source cannot be had or read.
    """
    import os  # imported here, as all below: `import assay` stays cheap
    from pathlib import Path

    from assay.deployment import parse_engine
    from assay.diagnostics import lint_file
    from assay.source import default_cache

    return lint_file(
        Path(path),
        engine=None if engine is None else parse_engine(engine),
        environment=os.environ,
        home=Path.home(),
        cache=cache or default_cache(os.environ),
    )
