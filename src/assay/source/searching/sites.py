"""Where a word occurs in the Python files of a package, and what may lead to a function of it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from assay.source.declaring.module import Module, Modules
from assay.source.searching.callers import Callers
from assay.source.searching.files import Files, Hit
from assay.source.searching.index import FunctionNode
from assay.source.searching.occurrences import Occurrences
from assay.source.searching.references import References
from assay.source.searching.scope import Call, Class, Mention, Scope, scope_of


class Sites:
    """An index over a package that grows as it is asked: bytes are read once, a module is parsed when needed.

    Names are found as they are spelt: one that is put together (`"enable_" + name`) is not.
    """

    def __init__(self, modules: Modules, package: str, under: str | None = None) -> None:
        """`under` narrows the search to a folder, as a path from the root of the tree: `sglang/srt`."""
        self._modules = modules
        self._files = Files(modules.root, under or package.replace(".", "/"))
        self._occurrences = Occurrences(modules, self._files)
        self._references = References(self._occurrences)
        self._callers = Callers(self._occurrences, self._references)

    @property
    def unsearched(self) -> tuple[str, ...]:
        """Files that are too large to be searched: while there are any, no word is known to be nowhere."""
        return self._files.unsearched

    def holding(self, word: str) -> tuple[str, ...]:
        """Dotted names of the modules whose bytes hold the word as a whole identifier, comments included."""
        return self._files.holding(word)

    def matching(self, pattern: re.Pattern[bytes]) -> Iterator[Hit]:
        """Every match of a pattern in the files' bytes, comments included."""
        return self._files.matching(pattern)

    def unread(self, word: str) -> tuple[str, ...]:
        """Those of `holding` that cannot be parsed, and in which no occurrence can be found."""
        return self._occurrences.unread(word)

    def mentions(self, word: str) -> tuple[Mention, ...]:
        """Every occurrence of the word in code, by file, line and column; docstrings are none."""
        return self._occurrences.mentions(word)

    def callers(self, module: Module, function: FunctionNode) -> tuple[Call, ...]:
        """All places that may lead to a function of that module by name; more than do, by intention.

        Not among them: what Python or a library does with no name to be seen, except making objects
        (`construction`) and what decorators get.
        """
        return self._callers.of(module, function)

    def constructions(self, module: Module, node: ast.ClassDef) -> tuple[Call, ...]:
        """All places that may make an object of that class, or of one that derives from it, by name."""
        return self._callers.making(module, node)

    def classes(self, name: str) -> tuple[Class, ...]:
        """All classes of that name."""
        return self._references.classes(name)

    def subclasses(self, module: Module, node: ast.ClassDef) -> tuple[Class, ...]:
        """The classes that may derive from one of that module, directly or not, by names of bases."""
        return self._references.subclasses(module, node)

    def scope(self, module: Module, node: ast.AST) -> Scope:
        """What surrounds any node of a module: of a `def`, where and when it is defined."""
        return scope_of(module, self._occurrences.index(module), node)

    def parent(self, module: Module, node: ast.AST) -> ast.AST | None:
        """The node around a node; None for the module itself."""
        return self._occurrences.index(module).parent(node)
