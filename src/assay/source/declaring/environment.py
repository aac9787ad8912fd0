"""Reads an engine's table of environment variables, and which old names it replaces; SGLang's is a class."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence

from assay._value import Value
from assay.source.declarations import Constant, EnvironmentVariable, Site
from assay.source.declaring.fold import Folder
from assay.source.declaring.module import Defined, External, Module
from assay.source.declaring.operations import NotKnown
from assay.source.declaring.statements import execute
from assay.source.declaring.values import Scope, bind
from assay.source.declaring.vllm_environment import environment_table, replaced_by_options

_MAX_CALLS_DEEP = 4
_FLAG = re.compile(r"--[A-Za-z][\w-]*(?:=[\w.-]+)?")


class Environment(Value):
    """What the engine's own table of environment variables holds."""

    variables: tuple[EnvironmentVariable, ...] = ()
    """The declared variables, in order."""
    deprecated: tuple[tuple[str, str, Site], ...] = ()
    """(old name, what to use instead, where the source says so)."""


def read_environment(folder: Folder, module_name: str) -> Environment:
    """The table of that module; empty if the tree has no such module."""
    module = folder.tree.module(module_name)
    if module is None:
        return Environment()
    if table := environment_table(folder, module):
        return Environment(variables=table, deprecated=replaced_by_options(folder))
    variables: list[EnvironmentVariable] = []
    deprecated: list[tuple[str, str, Site]] = []
    for node in module.tree.body:
        if isinstance(node, ast.ClassDef):
            for variable, alias in _table(folder, Defined(module, node)):
                variables.append(variable)
                if alias:
                    deprecated.append((alias, variable.name, variable.declared_at))
    found = _Deprecations(folder, module)
    found.block(module.tree.body, Scope(module), 0)
    return Environment(variables=tuple(variables), deprecated=(*deprecated, *found.pairs))


def _table(folder: Folder, owner: Defined) -> Iterator[tuple[EnvironmentVariable, str]]:
    """Each `NAME = Class(default)` of a class body whose class reads the environment, and its old name."""
    reads: dict[str, bool] = {}
    for node in owner.node.body:
        if not isinstance(node, ast.Assign | ast.AnnAssign) or not isinstance(node.value, ast.Call):
            continue
        target = node.targets[0] if isinstance(node, ast.Assign) else node.target
        written = ast.unparse(node.value.func)
        if written not in reads:
            reads[written] = _reads_environment(folder, owner.module, node.value.func)
        if isinstance(target, ast.Name) and reads[written]:
            yield _variable(folder, owner, target.id, node, node.value)


def _variable(
    folder: Folder, owner: Defined, name: str, node: ast.stmt, call: ast.Call
) -> tuple[EnvironmentVariable, str]:
    keywords = {keyword.arg: keyword.value for keyword in call.keywords}
    expr = call.args[0] if call.args else keywords.get("default")
    scope = Scope(owner.module, owner=owner)
    default = Constant(known=False) if expr is None else folder.constant(expr, scope)
    old = keywords.get("deprecated_name")
    alias = folder.constant(old, scope).value if old is not None else ""
    variable = EnvironmentVariable(
        name=name, type=ast.unparse(call.func), default=default, declared_at=owner.module.site(node)
    )
    return variable, alias if isinstance(alias, str) else ""


def _reads_environment(folder: Folder, module: Module, func: ast.expr) -> bool:
    try:
        found = folder.value(func, Scope(module))
    except NotKnown:
        return False
    if not isinstance(found, Defined) or not isinstance(found.node, ast.ClassDef):
        return False
    return folder.classes.reads_environment(found)


class _Deprecations:
    """Follows module-level code that looks for old names in the environment."""

    def __init__(self, folder: Folder, module: Module) -> None:
        self._folder = folder
        self._module = module
        self.pairs: list[tuple[str, str, Site]] = []

    def block(self, statements: Sequence[ast.stmt], scope: Scope, depth: int) -> None:
        """Follow statements in order."""
        for statement in statements:
            if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
                self._call(statement.value, scope, depth)
            elif isinstance(statement, ast.For):
                self._for(statement, scope, depth)
            elif isinstance(statement, ast.If):
                self._if(statement, scope, statement)
            elif isinstance(statement, ast.Assign | ast.AnnAssign) and depth:
                try:
                    execute(self._folder, statement, scope)
                except NotKnown:
                    continue

    def _call(self, call: ast.Call, scope: Scope, depth: int) -> None:
        function = self._folded(call.func, scope)
        if depth >= _MAX_CALLS_DEEP or not isinstance(function, Defined):
            return
        node = function.node
        if not isinstance(node, ast.FunctionDef) or function.module is not self._module:
            return
        names = [argument.arg for argument in node.args.args]
        values = dict.fromkeys(names[len(names) - len(node.args.defaults) :], None)
        given: dict[str, object] = dict(zip(names, (self._folded(a, scope) for a in call.args), strict=False))
        given |= {k.arg: self._folded(k.value, scope) for k in call.keywords if k.arg}
        inner = Scope(self._module, {**values, **given})
        for statement in node.body:
            if isinstance(statement, ast.If):
                self._if(statement, inner, call if call.args else statement)
        if not call.args:
            self.block([s for s in node.body if not isinstance(s, ast.If)], inner, depth + 1)

    def _for(self, statement: ast.For, scope: Scope, depth: int) -> None:
        if ast.unparse(statement.iter) == "os.environ.items()":
            self._prefix(statement)
            return
        try:
            items = self._folder.classes.iterated(self._folder.value(statement.iter, scope))
            for item in items:
                bind(statement.target, item, scope)
                self.block(statement.body, scope, depth)
        except NotKnown:
            return

    def _if(self, statement: ast.If, scope: Scope, where: ast.AST) -> None:
        """`if OLD in os.environ: …`."""
        test = statement.test
        if not isinstance(test, ast.Compare) or not isinstance(test.ops[0], ast.In):
            return
        old = self._folded(test.left, scope)
        if isinstance(old, str) and ast.unparse(test.comparators[0]) == "os.environ":
            self.pairs.append((old, self._instead(statement.body, scope), self._module.site(where)))

    def _instead(self, body: Sequence[ast.stmt], scope: Scope) -> str:
        """The name that is set instead, or the flag or text that the warning names."""
        nodes = [node for statement in body for node in ast.walk(statement)]
        for node in nodes:
            if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Subscript):
                name = self._folded(node.targets[0].slice, scope)
                if isinstance(name, str):
                    return name
        for node in nodes:
            if isinstance(node, ast.JoinedStr):
                text = self._folded(node, scope)
                if isinstance(text, str):
                    flag = _FLAG.search(text)
                    return flag.group() if flag else ""
        return ""

    def _prefix(self, statement: ast.For) -> None:
        """`new = key.replace("OLD_", "NEW_", 1)` for every key that begins with `OLD_`."""
        for node in ast.walk(statement):
            if (
                isinstance(node, ast.Call)
                and isinstance(node.func, ast.Attribute)
                and node.func.attr == "replace"
            ):
                parts = [self._folded(argument, Scope(self._module)) for argument in node.args[:2]]
                if len(parts) == 2 and isinstance(parts[0], str) and isinstance(parts[1], str):
                    self.pairs.append((parts[0], parts[1], self._module.site(node)))

    def _folded(self, expr: ast.expr, scope: Scope) -> object:
        try:
            return self._folder.value(expr, scope)
        except NotKnown:
            return External("")
