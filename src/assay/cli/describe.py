"""`assay describe`: a first deployment file from what runs."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from assay.cli.host_options import HostOptions

Switch = Annotated[bool, Parameter(negative=(), show_default=False)]


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class DescribeOptions(HostOptions):
    """Options of `assay describe`.

    Parameters
    ----------
    out
        File to write, with the model's config.json beside it. It must not be there yet. Default: stdout.
    sudo
        Use sudo to read the process's variables and the model's config.json.
    json
        Everything that was read as JSON, without secrets.
    """

    out: Annotated[Path | None, Parameter(alias="-o")] = None
    sudo: Switch = False
    json: Switch = False


def describe(target: str, *, options: DescribeOptions | None = None) -> int:
    """Write a first deployment file from what runs, and say what is not as it seems.

    Nothing is changed and nothing of the engine is run there. Exit code 0:
    done; 1: something is not as a reader of the unit would think; 2 and more:
    it could not be looked at.

    Parameters
    ----------
    target
        `UNIT@HOST`, `UNIT` on this machine, `docker:CONTAINER@HOST`, or the URL of a server.
    """
    from assay.cli import describe_run  # loaded only when it runs: `--help` stays fast

    text, code = describe_run.described(target, options or DescribeOptions())
    print(text)
    return code
