"""Reads classes of the tree as data: attributes through their bases, defaults, members of enumerations."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import Protocol

from assay.source.declaring.bindings import Binding, collect_bindings
from assay.source.declaring.collected import Collected, collected
from assay.source.declaring.module import Defined, External, Module, Modules
from assay.source.declaring.operations import BUILTINS, EMPTY_FACTORIES, NotKnown

MISSING = object()
_MAX_BASES = 100
_ENUMS = frozenset(f"enum.{name}" for name in ("Enum", "IntEnum", "StrEnum", "Flag", "IntFlag"))
_NOT_FIELDS = ("ClassVar", "InitVar", "KW_ONLY")
_FIELD_MAKERS = frozenset({"dataclasses.field", "msgspec.field", "pydantic.Field", "pydantic.fields.Field"})
_READS = ("os.getenv", "os.environ")
_PLAIN = frozenset({"enum.IntEnum", "enum.StrEnum", "enum.IntFlag", "builtins.str", "builtins.int"})


class Folds(Protocol):
    """What this module needs of a folder."""

    tree: Modules

    def in_class(self, owner: Defined, expr: ast.expr) -> object:
        """What an expression in a class body stands for."""

    def in_module(self, module: Module, expr: ast.expr) -> object:
        """What an expression at module level stands for."""

    def called(self, found: Defined) -> object:
        """What a simple function without parameters returns."""


@dataclass(frozen=True)
class Unclear:
    """A value inside another one that could not be worked out, so that the rest still can be."""


@dataclass(frozen=True)
class Member:
    """A member of an enumeration."""

    owner: Defined
    name: str
    folded: object
    """Its value, or `Unclear`."""
    is_plain: bool
    """Whether it also is an int or a string, as with `IntEnum`."""

    def attribute(self, name: str) -> object:
        """`member.name` and `member.value`."""
        if name == "name":
            return self.name
        if name == "value" and not isinstance(self.folded, Unclear):
            return self.folded
        raise NotKnown(f"attribute {name} of a member")


@dataclass(frozen=True)
class FieldOf:
    """One of the values that `dataclasses.fields` and `msgspec.structs.fields` give."""

    owner: Defined
    """The class that declares it."""
    node: ast.AnnAssign

    @property
    def name(self) -> str:
        """Its name."""
        return ast.unparse(self.node.target)


@dataclass(frozen=True)
class Instance:
    """What a call of a class of the tree makes: only its class and its arguments are known."""

    owner: Defined
    arguments: tuple[object, ...]

    def __bool__(self) -> bool:
        raise NotKnown("whether an object counts as true")


class Classes:
    """The classes of one tree."""

    def __init__(self, tree: Modules, folder: Folds) -> None:
        self._tree = tree
        self._folder = folder
        self._bodies: dict[Defined, dict[str, Binding]] = {}
        self._lines: dict[Defined, list[Defined | External]] = {}
        self._collected: dict[Defined, Collected] = {}

    def line(self, owner: Defined) -> list[Defined | External]:
        """The class and its bases, nearest first; bases that cannot be found are left out."""
        if owner not in self._lines:
            self._lines[owner] = [owner]
            line = [owner, *(base for node in _bases(owner) for base in self._base(owner, node))]
            line += self.collected(owner).classes
            self._lines[owner] = list(dict.fromkeys(line))[:_MAX_BASES]
        return self._lines[owner]

    def collected(self, owner: Defined) -> Collected:
        """The classes that it collects fields from by code, and in which order."""
        if owner not in self._collected:
            self._collected[owner] = Collected()
            self._collected[owner] = collected(self._folder, owner)
        return self._collected[owner]

    def fields(self, owner: Defined) -> list[FieldOf]:
        """The fields of a class, those of its bases first, as `dataclasses.fields` orders them."""
        found: dict[str, FieldOf] = {}
        taken = self.collected(owner)
        line = [base for base in self.line(owner) if isinstance(base, Defined)]
        for base in (*taken.classes, *reversed([base for base in line if base not in taken.classes])):
            for node in base.node.body:
                if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
                    annotation = ast.unparse(node.annotation)
                    if not any(word in annotation for word in _NOT_FIELDS):
                        found[node.target.id] = FieldOf(base, node)
        first = [name for name in taken.order if name in found]
        return [found[name] for name in dict.fromkeys((*first, *found))]

    def reads_environment(self, owner: Defined) -> bool:
        """Whether the class, or one of its bases in the tree, reads an environment variable."""
        line = [base for base in self.line(owner) if isinstance(base, Defined)]
        nodes = (node for base in line for node in ast.walk(base.node))
        return any(isinstance(node, ast.Attribute) and ast.unparse(node) in _READS for node in nodes)

    def own_attribute(self, owner: Defined, name: str) -> object:
        """What the class's own body binds that name to; `MISSING` if it does not."""
        binding = self._body(owner).get(name)
        if binding is None:
            return MISSING
        node = binding.node
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            return Defined(owner.module, node)
        if not binding.certain or not isinstance(node, ast.Assign | ast.AnnAssign) or node.value is None:
            raise NotKnown(name)
        return self.default(owner, node.value)

    def attribute(self, owner: Defined, name: str) -> object:
        """What `owner.name` stands for."""
        for base in self.line(owner):
            if isinstance(base, External):
                continue
            value = self.own_attribute(base, name)
            if value is not MISSING:
                return self._member(base, name, value) if self.is_enum(owner) else value
        raise NotKnown(name)

    def default(self, owner: Defined, expr: ast.expr) -> object:
        """What the right side of an assignment in a class body stands for; of `field(…)`, its default."""
        if isinstance(expr, ast.Call) and self._is_field(owner, expr.func):
            for keyword in expr.keywords:
                if keyword.arg == "default":
                    return self._folder.in_class(owner, keyword.value)
                if keyword.arg == "default_factory":
                    return self._made(owner, keyword.value)
            if expr.args and not (isinstance(expr.args[0], ast.Constant) and expr.args[0].value is ...):
                return self._folder.in_class(owner, expr.args[0])
            raise NotKnown("a field without a default")
        if isinstance(expr, ast.Call) and (taken := self._taken(owner, expr)) is not None:
            return self.attribute(*taken)
        return self._folder.in_class(owner, expr)

    def _taken(self, owner: Defined, expr: ast.Call) -> tuple[Defined, str] | None:
        """Class and name of `get_field(Class, "name")`, which takes over another class's default."""
        if len(expr.args) != 2 or not isinstance(expr.args[1], ast.Constant):
            return None
        try:
            function, found = (self._folder.in_class(owner, each) for each in (expr.func, expr.args[0]))
        except NotKnown:
            return None
        if not isinstance(function, Defined) or not isinstance(found, Defined):
            return None
        gives = "default_factory=default_factory" in ast.unparse(function.node)
        return (found, str(expr.args[1].value)) if gives else None

    def has_default(self, owner: Defined, expr: ast.expr | None) -> bool:
        """Whether the right side of a field's declaration gives a default."""
        if isinstance(expr, ast.Call) and self._is_field(owner, expr.func):
            return bool(expr.args) or any(k.arg in ("default", "default_factory") for k in expr.keywords)
        return expr is not None

    def is_enum(self, owner: Defined) -> bool:
        """Whether the class is an enumeration."""
        return any(isinstance(base, External) and base.dotted in _ENUMS for base in self.line(owner))

    def members(self, owner: Defined) -> list[Member]:
        """The members of an enumeration, in order."""
        if not isinstance(owner.node, ast.ClassDef) or not self.is_enum(owner):
            raise NotKnown("not an enumeration")
        names = [name for name, b in self._body(owner).items() if isinstance(b.node, ast.Assign)]
        return [self._named(owner, name) for name in names if not name.startswith("_")]

    def member(self, owner: Defined, name: object) -> object:
        """`Enumeration["NAME"]`."""
        for member in self.members(owner):
            if member.name == name:
                return member
        raise NotKnown(str(name))

    def iterated(self, value: object) -> list[object]:
        """The elements of a value; of a set in sorted order, since its own differs from run to run."""
        if isinstance(value, Defined):
            return list(self.members(value))
        if isinstance(value, set | frozenset):
            return sorted(value, key=repr)
        if isinstance(value, list | tuple | dict | str):
            return list(value)
        raise NotKnown("not something to iterate over")

    def _named(self, owner: Defined, name: str) -> Member:
        try:
            value = self.own_attribute(owner, name)
        except NotKnown:
            value = Unclear()
        return self._member(owner, name, value)

    def _member(self, owner: Defined, name: str, value: object) -> Member:
        if isinstance(value, Defined):
            raise NotKnown("a method of an enumeration")
        plain = any(isinstance(base, External) and base.dotted in _PLAIN for base in self.line(owner))
        return Member(owner, name, value, plain)

    def _made(self, owner: Defined, factory: ast.expr) -> object:
        if isinstance(factory, ast.Lambda):
            return self._folder.in_class(owner, factory.body)
        function = self._folder.in_class(owner, factory)
        if isinstance(function, Defined) and isinstance(function.node, ast.FunctionDef):
            return self._folder.called(function)
        if isinstance(function, Defined) and any(_is_dict(base) for base in _bases(function)):
            return {}
        if isinstance(function, External):
            name = function.dotted.removeprefix("builtins.")
            if name in EMPTY_FACTORIES:
                made: object = BUILTINS[name]()
                return made
        raise NotKnown("a default factory that was not followed")

    def _is_field(self, owner: Defined, func: ast.expr) -> bool:
        try:
            found = self._folder.in_class(owner, func)
        except NotKnown:
            return False
        return isinstance(found, External) and found.dotted in _FIELD_MAKERS

    def _body(self, owner: Defined) -> dict[str, Binding]:
        if owner not in self._bodies:
            self._bodies[owner] = {n: b for n, b in collect_bindings(owner.node.body) if not b.changes}
        return self._bodies[owner]

    def _base(self, owner: Defined, node: ast.expr) -> list[Defined | External]:
        name = ast.unparse(node) if isinstance(node, ast.Name | ast.Attribute) else ""
        if name in ("str", "int") and self._tree.lookup(owner.module, name) is None:
            return [External(f"builtins.{name}")]
        try:
            found = self._folder.in_class(Defined(owner.module, _NO_CLASS), node)
        except NotKnown:
            return []
        if isinstance(found, Defined) and isinstance(found.node, ast.ClassDef):
            return self.line(found)
        return [found] if isinstance(found, External) else []


_NO_CLASS = ast.ClassDef(name="", bases=[], keywords=[], body=[], decorator_list=[])


def _is_dict(base: ast.expr) -> bool:
    return ast.unparse(base.value if isinstance(base, ast.Subscript) else base) == "dict"


def _bases(owner: Defined) -> list[ast.expr]:
    return owner.node.bases if isinstance(owner.node, ast.ClassDef) else []
