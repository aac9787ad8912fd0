"""Runs one statement of each kind."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from assay.flow.reach import assigning, expressions, importing, iterating
from assay.flow.reach.context import Death, Path
from assay.flow.reach.elements import (
    ALWAYS,
    FORKED,
    MARKS,
    PERHAPS,
    RUN,
    SOMETIMES,
    Known,
    Seq,
    Value,
    joined,
    unmarked,
)
from assay.flow.reach.lifting import marks
from assay.flow.reach.narrowing import Env, join_envs, narrowed
from assay.flow.reach.within import all_marks

if TYPE_CHECKING:
    from assay.flow.reach.runner import Runner


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
        inner = narrowed(run, node.test, outcome=outcome)
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
    if run.context.is_root and run.context.level == SOMETIMES:
        run.event(node, "effect", "answers a request", changed=bool(all_marks(run, [value])))
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
    value = expressions.operated(run, node.op, left, right)
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
    items, surely = iterating.iterated(run, node.iter, source)
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


def _delete(run: Runner, node: ast.Delete) -> bool:
    """`del owner[key]`: that only one of two runs does it tells them apart."""
    for target in node.targets:
        if isinstance(target, ast.Subscript):
            owner = run.evaluate(target.value)
            run.evaluate(target.slice)
            run.event(target, "value", "is removed", changed=bool(owner & MARKS))
            for each in owner - MARKS:
                cell = run.engine.attribute_cell(each, "[]") if isinstance(each, Seq) else None
                if cell is not None and run.forked:
                    run.write(cell, run.read(cell))
    return True


def _assert(run: Runner, node: ast.Assert) -> bool:
    yes, no = run.test(node.test)
    if not yes and no and run.engine.level(run.context) == ALWAYS:
        message = expressions.shown(run, node.msg) if node.msg is not None else ""
        run.path = Path(run.path, node.test, False, no)
        run.die(node, "AssertionError", message)
        return False
    run.env = narrowed(run, node.test, outcome=True)
    return True


def _try(run: Runner, node: ast.Try) -> bool:
    level, path, before = run.level, run.path, run.env
    deaths: list[Death] = []
    run.tries.append(deaths)
    run.env = dict(before)
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
        run.level, run.path, run.env = level, path, touched
        handled, is_caught = _handlers(run, node, surely, deaths)
        ends += handled
        if is_caught:
            unhandled.clear()
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


def _handlers(
    run: Runner, node: ast.Try, surely: int, deaths: list[Death]
) -> tuple[list[tuple[Env, int]], bool]:
    """Run the handlers that may be reached: where they go on, and whether a sure exception is caught."""
    level, path, touched = run.level, run.path, run.env
    ends: list[tuple[Env, int]] = []
    is_caught = False
    for handler in node.handlers:
        if surely == ALWAYS and not _catches(handler, deaths[0]):
            continue
        run.level, run.path, run.env = min(level, surely), path, dict(touched)
        if handler.name:
            run.bind(handler.name, RUN)
        goes_on = run.block(handler.body)
        fatal = surely == ALWAYS and _is_fatal(handler)
        if surely == ALWAYS and not fatal:
            is_caught = True
        if goes_on and not fatal:
            ends.append((run.env, run.level))
        if surely == ALWAYS:
            break
    return ends, is_caught


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


def _catches(handler: ast.ExceptHandler, death: Death) -> bool:
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
            if not importing.is_importable(run, statement):
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
        value = iterating.entered(run, item.context_expr, manager)
        if item.optional_vars is not None and value:
            assigning.assign(run, item.optional_vars, value)
    return run.block(node.body)


def _import(run: Runner, node: ast.Import) -> bool:
    return importing.import_module(run, node)


def _import_from(run: Runner, node: ast.ImportFrom) -> bool:
    return importing.import_names(run, node)


def _define(run: Runner, node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    for decorator in node.decorator_list:
        run.evaluate(decorator)
    run.bind(node.name, expressions.closure(run, node))
    return True


def _class(run: Runner, node: ast.ClassDef) -> bool:
    """A class inside of a function, which is not followed: it may differ with what is named in it."""
    named = [each.id for each in ast.walk(node) if isinstance(each, ast.Name)]
    run.bind(node.name, RUN | marks(*(run.env[name] for name in named if name in run.env)))
    return True


def _global(run: Runner, node: ast.Global) -> bool:
    run.globals.update(node.names)
    return True


def _nonlocal(run: Runner, node: ast.Nonlocal) -> bool:
    run.nonlocals.update(node.names)
    return True


def _match(run: Runner, node: ast.Match) -> bool:
    differs = bool(marks(run.evaluate(node.subject)))
    run.forked += differs
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
    run.forked -= differs
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
    ast.Delete: _delete,
}
