"""The parsers that a run over an engine's set-up code meets, and the functions that make or take them."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field

from assay.source.declarations import Option
from assay.source.declaring.fold import Folder
from assay.source.declaring.module import Defined, External
from assay.source.declaring.operations import NotKnown
from assay.source.declaring.values import Scope


@dataclass(eq=False)
class Parser:
    """A parser under construction; its groups are the parser itself."""

    options: list[Option] = field(default_factory=list)
    abbreviations: bool = True


@dataclass(eq=False)
class Parsed:
    """What `parser.parse_args(…)` returns."""

    parser: Parser


def makes_parser(folder: Folder, function: Defined) -> bool:
    """Whether a function's own body makes an argparse parser."""
    for node in ast.walk(function.node):
        if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("ArgumentParser"):
            try:
                found = folder.value(node.func, Scope(function.module))
            except NotKnown:
                continue
            line = folder.classes.line(found) if isinstance(found, Defined) else [found]
            if External("argparse.ArgumentParser") in line:
                return True
    return False
