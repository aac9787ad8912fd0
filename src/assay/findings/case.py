"""One deployment under one engine's source, with the runs that its questions need, each resolved once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

from assay.engines import engine_named, option_history
from assay.facts import Facts
from assay.findings import words as command
from assay.findings.records import given_up
from assay.flow import (
    Alternative,
    Baseline,
    Difference,
    EngineSource,
    Mirrored,
    Rejection,
    Resolution,
    WriteBack,
    baseline,
)
from assay.source import ArgumentWord, Constant, Option, Parsed, ReadConfig, parse


@dataclass(frozen=True)
class Run:
    """Run A of some questions: a command line, and what becomes of it."""

    words: tuple[ArgumentWord, ...]
    """The words after the entry point."""
    read_config: ReadConfig | None
    """Reads its file of arguments."""
    parsed: Parsed
    """What the engine's parser makes of them."""
    base: Baseline
    """The run."""
    beside: Alternative | None = None
    """The same run, as run B of the deployment's own command where that starts: then it need not be followed
    by itself, which takes seconds."""

    @cached_property
    def stops(self) -> Difference | None:
        """The line at which a worker surely stops; found once, since it follows the whole engine."""
        if self.beside is not None and self.base.resolution.status != "rejected":
            found = self.beside.difference()
            if found.outcome != "open":
                return found if found.outcome == "raises" else None
        return self.base.failure

    @cached_property
    def write_backs(self) -> tuple[WriteBack, ...]:
        """Options that the running engine sets itself."""
        return (self.beside or self).base.write_backs


@dataclass(frozen=True)
class Question:
    """One option at one value: which words make run B out of run A, and what the parser reads in them."""

    option: Option
    """The option."""
    value: Any
    """The value as it was asked for."""
    run: Run
    """Run A."""
    wording: command.Wording
    """The words that are added to it."""
    words: tuple[ArgumentWord, ...]
    """All words of run B."""
    parsed: Parsed
    """What the engine's parser makes of those."""

    @property
    def asked(self) -> Constant:
        """The value as the parser stores it; not known where it refuses it, or nothing is stored."""
        if self.wording.refusal:
            return Constant(known=False)
        return self.parsed.namespace.get(self.option.dest, Constant(known=False))

    @property
    def shown(self) -> Any:
        """The value for reports: as stored, else as asked for."""
        asked = self.asked
        stored = asked.known and self.option.action != "ignored" and not self._refused
        return asked.value if stored else self.value

    @property
    def _refused(self) -> bool:
        return any(
            each.option is not None and each.option.dest == self.option.dest for each in self.parsed.problems
        )


@dataclass(frozen=True)
class Start:
    """What becomes of a command line that may not start."""

    outcome: Literal["starts", "fails", "unsure"]
    """Whether it does."""
    resolution: Resolution
    """What its arguments resolve to."""
    doubts: tuple[Rejection, ...] = ()
    """Lines that may raise, for `unsure`."""
    stops: Difference | None = None
    """The line at which a worker stops, for `fails` if start-up code does not."""


class Case:
    """What questions are asked of."""

    def __init__(
        self,
        source: EngineSource,
        facts: Facts,
        words: Sequence[ArgumentWord],
        *,
        read_config: ReadConfig | None = None,
    ) -> None:
        """A deployment's words after the entry point, and what is true of it."""
        self.source, self.facts = source, facts
        self.engine = engine_named(source.engine)
        self.history = option_history(self.engine)
        self._words, self._read_config = tuple(words), read_config
        self._runs: dict[str | None, Run] = {}
        self._is_warm = False

    @property
    def version(self) -> str:
        """The engine with its version, for messages: `sglang 0.5.10`."""
        return f"{self.engine.name} {self.source.declarations.version}".strip()

    @property
    def follows_workers(self) -> bool:
        """Whether the engine is followed behind its start-up code."""
        return self.present.base.serves

    @property
    def present(self) -> Run:
        """The deployment's own command."""
        if None not in self._runs:
            self._runs[None] = self._run(self._words, self._read_config)
        return self._runs[None]

    def run_without(self, option: Option) -> Run:
        """Run A for questions about that option."""
        present = self.present
        if not self.gives(option):
            return present
        if option.dest not in self._runs:
            left = command.without(present.parsed, present.words, option)
            reader = command.less_entries(self._read_config, present.parsed, option)
            self._runs[option.dest] = self._run(left, reader, beside=_starts(present))
        return self._runs[option.dest]

    def gives(self, option: Option) -> bool:
        """Whether the deployment's command gives the option."""
        return command.given_in(self.present.parsed, option)

    def _warm(self) -> None:
        """Resolve once for nothing: what modules do while they are first evaluated (set a variable) is then
        no difference between the first run and those after it.
        """
        if not self._is_warm:
            self._is_warm = True
            baseline(self.source, self.facts, self._words, read_config=self._read_config)

    def _run(
        self, words: tuple[ArgumentWord, ...], reader: ReadConfig | None, *, beside: bool = False
    ) -> Run:
        self._warm()
        parsed = parse(self.source.declarations, words, reader)
        base = baseline(self.source, self.facts, words, read_config=reader)
        other = self.present.base.alternative(words, read_config=reader) if beside else None
        return Run(words, reader, parsed, base, other)

    def question(self, option: Option, value: Any) -> Question:
        """The two runs of a question; run B is only worded and parsed."""
        run = self.run_without(option)
        wording = command.wording(option, value)
        words = command.added(run.words, wording.words)
        parsed = parse(self.source.declarations, words, run.read_config) if wording.words else run.parsed
        return Question(option, value, run, wording, words, parsed)

    def alternative(self, question: Question) -> Alternative:
        """Run B."""
        run, present = question.run, self.present
        if run.beside is not None and question.parsed.namespace == present.parsed.namespace:
            return Mirrored(run.base, present.base.resolution, run.beside)
        return run.base.alternative(question.words)

    def anew(self, source: EngineSource) -> Case:
        """The same deployment under another reading of the source."""
        return Case(source, self.facts, self._words, read_config=self._read_config)

    def altered(
        self,
        *,
        facts: Facts | None = None,
        words: Sequence[ArgumentWord] | None = None,
        read_config: ReadConfig | None = None,
    ) -> Case:
        """A deployment that differs from this one; with `words`, its file of arguments is read by
        `read_config`.
        """
        if words is None:
            return Case(self.source, facts or self.facts, self._words, read_config=self._read_config)
        return Case(self.source, facts or self.facts, words, read_config=read_config)

    def start(
        self, words: Sequence[ArgumentWord], read_config: ReadConfig | None, *, into_workers: bool
    ) -> Start:
        """Whether that command line starts: as far as start-up code goes, or its workers too."""
        base = baseline(self.source, self.facts, words, read_config=read_config)
        found = base.resolution
        if found.status == "rejected":
            return Start("fails", found)
        stops = base.failure if into_workers else None
        if stops is not None:
            return Start("fails", found, stops=stops)
        known = {(each.site, each.when) for each in self.present.base.resolution.possible_rejections}
        doubts = tuple(
            each
            for each in found.possible_rejections
            if (each.site, each.when) not in known and not _on_facts_alone(each)
        )
        return Start("unsure" if doubts or given_up(found) else "starts", found, doubts)


def _starts(run: Run) -> bool:
    """Whether a run comes to serve, as far as is known."""
    return run.base.resolution.status != "rejected" and run.stops is None


def _on_facts_alone(doubt: Rejection) -> bool:
    """Whether only what the machine is decides it: then no option is to blame for it."""
    return all(each.removeprefix("not: ").startswith("fact ") for each in doubt.when)
