"""Understands how an engine merges a file of arguments into its command line, from its source."""

from __future__ import annotations

import ast

from assay.source.declarations import ConfigRules
from assay.source.declaring.fold import Folder
from assay.source.declaring.module import Defined
from assay.source.declaring.operations import NotKnown
from assay.source.declaring.values import Scope

_CHECKED = frozenset({"_extract_config_file_path", "_validate_yaml_file", "_add_list_arg", "_add_scalar_arg"})


def config_of(folder: Folder, function: Defined) -> tuple[str, ConfigRules]:
    """The option that names the file, or an empty text, and the rules; from the parser's set-up."""
    option = _option(function)
    if not option:
        return "", "none"
    merger = _merger(folder, function)
    return option, "opaque" if merger is None else _rules(merger)


def _option(function: Defined) -> str:
    """The flag of a test `"--flag" in argv`."""
    for node in ast.walk(function.node):
        if (
            isinstance(node, ast.Compare)
            and isinstance(node.ops[0], ast.In)
            and isinstance(node.left, ast.Constant)
            and str(node.left.value).startswith("--")
        ):
            return str(node.left.value)
    return ""


def _merger(folder: Folder, function: Defined) -> Defined | None:
    """The class with a method `merge_…` that the function uses."""
    scope = Scope(function.module)
    for node in ast.walk(function.node):
        if isinstance(node, ast.ImportFrom):
            for alias in node.names:
                scope.names[alias.asname or alias.name] = folder.tree.follow(function.module, node, alias)
    for node in ast.walk(function.node):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            try:
                found = folder.value(node.func, scope)
            except NotKnown:
                continue
            if isinstance(found, Defined) and "merge_config_with_args" in _methods(found):
                return found
    return None


def _rules(merger: Defined) -> ConfigRules:
    methods = _methods(merger)
    if not methods.keys() >= _CHECKED or "config_args + before_config + after_config" not in ast.unparse(
        merger.node
    ):
        return "opaque"
    scalar, boolean = methods["_add_scalar_arg"], methods.get("_add_boolean_arg", "")
    if "args.extend([f'--{key}', str(value)])" not in scalar:
        return "opaque"
    if "self.unsupported_actions" in ast.unparse(merger.node):
        typed = "if key_norm in self.store_true_actions:\n        if value:" in boolean
        return _typed(methods) if typed else "opaque"
    plain = "if key in self.boolean_actions:" in boolean and "if value:" in boolean
    return "plain" if plain else "opaque"


def _typed(methods: dict[str, str]) -> ConfigRules:
    """Which of the typed rules: by what becomes of mappings, and which names of an option are keys."""
    if "_add_scalar_arg(args, key, json.dumps(value))" not in methods.get("_convert_config_to_args", ""):
        return "typed"
    return "any-flag" if "_config_keys(" in methods.get("__init__", "") else "typed-json"


def _methods(found: Defined) -> dict[str, str]:
    return {node.name: ast.unparse(node) for node in found.node.body if isinstance(node, ast.FunctionDef)}
