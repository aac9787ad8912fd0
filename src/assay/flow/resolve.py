"""Resolves a command line: interprets the engine's start-up code and reports what became of each option."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from assay.engines import engine_named, probes
from assay.facts import Facts
from assay.flow import attributes, calls, expressions, statements
from assay.flow.classes import FieldSpec
from assay.flow.handing import Filled, filled
from assay.flow.interpreter import NATIVE_FAULTS, Interpreter
from assay.flow.namesakes import Namesakes
from assay.flow.outside import Outside
from assay.flow.outside.standard_library import NAMESPACE
from assay.flow.precedent import Covered, Ended, Keep, Precedent
from assay.flow.replacing import replaced_names
from assay.flow.report import Reporter, asked_in
from assay.flow.requirements import with_requirements
from assay.flow.resolution import Phase, Rejection, Resolution
from assay.flow.setting_up import read_as_parsed, set_up, with_itself
from assay.flow.values import (
    MISSING,
    Class,
    Instance,
    OutOfFuel,
    Raised,
    Touched,
    Unknown,
    VList,
    adopt_all,
)
from assay.source import ArgumentWord, Declarations, Modules, Parsed, ReadConfig, Sites, parse

FUEL = 400_000
_GIVEN_UP = (OutOfFuel, Touched, RecursionError, MemoryError, *NATIVE_FAULTS)
"""A source that is odd enough may trip the interpreter itself: that is an unknown answer, not an error."""


class EngineSource:
    """One engine's tree, parsed as far as it was needed, and interpreted as far as facts allowed."""

    def __init__(self, root: Path, declarations: Declarations, engine: str = "sglang") -> None:
        self.root = root
        self.modules = Modules(root)
        self.declarations = declarations
        self.engine = engine_named(engine).name
        self._facts = b""
        self._interpreter: Interpreter | None = None

    def is_fresh(self, facts: Facts) -> bool:
        """Whether nothing has been evaluated under these facts yet."""
        return self._interpreter is None or msgspec.json.encode(facts) != self._facts

    def interpreter(self, facts: Facts) -> Interpreter:
        """An interpreter under these facts, with the modules that it evaluated before."""
        key = msgspec.json.encode(facts)
        if self._interpreter is None or key != self._facts:
            own = with_itself(facts, self.engine, self.declarations.version)
            known = with_requirements(own, self.root, self.engine)
            self._facts, self._interpreter = key, make_interpreter(self.modules, known, self.engine)
            start = probes.STARTS[self.engine]
            set_up(self._interpreter.modules, start)
            self._interpreter.modules.replaced = self._replaced
            self._interpreter.record_class = f"{start.module.replace('.', '/')}.py:{start.record}"
        return self._interpreter

    @functools.cached_property
    def sites(self) -> Sites:
        """Where names occur in what the engine's servers run."""
        start = probes.STARTS[self.engine]
        package = start.module.partition(".")[0]
        return Sites(self.modules, package, under="/".join(start.module.split(".")[:-1]))

    def keeps_what_was_parsed(self, name: str) -> bool:
        """Whether some line may read that option where the parser left it, past the record."""
        return probes.STARTS[self.engine].from_namespace and not self._read_as_parsed.isdisjoint({name, "*"})

    @functools.cached_property
    def _read_as_parsed(self) -> frozenset[str]:
        return read_as_parsed(Sites(self.modules, probes.STARTS[self.engine].module.partition(".")[0]))

    @functools.cached_property
    def _replaced(self) -> Mapping[str, frozenset[str]]:
        """By module, names that functions of other modules replace; the facts do not matter."""
        return replaced_names(self.sites, self.modules)

    @functools.cached_property
    def namesakes(self) -> Namesakes:
        """Whether what bears an option's name is of something else, in the whole package."""
        start = probes.STARTS[self.engine]
        return Namesakes(self.modules, start.module.partition(".")[0], self.declarations, start.record)

    def forget(self) -> None:
        """Drop what was evaluated, but not what was parsed."""
        self._interpreter = None


def make_interpreter(modules: Modules, facts: Facts, engine: str = "sglang") -> Interpreter:
    """An interpreter of that tree under these facts."""
    made = Interpreter(modules, FUEL, Outside(facts, probes.STARTS[engine]))
    made.evaluate = functools.partial(expressions.evaluate, made)
    made.execute = functools.partial(statements.execute, made)
    made.run_block = functools.partial(statements.run_block, made)
    made.run_assign = lambda target, value, frame: statements.assign(made, target, value, frame, set())
    made.call = functools.partial(calls.call, made)
    made.attribute = functools.partial(attributes.find, made)
    return made


