"""Faults of a command's program: what systemd does not take for one."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from assay.deployment.systemd.fault_list import FaultList, Span, shown
from assay.deployment.systemd.program import Program, program_refusal
from assay.deployment.systemd.quote_faults import check_escapes, check_percents

if TYPE_CHECKING:
    from assay.deployment.systemd.command_faults import CommandLine

_BUILTINS = frozenset(("cd", "exec", "source", ".", "export", "ulimit", "set", "unset", "eval"))


def check_program(line: CommandLine, program: Program, faults: FaultList) -> None:
    """Note why the program could not be started."""
    token = line.command.tokens[0]
    span = Span(program.path.file, program.start, program.end)
    text = program.path.text
    ignored = "-" in program.flags
    check_percents(token, line.unit, faults, refused=line.main and not ignored)
    check_escapes(line.source, token, faults)
    if "$" in text:
        message = f"systemd expands no variable in the program: it looks for {shown(text)}"
        faults.add(
            "dollar-expansion",
            span,
            message,
            refused=True,
            advice="write its path, or start it by /usr/bin/env",
        )
    elif re.match(r"[A-Za-z_][A-Za-z0-9_]*=", text):
        message = f"no shell runs here: systemd looks for a program {shown(text.partition('=')[0] + '=…')}"
        advice = "set the variable by Environment=, or start the command by /usr/bin/env"
        faults.add("shell-syntax", span, message, refused=True, advice=advice)
    elif text in _BUILTINS:
        message = f"no shell runs here, and {shown(text)} is no program but a command of the shell"
        faults.add(
            "shell-syntax", span, message, refused=True, advice="use WorkingDirectory= or Environment="
        )
    elif reason := program_refusal(program):
        message = f"systemd refuses {shown(text)}: {reason}"
        faults.add(
            "shell-syntax", span, message, refused=not ignored and line.main, advice="write its whole path"
        )
