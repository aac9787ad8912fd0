"""Carries out simple statements on names that folding works with, such as `X.append(…)` at module level."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from assay.source.declaring import operations
from assay.source.declaring.module import Module, Variable
from assay.source.declaring.operations import NotKnown
from assay.source.declaring.values import Scope, bind, own

if TYPE_CHECKING:
    from assay.source.declaring.fold import Folder

FAULTS = (TypeError, ValueError, ArithmeticError, LookupError, AttributeError, RecursionError, MemoryError)
"""What working on the values of a source can raise."""


def assigned(folder: Folder, variable: Variable) -> object:
    """The value of a module-level name after all statements that bind or change it.

    Raises:
        NotKnown: one of them stands under a condition, or does something that only a run would show.
    """
    scope = Scope(variable.module)
    for binding in variable.module.bindings[variable.name]:
        if binding.certain or _is_carried_out(folder, variable.module, binding.node):
            execute(folder, binding.node, scope)
    return scope.names[variable.name]


def _is_carried_out(folder: Folder, module: Module, statement: ast.stmt) -> bool:
    """Whether a statement under one module-level `if` is carried out.

    Raises:
        NotKnown: the condition cannot be told, or it stands elsewhere.
    """
    for node in module.tree.body:
        if isinstance(node, ast.If) and statement in (*node.body, *node.orelse):
            return folder.truth(node.test, Scope(module)) is (statement in node.body)
    raise NotKnown("bound under a condition")


def returned(folder: Folder, body: Sequence[ast.stmt], scope: Scope) -> tuple[object] | None:
    """What following statements return, in a tuple; None if they return nothing.

    Raises:
        NotKnown: one of them does something that cannot be told without running it.
    """
    for statement in body:
        if isinstance(statement, ast.Return):
            return (None if statement.value is None else folder.value(statement.value, scope),)
        if isinstance(statement, ast.If):
            branch = statement.body if folder.truth(statement.test, scope) else statement.orelse
            value = returned(folder, branch, scope)
            if value is not None:
                return value
        elif isinstance(statement, ast.Import | ast.ImportFrom):
            for alias in statement.names:
                bound = alias.asname or alias.name.partition(".")[0]
                scope.names[bound] = folder.imported(scope.module, statement, alias)
        else:
            execute(folder, statement, scope)
    return None


def execute(folder: Folder, statement: ast.stmt, scope: Scope) -> None:
    """Carry out a simple statement on the scope's own names.

    Raises:
        NotKnown: it does something that cannot be told without running it.
    """
    if isinstance(statement, ast.Assign):
        value = folder.value(statement.value, scope)
        for target in statement.targets:
            _store(folder, target, value, scope)
    elif isinstance(statement, ast.AnnAssign) and statement.value is not None:
        _store(folder, statement.target, folder.value(statement.value, scope), scope)
    elif isinstance(statement, ast.AugAssign) and isinstance(statement.target, ast.Name | ast.Subscript):
        combined = ast.BinOp(statement.target, statement.op, statement.value)
        _store(folder, statement.target, folder.value(combined, scope), scope)
    elif isinstance(statement, ast.Delete):
        for target in statement.targets:
            _remove(folder, target, scope)
    elif isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
        _change(folder, statement.value, scope)
    else:
        raise NotKnown("a statement that was not followed")


def _store(folder: Folder, target: ast.expr, value: object, scope: Scope) -> None:
    if not isinstance(target, ast.Subscript):
        bind(target, own(value), scope)
        return
    owner: Any = folder.value(target.value, scope)
    key = folder.value(target.slice, scope)
    try:
        owner[key] = value
        operations.bounded(owner)
    except FAULTS as error:
        raise NotKnown(str(error)) from error


def _remove(folder: Folder, target: ast.expr, scope: Scope) -> None:
    """`del x[key]`."""
    if not isinstance(target, ast.Subscript):
        raise NotKnown("a name that is deleted")
    owner: Any = folder.value(target.value, scope)
    try:
        del owner[folder.value(target.slice, scope)]
    except FAULTS as error:
        raise NotKnown(str(error)) from error


def _change(folder: Folder, call: ast.Call, scope: Scope) -> None:
    if not isinstance(call.func, ast.Attribute):
        raise NotKnown("a call that was not followed")
    owner = folder.value(call.func.value, scope)
    if isinstance(owner, list | dict | set):
        arguments, keywords = folder.arguments(call, scope)
        try:
            operations.change(owner, call.func.attr, arguments, keywords)
        except FAULTS as error:
            raise NotKnown(str(error)) from error
