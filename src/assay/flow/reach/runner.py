"""Runs once through a function: statement by statement, both ways where a test is not decided."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from typing import Any

from assay.flow.reach import assigning, expressions
from assay.flow.reach.context import Cell, Context, Death, Edge, Event, Outcome, Path
from assay.flow.reach.elements import (
    ALWAYS,
    FORKED,
    MARKS,
    NEVER,
    NOTHING,
    PERHAPS,
    RUN,
    SOMETIMES,
    Doubt,
    Known,
    Obj,
    Seq,
    Thing,
    Value,
    joined,
    unmarked,
)
from assay.flow.reach.engine import Engine
from assay.flow.values import Class, External, Instance

Env = dict[str, Value]


_MAKING = frozenset({"__init__", "__post_init__"})
"""Functions that run once for each object."""


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
        self.seen: dict[ast.AST, Any] | None = None
        """Where values are to be remembered: by expression, its value."""
        self.base: dict[ast.AST, Any] | None = None
        """In run B: what run A has remembered here."""
        self.sites: dict[ast.AST, Path | None] | None = None
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
        yes = no = runtime = doubt = False
        for each in value:
            if isinstance(each, Known):
                known = expressions.known_truth(self.i, each.value)
                if isinstance(each.value, list | dict | set) and self._has_grown(each):
                    known = None
                if known is None:
                    runtime = True
                elif known:
                    yes = True
                else:
                    no = True
            elif isinstance(each, Thing | Seq):
                runtime = True
            elif isinstance(each, Doubt):
                doubt = True
            elif isinstance(each, Obj):
                if self._has_size(each.cls):
                    runtime = True
                else:
                    yes = True
            elif each not in MARKS:
                yes = True
        if runtime:
            return SOMETIMES, SOMETIMES
        if doubt:
            return PERHAPS, PERHAPS
        if yes and no:
            return SOMETIMES, SOMETIMES
        return (ALWAYS if yes else NEVER), (ALWAYS if no else NEVER)

    def _has_grown(self, each: Known) -> bool:
        """Whether something is added to a collection of the interpreter."""
        cell = self.engine.cells.get(("attribute", each, "[]"))
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
        if self.engine.overlay is None:
            mask = (1 if found[0] else 0) | (2 if found[1] else 0)
            self.engine.outcomes[node] = self.engine.outcomes.get(node, 0) | mask
        if self.seen is not None:
            old = self.seen.get((node, "test"))  # type: ignore[call-overload]
            both = found if old is None else (max(old[0], found[0]), max(old[1], found[1]))
            self.seen[(node, "test")] = both  # type: ignore[index]
        return found

    def _note_fork(self, node: ast.expr, value: Value, found: tuple[int, int]) -> None:
        """In run B, remember tests of run time whose value was computed from something that differs."""
        if self.base is not None and value & MARKS and found[0] and found[1]:
            self.seen[(node, "fork")] = True  # type: ignore[index]

    def is_forked(self, node: ast.expr) -> bool:
        """Whether a test is one of run time that may come out otherwise than in run A."""
        if self.base is None:
            return False
        assert self.seen is not None
        now = self.seen.get((node, "test"))  # type: ignore[call-overload]
        if now is None or not (now[0] and now[1]):
            return False
        for each in ast.walk(node):
            if (each, "fork") in self.seen:
                return True
            then = self.base.get((each, "test"))  # type: ignore[call-overload]
            if self.seen.get((each, "test")) != then:  # type: ignore[call-overload]
                return True
        return False

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
            self.env = narrowed(self, part, not stops_on_true)
        self.level, self.path, self.env = level, path, env
        return (stopped, going) if stops_on_true else (going, stopped)

    # ------------------------------------------------------------ what a run does

    def event(self, node: ast.AST, kind: str, says: str, *, changed: bool = False) -> None:
        """The function does something to the world outside."""
        found = self.outcome.events.get(node)
        if found is None or found.level < self.level:
            made = Event(node, kind, self.level, self.path, says)
            made.changed = found is not None and found.changed
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
        self.engine.enter(self.context, node, callee, self.level)

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
            wrote = cell in self.outcome.writes
            if isinstance(owner, Known) and owner.value is self.engine.record:
                return self.engine.read_record(cell, self.context, wrote=wrote)
            if (
                not wrote
                and owner is self.context.receiver
                and getattr(self.context.node, "name", "") in _MAKING
            ):
                return self.engine.read_before(cell, self.context, once=True)
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
            return self.env[name]
        if name not in self.globals:
            outer = self.context.parent
            while outer is not None:
                if name in outer.free:
                    value = self.read(outer.free[name])
                    return value or self.engine.stall(node, self.context)
                outer = outer.parent
            closure = getattr(self.context.function, "closure", None)
            while closure is not None:
                if name in closure.names:
                    return self.engine.lift(closure.names[name])
                closure = closure.parent
        return self.module_name(self.state, name, node)

    def module_name(self, state: Any, name: str, node: ast.AST) -> Value:
        """What a module-level name stands for."""
        if name in state.rebound:
            value = self.read(self.engine.module_cell(state, name))
            return value or self.engine.stall(node, self.context)
        return expressions.module_value(self, state, name)

    def bind(self, name: str, value: Value, *, stands_in: bool = False) -> None:
        """Bind a local name, or what stands for one."""
        if name in self.globals:
            self.write(self.engine.module_cell(self.state, name), value, stands_in=stands_in)
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
            cell = self.context.free.setdefault(name, Cell(("free", name)))
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
        return self.outcome

    def block(self, statements: list[ast.stmt]) -> bool:
        """Run statements; True if what follows them is reached."""
        for statement in statements:
            if self.sites is not None:
                self.sites[statement] = self.path
            self.exit = "raise"
            if not STATEMENTS[type(statement)](self, statement):
                return False
        return True

    def branch(self, body: list[ast.stmt], level: int, path: Path | None, env: Env) -> bool:
        """Run a block under a test."""
        self.level, self.path, self.env = level, path, env
        return self.block(body)


def narrowed(run: Runner, test: ast.expr, outcome: bool) -> Env:  # noqa: FBT001
    """The local names, where a test of one has that outcome."""
    env = dict(run.env)
    _narrow(run, test, outcome, env)
    return env


def _narrow(run: Runner, test: ast.expr, outcome: bool, env: Env) -> None:  # noqa: FBT001
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        _narrow(run, test.operand, not outcome, env)
    elif isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And) == outcome:
        for part in test.values:
            _narrow(run, part, outcome, env)
    elif isinstance(test, ast.Name) and test.id in env:
        kept = frozenset(e for e in env[test.id] if not _is_surely(run, e, not outcome))
        if kept - MARKS:
            env[test.id] = kept
    elif isinstance(test, ast.Compare) and len(test.ops) == 1 and isinstance(test.left, ast.Name):
        op, other = test.ops[0], test.comparators[0]
        if not (isinstance(other, ast.Constant) and other.value is None) or test.left.id not in env:
            return
        if isinstance(op, ast.Is | ast.IsNot):
            wants_none = isinstance(op, ast.Is) == outcome
            value = env[test.left.id]
            kept = frozenset(e for e in value if _may_be_none(e) if wants_none or not _is_none(e))
            if not wants_none:
                kept = frozenset(e for e in value if not _is_none(e))
            if kept - MARKS:
                env[test.left.id] = kept


def _is_none(element: Any) -> bool:
    return isinstance(element, Known) and element.value is None


def _may_be_none(element: Any) -> bool:
    return _is_none(element) or isinstance(element, Thing | Doubt) or element in MARKS


def _is_surely(run: Runner, element: Any, outcome: bool) -> bool:  # noqa: FBT001
    if isinstance(element, Known):
        return expressions.known_truth(run.i, element.value) is outcome
    return isinstance(element, Obj) and outcome


def join_envs(one: Env, other: Env) -> Env:
    """The local names where two ways meet."""
    found = dict(one)
    for name, value in other.items():
        old = found.get(name)
        found[name] = value if old is None else old if old is value else joined(old, value)
    return found


# ---------------------------------------------------------------- one statement each


def _if(run: Runner, node: ast.If) -> bool:
    yes, no = run.test(node.test)
    forked = run.is_forked(node.test)
    level, path, env = run.level, run.path, run.env
    ends: list[tuple[Env, int, bool]] = []
    run.forked += forked
    died = raised = False
    for outcome, surely, body in ((True, yes, node.body), (False, no, node.orelse)):
        if not surely:
            continue
        run.level, run.path, run.env = level, path, env
        inner = narrowed(run, node.test, outcome)
        under = min(level, surely)
        alive = run.branch(body, under, Path(path, node.test, outcome, surely), inner)
        if alive:
            ends.append((run.env, run.level, run.level == under))
        else:
            died = died or run.exit != "raise"
            raised = raised or run.exit == "raise"
    run.path = path
    if not (forked and (died or raised)):
        run.forked -= forked
    if not ends:
        run.level, run.env = level, env
        return False
    run.env = ends[0][0] if len(ends) == 1 else join_envs(ends[0][0], ends[1][0])
    if (died or raised) and len(ends) == 1:
        run.level = ends[0][1] if died or not ends[0][2] else level
        run.path = Path(path, node.test, _survivor(yes, no, node), min(yes or 3, no or 3))
    elif all(end[2] for end in ends):
        run.level = level
    else:
        run.level = max(end[1] for end in ends)
    return True


def _survivor(yes: int, no: int, node: ast.If) -> bool:
    """Which outcome of an early exit goes on: the one whose block does not end the function."""
    if not no:
        return True
    if not yes:
        return False
    last = node.body[-1]
    return not isinstance(last, ast.Return | ast.Raise | ast.Continue | ast.Break)


def _return(run: Runner, node: ast.Return) -> bool:
    value = run.evaluate(node.value) if node.value is not None else run.engine.elements.known(None)
    if run.forked and value:
        value = value | {FORKED}
    run.outcome.returns = joined(run.outcome.returns, value)
    run.exit = "return" if value else "raise"
    return False


def _expr(run: Runner, node: ast.Expr) -> bool:
    if isinstance(node.value, ast.Constant):
        return True
    return bool(run.evaluate(node.value))


def _assign(run: Runner, node: ast.Assign) -> bool:
    value = run.evaluate(node.value)
    if not value:
        return False
    for target in node.targets:
        assigning.assign(run, target, value)
    return True


def _ann_assign(run: Runner, node: ast.AnnAssign) -> bool:
    if node.value is not None:
        value = run.evaluate(node.value)
        if not value:
            return False
        assigning.assign(run, node.target, value)
    return True


def _aug_assign(run: Runner, node: ast.AugAssign) -> bool:
    right = run.evaluate(node.value)
    load = expressions.loaded(node.target)
    left = run.evaluate(load)
    value = expressions.operated(run, node, node.op, left, right)
    if not value:
        return False
    assigning.assign(run, node.target, value)
    return True


def _for(run: Runner, node: ast.For | ast.AsyncFor) -> bool:
    source = run.evaluate(node.iter)
    if not source:
        return False
    exact = _exact(run, source) if _is_arithmetic(node) else None
    if exact is not None:
        return _unrolled(run, node, exact)
    items, surely = expressions.iterated(run, node.iter, source)
    return _loop(run, node, surely, lambda: assigning.assign(run, node.target, items), items)


MAX_UNROLLED = 16
_ARITHMETIC = frozenset({"range", "list", "tuple", "len", "int", "min", "max", "append", "extend", "sum"})
_ARITHMETICAL: dict[ast.AST, bool] = {}


def _is_arithmetic(node: ast.For | ast.AsyncFor) -> bool:
    """Whether a loop only computes with numbers and lists, so that each round can be followed by itself."""
    if node not in _ARITHMETICAL:
        body = ast.Module(body=node.body, type_ignores=[])
        names = [
            each.func.id if isinstance(each.func, ast.Name) else getattr(each.func, "attr", "")
            for each in ast.walk(body)
            if isinstance(each, ast.Call)
        ]
        left = any(isinstance(each, ast.Break | ast.Continue | ast.Return) for each in ast.walk(body))
        _ARITHMETICAL[node] = not left and all(name in _ARITHMETIC for name in names)
    return _ARITHMETICAL[node]


def _exact(run: Runner, source: Value) -> list[Value] | None:
    """The elements of a known range or list, one by one, if there are few."""
    plain = unmarked(source)
    only = next(iter(plain)) if len(plain) == 1 else None
    if source & MARKS or not isinstance(only, Known) or not isinstance(only.value, range | tuple | list):
        return None
    if not 0 < len(only.value) <= MAX_UNROLLED:
        return None
    return [run.engine.lift(each) for each in only.value]


def _unrolled(run: Runner, node: ast.For | ast.AsyncFor, values: list[Value]) -> bool:
    for value in values:
        assigning.assign(run, node.target, value)
        if not run.block(node.body):
            return False
    return run.block(node.orelse) if node.orelse else True


def _while(run: Runner, node: ast.While) -> bool:
    yes, no = run.test(node.test)
    if not yes:
        return run.block(node.orelse)
    forked = run.is_forked(node.test)
    run.repeats += 1
    alive = _loop(run, node, min(yes, SOMETIMES), lambda: None, RUN, forked=forked)
    run.repeats -= 1
    if not no and isinstance(node.test, ast.Constant):
        return alive and _breaks(node)
    return alive


def _breaks(node: ast.While) -> bool:
    pending: list[ast.AST] = list(node.body)
    while pending:
        each = pending.pop()
        if isinstance(each, ast.Break):
            return True
        if not isinstance(each, ast.For | ast.While | ast.FunctionDef | ast.Lambda):
            pending.extend(ast.iter_child_nodes(each))
    return False


def _loop(
    run: Runner, node: Any, surely: int, begin: Callable[[], None], items: Value, *, forked: bool = False
) -> bool:
    level, path, before = run.level, run.path, run.env
    forked = forked or bool(run.base is not None and items & MARKS)
    run.forked += forked
    left: list[tuple[Env, int]] = []
    ends = False
    if surely:
        run.loops.append(left)
        for _ in range(2):
            run.env = dict(run.env)
            run.level = min(level, surely)
            begin()
            alive = run.block(node.body)
            ends = surely == ALWAYS and not alive and not left and run.exit == "raise"
            if ends:
                break
            run.env = join_envs(before, run.env) if alive else join_envs(before, before)
            for env, _level in left:
                run.env = join_envs(run.env, env)
        run.loops.pop()
    run.forked -= forked
    run.level, run.path = level, path
    if ends:
        return False
    return run.block(node.orelse) if node.orelse else True


def _leave_loop(run: Runner, _node: ast.stmt) -> bool:
    if run.loops:
        run.loops[-1].append((run.env, run.level))
    run.exit = "loop"
    return False


def _raise(run: Runner, node: ast.Raise) -> bool:
    name, message = "exception", ""
    if node.exc is not None:
        called = node.exc.func if isinstance(node.exc, ast.Call) else node.exc
        name = ast.unparse(called)
        if isinstance(node.exc, ast.Call):
            run.evaluate(node.exc)
            message = expressions.shown(run, node.exc.args[0]) if node.exc.args else ""
    run.die(node, name, message)
    return False


def _assert(run: Runner, node: ast.Assert) -> bool:
    yes, no = run.test(node.test)
    if not yes and no and run.engine.level(run.context) == ALWAYS:
        message = expressions.shown(run, node.msg) if node.msg is not None else ""
        run.path = Path(run.path, node.test, False, no)
        run.die(node, "AssertionError", message)
        return False
    run.env = narrowed(run, node.test, True)
    return True


def _try(run: Runner, node: ast.Try) -> bool:
    level, path, before = run.level, run.path, run.env
    deaths: list[Death] = []
    run.tries.append(deaths)
    run.env = dict(before)
    missing = len(run.outcome.events)
    alive = run.block(node.body)
    run.tries.pop()
    ends: list[tuple[Env, int]] = []
    touched = join_envs(before, run.env)
    if alive and node.orelse:
        alive = run.block(node.orelse)
    if alive:
        ends.append((run.env, run.level))
    surely = ALWAYS if deaths and not alive else PERHAPS
    unhandled = list(deaths)
    if surely == ALWAYS or not _only_imports(run, node):
        for handler in node.handlers:
            if surely == ALWAYS and not _catches(run, handler, deaths[0]):
                continue
            run.level, run.path, run.env = min(level, surely), path, dict(touched)
            if handler.name:
                run.bind(handler.name, RUN)
            handled = run.block(handler.body)
            fatal = surely == ALWAYS and _is_fatal(handler)
            if surely == ALWAYS and not fatal:
                unhandled.clear()
            if handled and not fatal:
                ends.append((run.env, run.level))
            if surely == ALWAYS:
                break
    del missing
    run.path = path
    if not ends:
        run.level, run.env = level, touched
        _finally(run, node)
        run.level = level
        if unhandled:
            run.dies(unhandled[0])
        return False
    if surely == ALWAYS and unhandled:
        run.level = level
        run.dies(unhandled[0])
    run.env, run.level = ends[0][0], max(end[1] for end in ends)
    for env, _ in ends[1:]:
        run.env = join_envs(run.env, env)
    if alive:
        run.level = max(run.level, ends[0][1])
    return _finally(run, node)


def _finally(run: Runner, node: ast.Try) -> bool:
    return run.block(node.finalbody) if node.finalbody else True


_FATAL = frozenset(
    {"send_signal", "kill", "exit", "_exit", "abort", "kill_process_tree", "kill_itself_when_parent_died"}
)


def _is_fatal(handler: ast.ExceptHandler) -> bool:
    """Whether a handler ends the process all the same."""
    for each in ast.walk(ast.Module(body=handler.body, type_ignores=[])):
        if isinstance(each, ast.Call):
            name = each.func.attr if isinstance(each.func, ast.Attribute) else getattr(each.func, "id", "")
            if name in _FATAL:
                return True
        if isinstance(each, ast.Raise):
            return True
    return False


_BROAD = frozenset({"Exception", "BaseException"})


def _catches(_run: Runner, handler: ast.ExceptHandler, death: Death) -> bool:
    if handler.type is None:
        return True
    types = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    names = {ast.unparse(each).rpartition(".")[2] for each in types}
    raised = death.type_name.rpartition(".")[2]
    if names & _BROAD or raised in names:
        return True
    broader = {
        "ModuleNotFoundError": {"ImportError"},
        "KeyError": {"LookupError"},
        "FileNotFoundError": {"OSError"},
    }
    return bool(broader.get(raised, set()) & names)


def _only_imports(run: Runner, node: ast.Try) -> bool:
    """Whether a `try` only imports what is there, so that its handlers are not reached."""
    for statement in node.body:
        if isinstance(statement, ast.ImportFrom | ast.Import):
            if not expressions.is_importable(run, statement):
                return False
        elif not isinstance(statement, ast.Assign | ast.Pass) or not isinstance(
            getattr(statement, "value", None), ast.Constant | None
        ):
            return False
    return True


def _with(run: Runner, node: ast.With | ast.AsyncWith) -> bool:
    for item in node.items:
        manager = run.evaluate(item.context_expr)
        if not manager:
            return False
        value = expressions.entered(run, item.context_expr, manager)
        if item.optional_vars is not None and value:
            assigning.assign(run, item.optional_vars, value)
    return run.block(node.body)


def _import(run: Runner, node: ast.Import) -> bool:
    return expressions.import_module(run, node)


def _import_from(run: Runner, node: ast.ImportFrom) -> bool:
    return expressions.import_names(run, node)


def _define(run: Runner, node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    for decorator in node.decorator_list:
        run.evaluate(decorator)
    run.bind(node.name, expressions.closure(run, node))
    return True


def _class(run: Runner, node: ast.ClassDef) -> bool:
    run.bind(node.name, RUN)
    return True


def _global(run: Runner, node: ast.Global) -> bool:
    run.globals.update(node.names)
    return True


def _nonlocal(run: Runner, node: ast.Nonlocal) -> bool:
    run.nonlocals.update(node.names)
    return True


def _match(run: Runner, node: ast.Match) -> bool:
    run.evaluate(node.subject)
    level, env, path = run.level, run.env, run.path
    ends = [env]
    for case in node.cases:
        run.level, run.env, run.path = min(level, SOMETIMES), dict(env), path
        for name in (
            each.name for each in ast.walk(case.pattern) if isinstance(each, ast.MatchAs) and each.name
        ):
            run.bind(name, RUN)
        if run.block(case.body):
            ends.append(run.env)
    run.level, run.path = level, path
    for each in ends:
        run.env = join_envs(run.env, each)
    return True


def _pass(_run: Runner, _node: ast.stmt) -> bool:
    return True


STATEMENTS: Mapping[type[ast.stmt], Callable[[Runner, Any], bool]] = {
    ast.If: _if,
    ast.Return: _return,
    ast.Expr: _expr,
    ast.Assign: _assign,
    ast.AnnAssign: _ann_assign,
    ast.AugAssign: _aug_assign,
    ast.For: _for,
    ast.AsyncFor: _for,
    ast.While: _while,
    ast.Break: _leave_loop,
    ast.Continue: _leave_loop,
    ast.Raise: _raise,
    ast.Assert: _assert,
    ast.Try: _try,
    ast.With: _with,
    ast.AsyncWith: _with,
    ast.Import: _import,
    ast.ImportFrom: _import_from,
    ast.FunctionDef: _define,
    ast.AsyncFunctionDef: _define,
    ast.ClassDef: _class,
    ast.Global: _global,
    ast.Nonlocal: _nonlocal,
    ast.Match: _match,
    ast.Pass: _pass,
    ast.Delete: _pass,
}
__all__ = ["NOTHING", "External", "Instance", "Runner", "unmarked"]
