"""Runs once through a function: statement by statement, both ways where a test is not decided."""

from __future__ import annotations

import ast
from typing import Any

from assay.flow.calls import generates
from assay.flow.reach import expressions, importing, reading
from assay.flow.reach.context import Cell, Context, Death, Edge, Event, Outcome, Path
from assay.flow.reach.elements import (
    ALWAYS,
    FORKED,
    MARKS,
    NEVER,
    PERHAPS,
    SOMETIMES,
    Doubt,
    Element,
    Known,
    Obj,
    Seq,
    Thing,
    Value,
    joined,
)
from assay.flow.reach.engine import Engine
from assay.flow.reach.lifting import known_truth
from assay.flow.reach.narrowing import Env, narrowed
from assay.flow.reach.statements import STATEMENTS
from assay.flow.values import Class

_MAKING = frozenset({"__init__", "__post_init__"})
"""Functions that run once for each object."""


_ASSIGNED_INSIDE: dict[ast.AST, frozenset[str]] = {}


def _assigned_inside(node: ast.AST) -> frozenset[str]:
    """The names of a function that functions inside of it may bind anew: `nonlocal name`."""
    if node not in _ASSIGNED_INSIDE:
        inner = (each.names for each in ast.walk(node) if isinstance(each, ast.Nonlocal))
        _ASSIGNED_INSIDE[node] = frozenset(name for names in inner for name in names)
    return _ASSIGNED_INSIDE[node]


