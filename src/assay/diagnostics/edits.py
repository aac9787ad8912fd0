"""Edits on the words of a command line, and writing edits back into files without losing anything."""

from __future__ import annotations

import difflib
import errno
import itertools
import os
import re
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from assay.deployment import Edit, UserFile, Word, read_user_file, read_yaml
from assay.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from assay.deployment import Syntax

_CONTINUED = re.compile(r"[ \t]*\\[ \t]*\r?\n")
_BLANKS = re.compile(r"[ \t]*")


def removal(words: Sequence[Word]) -> tuple[Edit, ...]:
    """Edits that take neighbouring words out of a command line, or none where that is not plain.

    Lines that would be left with nothing but a continuation go as a whole.
    """
    first, last = words[0], words[-1]
    if any(not word.editable or word.file != first.file for word in words):
        return ()
    if first.syntax == "yaml" and first.file.text[: first.start].rstrip(" '\"").endswith("-"):
        return _list_items(words)
    if first.syntax == "yaml" and first.file.text[: first.start].rstrip()[-1:] in (",", "["):
        return _flow_items(words)
    if first.syntax not in ("systemd", "shell", "yaml", "toml"):
        return ()
    span = _span(first.file.text, first.start, last.end, first.syntax)
    return () if span is None else (Edit(file=first.file.path, start=span[0], end=span[1], text=""),)


def _span(text: str, start: int, end: int, syntax: Syntax) -> tuple[int, int] | None:
    """What to cut so that neither a blank line nor a dangling continuation is left."""
    line = text.rfind("\n", 0, start) + 1
    alone = not text[line:start].strip(" \t")
    if not alone:
        while start > line and text[start - 1] in " \t":
            start -= 1
        return start, end
    if match := _CONTINUED.match(text, end):
        return line, match.end()
    rest = text[end : (text + "\n").index("\n", end)]
    if rest.strip(" \t\r"):
        blanks = _BLANKS.match(text, end)
        return start, blanks.end() if blanks else end
    at = _before_continuation(text, line)
    if at is not None:
        return at, end
    if text[:line].strip() and syntax != "systemd":  # lines go on by themselves: a list, a folded text
        return line, end + len(rest) + 1
    return None


def _before_continuation(text: str, line: int) -> int | None:
    """Where the blanks and backslash begin that continue into the line at `line`; None if it is no more."""
    at = line - 1
    if at > 0 and text[at - 1] == "\r":
        at -= 1
    if at < 1 or text[at - 1] != "\\":
        return None
    at -= 1
    while at > 0 and text[at - 1] in " \t":
        at -= 1
    return at


def _list_items(words: Sequence[Word]) -> tuple[Edit, ...]:
    """Whole lines of a YAML block sequence, one item each."""
    edits = []
    for word in words:
        text = word.file.text
        line = text.rfind("\n", 0, word.start) + 1
        end = text.find("\n", word.end)
        end = len(text) if end < 0 else end + 1
        if not re.fullmatch(r"[ \t]*-[ \t]+", text[line : word.start]) or text[word.end : end].strip():
            return ()
        edits.append(Edit(file=word.file.path, start=line, end=end, text=""))
    return tuple(edits)


def _flow_items(words: Sequence[Word]) -> tuple[Edit, ...]:
    """Neighbours of a YAML list in brackets, with the comma behind them or, at its end, before them."""
    text, start, end = words[0].file.text, words[0].start, words[-1].end
    pairs = itertools.pairwise(words)
    if any(text[one.end : other.start].strip() != "," for one, other in pairs):
        return ()
    if behind := re.compile(r"\s*,[ \t]*").match(text, end):
        end = behind.end()
        line = text.rfind("\n", 0, start) + 1
        if not text[line:start].strip() and text[end : end + 1] == "\n":
            start, end = line, end + 1
    elif re.compile(r"\s*\]").match(text, end) and (before := re.search(r"\s*,\s*\Z", text[:start])):
        start = before.start()
    else:
        return ()
    return (Edit(file=words[0].file.path, start=start, end=end, text=""),)


