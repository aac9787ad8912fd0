"""What `assay triage` and `assay explain` do once they run: open, ask, render."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from assay import reports
from assay.candidates import bounds
from assay.cli.bounds import asked_bounds
from assay.cli.lint import output_width
from assay.cli.progress import Reporter
from assay.deployment import parse_engine
from assay.diagnostics import is_secret_name, secrets_of
from assay.errors import InputError
from assay.findings import Opened, explain_asked, find_together, open_deployment, triage, verify, what_if
from assay.source import default_cache

if TYPE_CHECKING:
    from collections.abc import Sequence

    from assay.cli.triage_options import ExplainOptions, TriageOptions
    from assay.findings import Finding

_MOST_ASKED = 32


def triaged(path: Path, options: TriageOptions) -> str:
    """The report of triage."""
    asked = asked_bounds(options)
    with Reporter(sys.stderr) as progress:
        opened = _opened(path, options.engine, options.cache, progress)
        found = triage(opened.case, progress)
    most = bounds(opened, found, asked) if asked is not None else None
    secrets, style = _secrets(opened), reports.Style(width=output_width())
    if options.json:
        return reports.triage_json(opened, found, secrets, most)
    text = reports.triage_text(opened, found, style, secrets)
    return text if most is None else f"{text}\n\n{reports.bounds_text(most, style, secrets)}"


def explained(asked: Sequence[str], options: ExplainOptions) -> tuple[str, int]:
    """The report on each option, and the exit code."""
    if not asked:
        raise InputError("nothing to explain", hint="name an option: assay explain OPTION[=VALUE] -d FILE")
    if len(asked) > _MOST_ASKED:
        raise InputError(f"more than {_MOST_ASKED} options", hint="`assay triage` looks at all of them")
    with Reporter(sys.stderr) as progress:
        opened = _opened(options.deployment, options.engine, options.cache, progress)
        case = opened.case
        explanations = [explain_asked(case, text) for text in asked]
        found = [each.finding for each in explanations]
        root = Path(opened.tree.root)
        checks = [verify(case, each, root) for each in found] if options.verify else []
        pairs = [(each.option, each.value) for each in found]
        others = [what_if(case, each) for each in found] if options.what_if else []
        together = find_together(case, pairs, found) if options.together else None
    code = int(any(not check.holds for each in checks for check in each))
    secrets = _secrets(opened) | _asked_secrets(found)
    if options.json:
        return reports.findings_json(found, secrets, together=together, checks=checks, others=others), code
    style = reports.Style(width=output_width())
    parts = [
        reports.explain_text(
            each,
            style,
            secrets,
            checks=checks[at] if options.verify else None,
            others=others[at] if options.what_if else None,
        )
        for at, each in enumerate(explanations)
    ]
    if together is not None:
        parts.append(reports.together_text(together, style, secrets))
    return "\n\n\n".join(parts), code


def _opened(path: Path, engine: str | None, cache: Path | None, progress: Reporter) -> Opened:
    return open_deployment(
        path,
        engine=None if engine is None else parse_engine(engine),
        environment=os.environ,
        home=Path.home(),
        cache=cache or default_cache(os.environ),
        progress=progress,
    )


def _asked_secrets(found: Sequence[Finding]) -> frozenset[str]:
    """Values that the question itself gave to options with a secret's name."""
    named = (each for each in found if is_secret_name(each.field or each.option))
    return frozenset(each.value for each in named if isinstance(each.value, str) and each.value)


def _secrets(opened: Opened) -> frozenset[str]:
    return secrets_of(opened.server, opened.case.present.parsed)
