"""The finding on an option that this version of the engine does not have."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from assay.engines import nearest
from assay.findings import shown
from assay.findings.case import Case
from assay.findings.finding import Evidence, Finding
from assay.findings.source_lines import lines_of
from assay.findings.subkinds import SUBKIND
from assay.source import Site


def missing(case: Case, name: str, value: Any) -> Finding:
    """Names the nearest options, and the releases that have this one."""
    flag = name if name.startswith("-") else "--" + name.replace("_", "-")
    declared = {each: option for option in case.source.declarations.options for each in option.flags}
    near = nearest(flag, declared, case.engine.names_elsewhere)
    releases = case.history.said(flag)
    parts = [f"{case.version} has no option {flag}"]
    if releases:
        parts.append(f"releases that have it: {releases}")
    if near:
        parts.append(f"nearest here: {', '.join(near)}")
    known = [declared[each.partition(" ")[0]] for each in near if each.partition(" ")[0] in declared]
    lines: tuple[Evidence, ...] = tuple(
        line
        for option in known
        for line in shown.evidence(option.declared_at, f"declares {option.flags[0]}, a name like it")
    )
    first = min(case.source.declarations.options, key=lambda option: option.first_line, default=None)
    if first is not None:
        begins = lines_of(Path(case.source.root), first.declared_at.file)[first.first_line - 1 :][:1]
        site = Site(file=first.declared_at.file, line=first.first_line, text="".join(begins).strip()[:200])
        lines += shown.evidence(site, "options are declared from here on; it is not among them")
    lines += shown.evidence(
        case.source.declarations.declared_at, f"the arguments class; it has no {flag[2:].replace('-', '_')}"
    )
    return Finding(
        option=flag,
        field=None,
        value=value,
        verdict=SUBKIND["missing"].verdict,
        subkind="missing",
        summary="; ".join(parts),
        evidence=lines,
    )
