"""The parameters of a function and their defaults."""

from __future__ import annotations

import ast


def parameters_of(node: ast.FunctionDef) -> list[ast.arg]:
    """All named parameters of a function."""
    return [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]


def defaults_of(node: ast.FunctionDef) -> list[tuple[str, ast.expr]]:
    """The parameters that have a default, with it."""
    positional = [*node.args.posonlyargs, *node.args.args]
    count = len(node.args.defaults)
    pairs = list(zip([a.arg for a in positional[len(positional) - count :]], node.args.defaults, strict=True))
    extra = zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True)
    return pairs + [(a.arg, default) for a, default in extra if default is not None]
