"""Calls what the interpreted program calls: functions, classes, partial functions, modelled functions."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import Any

from assay.flow import classes
from assay.flow.copying import deep_copy
from assay.flow.interpreter import MAX_DEPTH, Interpreter
from assay.flow.machine import Path
from assay.flow.values import (
    MISSING,
    Bound,
    Choice,
    Class,
    External,
    Frame,
    Function,
    Instance,
    Library,
    Native,
    NotPure,
    Origin,
    Partial,
    Signal,
    Touched,
    Unknown,
    VDict,
    VList,
    Wrapped,
    may_be_missing,
)

_GENERATES: dict[ast.AST, bool] = {}


def make_function(i: Interpreter, node: Any, frame: Frame) -> Function:
    """The function that a definition or lambda makes where it stands."""
    closure = frame if frame is not frame.module.frame else None
    made = Function(node, frame.module, closure)
    made.defaults = [i.evaluate(each, frame) for each in node.args.defaults]
    for argument, default in zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True):
        if default is not None:
            made.kwdefaults[argument.arg] = i.evaluate(default, frame)
    made.generates = not isinstance(node, ast.Lambda) and generates(node, frame.module.module.lines)
    return made


def generates(node: ast.FunctionDef | ast.AsyncFunctionDef, lines: Sequence[str]) -> bool:
    """Whether a call of the function makes a generator; `lines` are its module's."""
    if node not in _GENERATES:
        own = lines[node.lineno - 1 : node.end_lineno]  # the word is looked for first: a walk takes longer
        _GENERATES[node] = any("yield" in line for line in own) and _yields(node.body)
    return _GENERATES[node]


def _yields(body: list[Any]) -> bool:
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda):
            continue
        if isinstance(node, ast.Yield | ast.YieldFrom) or _yields(list(ast.iter_child_nodes(node))):
            return True
    return False


def call(i: Interpreter, function: Any, arguments: list[Any], keywords: dict[str, Any]) -> Any:
    """Call a value."""
    function = i.force(function)
    handler = _CALLS.get(type(function))
    if handler is not None:
        return handler(i, function, arguments, keywords)
    if isinstance(function, type) and issubclass(function, BaseException):
        made = Instance(function)
        made.attributes["args"] = tuple(arguments)
        return made
    if isinstance(function, type) or callable(function):
        return i.outside.call_native(i, function, arguments, keywords)
    return i.machine.not_called(f"a call of {type(function).__name__}")


def _call_unknown(i: Interpreter, function: Unknown, arguments: list[Any], _keywords: Any) -> Any:
    label = f"{function.dotted}()" if isinstance(function, External) else function.reason
    if i.machine.strict is not None:
        raise NotPure(label)
    if isinstance(function, External):
        i.machine.gap(f"{function.dotted}() is not modelled")
    i.outside.may_fail(i, function)
    keys = tuple(getattr(each, "key", None) or id(each) for each in arguments)
    return Unknown(
        f"{label} is not modelled" if isinstance(function, External) else label, ("call", function.key, keys)
    )


def _call_choice(i: Interpreter, function: Choice, arguments: list[Any], keywords: Any) -> Any:
    return i.machine.fork(
        function.test,
        lambda: i.call(function.yes, arguments, keywords),
        lambda: i.call(function.no, arguments, keywords),
    )


def _call_bound(i: Interpreter, function: Bound, arguments: list[Any], keywords: Any) -> Any:
    return i.call(function.function, [function.receiver, *arguments], keywords)


def _call_partial(i: Interpreter, function: Partial, arguments: list[Any], keywords: Any) -> Any:
    return i.call(function.function, [*function.arguments, *arguments], {**function.keywords, **keywords})


def _call_native(i: Interpreter, function: Native, arguments: list[Any], keywords: Any) -> Any:
    try:
        return function.run(i, *arguments, **keywords)
    except Touched as touched:
        value = touched.value
        reason = value.reason if isinstance(value, Unknown) else f"an open argument of {function.name}"
        return Unknown(reason, ("native", function.name, getattr(value, "key", id(value))))
    except TypeError as error:
        return i.machine.unknown(f"{function.name}: {str(error)[:120]}")