def flag_replacement(word: Word, written: str, flag: str) -> tuple[Edit, ...]:
    """Replace the flag at the beginning of a word, or nothing where it is not written plainly."""
    start, end = word.offsets[0], word.offsets[len(written)]
    if not word.editable or word.file.text[start:end] != written:
        return ()
    return (Edit(file=word.file.path, start=start, end=end, text=flag),)


def apply(text: str, edits: Sequence[Edit]) -> str:
    """The text with all edits made; of edits that overlap, the earlier one in the file.

    >>> apply("one two three", [Edit(file="f", start=4, end=7, text="2")])
    'one 2 three'
    """
    pieces: list[str] = []
    at = 0
    for edit in sorted(edits, key=lambda edit: (edit.start, edit.end)):
        if edit.start < at:
            continue
        pieces += [text[at : edit.start], edit.text]
        at = edit.end
    return "".join([*pieces, text[at:]])


def write_edits(files: Sequence[UserFile], edits: Sequence[Edit]) -> tuple[str, ...]:
    """Write the edits into their files, each replaced as a whole or not at all.

    Returns the unified diff of each file that changed. Mode and owner stay; a link stays a link.

    Raises:
        InputError: a file changed since it was read, cannot be written, or could no longer be read after.
    """
    diffs = []
    for file, new in _changed(files, edits):
        _check_still_reads(file, new)
        diffs.append(difference(file, new))
        _replace(Path(file.path), file, new)
    return tuple(diffs)


def preview_edits(files: Sequence[UserFile], edits: Sequence[Edit]) -> tuple[str, ...]:
    """The unified diffs that `write_edits` would return; nothing is written."""
    return tuple(difference(file, new) for file, new in _changed(files, edits))


def _changed(files: Sequence[UserFile], edits: Sequence[Edit]) -> Iterator[tuple[UserFile, str]]:
    """Each file whose text the edits change, and its new text."""
    for file in files:
        new = apply(file.text, [edit for edit in edits if edit.file == file.path])
        if new != file.text:
            yield file, new


def _check_still_reads(file: UserFile, new: str) -> None:
    """No edit of ours may break a file, so one that would is our fault and is not written."""
    if Path(file.path).suffix in (".yaml", ".yml"):
        try:
            read_yaml(UserFile(path=file.path, text=new))
        except InputError as error:
            raise InputError(
                f"the fixes would leave {file.path} unreadable; nothing was written to it",
                hint="mend it by hand, and report this",
                details=(error.message,),
            ) from error


def difference(file: UserFile, new: str) -> str:
    """A unified diff from the file as read to its new text."""
    lines = difflib.unified_diff(
        file.text.splitlines(keepends=True), new.splitlines(keepends=True), file.path, file.path
    )
    return "".join(line if line.endswith("\n") else line + "\n" for line in lines)


def _replace(path: Path, file: UserFile, new: str) -> None:
    if read_user_file(path).text != file.text:
        raise InputError(f"{path} changed while assay was reading it; nothing was written to it")
    target = path.resolve()
    mark = b"\xef\xbb\xbf" if target.read_bytes().startswith(b"\xef\xbb\xbf") else b""
    try:
        status = target.stat()
        if not os.access(target, os.W_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        if status.st_nlink > 1:  # to replace one of its names would silently leave the others as they were
            raise OSError(errno.EMLINK, f"it has {status.st_nlink} names (hard links)")
        descriptor, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.", suffix=".assay")
        try:
            with os.fdopen(descriptor, "wb") as stream:
                stream.write(mark + new.encode("utf-8", errors="surrogateescape"))
                stream.flush()
                os.fsync(stream.fileno())
            os.chmod(name, status.st_mode & 0o7777)
            if (status.st_uid, status.st_gid) != (os.geteuid(), os.getegid()):
                os.chown(name, status.st_uid, status.st_gid)
            os.replace(name, target)
        except BaseException:
            os.unlink(name)
            raise
    except OSError as error:
        raise InputError(f"cannot write {path}: {error.strerror}; it is as it was") from error
