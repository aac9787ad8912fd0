"""What can be said of statements without following them: which variables they may assign."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assay.deployment.shell.syntax import (
    Apart,
    Assignment,
    Block,
    Case,
    Chain,
    Function,
    If,
    Literal,
    Loop,
    Node,
    Pipe,
    Simple,
    WordNode,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

_SUCCEEDS = frozenset({"export", "declare", "typeset", "set", "true", ":", "echo", "unset"})
_READS = frozenset({"read", "unset", "mapfile", "readarray", "getopts", "printf", "let", "local"})
_CALLS = frozenset({"shift", "set"})


def surely_succeeds(node: Node) -> bool:
    """Whether a command cannot fail."""
    if not isinstance(node, Simple):
        return False
    if not node.words:
        return bool(node.assignments)
    first = node.words[0]
    return isinstance(first, WordNode) and _name(first) in _SUCCEEDS


def _name(word: WordNode) -> str:
    return "".join(piece.text if isinstance(piece, Literal) else "$" for piece in word.pieces)


def assigned(
    nodes: Iterable[Node], functions: Mapping[str, list[Node]], spend: Callable[[int, str], None]
) -> dict[str, None]:
    """Names of the variables that those statements may assign; `@` for the positional parameters.

    `functions` has the bodies of each function; `spend` counts the work.
    """
    names: dict[str, None] = {}
    waiting: list[Node] = list(nodes)
    seen: set[str] = set()
    while waiting:
        node = waiting.pop()
        spend(4, "loops and functions")
        if not isinstance(node, Simple):
            waiting += _inside(node)
            if isinstance(node, Loop) and node.name:
                names[node.name] = None
            continue
        names |= dict.fromkeys(a.name for a in (*node.assignments, *node.words) if isinstance(a, Assignment))
        texts = [_name(word) for word in node.words if isinstance(word, WordNode)]
        if texts and texts[0] in _CALLS:
            names["@"] = None
        if texts and texts[0] in _READS:
            names |= dict.fromkeys(text for text in texts[1:] if text.isidentifier())
        elif texts and texts[0] in functions and texts[0] not in seen:
            seen.add(texts[0])
            waiting += functions[texts[0]]
    return names


def _inside(node: Node) -> list[Node]:
    """The statements directly inside of a compound one."""
    match node:
        case Block():
            return list(node.statements)
        case Chain():
            return [item for _, item in node.items]
        case Pipe():
            return list(node.items)
        case Apart() | Function():
            return [node.body]
        case If():
            blocks: list[Node] = [block for arm in node.arms for block in arm]
            return blocks + ([node.otherwise] if node.otherwise else [])
        case Case():
            return list(node.bodies)
        case Loop():
            return [node.test, node.body]
        case _:
            return []


def names_run(nodes: Iterable[Node]) -> set[str]:
    """Names of the commands among those statements."""
    names: set[str] = set()
    waiting: list[Node] = list(nodes)
    while waiting:
        node = waiting.pop()
        if isinstance(node, Simple):
            names |= {_name(word) for word in node.words[:1] if isinstance(word, WordNode)}
        else:
            waiting += _inside(node)
    return names
