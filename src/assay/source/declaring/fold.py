"""Works out what constant expressions of a source tree stand for, without running any of it."""

from __future__ import annotations

import ast
import contextlib
import itertools
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from assay.source.declarations import Constant
from assay.source.declaring import operations
from assay.source.declaring.annotations import read_type
from assay.source.declaring.classes import MISSING, Classes, FieldOf, Instance, Member, Unclear
from assay.source.declaring.converter_shapes import Lambda, wrapped
from assay.source.declaring.module import Defined, External, Found, Module, Modules, Variable, Whole
from assay.source.declaring.operations import NotKnown
from assay.source.declaring.parameters import defaults_of, parameters_of
from assay.source.declaring.statements import FAULTS, assigned, returned
from assay.source.declaring.values import Scope, bind, literal, plain, without_docstring
from assay.source.declaring.vllm_config import kwargs_of, makes_kwargs

MAX_DEPTH = 100
FUEL_PER_EXPRESSION = 50_000
FUEL_PER_TREE = 1_000_000
SUPPRESS = "==SUPPRESS=="
_KNOWN_OUTSIDE = {
    "argparse.SUPPRESS": SUPPRESS,
    "argparse.REMAINDER": "...",
    "sys.argv": ("",),
    "ssl.CERT_NONE": 0,
    "math.inf": float("inf"),
    "sys.maxsize": 2**63 - 1,
}
_FIELD_LISTS = frozenset({"dataclasses.fields", "msgspec.structs.fields"})
_MOST_PERMUTED = 6
_UNBOUND = object()


