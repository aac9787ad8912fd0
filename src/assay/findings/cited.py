"""Chooses the lines that a finding cites: few, the deciding one first, then what makes it decide."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from assay.findings import shown
from assay.findings.case import Question
from assay.findings.finding import Evidence
from assay.findings.records import Changes
from assay.flow import Difference, FieldValue, Guard, Read, Resolution

MOST = 12
"""So many lines are cited at most: who wants more reads the source from there."""

_ELSEWHERE = ("hardware_backend", "npu", "xpu", "hpu", "hip", "rocm", "amx", "musa", "cpu", "multimodal_gen")
_ABSENT = "is built here"
"""How the reason ends where a class has no object: the test then only belongs to one of its callers."""
_GUARDS, _READS, _CALLS, _SET = 2, 4, 3, 4


def few(lines: Iterable[Evidence]) -> tuple[Evidence, ...]:
    """The first of them, each line once."""
    found: dict[tuple[str, int], Evidence] = {}
    for each in lines:
        found.setdefault((each.file, each.line), each)
    return tuple(found.values())[:MOST]


def of_effect(
    question: Question, found: Changes, two: Resolution, difference: Difference, says: str
) -> tuple[Evidence, ...]:
    """Who reads the option, what that makes the engine do otherwise, the tests before it, further readers,
    what start-up sets otherwise, and the last calls on the way.
    """
    effect = difference.effect
    readers = [line for read in _nearest(question, difference)[:_READS] for line in read_line(read)]
    own = 1 if readers and _name(question) in readers[0].text else 0
    lines = readers[:own]
    lines += shown.evidence(effect.site, says) if effect is not None else ()
    lines += shown.lines_of_tests(difference.guards, _GUARDS)
    lines += readers[own:]
    lines += _set_otherwise(question, found, two)[:_SET]
    for step in reversed(difference.chain[-_CALLS:]):
        lines += shown.evidence(step.site, step.says)
    return few(lines)


def of_error(difference: Difference, says: str) -> tuple[Evidence, ...]:
    """The line that raises, the tests before it, the last calls on the way."""
    effect = difference.effect
    lines = list(shown.evidence(effect.site, says)) if effect is not None else []
    lines += shown.lines_of_tests(difference.guards)
    for step in reversed(difference.chain[-2 * _CALLS :]):
        lines += shown.evidence(step.site, step.says)
    return few(lines)


def of_nothing(
    question: Question, found: Changes, two: Resolution, reads: Sequence[Read], deciding: Read | None
) -> tuple[Evidence, ...]:
    """Each test that keeps a reader away and that reader, those that decide most first; then readers that
    come to the same, and what start-up code makes of the option. Of a reader whose class is not built, the
    test stands elsewhere, and follows.
    """
    lines: list[Evidence] = []
    for read in sorted(reads, key=lambda each: _weight(each, deciding)):
        tests = shown.lines_of_tests(read.guards[-1:], 1)
        is_absent = read.says.endswith(_ABSENT)
        lines += (*read_line(read), *tests) if is_absent else (*tests, *read_line(read))
    started = _set_otherwise(question, found, two)[:_SET]
    lines[MOST - len(started) :] = started
    if not lines:
        for site in question.option.mentions:
            lines += shown.evidence(site, "reads it at start, and comes to the same")
    return few(lines)


def _weight(read: Read, deciding: Read | None) -> tuple[bool, bool, bool, bool]:
    return read is not deciding, _is_elsewhere(read.site.file), not read.guards, read.state != "same"


def _is_elsewhere(file: str) -> bool:
    """Whether a file is of another platform, by its name."""
    parts = file.removesuffix(".py").replace("_", "/").split("/")
    return any(each in parts or f"/{each}/" in f"/{file}" for each in _ELSEWHERE)


def _nearest(question: Question, difference: Difference) -> list[Read]:
    """Readers of what differs: of the option itself first, then those nearest to the line that does it."""
    files = [step.site.file for step in reversed(difference.chain)]
    if difference.effect is not None:
        files.insert(0, difference.effect.site.file)
    far = len(files)
    name = _name(question)

    def weight(read: Read) -> tuple[bool, int]:
        where = files.index(read.site.file) if read.site.file in files else far
        return name not in read.site.text, where

    return sorted((read for read in difference.reads if read.state == "tells"), key=weight)


def _name(question: Question) -> str:
    return question.option.field or question.option.dest


def _set_otherwise(question: Question, found: Changes, two: Resolution) -> list[Evidence]:
    """The lines of start-up code that set an option or variable in one run only, or otherwise, and the test
    before each.
    """
    one = question.run.base.resolution
    own = question.option.field
    lines: list[Evidence] = []
    for name in sorted(found.fields, key=lambda name: name != own):
        mine, yours = one.field(name), two.field(name)
        if yours is not None and yours.provenance.how == "set":
            lines += _setting(yours, f"sets {name} to {shown.said(yours.value)}")
        elif mine is not None and mine.provenance.how == "set":
            lines += _setting(mine, f"sets {name} to {shown.said(mine.value)} without the option")
    for write in two.environment:
        if write.name in found.environment:
            lines += shown.evidence(write.site, f"sets the variable {write.name}")
    return [*lines, *_at_start(question)]


def _at_start(question: Question) -> tuple[Evidence, ...]:
    """Lines beside the declaration that read the option."""
    sites = [each for each in question.option.mentions if each.file == question.option.declared_at.file]
    return tuple(line for site in sites for line in shown.evidence(site, "start-up code reads it"))


def _setting(held: FieldValue, says: str) -> tuple[Evidence, ...]:
    return shown.evidence(held.provenance.site, says) + _nearest_test(held.provenance.guards)


def _nearest_test(guards: Sequence[Guard]) -> tuple[Evidence, ...]:
    return shown.lines_of_tests(guards, 1) if guards else ()


def read_line(read: Read) -> tuple[Evidence, ...]:
    """A line that reads an option, and what becomes of it."""
    return shown.evidence(read.site, read.says or f"reads it: {read.state}")
