"""`assay tune`, `assay history`, `assay show`."""

from __future__ import annotations

import importlib

from assay.cli.bench_options import LoadOptions
from assay.cli.extras import with_numpy
from assay.cli.tune_options import HistoryOptions, TuneOptions


def tune(
    target: str, *candidate: str, options: TuneOptions | None = None, load: LoadOptions | None = None
) -> int:
    """Tune a deployment under a budget: candidates, search, one confirmation with a stated error rate.

    First a list is shown: what is tried and why, what is not, what it costs and
    which gain the budget can show. Then the server is started again and again:
    as it is, to learn how far starts differ; with changes, to learn what they
    give; and in pairs, A B B A, to prove the best combination. What fails to
    start is remembered and not tried again. Everything is in the journal as it
    happens; killed anywhere, --resume goes on. Without --keep the service is
    left as it was, and the proven command is printed.

    A deployment file without [live] is started as a process of this machine,
    where [trials] says in_place; no switch watches over that.

    Exit code 0: the study came to its end, whatever it found; 3: refused; 6: the
    deployment itself does not serve or cannot be measured; 8: a person must look.

    Parameters
    ----------
    target
        A deployment file with [trials].
    candidate
        Your own: `+FLAG=VALUE`; several in one word, `"+A=1 +B"`, are changed together.
    """
    with with_numpy():
        from assay.cli import tune_run  # loaded only when it runs: `--help` stays fast

        if options is not None and options.search == "optuna":
            importlib.import_module("optuna")  # before anything is started
    text, code = tune_run.tuned(target, candidate, options or TuneOptions(), load or LoadOptions())
    print(text)
    return code


def history(target: str | None = None, *, options: HistoryOptions | None = None) -> int:
    """List the studies of the journal, the newest first.

    Parameters
    ----------
    target
        Only those whose target has this in its name.
    """
    with with_numpy():
        from assay.cli import history_run

    print(history_run.listed(target, options or HistoryOptions()))
    return 0


def show(id: str, *, options: HistoryOptions | None = None) -> int:
    """Show a study: its plan, every start and measurement, the decision.

    Parameters
    ----------
    id
        Its name, or the beginning of it.
    """
    with with_numpy():
        from assay.cli import history_run

    print(history_run.shown(id, options or HistoryOptions()))
    return 0
