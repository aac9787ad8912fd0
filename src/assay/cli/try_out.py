"""`assay try`: the whole cycle once."""

from __future__ import annotations

from assay.cli.bench_options import LoadOptions
from assay.cli.try_options import TryOptions


def try_out(
    target: str, *change: str, options: TryOptions | None = None, load: LoadOptions | None = None
) -> int:
    """Try a change once: measure, change, prove the effect, measure again, keep or go back.

    First triage asks the engine's source about each option: what cannot matter
    here, or is refused, is not tried, and the line is shown. Then the plan is
    shown, the ladder of loads measured, the change put on trial under a switch
    on the machine, its effect looked for, and the ladder measured again. One
    start of each is no proof. Without --keep it goes back; so it does when
    assay, the link or the machine dies.

    Exit code 0: measured, and kept or taken back; 3: refused, or nothing of it
    is worth a trial; 6: the change did not take, or an arm could not be
    measured; 7: it failed; in all of these the service serves as before. 8: a
    person must look.

    Parameters
    ----------
    target
        A deployment file with [live] and [trials], or `UNIT@HOST`: then one is written first.
    change
        `+FLAG` or `+FLAG=VALUE`; an option that is in the command is replaced.
    """
    from assay.cli import try_run  # loaded only when it runs: `--help` stays fast

    text, code = try_run.tried(target, change, options or TryOptions(), load or LoadOptions())
    print(text)
    return code
