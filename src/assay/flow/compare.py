"""Compares runs of one engine: a baseline, and alternatives that differ from it in their command line."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from assay.engines import probes
from assay.facts import Facts
from assay.flow.comparison import Difference, WriteBack
from assay.flow.interpreter import Interpreter
from assay.flow.precedent import Ended, Precedent
from assay.flow.reach.engine import Engine
from assay.flow.reach.explain import Explainer
from assay.flow.reach.follow import followed
from assay.flow.reach.loading import Loading
from assay.flow.reach.overlay import Overlay
from assay.flow.reach.readers import Readers
from assay.flow.resolution import Resolution
from assay.flow.resolve import EngineSource, resolve
from assay.flow.uncollected import uncollected
from assay.flow.values import Instance
from assay.source import ArgumentWord, ReadConfig

RECURSION = 30_000
"""Functions are followed into each other; each level takes about a dozen frames of this program."""


class Baseline:
    """Run A: resolved, and followed into the workers when a comparison first needs it."""

    def __init__(
        self,
        source: EngineSource,
        facts: Facts,
        words: Sequence[ArgumentWord],
        read_config: ReadConfig | None,
    ) -> None:
        self._source, self._facts, self._read_config = source, facts, read_config
        self._record: Instance | None = None
        self._precedent: Precedent | None = None
        self._changes: Any = {}
        self._engine: Engine | None = None
        self._classified: Readers | None = None
        if source.is_fresh(facts):
            # What modules set in the environment when they are first evaluated is seen in that run only.
            resolve(source, facts, words, read_config=read_config)
        self.resolution: Resolution = resolve(source, facts, words, read_config=read_config, keep=self._keep)

    def _keep(self, ended: Ended) -> None:
        self._record, self._precedent = ended.record, ended.precedent()
        self._changes = self._interpreter.machine.changes(0)

    @property
    def _interpreter(self) -> Interpreter:
        return self._source.interpreter(self._facts)

    @contextmanager
    def _standing(self) -> Iterator[Engine]:
        """The engine, while what A's start has changed still stands."""
        assert self._record is not None
        i = self._interpreter
        limit = sys.getrecursionlimit()
        sys.setrecursionlimit(max(limit, RECURSION))
        i.machine.recording = 1
        i.machine.apply(self._changes)
        i.outside.is_serving = True
        try:
            with uncollected():
                if self._engine is None:
                    self._engine = followed(i, self._record, self._source.engine)
                yield self._engine
        finally:
            i.outside.is_serving = False
            i.end()
            sys.setrecursionlimit(limit)

    @property
    def serves(self) -> bool:
        """Whether the engine is followed behind its start-up code: into workers, loops and routes."""
        return bool(probes.STARTS[self._source.engine].serve)

    @property
    def failure(self) -> Difference | None:
        """The line at which a worker of A surely stops, if there is one."""
        if self._record is None or self.resolution.status == "rejected" or not self.serves:
            return None
        with self._standing() as engine:
            return Explainer(engine).failure()

    @property
    def write_backs(self) -> tuple[WriteBack, ...]:
        """Options that A's running engine sets itself."""
        if self._record is None or self.resolution.status == "rejected" or not self.serves:
            return ()
        with self._standing() as engine:
            return Explainer(engine).write_backs()

    def alternative(
        self, words: Sequence[ArgumentWord], *, read_config: ReadConfig | None = None
    ) -> Alternative:
        """Run B, with these words after the entry point; `read_config` is A's where none is given."""
        kept: list[tuple[Instance, dict[str, Any]] | None] = []
        found = resolve(
            self._source,
            self._facts,
            words,
            read_config=read_config or self._read_config,
            keep=lambda ended: kept.append(ended.kept()),
            precedent=self._precedent,
        )
        return Alternative(self, found, kept[-1] if kept else None)

    def difference(self, record: Instance, environment: dict[str, Any], fields: Sequence[str]) -> Difference:
        """What tells a run with that record and those variables from A."""
        with self._standing() as engine:
            overlay = Overlay(engine, record, environment)
            written = engine.i.outside.environment.written
            before = dict(written)
            engine.overlay = overlay
            written.clear()
            written.update(environment)
            try:
                found = overlay.compare()
            finally:
                written.clear()
                written.update(before)
                engine.overlay = None
                overlay.close()
            return Explainer(engine, self._readers(engine)).difference(overlay, found, fields)

    def _readers(self, engine: Engine) -> Readers:
        if self._classified is None:
            source = self._source
            record_file = f"{probes.STARTS[source.engine].module.replace('.', '/')}.py"
            registries = frozenset(each.package for each in probes.REGISTRIES.get(source.engine, ()))
            loading = Loading(engine, source.sites, source.modules, registries)
            self._classified = Readers(engine, source.sites, record_file, source.namesakes, loading)
        return self._classified


class Alternative:
    """Run B."""

    def __init__(
        self, base: Baseline, resolution: Resolution, kept: tuple[Instance, dict[str, Any]] | None
    ) -> None:
        self.base = base
        self.resolution = resolution
        self._kept = kept

    def difference(self, fields: Sequence[str] = ()) -> Difference:
        """What tells B from A once both have resolved their arguments.

        Args:
            fields: the options that were asked about; every line that reads them is classified.
        """
        if self._kept is None or self.base.resolution.status == "rejected":
            return Difference(outcome="open", open_atoms=("one of the two runs has no arguments",))
        if not self.base.serves:
            return Difference(outcome="open", open_atoms=("what reads it behind start-up code",))
        return self.base.difference(*self._kept, fields)


class Mirrored(Alternative):
    """Run B where B, not A, is the run that has been followed: what tells A from B tells B from A."""

    def __init__(self, base: Baseline, resolution: Resolution, beside: Alternative) -> None:
        """Run A and B's resolution, and A as an alternative to B."""
        super().__init__(base, resolution, None)
        self._beside = beside

    def difference(self, fields: Sequence[str] = ()) -> Difference:
        """What tells B from A once both have resolved their arguments."""
        return self._beside.difference(fields)


def baseline(
    source: EngineSource,
    facts: Facts,
    words: Sequence[ArgumentWord],
    *,
    read_config: ReadConfig | None = None,
) -> Baseline:
    """Run A: the words after the entry point, resolved under the facts."""
    return Baseline(source, facts, words, read_config)
