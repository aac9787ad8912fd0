"""Compares runs of one engine: a baseline, and alternatives that differ from it in their command line."""

from __future__ import annotations

from collections.abc import Sequence

from assay.facts import Facts
from assay.flow.comparison import Difference, WriteBack
from assay.flow.resolution import Resolution
from assay.flow.resolve import EngineSource, resolve
from assay.source import ArgumentWord, ReadConfig


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
        self.resolution: Resolution = resolve(source, facts, words, read_config=read_config)

    @property
    def failure(self) -> Difference | None:
        """The line at which a worker of A surely stops, if there is one."""
        return None

    @property
    def write_backs(self) -> tuple[WriteBack, ...]:
        """Options that A's running engine sets itself."""
        return ()

    def alternative(self, words: Sequence[ArgumentWord]) -> Alternative:
        """Run B, with these words after the entry point."""
        return Alternative(self, resolve(self._source, self._facts, words, read_config=self._read_config))


class Alternative:
    """Run B."""

    def __init__(self, base: Baseline, resolution: Resolution) -> None:
        self.base = base
        self.resolution = resolution

    def difference(self, fields: Sequence[str] = ()) -> Difference:
        """What tells B from A once both have resolved their arguments.

        Args:
            fields: the options that were asked about; every line that reads them is classified.
        """
        return Difference(outcome="open", open_atoms=tuple(f"who reads {name}" for name in fields))


def baseline(
    source: EngineSource,
    facts: Facts,
    words: Sequence[ArgumentWord],
    *,
    read_config: ReadConfig | None = None,
) -> Baseline:
    """Run A: the words after the entry point, resolved under the facts."""
    return Baseline(source, facts, words, read_config)
