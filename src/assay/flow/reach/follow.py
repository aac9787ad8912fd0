"""Follows an engine from its entry: the start function with the resolved record, and what serves requests."""

from __future__ import annotations

import ast
from typing import Any

from assay.engines import probes
from assay.flow.interpreter import Interpreter
from assay.flow.reach import registry
from assay.flow.reach.arguments import Arguments
from assay.flow.reach.binding import context_of, parameter_names, parameters
from assay.flow.reach.context import Context, Outcome
from assay.flow.reach.elements import ALWAYS, NOTHING, RUN, SOMETIMES, Thing, Value
from assay.flow.reach.engine import Engine
from assay.flow.reach.runner import Runner
from assay.flow.values import MISSING, Decorated, Function, Instance, Wrapped
from assay.source import absolute

_ROUTES = frozenset(
    {
        "get",
        "post",
        "put",
        "delete",
        "patch",
        "head",
        "api_route",
        "route",
        "websocket",
        "middleware",
        "on_event",
        "exception_handler",
    }
)


def run_once(engine: Engine, context: Context) -> Outcome:
    """One run through a context."""
    return Runner(engine, context).run_function()


def followed(i: Interpreter, record: Instance, name: str) -> Engine:
    """The engine of that name, followed from its entry with the record to where nothing changes."""
    engine = Engine(i, record, run_once)
    i.outside.is_serving = True
    registry.add(engine, name)
    registry.add_topologies(engine, name)
    engine.world_size = probes.STARTS[name].world_size
    engine.separate = frozenset(probes.STARTS[name].separate)
    for module, function in probes.STARTS[name].serve:
        state = i.modules.state(module)
        found = engine.module_level(state, function) if state is not None else MISSING
        while isinstance(found, Wrapped | Decorated):
            found = found.function
        if isinstance(found, Function):
            _begin(engine, found)
            break
    done: set[str] = set()
    while True:
        engine.settle()
        waiting = [each for each in engine.touched_modules if each not in done]
        if not waiting or engine.gave_up:
            engine.last_of_a = Thing("").number
            return engine
        for each in waiting:
            done.add(each)
            _add_routes(engine, each)


def _begin(engine: Engine, function: Function) -> None:
    run = Runner(engine, Context(function.node, function.module, "entry", -1))
    known = engine.elements.known(engine.record)
    context = context_of(run, function, None, Arguments([known]))
    names = parameter_names(function.node)
    for at, name in enumerate(names):
        default = function.defaults[at - len(names)] if at >= len(names) - len(function.defaults) else None
        cell = context.parameters[name]
        cell.initial = cell.value = known if at == 0 else engine.lift(default) if default else RUN
    engine.root(context, ALWAYS)


def _add_routes(engine: Engine, name: str) -> None:
    """Functions that a module hands to a web framework by a decorator are called by requests."""
    state = engine.i.modules.state(name)
    for statement in state.module.tree.body if state is not None else ():
        if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef) and any(
            _is_route(each) for each in statement.decorator_list
        ):
            _serve(engine, state, statement.name)
        elif isinstance(statement, ast.Assign | ast.Expr) and isinstance(statement.value, ast.Call):
            _touch_routers(engine, state, statement.value)
            for keyword in statement.value.keywords:
                if isinstance(keyword.value, ast.Name) and _is_function(state, keyword.value.id):
                    _serve(engine, state, keyword.value.id, made_by=statement)


def _touch_routers(engine: Engine, state: Any, call: ast.Call) -> None:
    """`app.include_router(router)`: the routes of the module that the router comes from are served too."""
    if isinstance(call.func, ast.Attribute) and call.func.attr == "include_router":
        for each in call.args:
            bindings = state.module.bindings.get(each.id, ()) if isinstance(each, ast.Name) else ()
            for binding in bindings:
                source = (
                    absolute(state.module, binding.node) if isinstance(binding.node, ast.ImportFrom) else None
                )
                if source:
                    engine.touched_modules.setdefault(source)


def _is_function(state: Any, name: str) -> bool:
    bindings = state.module.bindings.get(name, ())
    return any(isinstance(each.node, ast.FunctionDef | ast.AsyncFunctionDef) for each in bindings)


def _serve(engine: Engine, state: Any, name: str, *, made_by: ast.Assign | ast.Expr | None = None) -> None:
    """A function that someone outside calls; one that was given to the maker of an object is called with that
    object where a parameter asks for its class: `app = FastAPI(lifespan=f)`, `def f(app: FastAPI)`.
    """
    found: Any = engine.module_level(state, name)
    while isinstance(found, Wrapped | Decorated):
        found = found.function
    if isinstance(found, Function):
        run = Runner(engine, Context(found.node, state, "route", -1))
        context = context_of(run, found, None, Arguments())
        for parameter in parameters(found.node):
            cell = context.parameters[parameter.arg]
            cell.initial = cell.value = _made(engine, state, made_by, parameter) or RUN
        engine.root(context, SOMETIMES)


def _made(engine: Engine, state: Any, made_by: ast.Assign | ast.Expr | None, parameter: ast.arg) -> Value:
    """The object of module level that `name = Class(…)` makes, if the parameter asks for that class."""
    if not isinstance(made_by, ast.Assign) or not isinstance(made_by.value, ast.Call):
        return NOTHING
    target, asked = made_by.targets[0], parameter.annotation
    if not isinstance(target, ast.Name) or asked is None or ast.dump(asked) != ast.dump(made_by.value.func):
        return NOTHING
    found = engine.module_level(state, target.id)
    return NOTHING if found is MISSING else engine.lift(found)


def _is_route(decorator: ast.expr) -> bool:
    inner = decorator.func if isinstance(decorator, ast.Call) else decorator
    return isinstance(inner, ast.Attribute) and inner.attr in _ROUTES and isinstance(inner.value, ast.Name)