def _call_wrapped(i: Interpreter, function: Wrapped, arguments: list[Any], keywords: Any) -> Any:
    if function.kind == "cache":
        return _cached(i, function, arguments, keywords)
    if function.kind == "context":
        return Wrapped("entering", Partial(function.function, arguments, keywords))
    return i.call(function.function, arguments, keywords)


def _cached(i: Interpreter, function: Wrapped, arguments: list[Any], keywords: dict[str, Any]) -> Any:
    try:
        key: Any = (tuple(arguments), tuple(sorted(keywords.items())))
        found = i.force(function.store.get(key, MISSING))
    except (Touched, TypeError):
        return i.call(function.function, arguments, keywords)
    if may_be_missing(found):
        outer, i.machine.reads = i.machine.reads, set()
        try:
            found = i.call(function.function, arguments, keywords)
        finally:
            reads, i.machine.reads = i.machine.reads, outer
        i.machine.put(function.store, key, found)
        i.machine.put(function.origins, key, Origin(reads))
    i.machine.reads |= function.origins.get(key, Origin())
    if i.machine.strict is not None:
        i.machine.strict.note(function.origins.get(key, Origin()))
        return deep_copy(found, {})  # as another process would make it
    return found


def _call_class(i: Interpreter, function: Class, arguments: list[Any], keywords: dict[str, Any]) -> Any:
    return classes.instantiate(i, function, arguments, keywords)


def _call_library(i: Interpreter, function: Library, arguments: list[Any], keywords: dict[str, Any]) -> Any:
    made = Instance(function)
    begin = function.attributes.get("__init__")
    if begin is not None:
        i.call(begin, [made, *arguments], keywords)
    return made


def _call_instance(i: Interpreter, function: Instance, arguments: list[Any], keywords: dict[str, Any]) -> Any:
    method = i.attribute(function, "__call__")
    if method is MISSING or isinstance(method, Unknown):
        return i.machine.not_called(f"a call of an object of {getattr(function.cls, 'name', function.cls)}")
    return i.call(method, arguments, keywords)


def call_function(i: Interpreter, function: Function, arguments: list[Any], keywords: dict[str, Any]) -> Any:
    """Run a function of the tree."""
    machine = i.machine
    machine.step(2)
    if i.outside.passes_over(arguments):
        return None
    if machine.depth >= MAX_DEPTH:
        return machine.not_called(f"calls deeper than {MAX_DEPTH}")
    if function.node in i.running[:-1] and any(isinstance(i.force(each), Unknown) for each in arguments):
        return machine.not_called(f"{function.name} calls itself with something unknown")
    if isinstance(function.node, ast.AsyncFunctionDef):
        return machine.not_called(f"asynchronous function {function.name}")
    frame = _frame(i, function, arguments, keywords)
    if frame is None:
        return machine.not_called(f"arguments of {function.name}")
    if isinstance(function.node, ast.Lambda):
        return i.evaluate(function.node.body, frame)
    if function.generates:
        return _generated(i, function, frame)
    return _run(i, function, frame)


def _run(i: Interpreter, function: Function, frame: Frame) -> Any:
    machine = i.machine
    outer_reads, machine.reads = machine.reads, set()
    kept = machine.frame, machine.loop, len(machine.guards), dict(machine.assumed)
    machine.frame, machine.loop, frame.guards = frame, None, len(machine.guards)
    machine.depth += 1
    i.running.append(function.node)
    ran = i.ran if machine.strict is None else machine.strict.functions
    ran[function.node] = function.module.name
    site = i.site
    i.trace.append(
        (site[0].file, getattr(site[1], "lineno", 0), function.name) if site else ("", 0, function.name)
    )
    i.callers.append((site, frame.guards, function))
    try:
        path = machine.ended(lambda: _body(i, function, frame))
        if machine.pendings:
            path = machine.settle(frame, path)
    except RecursionError:
        path = Path("return", machine.unknown("calls nested too deeply"), {})
    finally:
        i.trace.pop()
        i.callers.pop()
        i.running.pop()
        i.site = site
        machine.depth -= 1
        machine.frame, machine.loop = kept[0], kept[1]
        del machine.guards[kept[2] :]
        machine.assumed = kept[3] | _forced(machine.assumed, machine.possible)
        machine.reads |= outer_reads
    if path.kind == "raise":
        raise path.value
    return path.value if path.kind == "return" else None


