"""The parsers that a run over an engine's set-up code meets, and the functions that make or take them."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field

from assay.source.declarations import Option, Spelling
from assay.source.declaring.fold import Folder
from assay.source.declaring.module import Defined, External
from assay.source.declaring.operations import NotKnown
from assay.source.declaring.values import Scope


@dataclass(eq=False)
class Parser:
    """A parser under construction; its groups are the parser itself."""

    options: list[Option] = field(default_factory=list)
    abbreviations: bool = True
    spelling: Spelling = "plain"
    inverses: bool = False
    """Whether `--disable-x` is the opposite of `--enable-x`, and the other way round, as in vLLM 0.33."""
    positional: Option | None = None
    """The option for a word without a flag."""


@dataclass(eq=False)
class Parsed:
    """What `parser.parse_args(…)` returns."""

    parser: Parser


def rewrites_words(owner: Defined) -> bool:
    """Whether a class of parsers rewrites words first, as vLLM's `FlexibleArgumentParser` does."""
    text = ast.unparse(owner.node)
    return all(
        part in text for part in ("'_', '-'", "create_nested_dict", "--optimization-level", "'--config'")
    )


def pairs_switches(owner: Defined) -> bool:
    """Whether the module of a class of parsers gives switches opposites by `--enable-` and `--disable-`."""
    return any(
        "_inverse_prefixes = {'--enable-': '--disable-'" in ast.unparse(n) for n in owner.module.tree.body
    )


def makes_parser(folder: Folder, function: Defined) -> bool:
    """Whether a function's own body makes an argparse parser."""
    nodes = list(ast.walk(function.node))
    made = [n for n in nodes if isinstance(n, ast.Call) and ast.unparse(n.func).endswith("ArgumentParser")]
    scope = Scope(function.module)
    for node in nodes if made else ():
        if not isinstance(node, ast.Import | ast.ImportFrom):
            continue
        for alias in node.names:
            bound = alias.asname or alias.name.partition(".")[0]
            scope.names[bound] = folder.imported(function.module, node, alias)
    for node in made:
        if isinstance(node, ast.Call):
            try:
                found = folder.value(node.func, scope)
            except NotKnown:
                continue
            line = folder.classes.line(found) if isinstance(found, Defined) else [found]
            if External("argparse.ArgumentParser") in line:
                return True
    return False
