"""Follows a program from its entry without carrying it out: contexts and cells to a fixpoint."""

from __future__ import annotations

import ast
from collections import deque
from collections.abc import Callable, Hashable, Mapping
from typing import TYPE_CHECKING, Any

from assay.flow import classes
from assay.flow.interpreter import Interpreter
from assay.flow.reach import reading
from assay.flow.reach.context import Cell, Context, Event, Outcome, summed
from assay.flow.reach.elements import (
    ALWAYS,
    NEVER,
    NOTHING,
    Applied,
    Element,
    Elements,
    Known,
    Value,
    is_object,
    joined,
)
from assay.flow.reach.folding import FAILED, Folding
from assay.flow.reach.phases import Phases
from assay.flow.reach.places import used_in_place
from assay.flow.values import (
    MISSING,
    Bound,
    Choice,
    Decorated,
    Deferred,
    External,
    Function,
    Instance,
    Unknown,
    Wrapped,
)

if TYPE_CHECKING:
    from assay.flow.reach.overlay import Overlay

MAX_DEPTH = 60
MAX_RUNS = 25
MAX_TURNS = 45
MAX_REPEATS = 60
MAX_TOTAL_RUNS = 60_000


class Engine:
    """The state of following one program under one set of facts."""

    def __init__(self, i: Interpreter, record: Instance, run: Callable[[Engine, Context], Outcome]) -> None:
        self.i = i
        self.record = record
        self.elements = Elements()
        self.folding = Folding(self)
        self.contexts: dict[Any, Context] = {}
        self.cells: dict[Any, Cell] = {}
        self.key_readers: dict[tuple[int, str], dict[Context, None]] = {}
        """By object of the interpreter and attribute: who has read it, directly or in a strict evaluation."""
        self.outcomes: dict[ast.AST, int] = {}
        """By test: 1 if it may be true, 2 if it may be false, 3 for both."""
        self.attributes_of: dict[Element, list[Cell]] = {}  # and the elements of collections
        self.unbound: dict[str, dict[ast.AST, Context]] = {}
        """By attribute name: reads of something that nobody knows, which may be the record."""
        self.record_reads: dict[str, dict[ast.AST, Context]] = {}
        self.wild_reads: dict[ast.AST, Context] = {}
        """Reads of the record by a name that is not known."""
        self.escaped: set[str] = set()
        """Names of functions and classes that were handed to something outside the tree."""
        self.handed_out: set[Element] = set()
        """Objects that were: what comes back from outside may be one of them."""
        self.asked: set[ast.AST] = set()
        """What is called, of all calls that have been looked at."""
        self.asked_outside: set[ast.AST] = set()
        """Calls, and what is called there, of something that came from outside."""
        self.overlay: Overlay | None = None
        self.depth, self.runs, self.gave_up = 0, 0, False
        self.broken: dict[Context, str] = {}
        """Functions that could not be followed, and why."""
        self.restless: dict[Context, None] = {}
        """Functions that did not come to rest."""
        self._run = run
        self._queue: deque[Context] = deque()
        self._queued: set[Context] = set()
        self._running: set[Context] = set()
        self.touched_modules: dict[str, None] = {}
        self.fields = frozenset(name for name, _ in record.cls.fields or ())
        self.keys: dict[Element, dict[Any, None]] = {}
        """The constant keys under which something was put into a dict."""
        self.applied: dict[Any, Applied] = {}
        self.variants: dict[ast.AST, dict[Any, None]] = {}
        """By function: the constant arguments that have a context of their own."""
        self.replacements: dict[ast.AST, Callable[..., Value | None]] = {}
        """Functions of the tree whose result is told by other means: registries that import by name."""
        self.topologies: dict[ast.AST, Callable[..., Value | None]] = {}
        """Functions of the tree that look at the machine."""
        self.world_size: tuple[str, ...] = ()
        """Options whose product is the number of ranks."""
        self.separate: frozenset[str] = frozenset()
        """Classes of which each object is told apart by the call that made it."""
        self.phases = Phases(self)
        self.bases: dict[Context, dict[ast.AST, Any]] = {}
        """What each expression of a context came to in run A, where a comparison has asked for it."""
        self.last_of_a = 0
        """The number of run A's last element."""
        self.writers: dict[tuple[Context, str], ast.AST] = {}
        """By function and attribute: where it writes that, as far as anyone has asked."""
        self._effects: dict[Context, Event | None] = {}
        self._constant: dict[ast.AST, frozenset[ast.AST]] = {}

    # ------------------------------------------------------------ contexts

    def context(self, node: Any, state: Any, key: Hashable, make: Callable[[Context], None]) -> Context:
        """The context of that key, made when it is first asked for."""
        full = (node, key)
        found = self.contexts.get(full)
        if found is None:
            found = self.contexts[full] = Context(node, state, full, len(self.contexts))
            make(found)
            self.touched_modules.setdefault(state.name)
        return found

    def root(self, context: Context, level: int = ALWAYS) -> None:
        """Make a context an entry of the program."""
        if not context.is_root or context.level < level:
            context.is_root = True
            context.level = max(level, context.level)
            self.enqueue(context)

    def enqueue(self, context: Context) -> None:
        """Run a context again later."""
        if context not in self._queued and context not in self.phases.held:
            self._queued.add(context)
            self._queue.append(context)

    @property
    def is_moving(self) -> bool:
        """Whether something is to be run."""
        return bool(self._queue)

    def settle(self) -> None:
        """Run what is to be run until nothing changes, then go on where someone has waited."""
        while self._queue or self.phases.go_on():
            while self._queue:
                context = self._queue.popleft()
                if context not in self._queued:
                    continue  # a caller has run it meanwhile
                self._queued.discard(context)
                if context.level > NEVER:
                    self.run(context)
                if self.runs > MAX_TOTAL_RUNS:
                    self.gave_up = True
                    return

    def run(self, context: Context) -> None:
        """Run through a context once and hand on what came of it."""
        if context in self._running:
            self.enqueue(context)
            return
        if context.runs > MAX_REPEATS and self.overlay is None:
            self.restless.setdefault(context)
            return
        self._running.add(context)
        self.depth += 1
        self.runs += 1
        context.runs += self.overlay is None  # what run A never came to stays so for the next comparison
        try:
            outcome = self._run(self, context) if self.overlay is None else self.overlay.run(context)
            if self.overlay is None:
                self.broken.pop(context, None)
        except FAILED as error:
            broken = self.broken if self.overlay is None else self.overlay.found.broken
            broken[context] = f"{type(error).__name__} {error}".strip()
            outcome = Outcome()
            outcome.returns = self.elements.thing("")
        finally:
            self._running.discard(context)
            self.depth -= 1
        if self.overlay is not None:
            self.overlay.commit(context, outcome)
        else:
            self.commit(context, outcome)

    def level(self, context: Context) -> int:
        """How surely a context is reached."""
        return context.level if self.overlay is None else self.overlay.level(context)

    def is_of_b(self, element: Element) -> bool:
        """Whether only a comparison has made an element."""
        return element.number > self.last_of_a

    def is_reached(self, context: Context) -> bool:
        """Whether run A comes to a function."""
        return context.runs > 0 and context.level > NEVER

    def enter(
        self, caller: Context, node: ast.AST, callee: Context, level: int, *, repeats: bool = False
    ) -> None:
        """Note a call while the caller runs, and run the callee now if nobody has yet."""
        if self.overlay is not None:
            self.overlay.enter(caller, node, callee, level)
            return
        if callee.runs == 0:
            self.phases.hold(caller, callee, repeats=repeats)
        if callee.callers.get((caller, node), NEVER) < level:
            callee.callers[(caller, node)] = level
            self._raise_level(callee, min(level, caller.level), (caller, node))
        if (
            callee.runs == 0
            and self.depth < MAX_DEPTH
            and callee not in self._running
            and callee not in self.phases.held
        ):
            self._queued.discard(callee)
            self.run(callee)

    def _raise_level(self, context: Context, level: int, via: tuple[Context, ast.AST]) -> None:
        if level <= context.level:
            return
        first = context.level == NEVER
        context.level, context.via = level, via
        if first or level == ALWAYS:
            self.enqueue(context)
        if not first:
            self._again(context)

    def _again(self, context: Context) -> None:
        """Hand on what came of a context once more: its level has changed."""
        self.publish(context, context.outcome)
        for (_node, callee), edge in context.outcome.edges.items():
            self._raise_level(callee, min(edge.level, context.level), (context, edge.node))

    def commit(self, context: Context, outcome: Outcome) -> None:
        """Replace what an earlier run through the context handed on."""
        old = context.outcome
        if context.runs > MAX_RUNS:  # it goes round in circles: from here on, only more
            for cell, part in old.writes.items():
                new = outcome.writes.get(cell)
                merged = part if new is None else (joined(part[0], new[0]), max(part[1], new[1]), new[2])
                outcome.writes[cell] = merged
            outcome.returns = joined(old.returns, outcome.returns)
        if context.runs > MAX_TURNS:  # a call that takes away its own reason: it may be made
            outcome.edges = old.edges | outcome.edges
        context.outcome = outcome
        for cell in old.writes:
            if cell not in outcome.writes and cell.parts.pop(context, None) is not None:
                self._update(cell)
        for key in old.edges:
            if key not in outcome.edges:
                self._drop(context, key[1], key[0])
        self.publish(context, outcome)
        if (old.death is None) is not (outcome.death is None):
            self._wake(context.returned)
        for (node, callee), edge in outcome.edges.items():
            callee.callers[(context, node)] = edge.level
            self._raise_level(callee, min(edge.level, context.level), (context, edge.node))

    def _drop(self, context: Context, callee: Context, node: ast.AST) -> None:
        callee.callers.pop((context, node), None)

    def publish(self, context: Context, outcome: Outcome) -> None:
        """Hand on what a context has come to, as surely as it is reached."""
        for cell, (value, level, stands_in) in outcome.writes.items():
            part = (value, min(level, context.level), stands_in)
            if cell.parts.get(context) != part:
                cell.parts[context] = part
                self._update(cell)
        if outcome.returns != context.returned.value:
            context.returned.value = outcome.returns
            self._wake(context.returned)

    def _update(self, cell: Cell) -> None:
        value = summed(cell, cell.parts)
        if value != cell.value:
            cell.value = value
            if cell.key is not None:
                self.folding.forget(cell.key)
            self._wake(cell)

    def _wake(self, cell: Cell) -> None:
        for reader in cell.readers:
            if reader.runs:
                self.enqueue(reader)

    def outcome(self, context: Context) -> Outcome:
        """What the last run through a context came to."""
        if self.overlay is not None:
            return self.overlay.outcome(context)
        return context.outcome

    def serves(self, context: Context, via: Mapping[Context, tuple[Context, ast.AST]] | None = None) -> bool:
        """Whether a context runs again and again, not only at the start."""
        seen: set[Context] = set()
        at = context
        while at not in seen:
            seen.add(at)
            above = (via.get(at) if via is not None else None) or at.via
            if above is None:
                return at.is_root and at.level < ALWAYS
            edge = self.outcome(above[0]).edges.get((above[1], at))
            if edge is not None and edge.repeats:
                return True
            at = above[0]
        return False

    def effect_below(self, context: Context) -> Event | None:
        """Something that a context, or what it calls, does to the world in run A."""
        if context not in self._effects:
            self._effects[context] = self._find_effect(context)
        return self._effects[context]

    def _find_effect(self, context: Context) -> Event | None:
        seen = {context}
        pending = [context]
        logs: Event | None = None
        while pending:
            at = pending.pop()
            for event in at.outcome.events.values():
                shakes_hands = event.says.startswith("calls torch.distributed.")
                if event.kind != "log" and ((event.kind == "effect" and not shakes_hands) or self.serves(at)):
                    return event
                if self.serves(at):
                    logs = logs or event
            for _node, callee in at.outcome.edges:
                if callee not in seen:
                    seen.add(callee)
                    pending.append(callee)
        return logs

    def replaced(self, run: Any, node: ast.AST, function: Any, arguments: list[Value]) -> Value | None:
        """The result of a function that is told by other means; None for all others."""
        inner = function
        while isinstance(inner, Wrapped | Bound):
            inner = inner.function
        found = self.replacements.get(inner.node) if isinstance(inner, Function) else None
        return found(run, node, arguments) if found is not None else None

    def constant_displays(self, context: Context) -> frozenset[ast.AST]:
        """The lists of a function that are used where they stand, so that nobody can change them."""
        found = self._constant.get(context.node)
        if found is None:
            found = self._constant[context.node] = used_in_place(context.node)
        return found

    # ------------------------------------------------------------ cells

    def cell(self, label: Hashable, initial: Callable[[], Value] | None = None) -> Cell:
        """The cell of that label."""
        found = self.cells.get(label)
        if found is None:
            found = self.cells[label] = Cell(label, initial() if initial is not None else NOTHING)
            if isinstance(label, tuple) and label[0] == "attribute":
                self.attributes_of.setdefault(label[1], []).append(found)
            self.phases.arrived(label)
        return found

    def made(self, label: Hashable, context: Context) -> Cell | None:
        """The cell of that label if anyone writes it; the context runs again when someone begins to."""
        found = self.cells.get(label)
        if found is None:
            self.phases.awaits(label, context)
        return found

    def keys_of(self, collection: Element, context: Context) -> list[Any]:
        """The constant keys under which something is put into a dict."""
        self.phases.awaits(("keys", collection), context)
        return list(self.keys.get(collection, ()))

    def add_key(self, collection: Element, key: Any) -> None:
        """Something is put into a dict under that key."""
        keys = self.keys.setdefault(collection, {})
        if key not in keys:
            keys[key] = None
            self.phases.arrived(("keys", collection))

    def read(self, cell: Cell, context: Context) -> Value:
        """What a cell holds; the context runs again when that changes."""
        return reading.read(self, cell, context)

    def write(self, outcome: Outcome, cell: Cell, value: Value, level: int, *, context: Context) -> None:
        """Note a write while a context runs; parameters of functions not run yet need it at once."""
        old = outcome.writes.get(cell)
        if old is not None:
            value, level = joined(old[0], value), max(old[1], level)
        outcome.writes[cell] = (value, level, False)
        if self.overlay is not None:
            self.overlay.write_early(context, cell, value, level)
            return
        part = cell.parts.get(context)
        early = value if part is None else joined(part[0], value)
        if part is None or early != part[0]:
            cell.parts[context] = (early, min(level, context.level), False)
            self._update(cell)

    # ------------------------------------------------------------ values

    def module_level(self, state: Any, name: str) -> Any:
        """What a module binds a name to, `MISSING` where it does not."""
        try:
            return self.i.modules.lookup(state, name)
        except FAILED:
            return Unknown(f"{state.name}.{name} cannot be told")

    def imported(self, source: str, name: str) -> Any:
        """What `from source import name` binds."""
        try:
            return self.i.modules.imported(source, name)
        except FAILED:
            return Unknown(f"{source}.{name} cannot be told")

    def force(self, value: Any) -> Any:
        """A value as far as it is decided."""
        try:
            return self.i.force(value)
        except FAILED:
            return Unknown("a value that cannot be told")

    def lift(self, value: Any) -> Value:
        """A value of the interpreter as a set of elements."""
        if isinstance(value, Deferred | Choice | External):
            value = self.force(value)
        if isinstance(value, Choice):
            both = joined(self.lift(value.yes), self.lift(value.no))
            return joined(both, self.elements.doubt(value.test.reason))
        if isinstance(value, Decorated):
            return self.elements.known(value)
        if isinstance(value, External):
            return self.elements.one(("external", value.dotted), lambda: Known(value))
        if isinstance(value, Unknown):
            return self._unknown(value)
        if value is MISSING:
            return NOTHING
        if isinstance(value, Bound):
            receiver = self.lift(value.receiver)
            return self.elements.method(value.function, next(iter(receiver))) if receiver else NOTHING
        return self.elements.known(value)

    def _unknown(self, value: Unknown) -> Value:
        key = value.key
        if isinstance(key, tuple) and key and key[0] == "call":
            inner = key[1]
            if isinstance(inner, tuple) and inner[0] == "external":
                return self.elements.thing(f"{inner[1]}()")
        return self.elements.doubt(value.reason)

    def class_attribute(self, cls: Any, name: str) -> Any:
        """What a class of the tree, or one of its bases, binds a name to."""
        found = classes.class_attribute(cls, name)
        return self.force(found) if found is not MISSING else MISSING

    def attribute_cell(self, owner: Element, name: str) -> Cell:
        """The cell of an attribute that is written while the program is followed."""
        return self.cell(("attribute", owner, name))

    def module_cell(self, state: Any, name: str) -> Cell:
        """The cell of a module-level name that some function assigns."""

        def initial() -> Value:
            found = self.module_level(state, name)
            return NOTHING if found is MISSING else self.lift(found)

        return self.cell(("module", state.name, name), initial)

    def stall(self, node: ast.AST, context: Context) -> Value:
        """No value at this place yet; if nothing else can move, it becomes something of run time."""
        if node in self.phases.lenient or self.overlay is not None:
            return self.elements.thing("")
        self.phases.stall(node, context)
        return NOTHING

    def ask_outside(self, node: ast.AST) -> None:
        """What is called there came from outside."""
        self.asked_outside.update((node, getattr(node, "func", node)))

    def hand_out(self, value: Value) -> None:
        """Something outside the tree is given that, and may give it back."""
        self.handed_out.update(each for each in value if is_object(each))

    def came_out(self, test: ast.expr, levels: tuple[int, int]) -> None:
        """Note how surely a test holds, and does not."""
        if self.overlay is None:
            mask = (1 if levels[0] else 0) | (2 if levels[1] else 0)
            self.outcomes[test] = self.outcomes.get(test, 0) | mask

    def record_read(self, name: str, node: ast.AST, context: Context) -> None:
        """Note that an option is read there."""
        if self.overlay is None:
            self.record_reads.setdefault(name, {})[node] = context
