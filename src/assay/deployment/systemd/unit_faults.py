"""Faults of a unit file's lines: continuations that break, lines that systemd does not take."""

from __future__ import annotations

import difflib
import re
from typing import TYPE_CHECKING

from assay.deployment.systemd.fault_list import FaultList, Span, shown
from assay.deployment.systemd.unit_file import BLANKS, ends_file

if TYPE_CHECKING:
    from assay.deployment.systemd.unit_file import Entry, Line, UnitFile
    from assay.deployment.text import UserFile

SECTIONS = ("Unit", "Service", "Install")
"""The sections that a service may have."""

_KEY = re.compile(r"[A-Za-z][A-Za-z0-9-]*")
_BLANK_AFTER_BACKSLASH = re.compile(r"(?<!\\)(?:\\\\)*(?P<backslash>\\)(?P<blanks>[ \t]+)\Z")
_COMMENT_AFTER_BACKSLASH = re.compile(r"(?<!\\)(?:\\\\)*(?P<backslash>\\)(?P<blanks>[ \t]+)#.*\Z", re.DOTALL)
_NEXT_ASSIGNMENT = re.compile(
    r"[ \t]*(?P<what>\[(?:Unit|Service|Install)\][ \t]*\Z|(?:Exec[A-Z]\w+|Restart(?:Sec)?|Type|User|Group|"
    r"WorkingDirectory|Environment(?:File)?|PassEnvironment|UnsetEnvironment|Limit[A-Z]+|Timeout\w*Sec|KillMode|"
    r"KillSignal|Standard(?:Output|Error|Input)|SyslogIdentifier|After|Before|Wants|Requires|BindsTo|PartOf|"
    r"WantedBy|RequiredBy|Description|Documentation|Nice|OOMScoreAdjust|MemoryMax|TasksMax|CPUAffinity|"
    r"NotifyAccess|RuntimeDirectory|StateDirectory|SuccessExitStatus|StartLimit\w+)[ \t]*=)"
)
_OURS = ("ExecStart", "Environment", "EnvironmentFile", "PassEnvironment", "UnsetEnvironment")
_RELATIVES = (
    *_OURS,
    "ExecStartPre",
    "ExecStartPost",
    "ExecStop",
    "ExecReload",
    "ExecStopPost",
    "ExecCondition",
)


def check_lines(unit: UnitFile, faults: FaultList, *, drop_in: bool) -> None:
    """Note what is wrong with the lines themselves, apart from what stands in an assignment's words."""
    carrier: Entry | None = None
    gap = False
    for entry in unit.entries:
        if entry.kind in ("comment", "blank"):
            gap = gap or entry.kind == "blank"
            continue
        _check_continuations(unit.file, entry, faults)
        lost = _is_lost(entry)
        if reason := ends_file(entry):
            _end_of_file(unit.file, entry, reason, faults, refused=not drop_in)
            return
        if lost and carrier is not None and not gap:
            _missing_backslash(unit.file, carrier, entry, faults)
        elif lost and entry.section in SECTIONS:
            message = f"{shown(entry.key or entry.value.text)} is no setting; systemd ignores the line"
            faults.add("ignored-line", line_span(unit.file, entry), message)
        elif not lost:
            _check_place(unit.file, entry, faults)
        if not lost:
            carrier = entry if entry.key.startswith(("Exec", "Environment")) else None
        elif carrier is not None:
            carrier = entry
        gap = False


def line_span(file: UserFile, entry: Entry) -> Span:
    """All that an entry's lines say, without the last line end and leading blanks."""
    first, last = entry.lines[0], entry.lines[-1]
    text = file.text[first.start : last.stop]
    start = first.start + len(text) - len(text.lstrip(BLANKS))
    return Span(file, min(start, last.stop), last.stop)


def _is_lost(entry: Entry) -> bool:
    return entry.kind == "text" or (entry.kind == "assignment" and not _KEY.fullmatch(entry.key))


