"""One function as it is called in one way, and the cells through which functions hand values on."""

from __future__ import annotations

import ast
from typing import Any

from assay.flow.reach.elements import ALWAYS, NEVER, NOTHING, Element, Value, joined
from assay.flow.reach.places import defines_functions


class Path:
    """The tests between the beginning of a function and a statement, innermost first."""

    __slots__ = ("before", "level", "node", "taken")

    def __init__(self, before: Path | None, node: ast.expr, taken: bool, level: int) -> None:  # noqa: FBT001 (a field)
        self.before, self.node, self.taken, self.level = before, node, taken, level

    def tests(self) -> list[Path]:
        """Outermost first."""
        found: list[Path] = []
        at: Path | None = self
        while at is not None:
            found.append(at)
            at = at.before
        return found[::-1]


class Cell:
    """A place that several functions may write: an attribute, a parameter, a module-level name."""

    __slots__ = ("initial", "key", "label", "parts", "readers", "value")

    def __init__(self, label: Any, initial: Value = NOTHING) -> None:
        self.label = label
        self.initial = initial
        """What it holds before anyone has written it."""
        self.parts: dict[Any, tuple[Value, int, bool]] = {}
        """By writer: the value, how surely it is written, and whether it only stands in until a later one."""
        self.value: Value = initial
        self.readers: dict[Context, None] = {}
        self.key: tuple[int, str] | None = None
        """The attribute of an object of the interpreter that it keeps, if strict evaluations read it."""

    def __repr__(self) -> str:
        return f"Cell({self.label})"


def summed(cell: Cell, parts: dict[Any, tuple[Value, int, bool]]) -> Value:
    """What a cell holds, by what its writers put there."""
    final = any(level == ALWAYS and not stands_in for _, level, stands_in in parts.values())
    value = NOTHING if final else cell.initial
    for part, _level, stands_in in parts.values():
        if not (final and stands_in):
            value = joined(value, part)
    return value


def before(cell: Cell, parts: dict[Any, tuple[Value, int, bool]]) -> Value:
    """What a cell holds until its last writer."""
    value = cell.initial
    for part, _level, stands_in in parts.values():
        if stands_in:
            value = joined(value, part)
    return value


class Event:
    """Something that a function does to the world outside."""

    __slots__ = ("changed", "kind", "level", "node", "path", "repeats", "says")

    def __init__(self, node: ast.AST, kind: str, level: int, path: Path | None, says: str) -> None:
        self.node, self.kind, self.level, self.path, self.says = node, kind, level, path, says
        self.repeats = False
        """Whether it stands in a loop without a fixed end."""
        self.changed = False


class Edge:
    """A call of one context by another."""

    __slots__ = ("changed", "level", "node", "path", "repeats")

    def __init__(self, node: ast.AST, level: int, path: Path | None, *, repeats: bool) -> None:
        self.node, self.level, self.path = node, level, path
        self.repeats = repeats
        """Whether the call stands in a loop without a fixed end, or happens when someone outside wants."""
        self.changed = False


class Death:
    """An exception that ends every way through a function."""

    __slots__ = ("context", "ends_a_process", "message", "node", "path", "type_name")

    def __init__(
        self, node: ast.AST, context: Context, path: Path | None, type_name: str, message: str
    ) -> None:
        self.node, self.context, self.path = node, context, path
        self.type_name, self.message = type_name, message
        self.ends_a_process = False
        """Whether a process that is started ends with it: then it does not matter by which thread."""


class Outcome:
    """What one run through a context came to."""

    __slots__ = ("death", "edges", "events", "returns", "writes")

    def __init__(self) -> None:
        self.writes: dict[Cell, tuple[Value, int, bool]] = {}
        self.edges: dict[tuple[ast.AST, Context], Edge] = {}
        self.events: dict[ast.AST, Event] = {}
        self.returns: Value = NOTHING
        self.death: Death | None = None


class Context:
    """A function with its receiver, and with such arguments as tell calls of it apart."""

    __slots__ = (
        "callers",
        "free",
        "function",
        "is_root",
        "key",
        "level",
        "node",
        "number",
        "outcome",
        "owner",
        "parameters",
        "parent",
        "receiver",
        "returned",
        "runs",
        "shares",
        "state",
        "via",
    )

    def __init__(self, node: Any, state: Any, key: Any, number: int) -> None:
        self.node = node
        self.state = state
        """The module that holds the function."""
        self.key = key
        self.number = number
        self.function: Any = None
        self.owner: Any = None
        """The class whose body holds the function, for `super()`."""
        self.receiver: Element | None = None
        self.parent: Context | None = None
        """The context that defined the function, for a nested one."""
        self.free: dict[str, Cell] = {}
        """Local names that nested functions may read."""
        self.shares = defines_functions(node, state.module.lines)
        """Whether nested functions see its local names."""
        self.parameters: dict[str, Cell] = {}
        self.returned = Cell(("return", getattr(node, "name", "<lambda>")))
        self.level = NEVER
        self.is_root = False
        self.callers: dict[tuple[Context, ast.AST], int] = {}
        self.via: tuple[Context, ast.AST] | None = None
        self.outcome = Outcome()
        self.runs = 0

    @property
    def name(self) -> str:
        """The function's name, with its class."""
        plain = getattr(self.node, "name", "<lambda>")
        return f"{self.owner.name}.{plain}" if self.owner is not None else plain

    def __repr__(self) -> str:
        return f"Context({self.name} of {self.receiver})"
