"""Hands the arguments of a call to the parameters of the function that is called."""

from __future__ import annotations

import ast
from collections.abc import Collection
from typing import TYPE_CHECKING, Any

from assay.flow.reach.arguments import Arguments, Keywords, Spread, spread_value
from assay.flow.reach.context import Cell, Context
from assay.flow.reach.elements import (
    MARKS,
    NOTHING,
    RUN,
    Closure,
    Element,
    Known,
    Obj,
    Seq,
    Value,
    is_plain,
    joined,
    unmarked,
)
from assay.flow.reach.items import store_item
from assay.flow.values import (
    Class,
    Function,
    VDict,
)

if TYPE_CHECKING:
    from assay.flow.reach.runner import Runner

MAX_VARIANTS = 12
"""So many constant arguments of one function get a context of their own."""


def spread_into(run: Runner, target: Element, value: Value) -> None:
    """`{**value}` into a dict."""
    engine = run.engine
    for each in value - MARKS:
        if isinstance(each, Seq):
            for name in engine.keys_of(each, run.context):
                held = run.read(engine.attribute_cell(each, f"[{name}]"))
                store_item(run, target, engine.elements.known(name), held)
            rest = run.read(engine.attribute_cell(each, "[?]"))
            if rest:
                store_item(run, target, RUN, rest)
        elif isinstance(each, Known) and isinstance(each.value, dict):
            for name, inner in list(each.value.items())[:200]:
                store_item(run, target, engine.elements.known(name), engine.lift(inner))
        else:
            store_item(run, target, RUN, RUN)


def context_of(run: Runner, function: Any, receiver: Element | None, arguments: Arguments) -> Context:
    """The context of a function as it is called there: by its object, or by constants among the arguments."""
    engine = run.engine
    node = function.node
    constants: Any = None
    if isinstance(function, Function) and not isinstance(node, ast.Lambda):
        constants = _constants(arguments) if receiver is None else _texts(arguments)
        if constants is not None:
            variants = engine.variants.setdefault(node, {})
            if constants not in variants:
                if len(variants) >= MAX_VARIANTS:
                    constants = None
                else:
                    variants[constants] = None
    parent = function.context if isinstance(function, Closure) else None
    state = parent.state if parent is not None else function.module

    def make(context: Context) -> None:
        context.function = function
        context.receiver = receiver
        context.parent = parent
        context.owner = getattr(function, "owner", None)
        for name in parameter_names(node):
            context.parameters[name] = Cell(("parameter", context.name, name))

    closure = getattr(function, "closure", None)
    key = (receiver, constants, parent, id(closure) if closure is not None else 0)
    return engine.context(node, state, key, make)


def _constants(arguments: Arguments) -> Any:
    """Those arguments that are always the same, by place or name; None if there are none."""
    found: list[Any] = []
    for name, value in [*enumerate(arguments.positional), *arguments.keywords.items()]:
        plain = unmarked(value)
        only = next(iter(plain)) if len(plain) == 1 else None
        if (isinstance(only, Known) and (is_plain(only.value) or isinstance(only.value, Class))) or (
            isinstance(only, Obj) and only.is_apart
        ):
            found.append((name, only))
    return tuple(found) or None


def _texts(arguments: Arguments) -> Any:
    """The same for a method, which has contexts by its object already: only texts, by which it may choose."""
    found = _constants(arguments) or ()
    return tuple(e for e in found if isinstance(e[1], Known) and isinstance(e[1].value, str)) or None


def parameter_names(node: Any) -> list[str]:
    """The names of the parameters of a function, `*x` and `**x` last."""
    return [each.arg for each in parameters(node)]


def parameters(node: Any) -> list[ast.arg]:
    """The parameters of a function, `*x` and `**x` last."""
    spec = node.args
    last = [each for each in (spec.vararg, spec.kwarg) if each is not None]
    return [*spec.posonlyargs, *spec.args, *spec.kwonlyargs, *last]