def _check_continuations(file: UserFile, entry: Entry, faults: FaultList) -> None:
    if entry.kind == "section":
        return
    lines = [line for line in entry.lines if not line.comment]
    for before, line in zip([None, *lines[:-1]], lines, strict=True):
        content = file.text[line.start : line.stop]
        if match := _BLANK_AFTER_BACKSLASH.search(content):
            blanks = Span(file, line.start + match.start("blanks"), line.stop)
            faults.add(
                "broken-continuation",
                Span(file, line.start + match.start("backslash"), line.stop),
                "blanks follow the backslash, so the line does not go on: systemd passes the backslash "
                "to the process and ignores the next lines",
                advice="take the blanks at the end of the line away",
                edits=[blanks.edit("")],
            )
        elif match := _COMMENT_AFTER_BACKSLASH.search(content):
            blanks = Span(file, line.start + match.start("blanks"), line.start + match.end("blanks"))
            faults.add(
                "broken-continuation",
                Span(file, line.start + match.start("backslash"), line.stop),
                "a comment follows the backslash, so the line does not go on: systemd passes both to the "
                "process and ignores the next lines",
                advice="put the comment on a line of its own",
                edits=[blanks.edit("\n  ")],
            )
        elif before is not None and (match := _NEXT_ASSIGNMENT.match(content)):
            _swallowed(file, before, match["what"].rstrip("= \t"), faults)


def _swallowed(file: UserFile, before: Line, what: str, faults: FaultList) -> None:
    content = file.text[before.start : before.stop]
    start = before.start + len(content[:-1].rstrip(BLANKS))
    faults.add(
        "broken-continuation",
        Span(file, before.stop - 1, before.stop),
        f"the backslash makes the next line, {shown(what)}, part of this one: it is passed to the "
        "process and sets nothing",
        advice="take the last backslash away",
        edits=[Span(file, start, before.stop).edit("")],
    )


def _missing_backslash(file: UserFile, carrier: Entry, entry: Entry, faults: FaultList) -> None:
    last = [line for line in carrier.lines if not line.comment][-1]
    content = file.text[last.start : last.stop]
    lost = shown(file.text[line_span(file, entry).start : entry.lines[0].stop])
    if _BLANK_AFTER_BACKSLASH.search(content) or _COMMENT_AFTER_BACKSLASH.search(content):
        return
    if not content.strip(BLANKS) and len(carrier.lines) > 1:
        faults.add(
            "broken-continuation",
            Span(file, last.start, last.stop),
            f"the empty line ends the command, so systemd ignores {lost}",
            advice="take the empty line away",
            edits=[Span(file, last.start, last.end).edit("")],
        )
        return
    stop = last.start + len(content.rstrip(BLANKS))
    faults.add(
        "broken-continuation",
        Span(file, last.start, last.stop),
        f"no backslash at the end, so systemd ignores the next line, {lost}",
        advice="end the line with a backslash",
        edits=[Span(file, stop, last.stop).edit(" \\")],
    )


def _end_of_file(file: UserFile, entry: Entry, reason: str, faults: FaultList, *, refused: bool) -> None:
    then = "refuses the unit" if refused else "reads no further in this file"
    faults.add(
        "ignored-line",
        line_span(file, entry),
        f"systemd {then} at {shown(entry.key or entry.value.text)}: {reason}",
        refused=refused,
        advice="put a comment on a line of its own" if entry.kind == "text" else "",
    )


def _check_place(file: UserFile, entry: Entry, faults: FaultList) -> None:
    """A section or a setting in a place where systemd does not know it."""
    if entry.kind == "section":
        if entry.section not in SECTIONS and not entry.section.startswith("X-"):
            faults.add(
                "ignored-line",
                line_span(file, entry),
                f"systemd ignores all of the unknown section {shown('[' + entry.section + ']')}",
                advice=_nearest(entry.section, SECTIONS),
            )
        return
    span = line_span(file, entry)
    name = span._replace(end=span.start + len(entry.key))
    if entry.section == "":
        faults.add("ignored-line", name, f"{entry.key}= stands before any section; systemd ignores it")
    elif entry.key in _OURS and entry.section in ("Unit", "Install"):
        message = f"systemd knows no {entry.key}= in [{entry.section}] and ignores it"
        faults.add("ignored-line", name, message, advice="put it into [Service]")
    elif entry.section == "Service" and (near := _misspelt(entry.key)):
        message = f"systemd knows no setting {shown(entry.key)} and ignores it"
        faults.add("ignored-line", name, message, advice=f"did you mean {near}=?", edits=[name.edit(near)])


def _misspelt(key: str) -> str:
    if key in _RELATIVES or key.startswith("X-") or len(key) > 40:
        return ""
    for ours in _OURS:
        if key.lower() == ours.lower() or difflib.SequenceMatcher(None, key, ours).ratio() > 0.88:
            return ours
    return ""


def _nearest(name: str, names: tuple[str, ...]) -> str:
    near = difflib.get_close_matches(name.capitalize()[:20], names, n=1)
    return f"did you mean [{near[0]}]?" if near else ""
