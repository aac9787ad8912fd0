"""The program `assay`: its verbs, its errors on stderr, its exit codes."""

from __future__ import annotations

import contextlib
import gc
import io
import os
import shlex
import sys
from typing import NoReturn

import cyclopts

from assay import __version__
from assay.cli.bench import bench
from assay.cli.compare import compare
from assay.cli.describe import describe
from assay.cli.doctor import doctor
from assay.cli.drift import drift
from assay.cli.failure import print_error, print_failure
from assay.cli.lint import lint
from assay.cli.rollout import apply, promote, rollback, status
from assay.cli.triage import explain, triage
from assay.cli.try_out import try_out
from assay.cli.tune import history, show, tune
from assay.errors import AssayError, HostError, InputError

app = cyclopts.App(
    name="assay",
    version=__version__,
    help="Tune LLM inference servers by evidence: read the engine's own source, change the service so that "
    "it can be undone, measure, decide.",
    help_format="plaintext",
    result_action="return_value",
    suppress_keyboard_interrupt=False,  # what is said of one, and its exit code, are ours
)
app.command(describe)
app.command(lint)
app.command(triage)
app.command(explain)
app.command(drift)
app.command(bench)
app.command(compare)
app.command(try_out, name="try")
app.command(apply)
app.command(status)
app.command(promote)
app.command(rollback)
app.command(tune)
app.command(history)
app.command(show)
app.command(doctor)

INTERRUPTED = 130
"""Exit code after Ctrl-C, as shells have it: 128 + SIGINT."""
_CHANGING = frozenset({"apply", "promote", "rollback", "try"})


def run() -> NoReturn:
    """The program as a process of its own, which ends with it.

    Nobody looks for garbage in such a process: what an analysis makes, millions of objects, it needs to its
    end, and each look at them takes seconds. Only measuring may go on for hours.
    """
    if sys.argv[1:2] not in (["bench"], ["try"], ["tune"]):
        gc.disable()
    code = main()
    gc.freeze()  # Python looks once more before it ends
    sys.exit(code)


def main(argv: list[str] | None = None) -> int:
    """Run the program; the exit code is returned.

    Words behind a lone `--` are a command line to look at, not options of ours.
    """
    _open_streams()
    argv = _command_quoted(sys.argv[1:] if argv is None else argv)
    try:
        code = app(argv, exit_on_error=False, print_error=False)
        sys.stdout.flush()
    except cyclopts.CycloptsError as error:
        verb = " ".join([app.name[0], *(error.command_chain or ())])
        return print_failure(str(error), hint=f"see `{verb} --help`", code=2)
    except AssayError as error:
        return print_error(error)
    except KeyboardInterrupt:
        return _interrupted(argv)
    except BrokenPipeError:
        _drop_output()
        return 0
    except OSError as error:  # the output, or a path that no system call takes
        _drop_output()
        if error.filename is None:
            # never 1, which for `lint`, `drift` and `compare` is a finding
            return print_failure(f"cannot write: {error.strerror}", hint="", code=HostError.exit_code)
        return print_failure(
            f"cannot use {error.filename}: {error.strerror}", hint="", code=InputError.exit_code
        )
    return code if isinstance(code, int) else 0


def _interrupted(argv: list[str]) -> int:
    """What is left where a service was being changed, only a look at it can say."""
    with contextlib.suppress(OSError):
        print("\nassay: interrupted", file=sys.stderr)
        if argv and argv[0] in _CHANGING:
            print("  hint: `assay status` says where the service stands", file=sys.stderr)
    return INTERRUPTED


def _open_streams() -> None:
    """Closed ones become /dev/null, before a file of ours gets their number; no locale stops a message."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115 - for good
        elif isinstance(stream := getattr(sys, name), io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _drop_output() -> None:
    """What is left unwritten goes nowhere, or Python would complain once more at its end."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _command_quoted(argv: list[str]) -> list[str]:
    """`-- COMMAND ...` becomes `--command-line 'COMMAND ...'`."""
    if "--" not in argv:
        return argv
    at = argv.index("--")
    return [*argv[:at], "--command-line", shlex.join(argv[at + 1 :])]
