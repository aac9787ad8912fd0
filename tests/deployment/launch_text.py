"""Launches as text for golden files, and what holds of every launch that was read from YAML."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from assay.deployment import Edit, Launch, UserFile

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


def as_text(launches: tuple[Launch, ...], folder: Path) -> str:
    """One block for each launch: words (`?` not known, `!` not editable), variables, faults with edits."""
    text = "\n".join(line for launch in launches for line in _lines(launch))
    return text.replace(f"{folder}/", "")


def _lines(launch: Launch) -> Iterator[str]:
    yield f"{launch.name}: image {launch.image}, directory {launch.directory}"
    yield "  files " + " ".join(file.path.rpartition("/")[2] for file in launch.files)
    for word in launch.words:
        marks = ("" if word.known else "?") + ("" if word.editable else "!")
        place = word.place
        yield f"  {place.line}:{place.column}-{place.end_line}:{place.end_column} {marks}{word.text!r}"
    for variable in launch.environment:
        known = "" if variable.known else "?"
        yield f"  {variable.place.line}:{variable.place.column} {known}{variable.name}={variable.value!r}"
    for fault in launch.faults:
        place = fault.place
        where = f"{place.line}:{place.column}-{place.end_line}:{place.end_column}"
        yield f"  {where} {'refused ' if fault.refused else ''}{fault.kind}: {fault.message}"
        for edit in fault.edits:
            yield f"    {_file(launch, edit).text[edit.start : edit.end]!r} -> {edit.text!r}"
    yield ""


def _file(launch: Launch, edit: Edit) -> UserFile:
    return next(file for file in launch.files if file.path == edit.file)


def check_places(launches: tuple[Launch, ...]) -> None:
    """Every word has a place for each of its characters."""
    for launch in launches:
        for word in launch.words:
            assert len(word.offsets) == len(word.text) + 1
            assert list(word.offsets) == sorted(word.offsets)
            assert word.start <= word.offsets[0]
            assert word.offsets[-1] <= word.end <= len(word.file.text)
        for variable in launch.environment:
            assert 0 <= variable.start <= variable.end <= len(variable.file.text)


def check_edits(path: Path, read: Callable[[Path], tuple[Launch, ...]]) -> None:
    """An editable word can be replaced alone, and an edit takes its fault away."""
    before = read(path)
    for number, launch in enumerate(before):
        for index, word in enumerate(launch.words):
            if not word.editable:
                continue
            with _edited(word.file, [(word.start, word.end, "--xyz")]):
                after = read(path)[number]
            texts = [other.text for other in launch.words]
            texts[index] = "--xyz"
            assert [other.text for other in after.words] == texts
        for fault in launch.faults:
            if not fault.edits:
                continue
            edits = [(edit.start, edit.end, edit.text) for edit in fault.edits]
            with _edited(_file(launch, fault.edits[0]), edits):
                after = read(path)[number]
            assert len(after.faults) == len(launch.faults) - 1


class _edited:
    """Another text in a file, and the old one back."""

    def __init__(self, file: UserFile, edits: list[tuple[int, int, str]]) -> None:
        self.path = Path(file.path)
        self.old = file.text
        self.new = file.text
        for start, end, text in sorted(edits, reverse=True):
            self.new = self.new[:start] + text + self.new[end:]

    def __enter__(self) -> None:
        self.path.write_bytes(self.new.encode(errors="surrogateescape"))

    def __exit__(self, *_: object) -> None:
        self.path.write_bytes(self.old.encode(errors="surrogateescape"))
