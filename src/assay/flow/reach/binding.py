"""Hands the arguments of a call to the parameters of the function that is called."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

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


Keywords = dict[str, Value]


class Spread:
    """Arguments that are handed on by `*x` and `**x`."""

    __slots__ = ("keywords", "positional")

    def __init__(self) -> None:
        self.positional: Value = NOTHING
        self.keywords: list[Element] = []
        """Dictionaries whose items are handed on by name."""


def exact_elements(run: Runner, value: Value) -> list[Value] | None:
    only = next(iter(unmarked(value))) if len(unmarked(value)) == 1 else None
    if isinstance(only, Known) and isinstance(only.value, list | tuple) and len(only.value) <= 16:
        return [run.engine.lift(each) for each in only.value]
    if isinstance(only, Seq) and only.kind == "tuple" and isinstance(only.node, ast.Tuple):
        engine = run.engine
        held = [run.read(engine.attribute_cell(only, f"[{at}]")) for at in range(len(only.node.elts))]
        return held if all(held) else None
    return None


def spread_value(run: Runner, spread: Spread, name: str) -> Value | None:
    """What `**x` hands on by that name; None if nothing."""
    found = NOTHING
    engine = run.engine
    for each in spread.keywords:
        if isinstance(each, Seq):
            found = joined(found, run.read(engine.attribute_cell(each, f"[{name}]")))
            found = joined(found, run.read(engine.attribute_cell(each, "[?]")))
        elif isinstance(each, Known) and isinstance(each.value, dict):
            if name in each.value:
                found = joined(found, engine.lift(each.value[name]))
        else:
            found = joined(found, RUN)
    return found or None


def spread_into(run: Runner, target: Element, value: Value) -> None:
    """`{**value}` into a dict."""
    engine = run.engine
    for each in value - MARKS:
        if isinstance(each, Seq):
            for name in engine.keys.get(each, ()):
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


def context_of(
    run: Runner, function: Any, receiver: Element | None, arguments: list[Value], keywords: Keywords
) -> Context:
    engine = run.engine
    node = function.node
    constants: Any = None
    if receiver is None and isinstance(function, Function) and not isinstance(node, ast.Lambda):
        constants = _constants(arguments, keywords)
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


def _constants(arguments: list[Value], keywords: Keywords) -> Any:
    found: list[Any] = []
    for name, value in [*enumerate(arguments), *keywords.items()]:
        plain = unmarked(value)
        only = next(iter(plain)) if len(plain) == 1 else None
        if (isinstance(only, Known) and (is_plain(only.value) or isinstance(only.value, Class))) or (
            isinstance(only, Obj) and only.is_apart
        ):
            found.append((name, only))
    return tuple(found) or None


def parameter_names(node: Any) -> list[str]:
    spec = node.args
    found = [each.arg for each in (*spec.posonlyargs, *spec.args, *spec.kwonlyargs)]
    found += [each.arg for each in (spec.vararg, spec.kwarg) if each is not None]
    return found


def bind(
    run: Runner,
    callee: Context,
    function: Any,
    arguments: list[Value],
    keywords: Keywords,
    spread: Spread | None,
) -> None:
    """Hand arguments to parameters."""
    spec = callee.node.args
    positional = [each.arg for each in (*spec.posonlyargs, *spec.args)]
    given: Keywords = dict(zip(positional, arguments, strict=False))
    rest = arguments[len(positional) :]
    named = {*positional, *(each.arg for each in spec.kwonlyargs)}
    extra = {name: value for name, value in keywords.items() if name not in named}
    given |= {name: value for name, value in keywords.items() if name in named}
    for name in named:
        if name not in given and spread is not None:
            value = spread_value(run, spread, name)
            if value is None and spread.positional and name in positional:
                value = spread.positional
            if value is not None:
                given[name] = joined(value, _default(run, callee, function, name, positional) or NOTHING)
        if name not in given:
            given[name] = _default(run, callee, function, name, positional) or RUN
    for name, value in given.items():
        run.write(callee.parameters[name], value)
    if spec.vararg is not None:
        _bind_rest(run, callee, spec.vararg, rest, spread)
    if spec.kwarg is not None:
        _bind_keywords(run, callee, spec.kwarg, extra, spread, named)


def _bind_rest(run: Runner, callee: Context, node: ast.arg, rest: list[Value], spread: Spread | None) -> None:
    made = run.engine.elements.one(("rest", callee), lambda: Seq(node, "list"))
    element = next(iter(made))
    values = [*rest, *([spread.positional] if spread is not None and spread.positional else [])]
    for value in values:
        run.write(run.engine.attribute_cell(element, "[]"), value)
    run.write(callee.parameters[node.arg], made)


def _bind_keywords(
    run: Runner, callee: Context, node: ast.arg, extra: Keywords, spread: Spread | None, named: set[str]
) -> None:
    made = run.engine.elements.one(("keywords", callee), lambda: Seq(node, "dict"))
    element = next(iter(made))
    for name, value in extra.items():
        store_item(run, element, run.engine.elements.known(name), value)
    for each in spread.keywords if spread is not None else ():
        if isinstance(each, Seq):
            for name in list(run.engine.keys.get(each, ())):
                if name not in named:
                    held = run.read(run.engine.attribute_cell(each, f"[{name}]"))
                    store_item(run, element, run.engine.elements.known(name), held)
        elif isinstance(each, Known) and isinstance(each.value, VDict):
            for name, inner in each.value.items():
                if name not in named:
                    value = run.engine.lift(inner)
                    store_item(run, element, run.engine.elements.known(name), value)
    run.write(callee.parameters[node.arg], made)


def _default(run: Runner, callee: Context, function: Any, name: str, positional: list[str]) -> Value | None:
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


def _default_node(_run: Runner, function: Closure, name: str, positional: list[str]) -> Value | None:
    spec = function.node.args
    first = len(positional) - len(spec.defaults)
    at = positional.index(name) if name in positional else -1
    node = spec.defaults[at - first] if at >= first and at >= 0 else None
    if node is None:
        for argument, default in zip(spec.kwonlyargs, spec.kw_defaults, strict=True):
            if argument.arg == name:
                node = default
    if isinstance(node, ast.Constant):
        return _run.engine.elements.known(node.value)
    return RUN if node is not None else None
