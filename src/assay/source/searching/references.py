"""Which occurrences of a name may stand for a certain function or class."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from assay.source.declaring.module import Defined, Module, absolute
from assay.source.searching.index import FunctionNode, Owner
from assay.source.searching.occurrences import Occurrences
from assay.source.searching.scope import Class, Mention

Definition = FunctionNode | ast.ClassDef
_LOADS = ("name-load", "attribute-load")


def last_name(node: ast.expr) -> str | None:
    """`c` of `c`, `a.b.c`, `a.b.c(…)` and `a.b.c[…]`."""
    while isinstance(node, ast.Call | ast.Subscript):
        node = node.func if isinstance(node, ast.Call) else node.value
    if isinstance(node, ast.Name):
        return node.id
    return node.attr if isinstance(node, ast.Attribute) else None


class References:
    """Follows the names of definitions through imports; leaves out only what certainly is something else."""

    def __init__(self, occurrences: Occurrences) -> None:
        self._at = occurrences
        self._found: dict[int, tuple[Mention, ...]] = {}
        self._classes: dict[str, tuple[Class, ...]] = {}

    def to(self, module: Module, node: Definition) -> tuple[Mention, ...]:
        """Loads of names and attributes that may stand for a function or class of that module."""
        if id(node) not in self._found:
            self._found[id(node)] = tuple(self._search(module, node))
        return self._found[id(node)]

    def classes(self, name: str) -> tuple[Class, ...]:
        """All classes of that name."""
        if name not in self._classes:
            modules = map(self._at.modules.module, self._at.files.with_class(name))
            mentions = (mention for module in modules if module for mention in self._at.within(module, name))
            self._classes[name] = tuple(
                Class(mention.module, mention.node)
                for mention in mentions
                if isinstance(mention.node, ast.ClassDef)
            )
        return self._classes[name]

    def subclasses(self, module: Module, node: ast.ClassDef) -> tuple[Class, ...]:
        """The classes that may derive from it, directly or not, by the names of their bases."""
        found: dict[int, Class] = {id(node): Class(module, node)}
        pending = [found[id(node)]]
        while pending:
            base = pending.pop()
            for mention in (*self.to(base.module, base.node), *self._renamed(base)):
                derived = self._deriving(mention)
                if derived is not None and id(derived) not in found:
                    found[id(derived)] = Class(mention.module, derived)
                    pending.append(found[id(derived)])
        return tuple(found.values())[1:]

    def bases(self, cls: Class) -> Iterator[tuple[str | None, tuple[Class, ...]]]:
        """Of each base the last part of its name, and the classes of the tree that it may be."""
        for base in cls.node.bases:
            name = last_name(base)
            named = self.classes(name) if name else ()
            found = self._at.modules.lookup(cls.module, name) if name and isinstance(base, ast.Name) else None
            if isinstance(found, Defined) and isinstance(found.node, ast.ClassDef):
                named = (*named, Class(found.module, found.node))  # it may be imported under another name
            yield name, named

    def owner(self, module: Module, node: Definition) -> Owner:
        """What the name is bound in: its class, its function, or the module."""
        index = self._at.index(module)
        owner = index.owner(node) or index.tree
        is_global = any(isinstance(other, ast.Global) for other in index.names.get(node.name, ()))
        return index.tree if is_global and isinstance(owner, FunctionNode) else owner

    def is_base(self, mention: Mention) -> bool:
        """Whether it names the base of a class."""
        return self._deriving(mention) is not None

    def _search(self, module: Module, node: Definition) -> Iterator[Mention]:
        owner = self.owner(module, node)
        at_top = isinstance(owner, ast.Module)
        importing = self._importing(node) if at_top else frozenset()
        for mention in self._at.mentions(node.name):
            if mention.kind == "attribute-load":
                if not isinstance(owner, FunctionNode):
                    yield mention
            elif mention.kind == "name-load" and (
                mention.module.name in importing
                or (mention.module is module and (at_top or self._sees(owner, mention)))
            ):
                yield mention
        if at_top:
            yield from self._aliased(node)

    def _sees(self, owner: Owner, mention: Mention) -> bool:
        """Whether a bare name can mean what is bound in a function, or in the body of a class."""
        index = self._at.index(mention.module)
        if isinstance(owner, ast.ClassDef):
            return index.owner(mention.node) is owner
        return any(parent is owner for parent, _ in index.ancestors(mention.node))

    def _importing(self, node: Definition) -> frozenset[str]:
        """Modules that may import a definition under its own name."""
        names: set[str] = set()
        for mention in self._at.mentions(node.name):
            own_name = isinstance(mention.node, ast.alias) and mention.node.asname in (None, node.name)
            if self._has_star(mention.module) or (own_name and self._imports(mention, node)):
                names.add(mention.module.name)
        return frozenset(names)

    def _imports(self, mention: Mention, node: Definition) -> bool:
        """Whether an import of the name may be of this definition."""
        statement, alias = self._at.index(mention.module).parent(mention.node), mention.node
        return (
            isinstance(alias, ast.alias)
            and isinstance(statement, ast.ImportFrom)
            and alias.name == node.name
            and not self._elsewhere(mention.module, statement, node)
        )

    def _has_star(self, module: Module) -> bool:
        index = self._at.index(module)
        imports = (index.parent(alias) for alias in index.names.get("*", ()))
        sources = (absolute(module, node) for node in imports if isinstance(node, ast.ImportFrom))
        return any(source is None or self._at.modules.has(source) for source in sources)

    def _elsewhere(self, module: Module, statement: ast.ImportFrom, node: Definition) -> bool:
        """Whether an import of that name certainly gives another definition."""
        source = absolute(module, statement)
        if source is None:
            return False
        if not self._at.modules.has(source):
            return True
        imported = self._at.modules.module(source)
        bound = imported.bindings.get(node.name, ()) if imported else ()
        return (
            len(bound) == 1
            and bound[0].certain
            and isinstance(bound[0].node, Definition)
            and bound[0].node is not node
        )

    def _aliased(self, node: Definition) -> Iterator[Mention]:
        """Loads of other names under which modules import a definition, and others from these."""
        seen: set[tuple[str, str]] = set()
        for mention in self._at.mentions(node.name):
            alias = mention.node
            if not isinstance(alias, ast.alias) or alias.asname in (None, node.name):
                continue
            key = mention.module.name, alias.asname or ""
            if key not in seen and self._imports(mention, node):
                seen.add(key)
                yield from self._loads(mention.module, key[1])
                yield from self._handed_on(node, mention.module, key[1])

    def _handed_on(self, node: Definition, source: Module, name: str) -> Iterator[Mention]:
        """Loads, in other modules, of the name under which `source` imports a definition."""
        importers = {
            mention.module.name
            for mention in self._at.mentions(name)
            if self._has_star(mention.module) or self._comes_from(mention, source, node)
        }
        for mention in self._at.mentions(name):
            if mention.module is not source and (
                mention.kind == "attribute-load"
                or (mention.kind == "name-load" and mention.module.name in importers)
            ):
                yield mention

    def _comes_from(self, mention: Mention, source: Module, node: Definition) -> bool:
        statement, alias = self._at.index(mention.module).parent(mention.node), mention.node
        if not isinstance(statement, ast.ImportFrom) or not isinstance(alias, ast.alias):
            return False
        imported = absolute(mention.module, statement)
        found = self._at.modules.imported(imported, alias.name) if imported else None
        return imported in (None, source.name) or (isinstance(found, Defined) and found.node is node)

    def _loads(self, module: Module, name: str) -> Iterator[Mention]:
        return (mention for mention in self._at.within(module, name) if mention.kind in _LOADS)

    def _renamed(self, base: Class) -> Iterator[Mention]:
        """Loads of variables that a class is assigned to, in the module that does so."""
        seen: set[tuple[str, str]] = set()
        for mention in self.to(base.module, base.node):
            statement = self._at.index(mention.module).parent(mention.node)
            for target in statement.targets if isinstance(statement, ast.Assign) else ():
                if isinstance(target, ast.Name) and (mention.module.name, target.id) not in seen:
                    seen.add((mention.module.name, target.id))
                    yield from self._loads(mention.module, target.id)

    def _deriving(self, mention: Mention) -> ast.ClassDef | None:
        for parent, child in self._at.index(mention.module).ancestors(mention.node):
            if isinstance(parent, ast.ClassDef) and child in parent.bases:
                return parent
            if isinstance(parent, ast.stmt):
                return None
        return None
