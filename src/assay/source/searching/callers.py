"""What may lead to a function, by its name: more places than do, never fewer that the tree spells out."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from assay.source.declaring.module import Module
from assay.source.searching.index import FunctionNode
from assay.source.searching.occurrences import Occurrences
from assay.source.searching.references import Definition, References
from assay.source.searching.scope import Call, CallKind, Class, Mention, scope_of

_PROPERTIES = frozenset({"property", "cached_property", "abstractproperty", "getter"})
_SETTERS = frozenset({"setter", "deleter"})
_PLAIN = (
    _PROPERTIES | _SETTERS | {"abstractmethod", "classmethod", "dataclass", "final", "overload", "override"}
)
_PLAIN |= {"staticmethod", "total_ordering", "unique", "runtime_checkable"}
"""Decorators that do nothing with a function or class but change how it is reached by name."""
_MAKING = frozenset({"__init__", "__new__", "__post_init__"})
_BY_DERIVING = frozenset({"__init_subclass__", "__prepare__"})
_CALLED_BY_LIBRARIES = frozenset(
    {"forward", "backward", "run", "emit", "format", "dispatch", "setup_context"}
)
"""Methods that a base class outside the tree calls: torch's modules, threads, log handlers, middleware."""
_HARMLESS_BASES = frozenset(
    {"object", "ABC", "Generic", "Protocol", "Enum", "IntEnum", "Flag", "IntFlag", "NamedTuple", "TypedDict"}
)


