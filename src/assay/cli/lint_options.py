"""The options of `assay lint`: each is stated once, and its help with it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

Format = Literal["text", "json", "sarif", "github"]
Switch = Annotated[bool, Parameter(negative=(), show_default=False)]
Codes = Annotated[tuple[str, ...], Parameter(negative=(), show_default=False)]


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
    verdicts
        Ask, too, what each option of the command does for its model on its machine; deployment files only,
        and it takes about half a minute.
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
    verdicts: Switch = False
    ignore: Codes = ()
    skip_others: Switch = False
    color: Literal["auto", "always", "never"] = "auto"
    cache: Path | None = None
    rule: str | None = None
