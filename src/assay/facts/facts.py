"""A fact, and a set of them to look things up in."""

from __future__ import annotations

import functools
from typing import Any

from assay._value import Value


class Fact(Value):
    """One thing that is true of model, hardware, software or environment."""

    name: str
    """What it is: `accelerator.capability`, `environment:SGLANG_X`, `library:flashinfer-python`,
    `model:PATH`."""
    value: Any
    """None, bool, int, float, str, or a list or dict of these."""
    source: str
    """The command, file or table that shows it."""


class Facts(Value, dict=True):
    """Everything that is known of one deployment; what is not listed is not known."""

    facts: tuple[Fact, ...] = ()
    """The facts; of two with one name, the last counts."""
    environment_is_complete: bool = True
    """True if a variable that is not listed is not set."""
    libraries_are_complete: bool = False
    """True if a library that is not listed is not installed."""
    model_files: tuple[str, ...] = ("config.json",)
    """Names of the files that are known to lie in each model's folder."""
    files_are_complete: bool = True
    """True if no other file that an engine looks for lies there, such as `hf_quant_config.json`."""
    open_files: tuple[str, ...] = ()
    """Of those, names of files that may lie there all the same."""
    has_no_plugins: bool = True
    """True if no installed library registers itself as a plug-in (entry point) of the engine."""

    @functools.cached_property
    def by_name(self) -> dict[str, Fact]:
        """The facts by name."""
        return {fact.name: fact for fact in self.facts}

    def find(self, name: str) -> Fact | None:
        """The fact of that name, or None if it is not known."""
        return self.by_name.get(name)
