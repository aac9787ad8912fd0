"""`assay apply`, `status`, `promote` and `rollback`: change a running service, with a way back."""

from __future__ import annotations

from pathlib import Path

from assay.cli.rollout_options import ApplyOptions, PromoteOptions, StatusOptions, UndoOptions


def apply(deployment: Path, *change: str, options: ApplyOptions | None = None) -> int:
    """Put a change on trial: plan, restart, a generated token, or back as it was.

    The plan is shown and journalled first. A switch on the machine takes the
    change back by itself when assay or the link dies, and at the end of the
    trial unless `assay promote` keeps it. Exit code 0: on trial; 7: it failed
    and the service serves as before; 8: a person must look; others: nothing
    was changed.

    Parameters
    ----------
    deployment
        A deployment file with [live], and [trials] that lets assay restart it.
    change
        `+FLAG` or `+FLAG=VALUE`; an option that is in the command is replaced.
    """
    from assay.cli import rollout_run  # loaded only when it runs: `--help` stays fast

    print(rollout_run.applied(deployment, change, options or ApplyOptions()))
    return 0


def status(target: str, *, options: StatusOptions | None = None) -> int:
    """Say whether a service serves, and where its rollouts stand. Nothing is changed.

    Exit code 0: it serves and no change is on trial, or its switch is armed;
    1: something is to be done.

    Parameters
    ----------
    target
        A deployment file with [live], or `UNIT@HOST`.
    """
    from assay.cli import rollout_run

    text, code = rollout_run.stands(target, options or StatusOptions())
    print(text)
    return code


def promote(target: str, *, options: PromoteOptions | None = None) -> int:
    """Keep the change that is on trial, also over a reboot, without a restart.

    With --watch it is kept only after it has gone well for so long; else, and
    also when the watch is interrupted, killed or cut off, it goes back. Where it
    cannot be written (exit code 4) it stays on trial. Exit code 7: it was taken
    back, and the service serves as before; 8: a person must look.

    Parameters
    ----------
    target
        A deployment file with [live], or `UNIT@HOST`.
    """
    from assay.cli import rollout_run

    print(rollout_run.promoted(target, options or PromoteOptions()))
    return 0


def rollback(target: str, *, options: UndoOptions | None = None) -> int:
    """Take back the change on trial, else the one that was promoted last.

    Exit code 0: the service was seen to give a token; 8: a person must look.

    Parameters
    ----------
    target
        A deployment file with [live], or `UNIT@HOST`.
    """
    from assay.cli import rollout_run

    print(rollout_run.rolled_back(target, options or UndoOptions()))
    return 0
