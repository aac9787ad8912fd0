"""What an engine's start needs to be followed beside its source: `engines/probes.py` says what, as data."""

from __future__ import annotations

import re
from typing import Any

import msgspec

from assay.engines import probes
from assay.facts import Facts, library_fact
from assay.flow.interpreter import Interpreter
from assay.flow.modules import ModuleStates
from assay.flow.outside.modelled import constant
from assay.flow.values import Native, Unknown
from assay.source import Sites

_PARSED = re.compile(rb"(?:\bargs\.|getattr\(\s*[\w.]*args,\s*[\"'])([A-Za-z_]\w*)")


def with_itself(facts: Facts, engine: str, version: str) -> Facts:
    """The facts, and what follows from the engine: its own package, as it is beside an accelerator."""
    start = probes.STARTS[engine]
    for prefix, names in start.open_files:
        if any(fact.name.startswith(f"model:{prefix}") for fact in facts.facts):
            facts = msgspec.structs.replace(facts, open_files=(*facts.open_files, *names))
    name = start.distribution
    if not name or not version or facts.find(f"library:{name}") or not facts.find("accelerator.vendor"):
        return facts
    own = library_fact(name, version, "the version of the engine's source")
    return msgspec.structs.replace(facts, facts=(*facts.facts, own))


def set_up(modules: ModuleStates, start: probes.Start) -> None:
    """Put something in the place of what the tree has, but cannot be followed in it."""
    modules.outside = frozenset(start.outside)
    modules.given |= {place: Native(place[1], _called) for place in start.called_elsewhere}
    modules.given |= {place: constant(None) for place in start.caches}
    modules.given |= {place: constant(Unknown(f"what {place[1]} draws")) for place in start.drawn}


def _called(i: Interpreter, function: Any) -> Any:
    return i.call(function, [], {})


def read_as_parsed(package: Sites) -> frozenset[str]:
    """Names read as attributes of something called `args`; `*` if not all files could be searched."""
    if package.unsearched:
        return frozenset({"*"})
    return frozenset(hit.groups[0].decode(errors="replace") for hit in package.matching(_PARSED))
