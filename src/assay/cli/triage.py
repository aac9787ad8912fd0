"""`assay triage` and `assay explain`: what every option, or one, does in a deployment."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from assay.cli.triage_options import ExplainOptions, TriageOptions


def triage(deployment: Path, *, options: TriageOptions | None = None) -> int:
    """Say of every option of the engine what it does in a deployment, and what is worth a trial.

    Exit code 0: done, whatever was found; 2 and more: it could not be done.

    Parameters
    ----------
    deployment
        A deployment file (TOML): which model, machine, engine and command.
    """
    from assay.cli import triage_run  # loaded only when it runs: `--help` stays fast

    print(triage_run.triaged(deployment, options or TriageOptions()))
    return 0


def explain(
    *asked: Annotated[str, Parameter(allow_leading_hyphen=True)],
    options: ExplainOptions,
) -> int:
    """Explain what options do in a deployment: five questions, each answered with lines of source.

    Exit code 0: done, whatever was found; 1: `--verify` found something that does not hold; 2 and more: it
    could not be done.

    Parameters
    ----------
    asked
        Options by flag or field name, with a value behind `=`: `attention-backend=fa3`, `tp_size=4`. For
        switches `true` or `false`, for lists and objects JSON. Without a value: the one that the command
        has, else the one that triage would ask about.
    """
    from assay.cli import triage_run

    text, code = triage_run.explained(asked, options)
    print(text)
    return code