def _forced(assumed: dict[Any, bool], possible: list[Any]) -> dict[Any, bool]:
    """What is assumed for good: that the program did not raise where it may have."""
    keys = {test.key for _, conditions in possible if len(conditions) == 1 for test, _outcome in conditions}
    return {key: outcome for key, outcome in assumed.items() if key in keys}


def _body(i: Interpreter, function: Function, frame: Frame) -> Any:
    signal = i.run_block(function.node.body, frame)  # type: ignore[arg-type]
    return signal if isinstance(signal, Signal) else Signal("return")


def _generated(i: Interpreter, function: Function, frame: Frame) -> Any:
    found = VList()
    frame.yielded = found.append
    _run(i, function, frame)
    return found


def enter(i: Interpreter, manager: Partial, inside: Callable[[Any], Any]) -> Any:
    """Run the body of a `with` where the generator of its context manager yields."""
    function = i.force(manager.function)
    while isinstance(function, Wrapped | Bound):
        if isinstance(function, Bound):
            manager = Partial(function.function, [function.receiver, *manager.arguments], manager.keywords)
        function = i.force(function.function)
    if not isinstance(function, Function):
        i.machine.passed_over("a context manager that is not followed")
        return inside(Unknown("a context manager that is not followed"))
    frame = _frame(i, function, manager.arguments, manager.keywords)
    if frame is None:
        return inside(Unknown(f"arguments of {function.name}"))
    left: list[Any] = []

    def body(value: Any) -> None:
        left.append(inside(value))

    frame.yielded = body
    _run(i, function, frame)
    return left[0] if left else None


def _frame(
    i: Interpreter, function: Function, arguments: list[Any], keywords: dict[str, Any]
) -> Frame | None:
    frame = Frame(function.module, function.closure)
    if i.outside.record is None:
        i.early_frames.append(frame)
    frame.function = function
    frame.receiver = arguments[0] if arguments else None
    problem = _bind(function, arguments, dict(keywords), frame.names)
    if problem:
        raise i.error(TypeError, f"{function.name}() {problem}")
    if i.machine.reads:
        origin = Origin(i.machine.reads)
        frame.origins = {name: origin for name in frame.names if name not in ("self", "cls")}
    return frame


def _bind(function: Function, arguments: list[Any], keywords: dict[str, Any], names: dict[str, Any]) -> str:
    """Bind parameters to arguments; what is wrong, or nothing."""
    spec = function.node.args
    positional = [each.arg for each in (*spec.posonlyargs, *spec.args)]
    names.update(zip(positional, arguments, strict=False))
    rest = arguments[len(positional) :]
    if spec.vararg is not None:
        names[spec.vararg.arg] = tuple(rest)
    elif rest:
        return f"takes {len(positional)} positional arguments but {len(arguments)} were given"
    for each in (*positional, *(each.arg for each in spec.kwonlyargs)):
        if each in keywords:
            if each in names:
                return f"got multiple values for argument {each!r}"
            names[each] = keywords.pop(each)
    if spec.kwarg is not None:
        names[spec.kwarg.arg] = VDict(keywords)
    elif keywords:
        return f"got an unexpected keyword argument {next(iter(keywords))!r}"
    return _defaults(function, positional, names)


def _defaults(function: Function, positional: list[str], names: dict[str, Any]) -> str:
    first = len(positional) - len(function.defaults)
    for at, name in enumerate(positional):
        if name not in names:
            if at < first:
                return f"missing required argument: {name!r}"
            names[name] = function.defaults[at - first]
    for each in function.node.args.kwonlyargs:
        if each.arg not in names:
            if each.arg not in function.kwdefaults:
                return f"missing required argument: {each.arg!r}"
            names[each.arg] = function.kwdefaults[each.arg]
    return ""


_CALLS: dict[type, Callable[..., Any]] = {
    Function: call_function,
    Bound: _call_bound,
    Partial: _call_partial,
    Native: _call_native,
    Wrapped: _call_wrapped,
    Class: _call_class,
    Library: _call_library,
    Instance: _call_instance,
    Choice: _call_choice,
    Unknown: _call_unknown,
    External: _call_unknown,
}
