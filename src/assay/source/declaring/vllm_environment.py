"""Reads vLLM's table of environment variables, `environment_variables = {"NAME": …}` in `vllm/envs.py`.

Types and defaults are those that the module states for type checkers, `NAME: int = 60` under `TYPE_CHECKING`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from assay.source.declarations import Constant, EnvironmentVariable, Site
from assay.source.declaring.operations import NotKnown
from assay.source.declaring.values import Scope

if TYPE_CHECKING:
    from assay.source.declaring.fold import Folder
    from assay.source.declaring.module import Module

_TABLE = "environment_variables"


def environment_table(folder: Folder, module: Module) -> tuple[EnvironmentVariable, ...]:
    """The variables of that module's table, in order; empty if it has none."""
    stated = {node.target.id: node for node in _stated(module) if isinstance(node.target, ast.Name)}
    return tuple(
        _variable(folder, module, str(key.value), key, stated.get(str(key.value)))
        for binding in module.bindings.get(_TABLE, ())
        if isinstance(table := getattr(binding.node, "value", None), ast.Dict)
        for key in table.keys
        if isinstance(key, ast.Constant) and isinstance(key.value, str)
    )


def replaced_by_options(folder: Folder) -> tuple[tuple[str, str, Site], ...]:
    """(old name, option to use instead, where), of `get_from_deprecated_env_if_set(name, until, field)`."""
    found = []
    for module in folder.tree.parsed():
        for node in ast.walk(module.tree):
            if not isinstance(node, ast.Call) or not ast.unparse(node.func).startswith(
                "get_from_deprecated_env"
            ):
                continue
            try:
                name, *_, field = (folder.value(each, Scope(module)) for each in node.args)
            except (NotKnown, ValueError):
                continue
            found.append((str(name), f"--{str(field).replace('_', '-')}", module.site(node)))
    return tuple(found)


def _stated(module: Module) -> Iterator[ast.AnnAssign]:
    for node in module.tree.body:
        if isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING"):
            yield from (each for each in node.body if isinstance(each, ast.AnnAssign))


def _variable(
    folder: Folder, module: Module, name: str, key: ast.Constant, stated: ast.AnnAssign | None
) -> EnvironmentVariable:
    default = Constant(known=False)
    if stated is not None and stated.value is not None:
        default = folder.constant(stated.value, Scope(module))
    kind = "" if stated is None else ast.unparse(stated.annotation)
    return EnvironmentVariable(name=name, type=kind, default=default, declared_at=module.site(key))
