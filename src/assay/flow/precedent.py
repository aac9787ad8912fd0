"""Resolves a command line from an earlier resolution, where start-up code reads nothing of what differs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import msgspec

from assay.flow.copying import deep_copy
from assay.flow.handing import Filled, Handing, handing, inputs, is_same, variables
from assay.flow.interpreter import COMMAND_LINE, Interpreter
from assay.flow.report import Reporter, asked_in
from assay.flow.resolution import Resolution
from assay.flow.values import MISSING, Instance, VList, adopt_all
from assay.source import Constant, Parsed

_EVERYTHING = frozenset({"*", COMMAND_LINE})


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

    def __init__(self, i: Interpreter, begun: Filled, parsed: Parsed, resolution: Resolution) -> None:
        """To be called at the end of the run, while what it changed still stands."""
        record = i.outside.record
        assert record is not None
        self._i, self._begun, self._parsed, self._resolution = i, begun, parsed, resolution
        self._asked = asked_in(parsed)
        self._read = frozenset(i.inputs_read)
        ended = inputs(record, i.outside.environment.written)
        self._written = {
            name: value for name, value in ended.items() if begun.inputs.get(name, MISSING) is not value
        }
        self._touched = frozenset(f"option {name}" for name in i.outside.provenance).union(
            self._read, self._written, begun.inputs.keys() - ended.keys()
        )
        self._record = deep_copy(record, {})
        self._handing: Any = MISSING

    def foreseen(
        self, i: Interpreter, parsed: Parsed, words: Sequence[str], run: Callable[[VList], Any], fuel: int
    ) -> Filled | None:
        """What will stand when a run with that command line has filled its record; None if that is not known.

        Args:
            i: the interpreter, between two runs.
            parsed: the command line.
            words: its words.
            run: follows the program with some words, as the run would.
            fuel: the steps that the run has.
        """
        if i is not self._i:
            return None
        if self._handing is MISSING:
            self._handing = handing(i, run, self._parsed.namespace, self._begun, fuel)
        way: Handing | None = self._handing
        changed = _changed(self._parsed.namespace, parsed.namespace)
        if way is None or changed is None or any(word in way.words for word in words):
            return None
        options = {name: value for name, value in self._begun.inputs.items() if name.startswith("option ")}
        options |= {name: changed[source] for name, source in way.sources.items() if source in changed}
        now = options | variables(i.outside.environment.written)
        then = self._begun.inputs
        if not all(is_same(now.get(name, MISSING), then.get(name, MISSING)) for name in way.variables):
            return None
        return replace(self._begun, inputs=now)

    def covers(self, i: Interpreter, now: Filled, parsed: Parsed) -> frozenset[str] | None:
        """The inputs by which a run differs that begins like this; None if it has to be followed."""
        then = self._begun
        if i is not self._i or self._read & _EVERYTHING or not (then.is_plain and now.is_plain):
            return None
        if (then.gaps, then.way) != (now.gaps, now.way):
            return None
        differing = {f"option {name}" for name in asked_in(parsed) ^ self._asked}
        for name in then.inputs.keys() | now.inputs.keys():
            if not is_same(then.inputs.get(name, MISSING), now.inputs.get(name, MISSING)):
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


def _changed(one: Mapping[str, Constant], other: Mapping[str, Constant]) -> dict[str, Any] | None:
    """The values of a namespace that differ from another's; None if one of them is not known in both."""
    if one.keys() != other.keys():
        return None
    found: dict[str, Any] = {}
    for name, then in one.items():
        now = other[name]
        if now is then or not (now.known or then.known):
            continue
        if not (now.known and then.known):
            return None
        value = adopt_all(now.value)
        if not is_same(adopt_all(then.value), value):
            found[name] = value
    return found
