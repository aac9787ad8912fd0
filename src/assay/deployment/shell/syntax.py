"""The parts of a shell script, as they are written: words made of pieces, and commands made of words.

All `start` and `end` are indices into the text of the `Written` that was read.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from assay.deployment.launch import Fault

DECLARING = frozenset({"export", "declare", "typeset", "local", "readonly"})
"""Commands whose arguments are assignments."""


@dataclass(frozen=True, slots=True)
class Literal:
    """Text that stands for itself; `end - start` differs from its length where an escape was decoded."""

    text: str
    start: int
    end: int
    quoted: bool
    splits: bool = False
    """True inside an unquoted `${X:+a b}`, where blanks part words."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """`$X`, `${X[@]}`, `${X:-word}` and so on."""

    name: str
    operator: str
    """Empty, or what stands between name and argument; `length` for `${#X}`, `other` if not known here."""
    argument: tuple[Piece, ...]
    index: str | None
    quoted: bool
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Opaque:
    """What only shows at run time: `$(command)`, arithmetic, a process substitution, an unclosed quote."""

    start: int
    end: int
    quoted: bool
    body: Block | None = None
    """The commands of a command substitution."""


Piece: TypeAlias = Literal | Parameter | Opaque


@dataclass(frozen=True, slots=True)
class WordNode:
    """One word before expansion."""

    pieces: tuple[Piece, ...]
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Assignment:
    """`NAME=value`, `NAME+=value`, `NAME=(a b)`, `NAME[i]=value`."""

    name: str
    appends: bool
    indexed: bool
    """True for `NAME[i]=…` and for arrays whose elements have their own indices."""
    value: WordNode
    elements: tuple[WordNode, ...] | None
    start: int
    end: int


@dataclass(slots=True)
class Simple:
    """A simple command; one without words only assigns."""

    assignments: list[Assignment] = field(default_factory=list)
    words: list[WordNode | Assignment] = field(default_factory=list)
    targets: list[WordNode] = field(default_factory=list)
    """Words of its redirections."""
    start: int = 0
    end: int = 0
    faults: list[Fault] = field(default_factory=list)


@dataclass(slots=True)
class Block:
    """Statements one after the other."""

    statements: list[Node] = field(default_factory=list)


@dataclass(slots=True)
class Chain:
    """`a && b || c`: each operator stands before its command, the first is empty."""

    items: list[tuple[str, Node]]


@dataclass(slots=True)
class Pipe:
    """`a | b`."""

    items: list[Node]


@dataclass(slots=True)
class Apart:
    """A subshell or a background job: what it assigns stays inside."""

    body: Node


@dataclass(slots=True)
class If:
    """`if`, `elif`, `else`: pairs of test and body."""

    arms: list[tuple[Block, Block]]
    otherwise: Block | None


@dataclass(slots=True)
class Case:
    """`case`: the bodies, and whether one of them is for everything else."""

    subject: WordNode
    bodies: list[Block]
    complete: bool


@dataclass(slots=True)
class Loop:
    """`for`, `select`, `while` and `until`."""

    name: str | None
    words: list[WordNode]
    test: Block
    body: Block


@dataclass(slots=True)
class Function:
    """`name() { … }`."""

    name: str
    body: Node
    start: int = 0


Node: TypeAlias = Simple | Block | Chain | Pipe | Apart | If | Case | Loop | Function
