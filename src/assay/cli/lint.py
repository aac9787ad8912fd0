"""`assay lint`: check the command line of units, scripts, compose files, manifests and deployments."""

from __future__ import annotations

import os
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from assay.cli.failure import print_error

Format = Literal["text", "json", "sarif", "github"]
Switch = Annotated[bool, Parameter(negative=())]


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class LintOptions:
    """Options of `assay lint`.

    Parameters
    ----------
    command_line
        A command line to check, as a shell would read it; `assay lint -- COMMAND ...` says the same.
    engine
        Engine to check against: `sglang==0.5.10`, a folder or checkout, `installed:PATH`, `image:REF`.
        Default: what the target says.
    fix
        Write the fixes that keep what the server does or restore what was plainly meant; prints the diff.
    diff
        Print what `--fix` would write, and write nothing.
    format
        Output: text, assay's JSON, SARIF 2.1.0, or annotations for GitHub workflows.
    json
        The same as `--format json`.
    ignore
        Codes to leave out, such as ASY110; may be repeated, or separated by commas.
    skip_others
        Pass over targets that start no known engine (for hooks that hand over every changed file).
    color
        Colours in text: auto means only on a terminal.
    cache
        Folder for fetched sources. Default: ASSAY_CACHE, or the user's cache folder.
    rule
        Explain a rule, such as ASY111, and do nothing else.
    """

    command_line: str | None = None
    engine: str | None = None
    fix: Switch = False
    diff: Switch = False
    format: Format = "text"
    json: Switch = False
    ignore: tuple[str, ...] = ()
    skip_others: Switch = False
    color: Literal["auto", "always", "never"] = "auto"
    cache: Path | None = None
    rule: str | None = None


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
    print(lint_run.rendered(outcome.results, chosen, style))
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
