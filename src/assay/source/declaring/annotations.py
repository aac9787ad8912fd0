"""Reads type annotations of a source tree as data, aliases such as `CacheDType` followed."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import TYPE_CHECKING

from assay.source.declaring.module import Defined, External, Found, Variable
from assay.source.declaring.operations import NotKnown
from assay.source.declaring.values import Scope

if TYPE_CHECKING:
    from assay.source.declaring.fold import Folder

ANNOTATED, LITERAL, UNION, NONE = "typing.Annotated", "typing.Literal", "typing.Union", "None"
_MAX_DEPTH = 30
_SAME = {
    **{
        f"typing.{name}": f"builtins.{name.lower()}" for name in ("List", "Dict", "Tuple", "Set", "FrozenSet")
    },
    "types.UnionType": UNION,
}


@dataclass(frozen=True)
class Type:
    """A type as an annotation writes it."""

    origin: str | Defined
    """Dotted name of what is outside the tree (`builtins.int`, `typing.Union`, `None`), or a class of it."""
    arguments: tuple[Type, ...] = ()
    """What it is subscripted with; of `Annotated` only the type itself."""
    values: tuple[object, ...] = ()
    """The values of a `Literal`."""
    metadata: tuple[ast.expr, ...] = ()
    """The rest of an `Annotated`, as written in `scope`."""
    scope: Scope | None = None

    def members(self) -> tuple[Type, ...]:
        """The types that a value may have: of a union its parts, `Annotated` taken off everywhere."""
        if self.origin in (ANNOTATED, UNION):
            return tuple(member for argument in self.arguments for member in argument.members())
        return (self,)


def read_type(folder: Folder, expr: ast.expr, scope: Scope, depth: int = 0) -> Type:
    """The type that an annotation stands for.

    Raises:
        NotKnown: it cannot be told without running the source.
    """
    if depth > _MAX_DEPTH:
        raise NotKnown("a type nested too deeply")
    if isinstance(expr, ast.Constant) and isinstance(expr.value, str):
        return read_type(folder, _parsed(expr), scope, depth + 1)
    if isinstance(expr, ast.Constant) and expr.value is None:
        return Type(NONE)
    if isinstance(expr, ast.BinOp) and isinstance(expr.op, ast.BitOr):
        sides = (read_type(folder, side, scope, depth + 1) for side in (expr.left, expr.right))
        return Type(UNION, tuple(member for side in sides for member in _parts(side)))
    if isinstance(expr, ast.Subscript):
        return _subscripted(folder, expr, scope, depth)
    return _named(folder, _found(folder, expr, scope), depth)


def _parts(side: Type) -> tuple[Type, ...]:
    return side.arguments if side.origin == UNION else (side,)


def _subscripted(folder: Folder, expr: ast.Subscript, scope: Scope, depth: int) -> Type:
    owner = read_type(folder, expr.value, scope, depth + 1)
    parts = list(expr.slice.elts) if isinstance(expr.slice, ast.Tuple) else [expr.slice]
    if owner.origin == LITERAL:
        return Type(LITERAL, values=tuple(_literals(folder, parts, scope, depth)))
    if owner.origin == ANNOTATED:
        inner = read_type(folder, parts[0], scope, depth + 1)
        return Type(ANNOTATED, (inner,), metadata=tuple(parts[1:]), scope=scope)
    if owner.origin == "typing.Optional":
        return Type(UNION, (*_parts(read_type(folder, parts[0], scope, depth + 1)), Type(NONE)))
    if str(owner.origin).endswith(".SkipValidation"):  # pydantic: a type that is taken unchecked
        return read_type(folder, parts[0], scope, depth + 1)
    arguments = tuple(_argument(folder, part, scope, depth) for part in parts)
    if owner.origin == UNION:
        return Type(UNION, tuple(member for argument in arguments for member in _parts(argument)))
    return Type(owner.origin, arguments)


def _argument(folder: Folder, part: ast.expr, scope: Scope, depth: int) -> Type:
    """An argument of a generic type; what is no type, as in `Callable[[int], str]`, counts as `Any`."""
    if isinstance(part, ast.Constant) and part.value is ...:
        return Type("...")
    if isinstance(part, ast.List):
        return Type("typing.Any")
    return read_type(folder, part, scope, depth + 1)


def _literals(folder: Folder, parts: list[ast.expr], scope: Scope, depth: int) -> list[object]:
    """The values of `Literal[…]`, those of another literal that it names included, each once."""
    values: list[object] = []
    for part in parts:
        if isinstance(part, ast.Name | ast.Subscript):
            values += read_type(folder, part, scope, depth + 1).values
        else:
            values.append(folder.value(part, scope))
    return list(dict.fromkeys(values))


def _found(folder: Folder, expr: ast.expr, scope: Scope) -> Found:
    """What the name of a type stands for, before aliases are followed."""
    found: Found | None = None
    if isinstance(expr, ast.Name):
        found = folder.tree.lookup(scope.module, expr.id)
        if found is None and expr.id in _BUILT_IN:
            found = External(f"builtins.{expr.id}")
    elif isinstance(expr, ast.Attribute):
        found = folder.tree.member(_found(folder, expr.value, scope), expr.attr)
    if found is None:
        raise NotKnown(f"the type {ast.unparse(expr)}")
    return found


_BUILT_IN = frozenset(
    {"str", "int", "float", "bool", "list", "dict", "tuple", "set", "frozenset", "type", "object", "bytes"}
)


def _named(folder: Folder, found: Found, depth: int) -> Type:
    if isinstance(found, Variable):
        for binding in reversed(found.module.bindings[found.name]):
            value = getattr(binding.node, "value", None)
            if not binding.changes and isinstance(value, ast.expr):
                return read_type(folder, value, Scope(found.module), depth + 1)
    if isinstance(found, Defined):
        return Type(found)
    if isinstance(found, External):
        dotted = found.dotted.replace("typing_extensions.", "typing.")
        return Type(_SAME.get(dotted, dotted))
    raise NotKnown("not a type")


def _parsed(expr: ast.Constant) -> ast.expr:
    try:
        return ast.parse(str(expr.value), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise NotKnown("an annotation that is no expression") from error
