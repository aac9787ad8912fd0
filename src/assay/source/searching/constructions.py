"""Where objects of a class may be made, and what leads to the methods that making or using them calls."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from assay.source.declaring.module import Module
from assay.source.searching.index import FunctionNode
from assay.source.searching.occurrences import Occurrences
from assay.source.searching.places import Places
from assay.source.searching.references import References, last_name
from assay.source.searching.scope import Call, Class, Mention

_MAKING = frozenset({"__init__", "__new__", "__post_init__"})
_BY_DERIVING = frozenset({"__init_subclass__", "__prepare__"})
_PLAIN_BASES = frozenset(
    {"object", "ABC", "Generic", "Protocol", "Enum", "IntEnum", "Flag", "IntFlag", "NamedTuple", "TypedDict"}
)
_PLAIN_METACLASSES = frozenset({"ABCMeta", "EnumMeta", "EnumType"})


class Constructions:
    """Finds the constructions of classes."""

    def __init__(self, occurrences: Occurrences, references: References, places: Places) -> None:
        self._at = occurrences
        self._references = references
        self._places = places

    def leading_to(self, built: Class, method: str) -> Iterator[Call]:
        """Where objects that have that method of that class are made, or it is called through `super()`."""
        derived = self._references.subclasses(built.module, built.node)
        for cls in (built, *(cls for cls in derived if not _defines(cls.node, method))):
            yield from self._places.decorators(cls.module, cls.node)
            for mention in self._references.to(cls.module, cls.node):
                yield from self._construction(mention, method)
            yield from self._places.strings(cls.node.name)
            yield from self._enumerated(cls)
        for cls in self._cooperating(built, derived):
            yield from self._through_super(cls, method)

    def has_outside_base(self, cls: Class) -> bool:
        """Whether a class derives, perhaps through others, from one that the tree does not hold."""
        return any(
            not known and name not in _PLAIN_BASES
            for each in (cls, *self._ancestors(cls))
            for name, known in self._references.bases(each)
        )

    def _construction(self, mention: Mention, method: str) -> Iterator[Call]:
        """The making of an object, if there may be one where a class is named."""
        annotated = self._places.annotated(mention)
        if annotated is not None:
            if self._is_filled(annotated, mention.module):
                yield self._places.call(mention, "annotation")
        elif self._references.is_base(mention):
            if method in _BY_DERIVING:
                yield self._places.call(mention)
        elif not self._tested_by(mention):
            call = self._places.call(mention)
            is_direct = method in _MAKING or call.call is None
            yield call if is_direct else self._places.call(mention, "construction")

    def _is_filled(self, annotated: ast.AST, module: Module) -> bool:
        """Whether a library may make an object by an annotation: of a field, or a route's parameter."""
        index = self._at.index(module)
        if isinstance(annotated, ast.arg):
            arguments = index.parent(annotated)
            function = index.parent(arguments) if arguments else None
            return annotated.arg not in ("self", "cls") and bool(getattr(function, "decorator_list", ()))
        return isinstance(annotated, ast.AnnAssign) and isinstance(index.parent(annotated), ast.ClassDef)

    def _tested_by(self, mention: Mention) -> str | None:
        """What only compares with a class that is named: `isinstance`, `issubclass` or `except`."""
        index = self._at.index(mention.module)
        named, parent = mention.node, index.parent(mention.node)
        while isinstance(parent, ast.Tuple | ast.BinOp):  # (A, B) and A | B
            named, parent = parent, index.parent(parent)
        if isinstance(parent, ast.ExceptHandler):
            return "except"
        if not isinstance(parent, ast.Call) or named not in parent.args[1:]:
            return None
        name = last_name(parent)
        return name if name in ("isinstance", "issubclass") else None

    def _enumerated(self, cls: Class) -> Iterator[Call]:
        """Where a class may be found with no name: among others, or by a base that registers it."""
        ancestors = list(self._ancestors(cls))
        for ancestor in (cls, *ancestors):
            for mention in self._references.to(ancestor.module, ancestor.node):
                parent = self._at.index(mention.module).parent(mention.node)
                lists = isinstance(parent, ast.Attribute) and parent.attr == "__subclasses__"
                if lists or self._tested_by(mention) == "issubclass":
                    yield self._places.call(mention)
        metaclasses = (
            last_name(keyword.value)
            for each in (cls, *ancestors)
            for keyword in each.node.keywords
            if keyword.arg == "metaclass"
        )
        if any(_defines(ancestor.node, "__init_subclass__") for ancestor in ancestors) or any(
            name not in _PLAIN_METACLASSES for name in metaclasses
        ):
            yield self._places.handed_over(cls.module, cls.node, "reference")

    def _ancestors(self, cls: Class) -> Iterator[Class]:
        """The classes of the tree that it may derive from, by name."""
        seen, pending = {id(cls.node)}, [cls]
        while pending:
            for _, known in self._references.bases(pending.pop()):
                for base in known:
                    if id(base.node) not in seen:
                        seen.add(id(base.node))
                        pending.append(base)
                        yield base

    def _cooperating(self, built: Class, derived: tuple[Class, ...]) -> Iterator[Class]:
        """Subclasses, and their other bases: `super()` in these may lead here too."""
        found = {id(cls.node): cls for cls in derived}
        for cls in derived:
            if len(cls.node.bases) > 1:
                found.update((id(other.node), other) for other in self._ancestors(cls))
        found.pop(id(built.node), None)
        yield from found.values()

    def _through_super(self, cls: Class, method: str) -> Iterator[Call]:
        for mention in self._at.within(cls.module, method):
            value = getattr(mention.node, "value", None)
            is_super = isinstance(value, ast.Call) and last_name(value) == "super"
            if mention.kind == "attribute-load" and is_super and mention.scope.cls is cls.node:
                yield self._places.call(mention)


def _defines(node: ast.ClassDef, method: str) -> bool:
    return any(isinstance(statement, FunctionNode) and statement.name == method for statement in node.body)