def resolve(
    source: EngineSource,
    facts: Facts,
    arguments: Sequence[ArgumentWord],
    *,
    read_config: ReadConfig | None = None,
    keep: Keep | None = None,
    precedent: Precedent | None = None,
) -> Resolution:
    """What the engine makes of its arguments at its start, as far as the facts tell.

    Args:
        source: the engine's tree.
        facts: what is true of model, machine, software and environment. Libraries that they do not mention
            are taken as the engine's own metadata requires them, where the tree has it.
        arguments: the words that the engine's own parser sees.
        read_config: reads a file of arguments (`--config`); without it, such a file is taken as not known.
        keep: called with what the start has come to, while what it has changed still stands.
        precedent: an earlier run under the same facts: where the rest of this one must be the same, it is not
            carried out, and nothing that it would have changed stands when `keep` is called.
    """
    parsed = parse(source.declarations, list(arguments), read_config)
    refused = [problem for problem in parsed.problems if problem.kind != "config-not-read"]
    if refused:
        rejection = Rejection(phase="parser", error="SystemExit", message=refused[0].message)
        return Resolution(status="rejected", rejection=rejection)
    run = _Run(source, source.interpreter(facts), parsed, [word.text for word in arguments], precedent)
    return run.resolution(keep)


class _Run:
    """One interpretation of the start."""

    def __init__(
        self,
        source: EngineSource,
        i: Interpreter,
        parsed: Parsed,
        words: list[str],
        precedent: Precedent | None,
    ) -> None:
        self.i = i
        self.precedent = precedent
        self.begun: Filled | None = None
        self.start = probes.STARTS[source.engine]
        self.parsed = parsed
        self.words = words
        self.phase: Phase = "resolution"
        self.rejected: tuple[Phase, Raised] | None = None
        self.spent = False
        self.record: Instance | None = None
        self.settings: Instance | None = None

    def resolution(self, keep: Keep | None = None) -> Resolution:
        """Run, report, and undo what the run changed; `keep` is called before that."""
        i = self.i
        covered = self._foreseen()
        i.begin(FUEL)
        i.outside.when_filled = self._filled
        try:
            report, ended = self._followed() if covered is None else self._taken(covered)
            if keep is not None:
                keep(ended)
            return report
        finally:
            i.end()

    def _followed(self) -> tuple[Resolution, Ended]:
        try:
            return self._run()
        except Covered as covered:
            return self._taken(covered)

    def _taken(self, covered: Covered) -> tuple[Resolution, Ended]:
        assert self.precedent is not None
        report = self.precedent.resolved(self.i, covered, self.parsed)
        return report, self.precedent.outcome(covered)

    def _foreseen(self) -> Covered | None:
        """Whether all of this run is known before it begins."""
        if self.precedent is None:
            return None
        now = self.precedent.foreseen(self.i, self.parsed, self.words, self._call, FUEL)
        if now is None:
            return None
        names = self.precedent.covers(self.i, now, self.parsed)
        if names is None:
            self.precedent = None  # the run would only find the same
            return None
        return Covered(names, now)

    def _filled(self, i: Interpreter, record: Instance) -> None:
        """The record is filled and start-up code begins: see whether the rest is known already."""
        self.begun = now = filled(i, record)
        names = self.precedent.covers(i, now, self.parsed) if self.precedent is not None else None
        if names is not None:
            raise Covered(names, now)
        i.inputs_read.clear()

    def _run(self) -> tuple[Resolution, Ended]:
        i = self.i
        self._guarded(self._start)
        left = i.machine.fuel
        if self.record is None:
            self.record = i.outside.record
        self._guarded(self._fall_back)
        resolved = self.record
        reporter = Reporter(i, self.parsed)
        before = len(i.machine.possible)
        fields = reporter.fields(resolved) if resolved is not None and not self.spent else ()
        if self.rejected is None and not self.spent and self.start.check and resolved is not None:
            self.phase = "check"
            self._guarded(self._check)
            if self.start.makes_settings:
                fields = reporter.settings(resolved, self.settings)
        report = self._report(reporter, fields, before)
        comes_last = left == i.outside.fuel_left and resolved is i.outside.record
        usable = comes_last and not self.spent and self.rejected is None and not self.start.makes_settings

        def precedent() -> Precedent | None:
            return (
                Precedent(i, self.begun, self.parsed, report) if usable and self.begun is not None else None
            )

        written = dict(i.outside.environment.written)
        return report, Ended(resolved, written, is_copy=False, precedent=precedent)

    def _guarded(self, run: Any) -> None:
        try:
            run()
        except Raised as raised:
            self.rejected = (self.phase, raised)
        except _GIVEN_UP as error:
            self.spent = True
            self.i.machine.gap(f"the interpretation was given up: {type(error).__name__} {str(error)[:80]}")

    def _start(self) -> None:
        i = self.i
        i.outside.namespace = self._namespace()
        for module, name in self.start.checks_before:
            found = self._named(module, name)
            if found is not MISSING:
                i.call(found, [i.outside.namespace], {})
        made = self._call(i.outside.namespace if self.start.from_namespace else VList(self.words))
        if made is MISSING:
            i.machine.gap(f"{self.start.module}.{self.start.function} is not there")
            self.spent = True
        elif isinstance(made, Instance):
            self.record = made
            self._resolve()

    def _resolve(self) -> None:
        """Start-up code, in versions where making the record does not carry it out."""
        method = attributes.find(self.i, self.record, self.start.resolve) if self.start.resolve else MISSING
        if method is not MISSING:
            self.i.call(method, [], {})
            self.i.outside.has_begun(self.i, self.record)

    def _fall_back(self) -> None:
        """Learn what is in effect of options that were left alone; the class tells it, whatever the run."""
        i, (module, name) = self.i, self.start.fallbacks
        state = i.modules.state(module) if module and self.record is not None else None
        function = i.modules.lookup(state, name) if state is not None else MISSING
        if function is MISSING or i.outside.fallbacks or self.record is None:
            return
        cls = self.record.cls
        found = i.machine.suspended(lambda: i.force(i.call(function, [cls], {})))
        if isinstance(found, dict):
            i.outside.fallbacks = dict(found)
        else:
            self.spent = True
            i.machine.gap(f"what {module}.{name} gives is not known")

    def _call(self, words: Any) -> Any:
        """What the program makes of these words; `MISSING` if there is no such function."""
        function = self._named(self.start.module, self.start.function)
        return MISSING if function is MISSING else self.i.force(self.i.call(function, [words], {}))

    def _named(self, module: str, dotted: str) -> Any:
        """`module.dotted` of the tree, or `MISSING`."""
        state = self.i.modules.state(module)
        first, _, rest = dotted.partition(".")
        found = self.i.modules.lookup(state, first) if state is not None else MISSING
        for name in rest.split(".") if rest else ():
            found = attributes.find(self.i, found, name) if found is not MISSING else MISSING
        return found

    def _check(self) -> None:
        method = attributes.find(self.i, self.record, self.start.check)
        if method is not MISSING:
            more = {name: self._named(module, dotted) for name, module, dotted in self.start.check_arguments}
            made = self.i.force(self.i.call(method, [], more))
            self.settings = made if isinstance(made, Instance) else None

    def _namespace(self) -> Instance:
        made = Instance(NAMESPACE)
        for name, constant in self.parsed.namespace.items():
            made.attributes[name] = adopt_all(constant.value) if constant.known else self._default(name)
        word, option = self.start.positional
        if made.attributes.get(word) is not None:
            made.attributes[option] = made.attributes[word]
        return made

    def _default(self, name: str) -> Any:
        """The default of an option that the room `source` could not tell: the record's own."""
        if name in asked_in(self.parsed):
            return Unknown(f"the value of {name}", ("asked", name))
        record = self.i.force(self._named(self.start.module, self.start.record))
        found = attributes.find(self.i, record, name) if record is not MISSING else MISSING
        spec = dict(record.fields or ()).get(name) if isinstance(record, Class) else None
        if found is MISSING and isinstance(spec, FieldSpec) and spec.factory is not MISSING:
            return self.i.call(spec.factory, [], {})
        return (
            Unknown(f"the default of {name}", ("default", name)) if found is MISSING else self.i.force(found)
        )

    def _report(self, reporter: Reporter, fields: Any, before: int) -> Resolution:
        machine = self.i.machine
        possible = [
            reporter.rejection("resolution" if at < before else "check", raised, conditions)
            for at, (raised, conditions) in enumerate(machine.possible)
        ]
        rejection = reporter.rejection(*self.rejected, []) if self.rejected else None
        unsure = self.spent or bool(possible) or (self.record is None and rejection is None)
        certain = rejection is not None and not (self.spent)
        return Resolution(
            status="rejected" if certain else "unknown" if unsure else "resolved",
            rejection=rejection,
            possible_rejections=tuple(dict.fromkeys(possible)) if possible else (),
            fields=fields,
            writes=reporter.writes(),
            environment=reporter.environment(),
            log=reporter.log(),
            gaps=reporter.gaps(),
            steps=FUEL - machine.fuel,
        )