class Callers:
    """Finds the callers of functions and methods."""

    def __init__(self, occurrences: Occurrences, references: References) -> None:
        self._at = occurrences
        self._references = references
        self._found: dict[int, tuple[Call, ...]] = {}

    def of(self, module: Module, function: FunctionNode) -> tuple[Call, ...]:
        """All places that may lead to a function, each once."""
        if id(function) not in self._found:
            calls = {id(call.node): call for call in reversed(list(self._search(module, function)))}
            self._found[id(function)] = tuple(reversed(calls.values()))
        return self._found[id(function)]

    def _search(self, module: Module, function: FunctionNode) -> Iterator[Call]:
        owner = self._references.owner(module, function)
        yield from self._decorators(module, function)
        if not isinstance(owner, ast.ClassDef):
            for mention in self._references.to(module, function):
                yield self._call(mention)
            yield from self._strings(function.name)
        elif _is_special(function.name):
            yield from self._constructions(Class(module, owner), function.name)
        else:
            yield from self._of_method(module, function, owner)

    def _of_method(self, module: Module, function: FunctionNode, owner: ast.ClassDef) -> Iterator[Call]:
        decorated = {_last_name(decorator) for decorator in function.decorator_list}
        for mention in self._references.to(module, function):
            is_read = bool(decorated & _PROPERTIES) and mention.kind == "attribute-load"
            yield self._call(mention, "property" if is_read else None)
        if decorated & _SETTERS:
            for mention in self._at.mentions(function.name):
                if mention.kind == "attribute-store":
                    yield self._call(mention, "property")
        yield from self._strings(function.name)
        if function.name in _CALLED_BY_LIBRARIES and self._has_outside_base(Class(module, owner)):
            yield from self._constructions(Class(module, owner), function.name)

    def _call(self, mention: Mention, kind: CallKind | None = None) -> Call:
        parent = self._at.index(mention.module).parent(mention.node)
        call = parent if isinstance(parent, ast.Call) and parent.func is mention.node else None
        return Call(
            module=mention.module,
            node=mention.node,
            kind=kind or ("call" if call else "reference"),
            scope=mention.scope,
            call=call if kind != "property" else None,
        )

    def _strings(self, name: str) -> Iterator[Call]:
        for mention in self._at.mentions(name):
            if mention.kind == "string" and not self._is_idle(mention):
                yield self._call(mention, "string")

    def _is_idle(self, mention: Mention) -> bool:
        """Whether a name is only spoken of: in an annotation, or in what a module exports."""
        statement = self._at.statement(mention)
        targets = statement.targets if isinstance(statement, ast.Assign) else ()
        exports = (*targets, getattr(statement, "target", None))
        return self._annotated(mention) is not None or any(
            isinstance(target, ast.Name) and target.id == "__all__" for target in exports
        )

    def _annotated(self, mention: Mention) -> ast.AST | None:
        """What has the annotation that a name is part of: a parameter, a variable or a `def`."""
        for parent, child in self._at.index(mention.module).ancestors(mention.node):
            if child is getattr(parent, "annotation", None) or child is getattr(parent, "returns", None):
                return parent
            if isinstance(parent, ast.stmt):
                return None
        return None

    def _is_filled(self, annotated: ast.AST, module: Module) -> bool:
        """Whether a library may make an object by an annotation: of a field, or a route's parameter."""
        index = self._at.index(module)
        if isinstance(annotated, ast.arg):
            arguments = index.parent(annotated)
            function = index.parent(arguments) if arguments else None
            return annotated.arg not in ("self", "cls") and bool(getattr(function, "decorator_list", ()))
        return isinstance(annotated, ast.AnnAssign) and isinstance(index.parent(annotated), ast.ClassDef)

    def _decorators(self, module: Module, node: Definition) -> Iterator[Call]:
        for decorator in node.decorator_list:
            if _last_name(decorator) not in _PLAIN:
                scope = scope_of(module, self._at.index(module), decorator)
                yield Call(module, decorator, "decorator", scope)

    def _constructions(self, built: Class, method: str) -> Iterator[Call]:
        """Where objects that have that method of that class are made, or it is called through `super()`."""
        derived = self._references.subclasses(built.module, built.node)
        for cls in (built, *_inheriting(derived, method)):
            yield from self._decorators(cls.module, cls.node)
            for mention in self._references.to(cls.module, cls.node):
                yield from self._construction(mention, method)
            yield from self._strings(cls.node.name)
        for cls in self._cooperating(built, derived):
            yield from self._through_super(cls, method)

    def _cooperating(self, built: Class, derived: Iterable[Class]) -> Iterator[Class]:
        """Subclasses, and their other bases: `super()` in these may lead here too."""
        seen = {id(built.node)}
        pending = list(derived)
        while pending:
            cls = pending.pop()
            if id(cls.node) not in seen:
                seen.add(id(cls.node))
                yield cls
                others = map(_last_name, cls.node.bases) if len(cls.node.bases) > 1 else ()
                for name in filter(None, others):
                    pending += self._references.classes(name)

    def _through_super(self, cls: Class, method: str) -> Iterator[Call]:
        for mention in self._at.within(cls.module, method):
            value = getattr(mention.node, "value", None)
            is_super = isinstance(value, ast.Call) and _last_name(value) == "super"
            if mention.kind == "attribute-load" and is_super and mention.scope.cls is cls.node:
                yield self._call(mention)

    def _construction(self, mention: Mention, method: str) -> Iterator[Call]:
        """The making of an object, if there may be one where a class is named."""
        annotated = self._annotated(mention)
        if annotated is not None:
            if self._is_filled(annotated, mention.module):
                yield self._call(mention, "annotation")
        elif self._references.is_base(mention):
            if method in _BY_DERIVING:
                yield self._call(mention)
        elif not self._is_tested_for(mention):
            call = self._call(mention)
            is_direct = method in _MAKING or call.call is None
            yield call if is_direct else self._call(mention, "construction")

    def _is_tested_for(self, mention: Mention) -> bool:
        """Whether a class is only compared with: by `isinstance`, `issubclass` or `except`."""
        index = self._at.index(mention.module)
        named, parent = mention.node, index.parent(mention.node)
        if isinstance(parent, ast.Tuple):
            named, parent = parent, index.parent(parent)
        if isinstance(parent, ast.Call):
            return _last_name(parent) in ("isinstance", "issubclass") and named in parent.args[1:]
        return isinstance(parent, ast.ExceptHandler)

    def _has_outside_base(self, cls: Class) -> bool:
        """Whether a class derives, perhaps through others, from one that the tree does not hold."""
        seen, pending = {id(cls.node)}, [cls]
        while pending:
            for base in pending.pop().node.bases:
                name = _last_name(base)
                known = self._references.classes(name) if name else ()
                if not known and name not in _HARMLESS_BASES:
                    return True
                pending += (found for found in known if id(found.node) not in seen)
                seen.update(id(found.node) for found in known)
        return False


def _inheriting(derived: Iterable[Class], method: str) -> Iterator[Class]:
    """Subclasses that have no such method of their own."""
    return (cls for cls in derived if not any(_defines(node, method) for node in cls.node.body))


def _is_special(name: str) -> bool:
    return name.startswith("__") and name.endswith("__")


def _defines(statement: ast.stmt, name: str) -> bool:
    return isinstance(statement, FunctionNode) and statement.name == name


def _last_name(node: ast.expr) -> str | None:
    """`c` of `c`, `a.b.c`, `a.b.c(…)` and `a.b.c[…]`."""
    while isinstance(node, ast.Call | ast.Subscript):
        node = node.func if isinstance(node, ast.Call) else node.value
    if isinstance(node, ast.Name):
        return node.id
    return node.attr if isinstance(node, ast.Attribute) else None
