"""Where in its module a node stands: its function, its class, and what must hold for it to be reached."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

from assay.source.declaring.module import Module
from assay.source.searching.conditions import Condition, conditions
from assay.source.searching.index import FunctionNode, Index

MentionKind = Literal[
    "attribute-load",
    "attribute-store",
    "name-load",
    "name-store",
    "string",
    "text",
    "keyword",
    "parameter",
    "definition",
    "field",
    "import",
]
"""How a word occurs.

`x.word` and `word` loaded or stored (`x.word += 1` is both; `del`, `global`, `except … as word` and captures
of patterns count as stored); `string` a constant that is the word; `text` a constant that holds it as a whole
word, or part of an f-string that does; `keyword` the name of an argument in a call; `parameter` that of a
function; `definition` of a function or class; `field` annotated in a class body; `import` part of what an
import statement names.
"""

CallKind = Literal["call", "reference", "property", "construction", "annotation", "decorator", "string"]
"""How a place may lead to a function.

`call` the name is called; `reference` it is used as a value and may be called by whoever gets it; `property`
the access itself calls; `construction` the object is made that Python or a library then calls (`__len__`,
`forward`); `annotation` the class is the type of a field, or of a parameter of a decorated function, from
which pydantic, msgspec or FastAPI may make objects; `decorator` the function is handed to one of its own or
of its class; `string` its name as a text, as for `getattr`.
"""


@dataclass(frozen=True, eq=False)
class Scope:
    """What surrounds a node."""

    module: Module
    function: FunctionNode | None
    """The innermost `def` in whose body the node stands; a lambda belongs to the `def` around it. None at the
    level of module or class."""
    cls: ast.ClassDef | None
    """The innermost class around that function, or around the node where there is no function."""
    qualname: str
    """As Python names it: `Class.method`, `f.<locals>.g`, `<module>`."""
    _index: Index = field(repr=False)
    _node: ast.AST = field(repr=False)

    @cached_property
    def conditions(self) -> tuple[Condition, ...]:
        """All that must have held, within that function or else the module, outermost first.

        Each held when it was evaluated; names in it may have been assigned since.
        """
        return conditions(self._index, self._node)


@dataclass(frozen=True, eq=False)
class Mention:
    """One occurrence of a word."""

    module: Module
    node: ast.AST
    kind: MentionKind
    scope: Scope


@dataclass(frozen=True, eq=False)
class Call:
    """A place that may lead to a function."""

    module: Module
    node: ast.AST
    """The name or attribute itself."""
    kind: CallKind
    scope: Scope
    call: ast.Call | None = None
    """The call whose function the node is; None for all but `call` and some of `construction`."""


@dataclass(frozen=True)
class Class:
    """A class of the tree."""

    module: Module
    node: ast.ClassDef


def scope_of(module: Module, index: Index, node: ast.AST) -> Scope:
    """What surrounds a node; decorators, defaults and annotations stand outside their `def`."""
    function: FunctionNode | None = None
    cls: ast.ClassDef | None = None
    names: list[str] = []
    for parent, child in index.ancestors(node):
        if not isinstance(parent, FunctionNode | ast.ClassDef) or not _inside(parent, child, node):
            continue
        if isinstance(parent, ast.ClassDef):
            cls = cls or parent
        else:
            function = function or parent
            names += ["<locals>"] if names else []
        names.append(parent.name)
    return Scope(module, function, cls, ".".join(reversed(names)) or "<module>", index, node)


def _inside(parent: ast.AST, child: ast.AST, node: ast.AST) -> bool:
    """Whether a child of a `def` or class is of its inside: its body, or the name of a parameter."""
    if isinstance(child, ast.stmt):
        return True
    return isinstance(node, ast.arg) and child is getattr(parent, "args", None)
