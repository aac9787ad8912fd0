"""Turns the state of an interpretation into the values that are handed out."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from typing import Any

from assay.flow import attributes, operations
from assay.flow.interpreter import Interpreter
from assay.flow.log import held
from assay.flow.machine import PRINTED, SETTING, Conditions, Held
from assay.flow.resolution import (
    Candidate,
    EnvironmentWrite,
    FieldValue,
    Gap,
    Guard,
    Logged,
    Phase,
    Provenance,
    Rejection,
    Write,
)
from assay.flow.values import (
    MISSING,
    OPENED,
    Choice,
    Class,
    External,
    Instance,
    Member,
    Raised,
    Symbol,
    Touched,
    Unknown,
)
from assay.source import Parsed, Site

MAX_GUARDS = 40
MAX_SETTINGS_DEPTH = 4
_NOT_PLAIN = object()


class Reporter:
    """Reports on one interpretation."""

    def __init__(self, i: Interpreter, parsed: Parsed) -> None:
        self.i = i
        self.asked = asked_in(parsed)
        self._guards: dict[int, Guard] = {}

    # ------------------------------------------------------------ fields

    def fields(self, record: Instance) -> tuple[FieldValue, ...]:
        """Every option of the record."""
        cls = record.cls
        names = [name for name, _ in cls.fields] if isinstance(cls, Class) and cls.fields is not None else []
        return tuple(self.field(name, held(self.i, record, name)) for name in names)

    def settings(self, record: Instance, made: Instance | None) -> tuple[FieldValue, ...]:
        """Every option of the record, then the settings that were made of it: `cache_config.block_size`.

        Of an option and a setting with one name, the setting.
        """
        found = {each.name: each for each in self.fields(record)}
        found |= {each.name: each for each in (self._below("", made, 0) if made is not None else ())}
        return tuple(found.values())

    def _below(self, prefix: str, owner: Instance, depth: int) -> Iterable[FieldValue]:
        for name, _ in owner.cls.fields:
            value = self.i.force(owner.attributes.get(name, MISSING))
            inner = isinstance(value, Instance) and isinstance(value.cls, Class)
            if inner and value.cls.fields is not None and depth < MAX_SETTINGS_DEPTH:
                yield from self._below(f"{prefix}{name}.", value, depth + 1)
            elif value is not MISSING:
                yield self.field(f"{prefix}{name}", value)

    def field(self, name: str, value: Any) -> FieldValue:
        """One option that holds this value."""
        value = self.i.force(value)
        origin = self.i.outside.provenance.get(name)
        shown = plain(value)
        if shown is not _NOT_PLAIN:
            return FieldValue(name=name, known=True, value=shown, provenance=self._provenance(name, origin))
        candidates = tuple(self._candidates(name, value, origin, ()))
        return FieldValue(
            name=name,
            known=False,
            reason=reason_of(value),
            provenance=self._provenance(name, origin),
            candidates=candidates if len(candidates) > 1 else (),
        )

    def _candidates(self, name: str, value: Any, origin: Any, when: tuple[str, ...]) -> Iterable[Candidate]:
        if isinstance(value, Choice):
            for each, outcome in ((value.yes, True), (value.no, False)):
                inner = origin
                if isinstance(origin, Choice) and origin.test.key == value.test.key:
                    inner = origin.yes if outcome else origin.no
                yield from self._candidates(
                    name, each, inner, (*when, condition(value.test, outcome=outcome))
                )
            return
        shown = plain(value)
        known = shown is not _NOT_PLAIN
        yield Candidate(
            known=known,
            value=shown if known else None,
            reason="" if known else reason_of(value),
            when=when,
            provenance=self._provenance(name, origin),
        )

    def _provenance(self, name: str, origin: Any) -> Provenance:
        while isinstance(origin, Choice):
            origin = origin.yes if origin.yes is not MISSING else origin.no
        if origin is None or origin is MISSING:
            return Provenance(how="asked" if name in self.asked else "default")
        if isinstance(origin, Unknown):  # too many lines may have set it
            return Provenance(how="set")
        site, function, guards, reads = origin
        return Provenance(
            how="set",
            site=site_of(site),
            function=function,
            guards=self.guards(guards),
            depends_on=tuple(sorted(reads)),
        )

    def guards(self, held: tuple[Held, ...]) -> tuple[Guard, ...]:
        """Tests, as values."""
        return tuple(self._guard(each) for each in held[-MAX_GUARDS:])

    def _guard(self, held: Held) -> Guard:
        if id(held) not in self._guards:
            self._guards[id(held)] = Guard(
                text=held.module.text(held.node),
                site=held.module.site(held.node),
                taken=held.taken,
                state="open" if held.is_open else "holds",
                decided_by=tuple(sorted(held.reads)),
            )
        return self._guards[id(held)]

    # ------------------------------------------------------------ the rest

    def rejection(self, phase: Phase, raised: Raised, conditions: Conditions) -> Rejection:
        """A line that raises."""
        return Rejection(
            phase=phase,
            error=attributes.type_name(raised.error),
            message=self._message(raised.error),
            site=site_of(raised.site),
            function=raised.trace[-1][2] if raised.trace else "",
            guards=self.guards(raised.guards),
            when=tuple(condition(test, outcome=outcome) for test, outcome in conditions),
        )

    def _message(self, error: Any) -> str:
        """What an error says; nothing where its own `__str__` raises or cannot be followed."""
        if not isinstance(error, Instance):
            return ""
        try:
            text = operations.text(self.i, error)
        except (Raised, Touched):
            return ""
        return text if isinstance(text, str) else ""

    def writes(self) -> tuple[Write, ...]:
        """The assignments to options."""
        found = []
        for name, value, site, function, guards, _reads in self.i.writes:
            shown = plain(value)
            known = shown is not _NOT_PLAIN
            found.append(
                Write(
                    name=name,
                    known=known,
                    value=shown if known else None,
                    site=site_of(site),
                    function=function,
                    certain=certain(guards),
                )
            )
        return tuple(found)

    def environment(self) -> tuple[EnvironmentWrite, ...]:
        """The environment variables that were set."""
        return tuple(
            EnvironmentWrite(
                name=name,
                value=value if isinstance(value, str) else None,
                known=isinstance(value, str) or value is None,
                site=site_of(site),
                certain=certain(guards),
            )
            for name, value, site, guards in self.i.environment_writes
        )

    def log(self) -> tuple[Logged, ...]:
        """What was logged."""
        return tuple(
            Logged(
                level=level,
                message=text if isinstance(text, str) else "",
                known=isinstance(text, str),
                site=site_of(site),
                certain=certain(guards),
            )
            for level, text, site, guards in self.i.log
            if level not in (SETTING, PRINTED)
        )

    def gaps(self) -> tuple[Gap, ...]:
        """What was not understood."""
        found = sorted(self.i.machine.gaps.items(), key=lambda item: (-item[1], item[0]))
        return tuple(Gap(reason=reason, count=count) for reason, count in found[:200])


def asked_in(parsed: Parsed) -> frozenset[str]:
    """The options that a command line gives, by field."""
    return frozenset(given.option.field or given.option.dest for given in parsed.given)


def certain(guards: tuple[Held, ...]) -> bool:
    """Whether every test on the way was decided."""
    return not any(held.is_open for held in guards)


def condition(test: Unknown, *, outcome: bool) -> str:
    """An open test and its outcome, in words."""
    return test.reason if outcome else f"not: {test.reason}"


def site_of(site: tuple[Any, ast.AST] | None) -> Site | None:
    """A place of the interpreter as a value."""
    return None if site is None else site[0].site(site[1])


def reason_of(value: Any) -> str:
    """Why a value is not known."""
    if isinstance(value, Choice):
        return f"depends on: {value.test.reason}"
    if isinstance(value, Unknown):
        return value.reason
    if type(value) in OPENED.values():
        return "a collection that differs between paths"
    if isinstance(value, list | tuple):
        return next((reason_of(each) for each in value if plain(each) is _NOT_PLAIN), "a list")
    if isinstance(value, dict):
        return next((reason_of(each) for each in value.values() if plain(each) is _NOT_PLAIN), "a dict")
    return f"an object of {attributes.type_name(value)}"


def plain(value: Any, depth: int = 0) -> Any:
    """A value as None, bool, int, float, str, list or dict of these; else a mark that it is not."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, External | Unknown | Choice) or depth > 8:
        return _NOT_PLAIN
    if isinstance(value, Member | Symbol):
        return str(value)
    if type(value).__name__.startswith("Open"):
        return _NOT_PLAIN
    if isinstance(value, set | frozenset):
        return _all(sorted(value, key=str), depth)
    if isinstance(value, list | tuple | range):
        return _all(list(value), depth)
    if isinstance(value, dict):
        values = _all(list(value.values()), depth)
        return values if values is _NOT_PLAIN else dict(zip(map(str, value), values, strict=True))
    if isinstance(value, Instance) and isinstance(value.cls, Class) and value.cls.fields is not None:
        return plain({name: value.attributes.get(name) for name, _ in value.cls.fields}, depth + 1)
    return _NOT_PLAIN


def _all(values: list[Any], depth: int) -> Any:
    shown = [plain(each, depth + 1) for each in values]
    return _NOT_PLAIN if any(each is _NOT_PLAIN for each in shown) else shown


def is_plain(value: Any) -> bool:
    """Whether a value can be handed out."""
    return plain(value) is not _NOT_PLAIN
