"""What one pass over a module's syntax tree finds: each node's parent, where each name and text stands."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef
Owner = FunctionNode | ast.ClassDef | ast.Module
Try = ast.Try | ast.TryStar
"""Both kinds of `try`."""

_NOT_NODES = frozenset({"ctx", "op", "ops", "kind", "type_comment"})
_NAME_FIELD: dict[type[ast.AST], str] = {
    ast.Name: "id",
    ast.Attribute: "attr",
    ast.FunctionDef: "name",
    ast.AsyncFunctionDef: "name",
    ast.ClassDef: "name",
    ast.arg: "arg",
    ast.keyword: "arg",
    ast.ExceptHandler: "name",
    ast.MatchAs: "name",
    ast.MatchStar: "name",
    ast.MatchMapping: "rest",
}


def _imported(node: ast.alias) -> set[str]:
    return {*node.name.split("."), *([node.asname] if node.asname else ())}


def _global(node: ast.Global | ast.Nonlocal) -> Iterable[str]:
    return node.names


def _import_from(node: ast.ImportFrom) -> set[str]:
    return set(node.module.split(".")) if node.module else set()


def _match_class(node: ast.MatchClass) -> Iterable[str]:
    return node.kwd_attrs


_NAMES: dict[type[ast.AST], Callable[..., Iterable[str]]] = {
    ast.alias: _imported,
    ast.ImportFrom: _import_from,
    ast.Global: _global,
    ast.Nonlocal: _global,
    ast.MatchClass: _match_class,
}


class _Shapes(dict[type[ast.AST], tuple[str, tuple[str, ...]]]):
    """Of each class of nodes: the field that holds its name, and the fields that may hold nodes."""

    def __missing__(self, kind: type[ast.AST]) -> tuple[str, tuple[str, ...]]:
        own = _NAME_FIELD.get(kind, "")
        fields = tuple(field for field in kind._fields if field != own and field not in _NOT_NODES)
        self[kind] = own, fields
        return self[kind]


_SHAPES = _Shapes()
_SHAPES[ast.Constant] = "", ()
_SHAPES[ast.Global] = _SHAPES[ast.Nonlocal] = "", ()
_SHAPES[ast.ImportFrom] = "", ("names",)
_SHAPES[ast.MatchClass] = "", ("cls", "patterns", "kwd_patterns")


class Index:
    """Parents, names and texts of one module; nodes are known by identity, so it must live as they do."""

    def __init__(self, tree: ast.Module) -> None:
        self.tree = tree
        self.parents: dict[int, ast.AST] = {}
        self.names: defaultdict[str, list[ast.AST]] = defaultdict(list)
        """Nodes by each identifier that they hold, in no order."""
        self.constants: list[ast.Constant] = []
        self._places: dict[int, tuple[str, int]] = {}
        self._fill()

    def texts(self) -> Iterator[tuple[ast.Constant, str]]:
        """The string constants, parts of f-strings included."""
        return ((node, node.value) for node in self.constants if isinstance(node.value, str))

    def _fill(self) -> None:
        # The time of a search is spent here: no call and no allocation for a node that can do without.
        parents, names, shapes = self.parents, self.names, _SHAPES
        stack: list[ast.AST] = [self.tree]
        push = stack.append
        while stack:
            node = stack.pop()
            kind = node.__class__
            own, fields = shapes[kind]
            if own:
                names[getattr(node, own)].append(node)
            elif kind in _NAMES:
                self._add_names(node, _NAMES[kind](node))
            elif isinstance(node, ast.Constant):
                self.constants.append(node)
            for field in fields:
                value = getattr(node, field)
                if value.__class__ is list:
                    for child in value:
                        if isinstance(child, ast.AST):
                            parents[id(child)] = node
                            push(child)
                elif isinstance(value, ast.AST):
                    parents[id(value)] = node
                    push(value)

    def _add_names(self, node: ast.AST, words: Iterable[str]) -> None:
        for word in words:
            self.names[word].append(node)

    def parent(self, node: ast.AST) -> ast.AST | None:
        """The node around it; None for the module."""
        return self.parents.get(id(node))

    def ancestors(self, node: ast.AST) -> Iterator[tuple[ast.AST, ast.AST]]:
        """Each node around it with that one's child on the way, from the inside out."""
        child = node
        while (parent := self.parents.get(id(child))) is not None:
            yield parent, child
            child = parent

    def place(self, parent: ast.AST, child: ast.AST) -> tuple[str, int] | None:
        """In which block of `parent` a statement stands, and where; None for what is no statement."""
        if not isinstance(child, ast.stmt):
            return None
        if id(child) not in self._places:
            for field in ("body", "orelse", "finalbody"):
                block = getattr(parent, field, None)
                for at, statement in enumerate(block if isinstance(block, list) else ()):
                    self._places[id(statement)] = field, at
        return self._places.get(id(child))

    def owner(self, node: ast.AST) -> Owner | None:
        """The innermost function, class or module in whose body the node stands; a lambda is none."""
        for parent, child in self.ancestors(node):
            if isinstance(parent, Owner) and isinstance(child, ast.stmt):
                return parent
        return None
