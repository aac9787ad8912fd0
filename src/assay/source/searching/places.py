"""Makes callers of mentions, and tells a name that is used from one that is only spoken of."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from assay.source.declaring.module import Module
from assay.source.searching.occurrences import Occurrences
from assay.source.searching.references import Definition, last_name
from assay.source.searching.scope import Call, CallKind, Mention, scope_of

PROPERTIES = frozenset({"property", "cached_property", "abstractproperty", "getter"})
"""Decorators by which reading an attribute calls a function."""
SETTERS = frozenset({"setter", "deleter"})
"""Decorators by which assigning to an attribute calls a function."""
_PLAIN = PROPERTIES | SETTERS
_PLAIN |= {"abstractmethod", "classmethod", "dataclass", "final", "overload", "override", "staticmethod"}
_PLAIN |= {"runtime_checkable", "total_ordering", "unique"}
"""Decorators that hand a function or class to nobody."""


class Places:
    """Turns what names a function or class into places that may lead there."""

    def __init__(self, occurrences: Occurrences) -> None:
        self._at = occurrences

    def call(self, mention: Mention, kind: CallKind | None = None) -> Call:
        """The caller that a mention is; without a kind, a call or a reference."""
        parent = self._at.index(mention.module).parent(mention.node)
        call = parent if isinstance(parent, ast.Call) and parent.func is mention.node else None
        return Call(
            module=mention.module,
            node=mention.node,
            kind=kind or ("call" if call else "reference"),
            scope=mention.scope,
            call=call if kind != "property" else None,
        )

    def strings(self, name: str) -> Iterator[Call]:
        """Texts that are the name."""
        for mention in self._at.mentions(name):
            if mention.kind == "string" and not self._is_exported(mention) and not self.annotated(mention):
                yield self.call(mention, "string")

    def decorators(self, module: Module, node: Definition) -> Iterator[Call]:
        """The decorators that get a function or class."""
        for decorator in node.decorator_list:
            if last_name(decorator) not in _PLAIN:
                yield self.handed_over(module, decorator, "decorator")

    def handed_over(self, module: Module, node: ast.AST, kind: CallKind) -> Call:
        """The place of a node that does not name the function or class, but hands it to someone."""
        return Call(module, node, kind, scope_of(module, self._at.index(module), node))

    def annotated(self, mention: Mention) -> ast.AST | None:
        """What has the annotation that a name is part of: a parameter, a variable or a `def`."""
        for parent, child in self._at.index(mention.module).ancestors(mention.node):
            if child is getattr(parent, "annotation", None) or child is getattr(parent, "returns", None):
                return parent
            if isinstance(parent, ast.stmt):
                return None
        return None

    def _is_exported(self, mention: Mention) -> bool:
        """Whether a text stands in `__all__`."""
        around = (parent for parent, _ in self._at.index(mention.module).ancestors(mention.node))
        statement = next((node for node in around if isinstance(node, ast.stmt)), None)
        targets = statement.targets if isinstance(statement, ast.Assign) else ()
        return any(
            isinstance(target, ast.Name) and target.id == "__all__"
            for target in (*targets, getattr(statement, "target", None))
        )
