"""Resolves a command line from an earlier resolution, where start-up code reads nothing of what differs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from assay.flow.copying import deep_copy
from assay.flow.interpreter import Interpreter
from assay.flow.machine import same
from assay.flow.report import Reporter
from assay.flow.resolution import Resolution
from assay.flow.values import MISSING, Instance, VDict, VList
from assay.source import Parsed


@dataclass(frozen=True)
class Ended:
    """What a start has come to."""

    record: Instance | None
    """The record of options; None if the program did not get so far."""
    environment: dict[str, Any]
    """The variables that it has set."""
    is_copy: bool
    """Whether nobody else holds that record."""
    precedent: Callable[[], Precedent | None] = lambda: None
    """Makes the run a precedent for others; gives None if it cannot be one. To be called while what the start
    has changed still stands."""

    def kept(self) -> tuple[Instance, dict[str, Any]] | None:
        """Record, with objects that no other run holds, and variables; None if there is no record."""
        if self.record is None:
            return None
        return self.record if self.is_copy else deep_copy(self.record, {}), self.environment


Keep = Callable[[Ended], None]


@dataclass(frozen=True)
class Filled:
    """What stands when a run has filled its record and start-up code is about to begin."""

    inputs: Mapping[str, Any]
    """The options and variables: `option tp_size`, `environment PATH`."""
    gaps: Mapping[str, int]
    """What was not understood so far."""
    way: tuple[Any, ...]
    """The calls and tests on the way here, and what they depended on."""
    fuel: int
    """Steps that are left."""
    is_plain: bool
    """Whether nothing else has happened yet: no line logged, no test left open, nothing that may raise."""


def filled(i: Interpreter, record: Instance) -> Filled:
    """What stands now."""
    machine = i.machine
    happened = (machine.possible, machine.pendings, machine.assumed, machine.tries, i.log, i.writes)
    return Filled(
        inputs=_inputs(record, i.outside.environment.written),
        gaps=dict(machine.gaps),
        way=(tuple(i.trace), tuple(machine.guards), frozenset(machine.reads)),
        fuel=machine.fuel,
        is_plain=not any(happened) and not i.environment_writes,
    )


def _inputs(record: Instance, environment: Mapping[str, Any]) -> dict[str, Any]:
    options = {f"option {name}": value for name, value in record.attributes.items()}
    return options | {f"environment {name}": value for name, value in environment.items()}


class Covered(Exception):
    """The rest of a run is that of its precedent; raised to leave the run where its start-up code begins."""

    def __init__(self, names: frozenset[str], now: Filled) -> None:
        super().__init__()
        self.names, self.now = names, now


class Precedent:
    """A run that came to its end.

    Start-up code is deterministic, and once it has begun it sees the command line by its record only. So of
    another run that begins with the same options and variables, but for some that no line of this one reads
    or writes, the rest is the same too.
    """

    def __init__(self, i: Interpreter, begun: Filled, asked: frozenset[str], resolution: Resolution) -> None:
        """To be called at the end of the run, while what it changed still stands."""
        record = i.outside.record
        assert record is not None
        self._i, self._begun, self._asked, self._resolution = i, begun, asked, resolution
        self._read = frozenset(i.inputs_read)
        ended = _inputs(record, i.outside.environment.written)
        self._written = {
            name: value for name, value in ended.items() if begun.inputs.get(name, MISSING) is not value
        }
        self._touched = frozenset(f"option {name}" for name in i.outside.provenance).union(
            self._read, self._written, begun.inputs.keys() - ended.keys()
        )
        self._record = deep_copy(record, {})

    def covers(self, i: Interpreter, now: Filled, asked: frozenset[str]) -> frozenset[str] | None:
        """The inputs by which a run differs that begins like this; None if it has to be followed."""
        then = self._begun
        if i is not self._i or "*" in self._read or not (then.is_plain and now.is_plain):
            return None
        if (then.gaps, then.way) != (now.gaps, now.way):
            return None
        differing = {f"option {name}" for name in asked ^ self._asked}
        for name in then.inputs.keys() | now.inputs.keys():
            if not _is_same(then.inputs.get(name, MISSING), now.inputs.get(name, MISSING)):
                differing.add(name)
        return None if differing & self._touched else frozenset(differing)

    def resolved(self, i: Interpreter, covered: Covered, parsed: Parsed) -> Resolution:
        """What the other run comes to; to be called where it was left."""
        reporter = Reporter(i, parsed)
        values = covered.now.inputs
        fields = tuple(
            reporter.field(each.name, values.get(f"option {each.name}", MISSING))
            if f"option {each.name}" in covered.names
            else each
            for each in self._resolution.fields
        )
        steps = self._resolution.steps + self._begun.fuel - covered.now.fuel
        return msgspec.structs.replace(self._resolution, fields=fields, steps=steps)

    def outcome(self, covered: Covered) -> Ended:
        """What the other run ends with."""
        record: Instance = deep_copy(self._record, {})
        environment: dict[str, Any] = {}
        for name, value in {**covered.now.inputs, **self._written}.items():
            kind, _, bare = name.partition(" ")
            if kind == "environment":
                environment[bare] = value
            elif name in covered.names:
                record.attributes[bare] = value
        return Ended(record, environment, is_copy=True)


def _is_same(one: Any, other: Any) -> bool:
    """Whether two values are the same, also in the types of what they hold: 1, 1.0 and True are not."""
    if one is other or type(one) is not type(other):
        return one is other
    if isinstance(one, tuple) or type(one) is VList:
        return len(one) == len(other) and all(_is_same(a, b) for a, b in zip(one, other, strict=True))
    if type(one) is VDict:
        return list(one) == list(other) and all(_is_same(each, other[key]) for key, each in one.items())
    return same(one, other)