def bind(run: Runner, callee: Context, function: Any, arguments: Arguments) -> None:
    """Hand arguments to parameters."""
    keywords, spread = arguments.keywords, arguments.spread
    spec = callee.node.args
    positional = [each.arg for each in (*spec.posonlyargs, *spec.args)]
    given: Keywords = dict(zip(positional, arguments.positional, strict=False))
    rest = arguments.positional[len(positional) :]
    named = dict.fromkeys((*positional, *(each.arg for each in spec.kwonlyargs)))
    extra = {name: value for name, value in keywords.items() if name not in named}
    given |= {name: value for name, value in keywords.items() if name in named}
    for name in named:
        if name not in given and spread is not None:
            value = spread_value(run, spread, name)
            if value is None and spread.positional and name in positional:
                value = spread.positional
            if value is not None:
                given[name] = joined(value, _default(run, function, name, positional) or NOTHING)
        if name not in given:
            given[name] = _default(run, function, name, positional) or RUN
    for name, value in given.items():
        run.write(callee.parameters[name], value)
    if spec.vararg is not None:
        _bind_rest(run, callee, spec.vararg, rest, spread)
    if spec.kwarg is not None:
        _bind_keywords(run, callee, spec.kwarg, extra, spread, named)


def _of_a(run: Runner, callee: Context) -> Context:
    """In run B, the context of run A that it stands for."""
    overlay = run.engine.overlay
    return callee if overlay is None else overlay.partners.get(callee, callee)


def _bind_rest(run: Runner, callee: Context, node: ast.arg, rest: list[Value], spread: Spread | None) -> None:
    made = run.engine.elements.one(("rest", _of_a(run, callee)), lambda: Seq(node, "list"))
    element = next(iter(made))
    values = [*rest, *([spread.positional] if spread is not None and spread.positional else [])]
    for value in values:
        run.write(run.engine.attribute_cell(element, "[]"), value)
    run.write(callee.parameters[node.arg], made)


def _bind_keywords(
    run: Runner,
    callee: Context,
    node: ast.arg,
    extra: Keywords,
    spread: Spread | None,
    named: Collection[str],
) -> None:
    made = run.engine.elements.one(("keywords", _of_a(run, callee)), lambda: Seq(node, "dict"))
    element = next(iter(made))
    for name, value in extra.items():
        store_item(run, element, run.engine.elements.known(name), value)
    for each in spread.keywords if spread is not None else ():
        if isinstance(each, Seq):
            for name in run.engine.keys_of(each, run.context):
                if name not in named:
                    held = run.read(run.engine.attribute_cell(each, f"[{name}]"))
                    store_item(run, element, run.engine.elements.known(name), held)
        elif isinstance(each, Known) and isinstance(each.value, VDict):
            for name, inner in each.value.items():
                if name not in named:
                    value = run.engine.lift(inner)
                    store_item(run, element, run.engine.elements.known(name), value)
    run.write(callee.parameters[node.arg], made)


def _default(run: Runner, function: Any, name: str, positional: list[str]) -> Value | None:
    engine = run.engine
    if isinstance(function, Closure):
        return _default_node(run, function, name, positional)
    if name in function.kwdefaults:
        return engine.lift(function.kwdefaults[name])
    first = len(positional) - len(function.defaults)
    at = positional.index(name) if name in positional else -1
    if at >= first and at >= 0:
        return engine.lift(function.defaults[at - first])
    return None


def _default_node(run: Runner, function: Closure, name: str, positional: list[str]) -> Value | None:
    spec = function.node.args
    first = len(positional) - len(spec.defaults)
    at = positional.index(name) if name in positional else -1
    node = spec.defaults[at - first] if at >= first and at >= 0 else None
    if node is None:
        for argument, default in zip(spec.kwonlyargs, spec.kw_defaults, strict=True):
            if argument.arg == name:
                node = default
    if isinstance(node, ast.Constant):
        return run.engine.elements.known(node.value)
    if node is None:
        return None
    cell = run.engine.made(("default", node), run.context)
    return (run.read(cell) if cell is not None else NOTHING) or RUN
