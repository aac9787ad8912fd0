"""Before a service is stopped: would the engine take the changed command? Asked of its source, in seconds."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from assay._masking import mask
from assay.cli.noting import say, tell
from assay.cli.progress import Reporter
from assay.deployment import launch_of_words, not_run, unwrap
from assay.diagnostics import Choice, lint
from assay.errors import Refused
from assay.reports import harmless
from assay.rollout import preflight
from assay.source import default_cache

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from assay.deployment import EngineReference
    from assay.diagnostics import Diagnostic
    from assay.rollout import Prepared
    from assay.source import Progress


def tell_of_command(prepared: Prepared, engine: EngineReference, cache: Path | None) -> None:
    """Ask the engine's source about the changed command, and say what is worth knowing.

    Raises:
        Refused: it finds an error in it: the engine would not start.
        SourceError: the engine's source cannot be had or read.
    """
    with Reporter(sys.stderr) as progress:
        told = _check_command(
            prepared.before.words,
            prepared.after,
            engine,
            cache=cache or default_cache(os.environ),
            progress=progress,
        )
    for line in told:
        tell(harmless(f"assay: {line}"))


def _check_command(
    before: Sequence[str], after: Sequence[str], engine: EngineReference, *, cache: Path, progress: Progress
) -> tuple[str, ...]:
    """What lint says of the changed command and not of the one that runs: its warnings and notes.

    Raises:
        Refused: it finds an error in it: the engine would not start.
        SourceError: the engine's source cannot be had or read.
    """
    choice = Choice(engine=not_run(engine), reason="the deployment file")
    known = {_told(each) for each in _found(before, choice, cache, progress)}
    new = [each for each in _found(after, choice, cache, progress) if _told(each) not in known]
    errors = [each for each in new if each.severity == "error"]
    if errors:
        raise Refused(
            f"{engine} does not take the changed command; nothing was changed",
            details=tuple(mask(line) for each in errors for line in _lines(each)),
            hint="name another value; --unchecked leaves this out, where another source serves",
        )
    return tuple(mask(f"{each.severity}[{each.code}]: {each.message}") for each in new)


def ask_its_parser(prepared: Prepared) -> None:
    """Ask the engine's own parser on the machine; that it could not be asked is said, and no reason to stop.

    Raises:
        Refused: it does not take the changed command.
    """
    say("the engine's own parser, there")
    found = preflight(prepared)
    if found.status == "refuses":
        raise Refused(
            f"{prepared.plan.host}: the engine's own parser refuses the changed command; nothing was changed",
            details=(found.message,),
            hint="name another value; --unchecked leaves this out",
        )
    if found.status == "unknown":
        tell(harmless(f"assay: its own parser could not be asked: {found.message}"))


def _found(words: Sequence[str], choice: Choice, cache: Path, progress: Progress) -> tuple[Diagnostic, ...]:
    launches = unwrap(launch_of_words(tuple(words)))
    results = lint("<the changed command>", launches, engine=choice, cache=cache, progress=progress)
    return tuple(each for result in results for each in result.diagnostics)


def _told(each: Diagnostic) -> tuple[str, str | None, str]:
    return each.code, each.option, each.message


def _lines(each: Diagnostic) -> list[str]:
    lines = [f"{each.code}: {each.message}"]
    lines += [f"  {one.site.file}:{one.site.line}: {one.says}" for one in each.evidence[:1]]
    return lines + ([f"  {each.help}"] if each.help else [])
