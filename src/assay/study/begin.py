"""What a study knows before its first start: earlier studies, and what the budget allows; pure."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence

import msgspec

from assay.candidates import Candidate, Candidates, LeftOut
from assay.journal import Entry
from assay.stats import noise, pooled
from assay.study.budget import Forecast, forecast
from assay.study.conduct import BASELINES
from assay.study.entries import StudyBegan
from assay.study.record import Known, studies


def digest(*values: object) -> str:
    """SHA-256 of values, so that two studies can be told apart without what may be secret in them."""
    return hashlib.sha256(b"\0".join(msgspec.json.encode(each) for each in values)).hexdigest()


def known_before(began: StudyBegan, entries: Sequence[Entry]) -> Known:
    """What earlier studies of the same scope learnt; the study itself and later ones are passed over."""
    number = next((entry.number for entry, each in studies(entries) if each.id == began.id), math.inf)
    earlier = [entry for entry in entries if entry.number < number]
    return Known(earlier, began.scope, command=began.command, work=began.work)


def foreseen(began: StudyBegan, entries: Sequence[Entry]) -> Forecast | None:
    """What its budget allows, by what was known when it began; `None` where it allows no confirmation."""
    known = known_before(began, entries)
    primary = began.levels[0]
    runs = [starts for _, starts in known.baselines]
    each = [noise([start.values[primary] for start in starts if primary in start.values]) for starts in runs]
    seconds = [start.seconds for starts in runs for start in starts]
    return forecast(
        began.budget,
        began.rule,
        baseline=BASELINES,
        start_s=math.fsum(seconds) / len(seconds) if seconds else None,
        known=pooled(one for one in each if one is not None),
    )


def without_failures(found: Candidates, known: Known) -> Candidates:
    """The candidates less the values that failed by themselves in an earlier study."""
    failed = known.single()
    planned: list[Candidate] = []
    out: list[LeftOut] = []
    for each in found.planned:
        kept = []
        for at, level in enumerate(each.levels):
            before = failed.get((each.name, level.text)) if at != each.present else None
            if before is None:
                kept.append(level)
            else:
                why = f"it failed in study {before[0]}: {before[1]}"
                out.append(LeftOut(name=each.name, value=level.text, why=why))
        if len(kept) > 1:
            present = kept.index(each.levels[each.present])
            planned.append(msgspec.structs.replace(each, levels=tuple(kept), present=present))
    return msgspec.structs.replace(found, planned=tuple(planned), left_out=(*found.left_out, *out))