class Folder:
    """Folds expressions of one tree; results for module-level names are kept."""

    def __init__(self, tree: Modules) -> None:
        self.tree = tree
        self.classes = Classes(tree, self)
        self._variables: dict[tuple[str, str], object] = {}
        self._depth = 0
        self._fuel = FUEL_PER_EXPRESSION
        self._tank = FUEL_PER_TREE
        self._handlers: Mapping[type[ast.expr], Callable[[Any, Scope], object]] = {
            ast.Constant: lambda node, _scope: literal(node),
            ast.Name: self._name,
            ast.Attribute: self._attribute,
            ast.Call: self._call,
            ast.List: lambda node, scope: list(self._elements(node.elts, scope)),
            ast.Tuple: lambda node, scope: tuple(self._elements(node.elts, scope)),
            ast.Set: lambda node, scope: set(self._elements(node.elts, scope)),
            ast.Dict: self._dict,
            ast.BinOp: lambda node, scope: operations.binary(
                node.op, self._value(node.left, scope), self._value(node.right, scope)
            ),
            ast.UnaryOp: self._unary,
            ast.BoolOp: self._bool,
            ast.Compare: self._compare,
            ast.Lambda: lambda node, _scope: Lambda(node),
            ast.IfExp: lambda node, scope: self._value(
                node.body if self.truth(node.test, scope) else node.orelse, scope
            ),
            ast.Subscript: self._subscript,
            ast.JoinedStr: self._joined,
            ast.ListComp: self._comprehended,
            ast.GeneratorExp: self._comprehended,
            ast.SetComp: lambda node, scope: set(self._comprehended(node, scope)),
        }

    def constant(self, expr: ast.expr, scope: Scope) -> Constant:
        """What an expression stands for, as a value that can be kept."""
        text = scope.module.text(expr)
        try:
            return Constant(known=True, value=plain(self.value(expr, scope)), text=text)
        except NotKnown:
            return Constant(known=False, text=text)

    def value(self, expr: ast.expr, scope: Scope) -> object:
        """What an expression stands for; also references to functions, classes and modules.

        Raises:
            NotKnown: only a run would show, or it is too large.
        """
        if self._depth == 0:
            self._fuel = min(FUEL_PER_EXPRESSION, self._tank)
            before = self._fuel
            try:
                return self._value(expr, scope)
            finally:
                self._tank -= before - self._fuel
        return self._value(expr, scope)

    def truth(self, expr: ast.expr, scope: Scope) -> bool:
        """Whether an expression counts as true.

        Raises:
            NotKnown: only a run would show; so too of anything from outside the tree.
        """
        return _truth(self.value(expr, scope))

    def resolve(self, found: Found | None) -> object:
        """The value of what a name stands for."""
        if found is None:
            raise NotKnown("a name that nothing binds")
        if isinstance(found, Variable):
            return self._variable(found)
        if isinstance(found, External) and found.dotted in _KNOWN_OUTSIDE:
            return _KNOWN_OUTSIDE[found.dotted]
        return found

    def imported(self, module: Module, statement: ast.Import | ast.ImportFrom, alias: ast.alias) -> object:
        """What one name of an import statement in a function stands for; `Unclear` if that is not known."""
        try:
            return self.resolve(self.tree.follow(module, statement, alias))
        except NotKnown:
            return Unclear()

    def field_default(self, owner: Defined, expr: ast.expr) -> Constant:
        """What the right side of a field's declaration gives as default."""
        text = owner.module.text(expr)
        try:
            return Constant(known=True, value=plain(self.classes.default(owner, expr)), text=text)
        except NotKnown:
            return Constant(known=False, text=text)

    def in_class(self, owner: Defined, expr: ast.expr) -> object:
        """What an expression in a class body stands for."""
        return self.value(expr, Scope(owner.module, owner=owner))

    def in_module(self, module: Module, expr: ast.expr) -> object:
        """What an expression at module level stands for."""
        return self.value(expr, Scope(module))

    def called(self, found: Defined, given: Mapping[str, object] | None = None) -> object:
        """What a function returns, if that can be told from its statements.

        Raises:
            NotKnown: it cannot, or a parameter has no value.
        """
        node = found.node
        if (
            not isinstance(node, ast.FunctionDef)
            or node.decorator_list
            or node.args.vararg
            or node.args.kwarg
        ):
            raise NotKnown("a function that was not followed")
        scope = Scope(found.module, {p.arg: Unclear() for p in parameters_of(node)})
        for name, default in defaults_of(node):
            scope.names[name] = self.value(default, Scope(found.module))
        scope.names |= given or {}
        value = returned(self, without_docstring(node.body), scope)
        return None if value is None else value[0]

    def _value(self, expr: ast.expr, scope: Scope) -> object:
        handler = self._handlers.get(type(expr))
        self._fuel -= 1
        if handler is None or self._fuel < 0 or self._depth > MAX_DEPTH:
            raise NotKnown("not an expression that can be folded")
        self._depth += 1
        try:
            value = handler(expr, scope)
            self._fuel -= operations.bounded(value) >> 3
        except FAULTS as error:
            raise NotKnown(str(error)) from error
        finally:
            self._depth -= 1
        return value

    def _name(self, node: ast.Name, scope: Scope) -> object:
        if node.id in scope.names:
            value = scope.names[node.id]
            if isinstance(value, Unclear):
                raise NotKnown(node.id)
            return value
        if scope.owner is not None:
            found = self.classes.own_attribute(scope.owner, node.id)
            if found is not MISSING:
                return found
        found_outside = self.tree.lookup(scope.module, node.id)
        if found_outside is None and node.id in operations.BUILTINS:
            return External(f"builtins.{node.id}")
        return self.resolve(found_outside)

    def _attribute(self, node: ast.Attribute, scope: Scope) -> object:
        owner = self._value(node.value, scope)
        if isinstance(owner, Member):
            return owner.attribute(node.attr)
        if isinstance(owner, FieldOf):
            return self._of_field(owner, node.attr)
        if isinstance(owner, Instance):
            return self.classes.attribute(owner.owner, node.attr)
        if isinstance(owner, External | Whole):
            return self.resolve(self.tree.member(owner, node.attr))
        if isinstance(owner, Defined):
            if node.attr == "__doc__":
                return ast.get_docstring(owner.node, clean=False)
            if node.attr == "__name__":
                return owner.node.name
            return self.classes.attribute(owner, node.attr)
        raise NotKnown(f"attribute {node.attr}")

    def _call(self, node: ast.Call, scope: Scope) -> object:
        if isinstance(node.func, ast.Attribute):
            owner = self._value(node.func.value, scope)
            if isinstance(owner, str | list | tuple | dict | set | frozenset):
                return operations.method(owner, node.func.attr, *self.arguments(node, scope))
            if isinstance(owner, Instance) and node.func.attr == "get" and not node.args:
                return self._environment_default(owner)
        function = self._value(node.func, scope)
        if function == External("typing.get_args") and len(node.args) == 1:
            return read_type(self, node.args[0], scope).values
        arguments, keywords = self.arguments(node, scope)
        if isinstance(function, External):
            return self._call_outside(function, arguments, keywords)
        if isinstance(function, Defined) and isinstance(function.node, ast.FunctionDef):
            made = self._made(function, arguments)
            if made is not None:
                return made
            names = [parameter.arg for parameter in parameters_of(function.node)]
            return self.called(function, dict(zip(names, arguments, strict=False)) | keywords)
        if isinstance(function, Defined) and not self.classes.is_enum(function):
            return Instance(function, tuple(arguments))
        raise NotKnown("a call that was not followed")

    def _call_outside(self, function: External, arguments: list[Any], keywords: dict[str, Any]) -> object:
        name = function.dotted
        if name.startswith("builtins."):
            arguments = [self.classes.iterated(a) if isinstance(a, Defined) else a for a in arguments]
            return operations.BUILTINS[name.removeprefix("builtins.")](*arguments, **keywords)
        if name in _FIELD_LISTS and len(arguments) == 1 and isinstance(arguments[0], Defined):
            return self.classes.fields(arguments[0])
        if name == "copy.deepcopy" and len(arguments) == 1:
            return _copied(arguments[0])
        if name == "itertools.permutations" and len(arguments[0]) <= _MOST_PERMUTED:
            return list(itertools.permutations(arguments[0], *arguments[1:], **keywords))
        if name == "sys.modules.get":
            return None  # a module that only a plugin would have imported before
        raise NotKnown("a call that was not followed")

    def _made(self, function: Defined, arguments: list[Any]) -> object:
        """What functions make whose shape is known; None of all others."""
        if len(arguments) != 1:
            return None
        if makes_kwargs(function) and isinstance(arguments[0], Defined):
            return kwargs_of(self, function, arguments[0])
        return wrapped(self, function, arguments[0])

    def _of_field(self, field: FieldOf, name: str) -> object:
        if name == "name":
            return field.name
        if name == "default" and field.node.value is not None:
            return self.classes.default(field.owner, field.node.value)
        raise NotKnown(f"{name} of a field")

    def _environment_default(self, variable: Instance) -> object:
        """`envs.NAME.get()` is the declared default: what holds unless somebody sets the variable."""
        if not self.classes.reads_environment(variable.owner) or not variable.arguments:
            raise NotKnown("a method that was not followed")
        return variable.arguments[0]

    def arguments(self, node: ast.Call, scope: Scope) -> tuple[list[Any], dict[str, Any]]:
        """The values of a call's arguments, by position and by name."""
        arguments = list(self._elements(node.args, scope))
        keywords: dict[str, Any] = {}
        for keyword in node.keywords:
            if keyword.arg is None:
                raise NotKnown("**")
            keywords[keyword.arg] = self._value(keyword.value, scope)
        return arguments, keywords

    def _elements(self, nodes: Iterable[ast.expr], scope: Scope) -> Iterable[Any]:
        for node in nodes:
            if isinstance(node, ast.Starred):
                yield from self.classes.iterated(self._value(node.value, scope))
            else:
                yield self._value(node, scope)

    def _dict(self, node: ast.Dict, scope: Scope) -> object:
        result: dict[Any, Any] = {}
        for key, value in zip(node.keys, node.values, strict=True):
            if key is None:
                spread: Any = self._value(value, scope)
                result.update(spread)
                continue
            folded: object = Unclear()
            if not _names_a_class(value):
                with contextlib.suppress(NotKnown):
                    folded = self._value(value, scope)
            result[self._value(key, scope)] = folded
        return result

    def _unary(self, node: ast.UnaryOp, scope: Scope) -> object:
        if isinstance(node.op, ast.Not):
            return not self.truth(node.operand, scope)
        return operations.UNARY[type(node.op)](self._value(node.operand, scope))

    def _bool(self, node: ast.BoolOp, scope: Scope) -> object:
        decides = isinstance(node.op, ast.Or)
        value: object = None
        for part in node.values:
            value = self._value(part, scope)
            if _truth(value) is decides:
                return value
        return value

    def _compare(self, node: ast.Compare, scope: Scope) -> object:
        left = self._value(node.left, scope)
        for op, part in zip(node.ops, node.comparators, strict=True):
            right = self._value(part, scope)
            if isinstance(left, External) or isinstance(right, External):
                raise NotKnown("a comparison with something from outside the tree")
            if not operations.COMPARE[type(op)](left, right):
                return False
            left = right
        return True

    def _subscript(self, node: ast.Subscript, scope: Scope) -> object:
        owner: Any = self._value(node.value, scope)
        if isinstance(node.slice, ast.Slice):
            parts = [node.slice.lower, node.slice.upper, node.slice.step]
            return owner[slice(*(None if part is None else self._value(part, scope) for part in parts))]
        key = self._value(node.slice, scope)
        if isinstance(owner, Defined):
            return self.classes.member(owner, key)
        value: object = owner[key]
        if isinstance(value, Unclear):
            raise NotKnown("an element that only a run would show")
        return value

    def _joined(self, node: ast.JoinedStr, scope: Scope) -> object:
        parts: list[str] = []
        for part in node.values:
            if isinstance(part, ast.FormattedValue):
                spec = "" if part.format_spec is None else str(self._value(part.format_spec, scope))
                parts.append(
                    operations.formatted(plain(self._value(part.value, scope)), part.conversion, spec)
                )
            else:
                parts.append(str(self._value(part, scope)))
        return "".join(parts)

    def _comprehended(self, node: ast.ListComp | ast.GeneratorExp | ast.SetComp, scope: Scope) -> list[Any]:
        results: list[Any] = []
        inner = Scope(scope.module, dict(scope.names), scope.owner)
        self._loop(node.generators, inner, lambda: results.append(self._value(node.elt, inner)))
        return results

    def _loop(self, generators: list[ast.comprehension], scope: Scope, body: Callable[[], None]) -> None:
        if not generators:
            body()
            return
        first = generators[0]
        for item in self.classes.iterated(self._value(first.iter, scope)):
            bind(first.target, item, scope)
            if all(self.truth(test, scope) for test in first.ifs):
                self._loop(generators[1:], scope, body)

    def _variable(self, variable: Variable) -> object:
        key = (variable.module.name, variable.name)
        if key not in self._variables:
            self._variables[key] = _UNBOUND  # a name that depends on itself is not known
            with contextlib.suppress(NotKnown):
                self._variables[key] = assigned(self, variable)
        value = self._variables[key]
        if value is _UNBOUND:
            raise NotKnown(variable.name)
        return value


def _copied(value: Any) -> Any:
    """A copy of lists and dicts; what stands for a part of the source is the same."""
    if isinstance(value, dict):
        return {key: _copied(element) for key, element in value.items()}
    return [_copied(element) for element in value] if isinstance(value, list) else value


def _truth(value: object) -> bool:
    if isinstance(value, External | Whole | Unclear):
        raise NotKnown("whether something from outside the tree counts as true")
    return bool(value)


def _names_a_class(node: ast.expr) -> bool:
    """Whether a name is written as classes are; tables of those are only read for their keys."""
    return isinstance(node, ast.Name) and node.id.lstrip("_")[:1].isupper() and not node.id.isupper()
