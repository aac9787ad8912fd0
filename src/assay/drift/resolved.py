"""What start-up code of two versions makes of one command: where it stops, what comes out otherwise."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import msgspec

from assay.drift.change import Change, constant

if TYPE_CHECKING:
    from assay.flow import Resolution
    from assay.source import Option


@dataclass(frozen=True)
class Started:
    """One version: what its start-up code makes of the command."""

    resolution: Resolution
    flags: Mapping[str, Option]
    """Its options, by field."""
    name: str
    """For messages: `sglang 0.5.10`."""


def changed_start(older: Started, newer: Started, told: Collection[str]) -> Iterator[Change]:
    """What the newer version's start-up code does otherwise.

    Args:
        older: the version that the command is for.
        newer: the version that it may go to.
        told: names of options of which it is known already that they differ.
    """
    stop, stopped = newer.resolution.rejection, older.resolution.rejection
    if newer.resolution.status == "rejected" and stop is not None and stop.phase != "parser":
        too = f"; {older.name} stops, too: that is no matter of the upgrade" if stopped is not None else ""
        message = " ".join(stop.message.split())
        says = f"{newer.name} raises {stop.error} at its start{f': {message}' if message else ''}{too}"
        yield Change(kind="start", name="start-up code", effect="fails", says=says, newer=stop.site)
    elif newer.resolution.status == "resolved" and stopped is not None and stopped.phase != "parser":
        says = f"{older.name} raises {stopped.error} at its start, {newer.name} starts"
        yield Change(kind="start", name="start-up code", effect="none", says=says, older=stopped.site)
    for name in compared(older, newer):
        yield from _changed(older, newer, name, told)


def evened(changes: Iterable[Change], older: Started, newer: Started) -> Iterator[Change]:
    """The changes; another default of which start-up code makes the same value is none to the command."""
    same = {
        newer.flags[name].flags[0]
        for name in compared(older, newer)
        if _value(older, name) == _value(newer, name)
    }
    for change in changes:
        if change.kind == "default" and change.effect == "differs" and change.name in same:
            says = f"{change.says}, of which start-up code makes the same value"
            yield msgspec.structs.replace(change, effect="none", says=says)
        else:
            yield change


def _value(started: Started, name: str) -> object:
    found = started.resolution.field(name)
    return found.value if found is not None else None


def compared(older: Started, newer: Started) -> tuple[str, ...]:
    """The fields of which both versions' outcome is known; none if one of them surely stops.

    Where it depends on something open whether one starts, it is taken that it does.
    """
    if "rejected" in (older.resolution.status, newer.resolution.status):
        return ()
    names = (each.name for each in newer.resolution.fields if each.known and each.name in newer.flags)
    return tuple(
        name
        for name in names
        if name in older.flags and (was := older.resolution.field(name)) is not None and was.known
    )


def _changed(older: Started, newer: Started, name: str, told: Collection[str]) -> Iterator[Change]:
    was, now = older.resolution.field(name), newer.resolution.field(name)
    flag = newer.flags[name].flags[0]
    if was is None or now is None or flag in told or was.value == now.value:
        return
    yield Change(
        kind="resolution",
        name=flag,
        effect="differs",
        says=f"start-up code of {newer.name} makes another value of it",
        before=constant(was.value),
        after=constant(now.value),
        older=was.provenance.site or older.flags[name].declared_at,
        newer=now.provenance.site or newer.flags[name].declared_at,
    )
