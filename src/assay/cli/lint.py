"""`assay lint`: check the command line of units, scripts, compose files, manifests and deployments."""

from __future__ import annotations

import os
import shutil
import sys
from typing import Literal

from assay.cli.failure import print_error
from assay.cli.lint_options import Format, LintOptions


def lint(*targets: str, options: LintOptions | None = None) -> int:
    """Check the command line of a server against the engine's own source.

    Exit code 0: nothing to act on; 1: an error or a warning was found; 2 and more: lint could not be done.

    Parameters
    ----------
    targets
        Systemd units, shell or sbatch scripts, compose files, Kubernetes manifests, deployment files.
    """
    from assay import reports  # loaded only when lint runs: `--help` stays fast
    from assay.cli import lint_run

    options = options or LintOptions()
    if options.rule is not None:
        print(lint_run.explained(options.rule, output_width()))
        return 0
    outcome = lint_run.run(targets, options)
    chosen: Format = "json" if options.json else options.format
    for line in outcome.notes:
        print(reports.harmless(line), file=sys.stderr)
    for text in outcome.diffs:
        print(reports.harmless_lines(text), end="", file=sys.stdout if chosen == "text" else sys.stderr)
    style = reports.Style(width=output_width(), color=output_colored(options.color))
    if text := lint_run.rendered(outcome.results, chosen, style):
        print(text)
    codes = [print_error(error) for error in outcome.errors]
    return max([int(any(result.to_act_on for result in outcome.results)), *codes])


def output_width() -> int:
    """Columns of the terminal within what reads well; 80 where there is none."""
    if not sys.stdout.isatty():
        return 80
    return max(40, min(120, shutil.get_terminal_size((80, 24)).columns))


def output_colored(wish: Literal["auto", "always", "never"]) -> bool:
    """Colours only on a terminal that has them, and where NO_COLOR is not set (https://no-color.org)."""
    if wish != "auto":
        return wish == "always"
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