class Runner:
    """The state of one run through a context."""

    def __init__(self, engine: Engine, context: Context) -> None:
        self.engine = engine
        self.i = engine.i
        self.context = context
        self.state = context.state
        self.env: Env = {}
        self.level = ALWAYS
        self.path: Path | None = None
        self.outcome = Outcome()
        self.globals: set[str] = set()
        self.nonlocals: set[str] = set()
        self.loops: list[list[tuple[Env, int]]] = []
        """For each loop that is being run, what is known where it is left early."""
        self.tries: list[list[Death]] = []
        """For each `try` that is being run, the exceptions that surely end a way through it."""
        self.repeats = 0
        """How many loops without a fixed end stand above."""
        self.forked = 0
        """In run B: how many tests of run time that differ from run A stand above."""
        self.seen: dict[Any, Any] | None = None
        """Where values are to be remembered: by expression, its value; with `test`, its outcomes."""
        self.base: dict[Any, Any] | None = None
        """In run B: what run A has remembered here."""
        self.exit = ""
        """How the last block that did not reach its end was left: `return`, `loop` or `raise`."""

    # ------------------------------------------------------------ values

    def evaluate(self, node: ast.expr) -> Value:
        """The value of an expression."""
        value = expressions.TABLE[type(node)](self, node)
        if self.seen is not None:
            value = self._remembered(node, value)
        return value

    def _remembered(self, node: ast.expr, value: Value) -> Value:
        assert self.seen is not None
        if self.base is not None:
            value = expressions.compared(self, node, value)
        old = self.seen.get(node)
        self.seen[node] = value if old is None else joined(old, value)
        return value

    def truth(self, value: Value) -> tuple[int, int]:
        """How surely a value is true, and false."""
        found = {self._truth_of(each) for each in value}
        if "open" in found:
            return SOMETIMES, SOMETIMES
        if "doubt" in found:
            return PERHAPS, PERHAPS
        if "true" in found and "false" in found:
            return SOMETIMES, SOMETIMES
        return (ALWAYS if "true" in found else NEVER), (ALWAYS if "false" in found else NEVER)

    def _truth_of(self, each: Element) -> str:
        """How one thing counts in a test: `true`, `false`, `open` until a run, `doubt`; a remark does not."""
        if isinstance(each, Known):
            known = known_truth(each.value)
            if isinstance(each.value, list | dict | set) and self._has_grown(each):
                known = None
            return "open" if known is None else "true" if known else "false"
        if isinstance(each, Thing | Seq):
            return "open"
        if isinstance(each, Doubt):
            return "doubt"
        if isinstance(each, Obj):
            return "open" if self._has_size(each.cls) else "true"
        return "" if each in MARKS else "true"

    def _has_grown(self, each: Known) -> bool:
        """Whether something is added to a collection of the interpreter."""
        cell = self.engine.made(("attribute", each, "[]"), self.context)
        return cell is not None and bool(self.read(cell))

    def _has_size(self, cls: Any) -> bool:
        names = ("__len__", "__bool__")
        return isinstance(cls, Class) and any(
            name in base.attributes for base in cls.line if isinstance(base, Class) for name in names
        )

    def test(self, node: ast.expr) -> tuple[int, int]:
        """How surely a test holds, and does not."""
        if isinstance(node, ast.BoolOp):
            found = self._bool_op(node)
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            no, yes = self.test(node.operand)
            found = (yes, no)
        else:
            value = self.evaluate(node)
            found = self.truth(value)
            self._note_fork(node, value, found)
        self.engine.came_out(node, found)
        if self.seen is not None:
            old = self.seen.get((node, "test"))
            both = found if old is None else (max(old[0], found[0]), max(old[1], found[1]))
            self.seen[(node, "test")] = both
        return found

    def _note_fork(self, node: ast.expr, value: Value, found: tuple[int, int]) -> None:
        """In run B, remember tests of run time whose value was computed from something that differs."""
        if self.base is not None and value & MARKS and found[0] and found[1]:
            assert self.seen is not None
            self.seen[(node, "fork")] = True

    def is_forked(self, node: ast.expr) -> bool:
        """Whether a test may come out otherwise than in run A: at times, or always where A's did at times."""
        if self.base is None:
            return False
        assert self.seen is not None
        now, before = self.seen.get((node, "test")), self.base.get((node, "test"))
        if now is None or not (now[0] and now[1]):
            return now is not None and before is not None and bool(before[0] and before[1])
        for each in ast.walk(node):
            if (each, "fork") in self.seen:
                return True
            then = self.base.get((each, "test"))
            if self.seen.get((each, "test")) != then:
                return True
        return False

    def turned_out_otherwise(self, node: ast.expr) -> bool:
        """Whether a test is decided in run B, and was decided the other way in run A."""
        if self.base is None or self.seen is None:
            return False
        now, then = self.seen.get((node, "test")), self.base.get((node, "test"))
        return now is not None and then is not None and not (now[0] and then[0]) and not (now[1] and then[1])

    def _bool_op(self, node: ast.BoolOp) -> tuple[int, int]:
        stops_on_true = isinstance(node.op, ast.Or)
        going, stopped = ALWAYS, NEVER
        level, path, env = self.level, self.path, self.env
        for part in node.values:
            yes, no = self.test(part)
            stop, go = (yes, no) if stops_on_true else (no, yes)
            stopped = max(stopped, min(going, stop))
            going = min(going, go)
            if not going:
                break
            self.level = min(self.level, go)
            self.path = Path(self.path, part, not stops_on_true, go)
            self.env = narrowed(self, part, outcome=not stops_on_true)
        self.level, self.path, self.env = level, path, env
        return (stopped, going) if stops_on_true else (going, stopped)

    # ------------------------------------------------------------ what a run does

    def event(self, node: ast.AST, kind: str, says: str, *, changed: bool = False) -> None:
        """The function does something to the world outside."""
        found = self.outcome.events.get(node)
        if found is None or found.level < self.level:
            made = Event(node, kind, self.level, self.path, says)
            made.changed = found is not None and found.changed
            made.repeats = self.repeats > 0
            self.outcome.events[node] = found = made
        if changed or self.forked:
            found.changed = True

    def edge(self, node: ast.AST, callee: Context) -> None:
        """The function calls another."""
        key = (node, callee)
        found = self.outcome.edges.get(key)
        if found is None or found.level < self.level:
            made = Edge(node, self.level, self.path, repeats=self.repeats > 0)
            made.changed = found is not None and found.changed
            self.outcome.edges[key] = found = made
        if self.forked:
            found.changed = True
        self.engine.enter(self.context, node, callee, self.level, repeats=self.repeats > 0)

    def write(self, cell: Cell, value: Value, *, stands_in: bool = False) -> None:
        """Put a value into a cell."""
        if not value:
            return
        if self.forked:
            value = value | {FORKED}
        self.engine.write(self.outcome, cell, value, self.level, context=self.context)
        if stands_in:
            kept = self.outcome.writes[cell]
            if all(isinstance(e, Known) and e.value is None for e in kept[0]):
                self.outcome.writes[cell] = (kept[0], kept[1], True)

    def read(self, cell: Cell) -> Value:
        """What a cell holds."""
        if cell.label[0] == "attribute":
            owner = cell.label[1]
            own = self.outcome.writes.get(cell)
            if own is None and isinstance(owner, Known) and owner.value is self.engine.record:
                return reading.read_before(self.engine, cell, self.context)
            if owner is self.context.receiver and getattr(self.context.node, "name", "") in _MAKING:
                return reading.read_making(self.engine, cell, self.context, own)
        return self.engine.read(cell, self.context)

    def die(self, node: ast.AST, type_name: str, message: str) -> None:
        """An exception is raised at the present statement."""
        self.dies(Death(node, self.context, self.path, type_name, message))

    def dies(self, death: Death) -> None:
        """That exception ends the present way through the function."""
        if self.level == ALWAYS:
            if self.tries:
                self.tries[-1].append(death)
            else:
                self.outcome.death = death

    # ------------------------------------------------------------ names

    def lookup(self, name: str, node: ast.AST) -> Value:
        """What a name stands for."""
        if name in self.env and name not in self.globals:
            shared = self.context.free.get(name) if name in _assigned_inside(self.context.node) else None
            return joined(self.env[name], self.read(shared)) if shared is not None else self.env[name]
        if name not in self.globals:
            outer = self.context.parent
            while outer is not None:
                if name in outer.free:
                    value = self.read(outer.free[name])
                    return value or self.engine.stall(node, self.context)
                self.engine.phases.awaits(("free", outer, name), self.context)
                outer = outer.parent
            closure = getattr(self.context.function, "closure", None)
            while closure is not None:
                if name in closure.names and not closure.is_class:
                    return self.engine.lift(closure.names[name])
                closure = closure.parent
        return self.module_name(self.state, name, node)

    def module_name(self, state: Any, name: str, node: ast.AST) -> Value:
        """What a module-level name stands for."""
        if name in state.rebound:
            value = self.read(self.engine.module_cell(state, name))
            return value or self.engine.stall(node, self.context)
        return importing.module_value(self, state, name)

    def bind(self, name: str, value: Value) -> None:
        """Bind a local name, or what stands for one."""
        if name in self.globals:
            self.write(self.engine.module_cell(self.state, name), value)
            return
        if name in self.nonlocals:
            outer = self.context.parent
            while outer is not None:
                if name in outer.free:
                    self.write(outer.free[name], value)
                outer = outer.parent
            return
        self.env[name] = value | {FORKED} if self.forked and value else value
        if self.context.shares:
            self.share(name, value)

    def share(self, name: str, value: Value) -> None:
        """Let functions that are defined inside of this one see a local name."""
        cell = self.context.free.get(name)
        if cell is None:
            cell = self.context.free[name] = Cell(("free", name))
            self.engine.phases.arrived(("free", self.context, name))
        self.write(cell, value)

    # ------------------------------------------------------------ statements

    def run_function(self) -> Outcome:
        """Run through the whole function."""
        node = self.context.node
        for name, cell in self.context.parameters.items():
            self.env[name] = self.read(cell)
        for name, value in list(self.env.items()):
            self.bind(name, value)
        if isinstance(node, ast.Lambda):
            self.outcome.returns = self.evaluate(node.body)
            return self.outcome
        if self.block(node.body):
            self.outcome.returns = joined(self.outcome.returns, self.engine.elements.known(None))
        if self.outcome.returns and generates(node, self.state.module.lines):
            made = self.engine.elements.seq(node, "generator")  # what it returns only ends it
            self.outcome.returns = made | (self.outcome.returns & MARKS)
        return self.outcome

    def block(self, statements: list[ast.stmt]) -> bool:
        """Run statements; True if what follows them is reached."""
        for statement in statements:
            self.exit = "raise"
            if not STATEMENTS[type(statement)](self, statement):
                return False
        return True

    def branch(self, body: list[ast.stmt], level: int, path: Path | None, env: Env) -> bool:
        """Run a block under a test."""
        self.level, self.path, self.env = level, path, env
        return self.block(body)
