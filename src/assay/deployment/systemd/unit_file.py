"""A systemd unit file as systemd reads it, and every character of it: lines, entries, values with offsets."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal

from assay._value import Value
from assay.deployment.text import UserFile, Written

if TYPE_CHECKING:
    from collections.abc import Iterator

BLANKS = " \t\n\r"
"""What systemd strips and splits at; no other blank of Unicode counts."""

_LINE = re.compile(r"[^\r\n]*(?:\r\n|\n\r|\r|\n|\Z)")


class Line(Value):
    """One physical line."""

    start: int
    """Offset of its first character."""
    stop: int
    """Offset after its last character, the line end left out."""
    end: int
    """Offset after its line end."""
    comment: bool
    """True for a comment, which systemd skips also between continued lines."""
    continued: bool
    """True if it ends in a backslash that makes the next line part of it."""


class Entry(Value):
    """One logical line: a blank one, a comment, a section header, an assignment, or text that is none."""

    kind: Literal["blank", "comment", "section", "assignment", "text"]
    """What it is."""
    lines: tuple[Line, ...]
    """Its physical lines, comments between them included."""
    section: str
    """The section that it stands in (of a header: the one that it opens); empty before the first."""
    key: str
    """Left of the `=`, else empty."""
    value: Written
    """Right of the `=`, lines joined and stripped; of a header its name, of other text all of it."""


class UnitFile(Value):
    """A unit file without loss: the texts of all lines, joined, are the file."""

    file: UserFile
    """The file."""
    entries: tuple[Entry, ...]
    """All of it, in order."""

    def text(self) -> str:
        """The file's text, put together again from its lines."""
        whole = self.file.text
        return "".join(whole[line.start : line.end] for entry in self.entries for line in entry.lines)

    def assignments(self, section: str, key: str) -> Iterator[Entry]:
        """All assignments of a key in the sections of that name, in order."""
        for entry in self.entries:
            if entry.kind == "assignment" and entry.section == section and entry.key == key:
                yield entry


def parse_unit_file(file: UserFile) -> UnitFile:
    r"""Read a unit file's lines as systemd does (`config_parse` of systemd 252).

    >>> unit = parse_unit_file(UserFile(path="a.service", text="[Service]\nExecStart=/a \\\n# why\n  b\n"))
    >>> [(entry.kind, entry.key, entry.value.text) for entry in unit.entries]
    [('section', '', 'Service'), ('assignment', 'ExecStart', '/a    b')]
    """
    entries: list[Entry] = []
    pending: list[Line] = []
    section = ""
    for line in _lines(file.text):
        if line.comment and not pending:
            entries.append(_entry(file, [line], section))
            continue
        pending.append(line)
        if line.comment or line.continued:
            continue
        entries.append(_entry(file, pending, section))
        section = entries[-1].section
        pending = []
    if pending:
        entries.append(_entry(file, pending, section))
    return UnitFile(file=file, entries=tuple(entries))


def ends_file(entry: Entry) -> str:
    """Why systemd reads no further than this entry; an empty string if it does."""
    text = entry.key + entry.value.text
    if entry.kind not in ("comment", "blank") and not is_utf8(text):
        return "it is not UTF-8"
    if entry.kind == "text" and text[:1] == "[":
        return "it is no section header, which ends in `]`"
    if entry.kind == "section" and any(char in "\"'\\\x7f" or char < " " for char in text):
        return "it is no section's name"
    return ""


def is_utf8(text: str) -> bool:
    """False if the text holds bytes that were kept as surrogates."""
    return text.isascii() or not any("\ud800" <= char <= "\udfff" for char in text)


def strip(written: Written) -> Written:
    """The text without systemd's blanks at both ends."""
    text = written.text
    start = len(text) - len(text.lstrip(BLANKS))
    return written.part(start, max(start, len(text.rstrip(BLANKS))))


def _lines(text: str) -> Iterator[Line]:
    at = 0
    while at < len(text):
        end = match.end() if (match := _LINE.match(text, at)) else len(text)
        content = text[at:end].rstrip("\r\n")
        comment = content.lstrip(BLANKS)[:1] in ("#", ";")
        backslashes = len(content) - len(content.rstrip("\\"))
        yield Line(
            start=at,
            stop=at + len(content),
            end=end,
            comment=comment and content.strip(BLANKS) != "",
            continued=not comment and backslashes % 2 == 1,
        )
        at = end


def _entry(file: UserFile, lines: list[Line], section: str) -> Entry:
    value = strip(_joined(file, lines))
    text, key = value.text, ""
    kind: Literal["blank", "comment", "section", "assignment", "text"] = "text"
    if all(line.comment for line in lines):
        kind = "comment"
    elif not text:
        kind = "blank"
    elif text[0] == "[":
        kind = "section" if text[-1] == "]" else "text"
        if kind == "section":
            value = value.part(1, max(1, len(text) - 1))
            section = value.text
    elif (at := text.find("=")) > 0:
        kind, key, value = "assignment", text[:at].rstrip(BLANKS), strip(value.part(at + 1, len(text)))
    return Entry(kind=kind, lines=tuple(lines), section=section, key=key, value=value)


def _joined(file: UserFile, lines: list[Line]) -> Written:
    """The lines as one, each continuing backslash turned into a blank."""
    texts: list[str] = []
    offsets: list[int] = []
    end = lines[0].start
    for line in lines:
        if line.comment:
            continue
        content = file.text[line.start : line.stop]
        texts.append(content[:-1] + " " if line.continued else content)
        offsets.extend(range(line.start, line.stop))
        end = line.stop
    return Written(file=file, text="".join(texts), offsets=(*offsets, end))
