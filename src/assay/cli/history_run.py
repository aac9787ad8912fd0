"""What `assay history` and `assay show` do: read the journal, change nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assay import reports
from assay.cli.noting import read_journal
from assay.errors import InputError
from assay.study import Record, StudyBegan, decisions, foreseen, studies

if TYPE_CHECKING:
    from assay.cli.tune_options import HistoryOptions


def listed(target: str | None, options: HistoryOptions) -> str:
    """All studies, or those of a target."""
    entries = read_journal(options.journal)
    found = [
        (entry, began, Record(began, entries).end)
        for entry, began in studies(entries)
        if target is None or target in began.target
    ]
    return reports.history_json(found) if options.json else reports.history_text(found)


def shown(id: str, options: HistoryOptions) -> str:
    """One study.

    Raises:
        InputError: there is none of that name, or several.
    """
    entries = read_journal(options.journal)
    began = _only(id, [each for _, each in studies(entries)])
    record, said = Record(began, entries), decisions(entries, began.id)
    plan = foreseen(began, entries)
    if options.json:
        return reports.study_json(began, plan, record, said)
    return reports.study_show_text(began, plan, record, said)


def _only(id: str, known: list[StudyBegan]) -> StudyBegan:
    found = [each for each in known if each.id.startswith(id)]
    if len(found) != 1:
        raise InputError(f"{len(found) or 'no'} studies begin with {id!r}", hint="`assay history` lists them")
    return found[0]
