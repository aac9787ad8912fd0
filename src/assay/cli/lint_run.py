"""What `assay lint` does once it runs: read targets, lint, fix, render."""

from __future__ import annotations

import os
import re
import sys
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from assay import __version__, reports
from assay.cli.progress import Reporter
from assay.deployment import parse_engine, read_command, read_target, read_user_file
from assay.diagnostics import (
    BY_CODE,
    Choice,
    LintResult,
    lint,
    lint_file,
    mask,
    preview_edits,
    without,
    write_edits,
)
from assay.engines import ENGINES
from assay.errors import AssayError, InputError
from assay.source import default_cache

if TYPE_CHECKING:
    from assay.cli.lint_options import Format, LintOptions

COMMAND_LINE = "<command line>"
_ROUNDS = 5
"""A fix can uncover another finding; after so many rounds what is left is only shown."""

_RULE_HINT = "`assay lint --rule CODE` explains one of them"
_NOTHING = "no engine that assay knows"
_NAMED = 3
"""Of the files that start nothing so many are named, the others counted: a hook can hand over hundreds."""


@dataclass
class Outcome:
    """What a run of lint has to say."""

    results: list[LintResult] = field(default_factory=list)
    diffs: list[str] = field(default_factory=list)
    errors: list[AssayError] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)
    """Targets that start no engine that assay knows."""

    @property
    def notes(self) -> list[str]:
        """What is said beside the results: one line, however many files a hook hands over."""
        if not self.skipped:
            return []
        names, more = ", ".join(self.skipped[:_NAMED]), len(self.skipped) - _NAMED
        verb = "starts" if len(self.skipped) == 1 else "start"
        return [f"assay: {names}{f' and {more} more' if more > 0 else ''} {verb} {_NOTHING}; skipped"]


def run(targets: Sequence[str], options: LintOptions) -> Outcome:
    """Lint all targets; with `--fix`, until no fix is left."""
    if not targets and options.command_line is None:
        raise InputError(
            "nothing to lint", hint="name a unit, script, compose file, manifest or deployment file"
        )
    if options.fix and options.diff:
        raise InputError("--fix writes and --diff writes nothing", hint="`--fix` prints the diff, too")
    ignored = frozenset(code.strip().upper() for item in options.ignore for code in item.split(","))
    unknown = sorted(ignored - set(BY_CODE))
    if unknown:
        raise InputError(f"--ignore names no rule: {', '.join(unknown)}", hint=_RULE_HINT, details=_rules())
    outcome = Outcome()
    every = [*targets, *([COMMAND_LINE] if options.command_line is not None else [])]
    with Reporter(sys.stderr) as progress:
        cache = options.cache or default_cache(os.environ)
        for target in every:
            try:
                _lint_target(target, options, cache, ignored, progress, outcome)
            except AssayError as error:
                if len(every) == 1:
                    raise
                outcome.errors.append(error)  # one bad file does not keep the others from being checked
    return outcome


def _lint_target(
    target: str,
    options: LintOptions,
    cache: Path,
    ignored: frozenset[str],
    progress: Reporter,
    outcome: Outcome,
) -> None:
    """Lint one target, and fix it if asked to; what is found is added to the outcome."""
    for _ in range(_ROUNDS):
        found = _found(target, options, cache, ignored, progress)
        if not found:
            _nothing_started(target, options, outcome)
            return
        edits = [
            edit
            for result in found
            for each in result.diagnostics
            if each.fix is not None
            for edit in each.fix.edits
        ]
        if not edits or target == COMMAND_LINE or not (options.fix or options.diff):
            break
        files = list({file.path: file for result in found for file in result.files}.values())
        secrets = frozenset().union(*(result.secrets for result in found))
        diffs = (write_edits if options.fix else preview_edits)(files, edits)
        outcome.diffs += [mask(text, secrets) for text in diffs]
        if options.diff:
            break
    outcome.results += found


def _found(
    target: str, options: LintOptions, cache: Path, ignored: frozenset[str], progress: Reporter
) -> list[LintResult]:
    engine = None if options.engine is None else parse_engine(options.engine)
    if target == COMMAND_LINE:
        launches = read_command(options.command_line or "").launches
        choice = None if engine is None else Choice(engine=engine, reason="--engine")
        results = lint(target, launches, engine=choice, cache=cache, progress=progress)
    else:
        results = lint_file(
            Path(target),
            engine=engine,
            environment=os.environ,
            home=Path.home(),
            cache=cache,
            verdicts=options.verdicts,
            progress=progress,
        )
    return [without(result, ignored) for result in results]


def _nothing_started(target: str, options: LintOptions, outcome: Outcome) -> None:
    if not options.skip_others:
        raise InputError(
            f"{target} starts {_NOTHING}",
            hint=_mentioned(target) or _LOOKED_FOR,
            details=_faults(target),
        )
    outcome.skipped.append(target)


_LOOKED_FOR = "lint looks for `python -m sglang.launch_server`, `sglang serve` or `vllm serve`"


def _faults(target: str) -> tuple[str, ...]:
    """What the file's own syntax destroys: it may be why no server is seen."""
    if target == COMMAND_LINE:
        return ()
    launches = read_target(Path(target), environment=os.environ, home=Path.home()).launches
    faults = dict.fromkeys(fault for launch in launches for fault in launch.faults)
    return tuple(
        mask(f"{fault.place.file}:{fault.place.line}: {fault.message}") for fault in list(faults)[:_NAMED]
    )


def _mentioned(target: str) -> str:
    """What to do where the file names a server in a way that is not understood as a start of it."""
    if target == COMMAND_LINE:
        return ""
    for number, line in enumerate(read_user_file(Path(target)).text.split("\n"), start=1):
        for engine in ENGINES.values():
            for name in (*engine.entry_modules, *(" ".join(words) for words in engine.entry_commands)):
                if re.search(rf"(?<![\w.#]){re.escape(name)}(?![\w.])", line.partition("#")[0]):
                    return (
                        f"line {number} names `{name}`, but not in a way that lint knows to start it; "
                        "give that command itself: assay lint -- COMMAND ..."
                    )
    return ""


def rendered(results: Sequence[LintResult], chosen: Format, style: reports.Style) -> str:
    """The results in the format asked for."""
    if chosen == "json":
        return reports.lint_json(results)
    if chosen == "sarif":
        return reports.lint_sarif(results, version=__version__)
    if chosen == "github":
        return reports.lint_github(results)
    return reports.lint_text(results, style)


def explained(code: str, width: int) -> str:
    """The page of one rule, for a terminal."""
    rule = BY_CODE.get(code.strip().upper())
    if rule is None:
        raise InputError(f"no rule {code!r}", hint=_RULE_HINT, details=_rules())
    parts = [
        ("", rule.finds),
        ("Why it matters", rule.matters),
        ("Evidence", rule.evidence),
        ("Not seen", rule.limits),
        ("--fix", rule.fixes),
    ]
    lines = [f"{rule.code} {rule.name} ({rule.severity})"]
    for title, text in parts:
        if text:
            lines += ["", *textwrap.wrap(f"{title}: {text}" if title else text, width)]
    return "\n".join(lines)


def _rules() -> tuple[str, ...]:
    return tuple(f"{rule.code} {rule.name}" for rule in BY_CODE.values())
