"""Finds the occurrences of a word in the syntax trees of the modules that hold it."""

from __future__ import annotations

import ast
import gc
import re
from collections.abc import Iterator

from assay.source.declaring.module import Module, Modules
from assay.source.searching.files import Files
from assay.source.searching.index import Index
from assay.source.searching.scope import Mention, MentionKind, scope_of

_KIND: dict[type[ast.AST], MentionKind] = {
    ast.keyword: "keyword",
    ast.arg: "parameter",
    ast.FunctionDef: "definition",
    ast.AsyncFunctionDef: "definition",
    ast.ClassDef: "definition",
    ast.alias: "import",
    ast.ImportFrom: "import",
    ast.MatchClass: "attribute-load",
}
"""Kinds that follow from the node alone; what is in no table binds a name."""


class Occurrences:
    """Occurrences of words, and the index of each module that was needed for them."""

    def __init__(self, modules: Modules, files: Files) -> None:
        self.modules = modules
        self.files = files
        self._indexes: dict[str, Index] = {}
        self._mentions: dict[str, tuple[Mention, ...]] = {}

    def index(self, module: Module) -> Index:
        """Parents, names and texts of a module."""
        if module.name not in self._indexes:
            collecting = gc.isenabled()
            gc.disable()  # as for parsing: nothing of an index is garbage
            try:
                self._indexes[module.name] = Index(module.tree)
            finally:
                if collecting:
                    gc.enable()
        return self._indexes[module.name]

    def mentions(self, word: str) -> tuple[Mention, ...]:
        """Every occurrence of the word, by file, line and column."""
        if word not in self._mentions:
            found: list[Mention] = []
            for name in self.files.holding(word):
                module = self.modules.module(name)
                if module is not None:
                    found += self.within(module, word)
            self._mentions[word] = tuple(found)
        return self._mentions[word]

    def within(self, module: Module, word: str) -> list[Mention]:
        """Every occurrence of the word in one module."""
        index = self.index(module)
        found = [
            Mention(module, mentioned, kind, scope_of(module, index, mentioned))
            for node in index.names.get(word, ())
            for mentioned, kind in _kinds(index, node)
        ]
        found += self._texts(module, index, word)
        return sorted(found, key=_position)

    def unread(self, word: str) -> tuple[str, ...]:
        """Modules that hold the word and cannot be parsed."""
        return tuple(name for name in self.files.holding(word) if self.modules.module(name) is None)

    def _texts(self, module: Module, index: Index, word: str) -> Iterator[Mention]:
        whole = re.compile(rf"(?<![A-Za-z0-9_]){re.escape(word)}(?![A-Za-z0-9_])")
        for node, text in index.texts():
            if word not in text or not whole.search(text):
                continue
            parent = index.parent(node)
            if isinstance(parent, ast.Expr):
                continue  # a docstring, or a comment written as a string
            exact = text == word and not isinstance(parent, ast.JoinedStr)
            yield Mention(module, node, "string" if exact else "text", scope_of(module, index, node))


def _kinds(index: Index, node: ast.AST) -> Iterator[tuple[ast.AST, MentionKind]]:
    """What a node that holds a word does with it; most do one thing."""
    if not isinstance(node, ast.Name | ast.Attribute):
        yield node, _KIND.get(node.__class__, "name-store")
        return
    is_name, parent = isinstance(node, ast.Name), index.parent(node)
    load: MentionKind = "name-load" if is_name else "attribute-load"
    store: MentionKind = "name-store" if is_name else "attribute-store"
    if isinstance(node.ctx, ast.Load):
        yield node, load
    elif is_name and isinstance(parent, ast.AnnAssign) and isinstance(index.parent(parent), ast.ClassDef):
        yield parent, "field"
    else:
        if isinstance(parent, ast.AugAssign):
            yield node, load
        yield node, store


def _position(mention: Mention) -> tuple[int, int]:
    return getattr(mention.node, "lineno", 0), getattr(mention.node, "col_offset", 0)
