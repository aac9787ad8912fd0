"""Carries out statements of the interpreted program."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from typing import Any

from assay.flow import classes, operations
from assay.flow.calls import make_function
from assay.flow.expressions import evaluate
from assay.flow.interpreter import Interpreter
from assay.flow.machine import Handlers, Loop, Path
from assay.flow.values import (
    MISSING,
    Class,
    Deferred,
    External,
    Frame,
    Instance,
    ModuleValue,
    NotPure,
    Origin,
    OutOfFuel,
    Raised,
    Signal,
    Touched,
    Unknown,
    VList,
)
from assay.source import absolute, binary

MAX_TURNS = 20_000


def run_block(i: Interpreter, body: list[ast.stmt], frame: Frame) -> Any:
    """Carry out statements in order; a signal if they leave the block."""
    kept = len(i.machine.guards)
    try:
        for statement in body:
            signal = execute(i, statement, frame)
            if signal is not None:
                return signal
    finally:
        if len(i.machine.guards) > kept:
            del i.machine.guards[kept:]
    return None


def execute(i: Interpreter, node: ast.stmt, frame: Frame) -> Any:
    """Carry out one statement; a `Signal` if it leaves its block, else None."""
    i.machine.step()
    handler = _STATEMENTS.get(type(node))
    if handler is None:
        i.machine.passed_over(f"statement {type(node).__name__} is not followed")
        return None
    kept, frame_kept = i.site, i.machine.frame
    i.site, i.machine.frame = (frame.module.module, node), frame
    try:
        return handler(i, node, frame)
    except Touched as touched:
        i.machine.passed_over(f"a statement on something open: {getattr(touched.value, 'reason', '')}")
        return None
    finally:
        i.site, i.machine.frame = kept, frame_kept


def _reading(i: Interpreter, node: ast.expr, frame: Frame) -> tuple[Any, set[str]]:
    """The value of an expression, and the facts and options that were read for it."""
    outer, i.machine.reads = i.machine.reads, set()
    try:
        value = evaluate(i, node, frame)
        return value, i.machine.reads
    except Touched as touched:
        reason = touched.value.reason if isinstance(touched.value, Unknown) else "a value that is not known"
        i.machine.gap(f"an operation on something open: {reason}")
        return Unknown(reason), i.machine.reads
    finally:
        i.machine.reads = outer


def _expr(i: Interpreter, node: ast.Expr, frame: Frame) -> Any:
    if isinstance(node.value, ast.Yield):
        value = evaluate(i, node.value.value, frame) if node.value.value else None
        return frame.yielded(value) if frame.yielded else None
    if isinstance(node.value, ast.YieldFrom) and frame.yielded:
        found = operations.elements(i, evaluate(i, node.value.value, frame))
        for each in [found] if isinstance(found, Unknown) else found:
            frame.yielded(each)
        if not isinstance(found, Unknown):
            return None
    if not isinstance(node.value, ast.Constant):
        _reading(i, node.value, frame)
    return None


def _assign(i: Interpreter, node: ast.Assign, frame: Frame) -> None:
    value, reads = _reading(i, node.value, frame)
    for target in node.targets:
        assign(i, target, value, frame, reads)


def _ann_assign(i: Interpreter, node: ast.AnnAssign, frame: Frame) -> None:
    if node.value is not None:
        value, reads = _reading(i, node.value, frame)
        assign(i, node.target, value, frame, reads)


def _aug_assign(i: Interpreter, node: ast.AugAssign, frame: Frame) -> None:
    load = operations.as_load(node.target)
    owner, reads = _reading(i, load, frame)
    value, more = _reading(i, node.value, frame)
    owner = i.force(owner)
    if type(owner) is VList and isinstance(node.op, ast.Add):
        operations.extend(i, owner, value)
        return
    result = i.lift(lambda a, b: binary(node.op, a, b), owner, value, label=type(node.op).__name__)
    assign(i, node.target, result, frame, reads | more)


def assign(i: Interpreter, target: ast.expr, value: Any, frame: Frame, reads: set[str]) -> None:
    """Bind a target to a value that depended on these facts."""
    if isinstance(target, ast.Name):
        bind(i, target.id, value, frame, reads)
    elif isinstance(target, ast.Tuple | ast.List):
        _unpack(i, target.elts, value, frame, reads)
    elif isinstance(target, ast.Attribute):
        owner = evaluate(i, target.value, frame)
        operations.set_attribute(i, owner, target.attr, value, reads | i.held_reads(frame))
    elif isinstance(target, ast.Subscript):
        owner = i.force(evaluate(i, target.value, frame))
        operations.set_item(i, owner, evaluate(i, target.slice, frame), value)


def bind(i: Interpreter, name: str, value: Any, frame: Frame, reads: set[str]) -> None:
    """Bind a local, global or nonlocal name."""
    if name in frame.globals:
        if i.machine.strict is not None and frame.globals[name] is None:
            raise NotPure(name)
        frame = frame.globals[name] or frame.module.frame
    i.machine.put(frame.names, name, value)
    origin = reads | i.held_reads(frame) if i.machine.guards else reads
    if origin or name in frame.origins:
        i.machine.put(frame.origins, name, Origin(origin))


def _unpack(i: Interpreter, targets: list[ast.expr], value: Any, frame: Frame, reads: set[str]) -> None:
    values = operations.elements(i, value)
    starred = next((at for at, each in enumerate(targets) if isinstance(each, ast.Starred)), None)
    if isinstance(values, Unknown):
        values = [operations.part(i, value, at) for at in range(len(targets))]
    elif starred is not None:
        after = len(targets) - starred - 1
        middle = VList(values[starred : len(values) - after])
        values = [*values[:starred], middle, *values[len(values) - after :]]
    if len(values) != len(targets):
        raise i.error(ValueError, f"expected {len(targets)} values to unpack, got {len(values)}")
    for target, each in zip(targets, values, strict=True):
        inner = target.value if isinstance(target, ast.Starred) else target
        assign(i, inner, each, frame, reads)


def _return(i: Interpreter, node: ast.Return, frame: Frame) -> Signal:
    if node.value is None:
        return Signal("return")
    value = evaluate(i, node.value, frame)
    i.machine.reads |= i.held_reads(frame)
    return Signal("return", value)


def _if(i: Interpreter, node: ast.If, frame: Frame) -> Any:
    value, reads = _reading(i, node.test, frame)
    truth = i.truth(value)
    if isinstance(truth, bool):
        signal = _taken(i, node, frame, reads, taken=truth, is_open=False)
        if signal is None and _leaves(node.orelse if truth else node.body):
            i.hold(node.test, frame, reads, taken=truth, is_open=False)
        return signal
    signal = i.branch(
        value,
        lambda: _taken(i, node, frame, reads, taken=True, is_open=True),
        lambda: _taken(i, node, frame, reads, taken=False, is_open=True),
    )
    if signal is None and _leaves(node.body) is not _leaves(node.orelse):
        i.hold(node.test, frame, reads, taken=not _leaves(node.body), is_open=True)
    return signal


def _taken(i: Interpreter, node: ast.If, frame: Frame, reads: set[str], *, taken: bool, is_open: bool) -> Any:
    body = node.body if taken else node.orelse
    if not body:
        return None
    kept = len(i.machine.guards)
    i.hold(node.test, frame, reads, taken=taken, is_open=is_open)
    try:
        return run_block(i, body, frame)
    finally:
        del i.machine.guards[kept:]


def _leaves(body: list[ast.stmt]) -> bool:
    """Whether the last statement of a block leaves it, so that what follows stands under the test."""
    return bool(body) and isinstance(body[-1], ast.Return | ast.Raise | ast.Continue | ast.Break)


def _assert(i: Interpreter, node: ast.Assert, frame: Frame) -> None:
    value, reads = _reading(i, node.test, frame)

    def fail() -> None:
        kept = len(i.machine.guards)
        i.hold(node.test, frame, reads, taken=False, is_open=not isinstance(i.truth(value), bool))
        try:
            i.site = (frame.module.module, node.test)  # the line that Python's own traceback names
            message = () if node.msg is None else (operations.text(i, evaluate(i, node.msg, frame)),)
            raise i.error(AssertionError, *message)
        finally:
            del i.machine.guards[kept:]

    i.branch(value, lambda: None, fail)


def _raise(i: Interpreter, node: ast.Raise, frame: Frame) -> None:
    if node.exc is None:
        current = _current_error(frame)
        raise current if current is not None else i.error(RuntimeError, "No active exception to reraise")
    error = i.force(evaluate(i, node.exc, frame))
    if isinstance(error, Class) or (isinstance(error, type) and issubclass(error, BaseException)):
        error = i.call(error, [], {})
    current = _current_error(frame)
    if current is not None and current.error is error:
        raise current
    if not isinstance(error, Instance):
        made = Instance(Exception)
        made.attributes["args"] = (Unknown("an exception that is not modelled"),)
        error = made
    raise i.raised(error)


def _current_error(frame: Frame | None) -> Raised | None:
    while frame is not None:
        if "\0error" in frame.names:
            found: Raised = frame.names["\0error"]
            return found
        frame = frame.parent
    return None


def _for(i: Interpreter, node: ast.For, frame: Frame) -> Any:
    value, reads = _reading(i, node.iter, frame)
    values = operations.elements(i, value)
    if isinstance(values, Unknown):
        return _unknown_loop(
            i,
            node,
            frame,
            values,
            lambda: assign(i, node.target, operations.part(i, values, "each"), frame, reads),
        )
    loop = Loop()

    def turns() -> Any:
        for each in values:
            assign(i, node.target, each, frame, reads)
            signal = _turn(i, node.body, frame, loop)
            if isinstance(signal, Signal) and signal.kind != "continue":
                return signal
        return run_block(i, node.orelse, frame)

    return _looped(i, loop, turns)


def _while(i: Interpreter, node: ast.While, frame: Frame) -> Any:
    loop = Loop()

    def turns() -> Any:
        for _ in range(MAX_TURNS):
            truth = i.truth(evaluate(i, node.test, frame))
            if not isinstance(truth, bool):
                return _unknown_loop(i, node, frame, truth, lambda: None)
            if not truth:
                return run_block(i, node.orelse, frame)
            signal = _turn(i, node.body, frame, loop)
            if isinstance(signal, Signal) and signal.kind != "continue":
                return signal
        raise OutOfFuel

    return _looped(i, loop, turns)


def _turn(i: Interpreter, body: list[ast.stmt], frame: Frame, loop: Loop) -> Any:
    i.machine.step()
    outer, i.machine.loop = i.machine.loop, loop
    try:
        path = i.machine.ended(lambda: run_block(i, body, frame))
    finally:
        i.machine.loop = outer
    if i.machine.pendings:
        path = i.machine.settle(loop.continues, path)
    return i.machine.resume(path)


def _looped(i: Interpreter, loop: Loop, turns: Callable[[], Any]) -> Any:
    path = i.machine.ended(turns)
    if path.kind == "break":
        path = Path("value", None, {})
    if i.machine.pendings:
        path = i.machine.settle(loop.breaks, path)
    return i.machine.resume(path)


def _unknown_loop(i: Interpreter, node: Any, frame: Frame, test: Unknown, begin: Callable[[], None]) -> Any:
    """A loop of which nobody knows how often it turns: once or never, and what it changes is not known."""
    i.machine.gap(f"a loop over something unknown: {test.reason}")
    turned = Unknown(test.reason, ("turns", test.key))
    mark_reason = f"changed in a loop that depends on: {test.reason}"

    def once() -> Any:
        begin()
        machine = i.machine
        mark = len(machine.trail)
        loop = Loop()
        signal = _looped(i, loop, lambda: _turn(i, node.body, frame, loop))
        for holder, key, _ in list(machine.changes(mark).values()):
            if isinstance(key, str) and not key.startswith("\0"):
                machine.put(holder, key, Unknown(mark_reason))
        return signal

    return i.machine.fork(turned, once, lambda: None)


def _try(i: Interpreter, node: ast.Try, frame: Frame) -> Any:
    types = [None if h.type is None else i.force(evaluate(i, h.type, frame)) for h in node.handlers]

    def caught_by(raised: Raised) -> int | None:
        matches = (
            at for at, each in enumerate(types) if each is None or classes.matches(i, raised.error, each)
        )
        return next(matches, None)

    def handle(path: Path) -> Path:
        raised: Raised = path.value
        at = caught_by(raised)
        if at is None:
            return path
        return i.machine.ended(lambda: _handle(i, node.handlers[at], raised, frame))

    handlers = Handlers(lambda raised: caught_by(raised) is not None)
    if node.handlers:
        i.machine.tries.append(handlers)
    guards = len(i.machine.guards)
    path = i.machine.ended(lambda: run_block(i, node.body, frame))
    del i.machine.guards[guards:]
    if node.handlers:
        i.machine.tries.remove(handlers)
    path = _after_try(i, node, frame, path, handle)
    if i.machine.pendings:
        path = i.machine.settle(handlers, path, handle)
    if node.finalbody:
        signal = run_block(i, node.finalbody, frame)
        if signal is not None:
            return signal
    return i.machine.resume(path)


def _after_try(
    i: Interpreter, node: ast.Try, frame: Frame, path: Path, handle: Callable[[Path], Path]
) -> Path:
    if path.kind == "raise":
        return handle(path)
    if path.kind == "value" and node.orelse:
        return i.machine.ended(lambda: run_block(i, node.orelse, frame))
    return path


def _handle(i: Interpreter, handler: ast.ExceptHandler, raised: Raised, frame: Frame) -> Any:
    before = frame.names.get("\0error", MISSING)
    i.machine.put(frame.names, "\0error", raised)
    if handler.name:
        bind(i, handler.name, raised.error, frame, set())
    try:
        return run_block(i, handler.body, frame)
    finally:
        i.machine.put(frame.names, "\0error", before)


def _with(i: Interpreter, node: ast.With, frame: Frame) -> Any:
    return _with_items(i, node.items, node.body, frame)


def _with_items(i: Interpreter, items: list[ast.withitem], body: list[ast.stmt], frame: Frame) -> Any:
    if not items:
        return run_block(i, body, frame)
    first = items[0]
    manager = i.force(evaluate(i, first.context_expr, frame))

    def inside(value: Any) -> Any:
        if first.optional_vars is not None:
            assign(i, first.optional_vars, value, frame, set())
        return _with_items(i, items[1:], body, frame)

    return operations.entered(i, manager, inside)


def _import(i: Interpreter, node: ast.Import, frame: Frame) -> None:
    for alias in node.names:
        bound = alias.asname or alias.name.partition(".")[0]
        whole = alias.name if alias.asname else bound
        if i.modules.has(whole):
            value: Any = ModuleValue(whole)
        else:
            i.outside.importing(i, alias.name)
            value = External(whole)
        bind(i, bound, value, frame, set())


def _import_from(i: Interpreter, node: ast.ImportFrom, frame: Frame) -> None:
    source = absolute(frame.module.module, node)
    if source is None or source == "__future__":
        return
    for alias in node.names:
        if alias.name == "*":
            continue
        if i.modules.has(source):
            value: Any = Deferred(source, alias.name)
            if i.machine.tries:
                value = i.modules.imported(source, alias.name)
            if value is MISSING:
                raise i.error(ImportError, f"cannot import name {alias.name!r} from {source!r}")
        else:
            i.outside.importing(i, source)
            value = External(f"{source}.{alias.name}")
        bind(i, alias.asname or alias.name, value, frame, set())


def _function(i: Interpreter, node: ast.FunctionDef | ast.AsyncFunctionDef, frame: Frame) -> None:
    value: Any = make_function(i, node, frame)
    for decorator in reversed(node.decorator_list):
        value = operations.decorated(i, evaluate(i, decorator, frame), value)
    bind(i, node.name, value, frame, set())


def _class(i: Interpreter, node: ast.ClassDef, frame: Frame) -> None:
    value: Any = classes.build(i, node, frame)
    for decorator in reversed(node.decorator_list):
        value = operations.decorated(i, evaluate(i, decorator, frame), value)
    bind(i, node.name, value, frame, set())


def _delete(i: Interpreter, node: ast.Delete, frame: Frame) -> None:
    for target in node.targets:
        if isinstance(target, ast.Name):
            i.machine.put(frame.names, target.id, MISSING)
        elif isinstance(target, ast.Attribute):
            owner = i.force(evaluate(i, target.value, frame))
            if isinstance(owner, Instance | Class):
                i.machine.put(owner.attributes, target.attr, MISSING)
        elif isinstance(target, ast.Subscript):
            owner = i.force(evaluate(i, target.value, frame))
            operations.delete_item(i, owner, evaluate(i, target.slice, frame))


def _global(i: Interpreter, node: ast.Global, frame: Frame) -> None:
    for name in node.names:
        frame.globals[name] = None
        i.modules.lookup(frame.module, name)


def _nonlocal(_i: Interpreter, node: ast.Nonlocal, frame: Frame) -> None:
    for name in node.names:
        outer = frame.parent
        while outer is not None and name not in outer.names:
            outer = outer.parent
        frame.globals[name] = outer or frame


_STATEMENTS: Mapping[type[ast.stmt], Callable[[Interpreter, Any, Frame], Any]] = {
    ast.Expr: _expr,
    ast.Assign: _assign,
    ast.AnnAssign: _ann_assign,
    ast.AugAssign: _aug_assign,
    ast.Return: _return,
    ast.If: _if,
    ast.Assert: _assert,
    ast.Raise: _raise,
    ast.For: _for,
    ast.While: _while,
    ast.Try: _try,
    ast.With: _with,
    ast.Import: _import,
    ast.ImportFrom: _import_from,
    ast.FunctionDef: _function,
    ast.AsyncFunctionDef: _function,
    ast.ClassDef: _class,
    ast.Delete: _delete,
    ast.Global: _global,
    ast.Nonlocal: _nonlocal,
    ast.Pass: lambda _i, _node, _frame: None,
    ast.Break: lambda _i, _node, _frame: Signal("break"),
    ast.Continue: lambda _i, _node, _frame: Signal("continue"),
}
