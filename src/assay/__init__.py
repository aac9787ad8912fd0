"""assay tunes LLM inference servers by evidence.

The verbs of the program are functions here, with the same names and values.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from assay._version import __version__

if TYPE_CHECKING:
    from pathlib import Path

    from assay.diagnostics import LintResult
    from assay.drift import Drift
    from assay.findings import Explanation, Opened, Triage

__all__ = ["__version__", "drift", "explain", "lint", "triage"]


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


def triage(deployment: Path | str, *, engine: str | None = None, cache: Path | None = None) -> Triage:
    """What every option of the engine does in a deployment, as `assay triage` says it.

    Args:
        deployment: a deployment file.
        engine: `sglang==0.5.10`, a folder, `installed:PATH` or `image:REF`; None: what the file says.
        cache: folder for fetched sources; None: ASSAY_CACHE, or the user's cache folder.

    Raises:
        InputError: the file cannot be read, or is no deployment file that starts one server.
        SourceError: the engine's source cannot be had or read.
    """
    from assay.findings import triage as of_case

    return of_case(_opened(deployment, engine, cache).case)


def explain(
    *options: str, deployment: Path | str, engine: str | None = None, cache: Path | None = None
) -> tuple[Explanation, ...]:
    """What options do in a deployment, as `assay explain` says it: `explain("tp_size=4", deployment=…)`.

    Args:
        options: flags or field names, with a value behind `=`, as text of a command line.
        deployment: a deployment file.
        engine: as for `triage`.
        cache: as for `triage`.

    Raises:
        InputError: the file cannot be read, or is no deployment file that starts one server.
        SourceError: the engine's source cannot be had or read.
    """
    from assay.findings import explain_asked

    case = _opened(deployment, engine, cache).case
    return tuple(explain_asked(case, option) for option in options)


def drift(older: str, newer: str, deployment: Path | str, *, cache: Path | None = None) -> Drift:
    """What going from one version of an engine to another does to a command, as `assay drift` says it.

    Args:
        older: the version that the command is for: `sglang==0.5.10`, a folder, `installed:PATH`, `image:REF`.
        newer: the version that it may go to, likewise.
        deployment: a deployment file, unit, script, compose file or manifest that starts one server.
        cache: as for `triage`.

    Raises:
        InputError: the file cannot be read, or does not start one server.
        SourceError: a version's source cannot be had or read.
    """
    import os
    from pathlib import Path

    from assay.deployment import parse_engine
    from assay.drift import open_drift
    from assay.source import default_cache

    return open_drift(
        parse_engine(older),
        parse_engine(newer),
        Path(deployment),
        environment=os.environ,
        home=Path.home(),
        cache=cache or default_cache(os.environ),
    )


def _opened(deployment: Path | str, engine: str | None, cache: Path | None) -> Opened:
    import os
    from pathlib import Path

    from assay.deployment import parse_engine
    from assay.findings import open_deployment
    from assay.source import default_cache

    return open_deployment(
        Path(deployment),
        engine=None if engine is None else parse_engine(engine),
        environment=os.environ,
        home=Path.home(),
        cache=cache or default_cache(os.environ),
    )
