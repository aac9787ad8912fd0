"""Which releases of an engine have which options, and what replaced them, by the releases' own source."""

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

    replaced: dict[str, tuple[str, int, int]] = msgspec.field(default_factory=dict)
    """For a flag that some releases call deprecated in favour of another, that other one (the latest, where
    they differ), and the indices of the first and the last release that say so."""

    variables: dict[str, tuple[tuple[int, int], ...]] = msgspec.field(default_factory=dict)
    """The same stretches for each environment variable that a release declares."""

    def successor(self, flag: str) -> tuple[str, str, str] | None:
        """The flag that releases name instead of this one, and the first and last release that do.

        >>> table = OptionHistory(releases=("1", "2"), flags={}, replaced={"--a": ("--b", 0, 1)})
        >>> table.successor("--a"), table.successor("--b")
        (('--b', '1', '2'), None)
        """
        if flag not in self.replaced:
            return None
        new, first, last = self.replaced[flag]
        return new, self.releases[first], self.releases[last]

    def spans(self, name: str) -> tuple[tuple[str, str], ...]:
        """The releases that have the flag or variable, as (first, last) of each stretch."""
        stretches = self.flags.get(name, ()) or self.variables.get(name, ())
        return tuple((self.releases[first], self.releases[last]) for first, last in stretches)

    def said(self, name: str) -> str:
        """Those releases in words: `0.5.10 and later`, `0.4.6 to 0.5.2`.

        >>> table = OptionHistory(releases=("1", "2", "3"), flags={"--a": ((0, 1),), "--b": ((1, 2),)})
        >>> table.said("--a"), table.said("--b")
        ('1 to 2', '2 and later')
        """
        said = []
        for first, last in self.spans(name):
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
