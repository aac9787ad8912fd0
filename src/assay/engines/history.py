"""Which releases of an engine have which options: a table that assay made from the releases' own source."""

from __future__ import annotations

import functools
from importlib import resources
from typing import TYPE_CHECKING

import msgspec

from assay._value import Value

if TYPE_CHECKING:
    from assay.engines.engine import Engine


class OptionHistory(Value):
    """The flags of each release."""

    releases: tuple[str, ...]
    """The releases that were read, oldest first."""
    flags: dict[str, tuple[tuple[int, int], ...]]
    """For each flag, the stretches of `releases` that have it: index of the first and of the last."""

    def spans(self, flag: str) -> tuple[tuple[str, str], ...]:
        """The releases that have the flag, as (first, last) of each stretch."""
        return tuple((self.releases[first], self.releases[last]) for first, last in self.flags.get(flag, ()))

    def said(self, flag: str) -> str:
        """Those releases in words: `0.5.10 and later`, `0.4.6 to 0.5.2`.

        >>> table = OptionHistory(releases=("1", "2", "3"), flags={"--a": ((0, 1),), "--b": ((1, 2),)})
        >>> table.said("--a"), table.said("--b")
        ('1 to 2', '2 and later')
        """
        said = []
        for first, last in self.spans(flag):
            if last == self.releases[-1]:
                said.append(first if first == last else f"{first} and later")
            else:
                said.append(first if first == last else f"{first} to {last}")
        return ", ".join(said)


@functools.cache
def _load(name: str) -> OptionHistory:
    data = resources.files("assay.engines").joinpath(f"{name}_options.json").read_bytes()
    return msgspec.json.decode(data, type=OptionHistory)


def option_history(engine: Engine) -> OptionHistory:
    """The table of an engine, read from assay's own data once."""
    return _load(engine.name)
