"""What may lead to a function, by its name: more places than do, never fewer that the tree spells out."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from assay.source.declaring.module import Module
from assay.source.searching.constructions import Constructions
from assay.source.searching.index import FunctionNode
from assay.source.searching.occurrences import Occurrences
from assay.source.searching.places import PROPERTIES, SETTERS, Places
from assay.source.searching.references import References, last_name
from assay.source.searching.scope import Call, Class

_CALLED_BY_LIBRARIES = frozenset(
    {"forward", "backward", "run", "emit", "format", "dispatch", "setup_context"}
)
"""Methods that torch's modules, threads, log handlers and middleware call of those who derive from them."""


class Callers:
    """Finds the callers of functions and methods."""

    def __init__(self, occurrences: Occurrences, references: References) -> None:
        self._at = occurrences
        self._references = references
        self._places = Places(occurrences)
        self._constructions = Constructions(occurrences, references, self._places)
        self._found: dict[int, tuple[Call, ...]] = {}

    def of(self, module: Module, function: FunctionNode) -> tuple[Call, ...]:
        """All places that may lead to a function, each once."""
        if id(function) not in self._found:
            calls: dict[int, Call] = {}
            for call in self._search(module, function):
                calls.setdefault(id(call.node), call)
            self._found[id(function)] = tuple(calls.values())
        return self._found[id(function)]

    def making(self, module: Module, cls: ast.ClassDef) -> tuple[Call, ...]:
        """All places that may make an object of a class or of one that derives from it, each once."""
        if id(cls) not in self._found:
            calls = {
                id(call.node): call for call in self._constructions.leading_to(Class(module, cls), "__new__")
            }
            self._found[id(cls)] = tuple(calls.values())
        return self._found[id(cls)]

    def _search(self, module: Module, function: FunctionNode) -> Iterator[Call]:
        owner = self._references.owner(module, function)
        yield from self._places.decorators(module, function)
        if not isinstance(owner, ast.ClassDef):
            yield from map(self._places.call, self._references.to(module, function))
            yield from self._places.strings(function.name)
        elif function.name.startswith("__") and function.name.endswith("__"):
            yield from self._constructions.leading_to(Class(module, owner), function.name)
        else:
            yield from self._of_method(module, function, Class(module, owner))

    def _of_method(self, module: Module, function: FunctionNode, owner: Class) -> Iterator[Call]:
        decorated = {last_name(decorator) for decorator in function.decorator_list}
        named = self._references.to(module, function)
        for mention in named:
            is_read = bool(decorated & PROPERTIES) and mention.kind == "attribute-load"
            yield self._places.call(mention, "property" if is_read else None)
        if decorated & SETTERS:
            for mention in self._at.mentions(function.name):
                if mention.kind == "attribute-store":
                    yield self._places.call(mention, "property")
        yield from self._places.strings(function.name)
        # What nobody in the tree names may still be what the base of another library calls.
        by_library = function.name in _CALLED_BY_LIBRARIES or not named
        if by_library and self._constructions.has_outside_base(owner):
            yield from self._constructions.leading_to(owner, function.name)
