"""Calls whatever may be called: strictly where everything is known, else by following the function."""

from __future__ import annotations

import ast
import itertools
from typing import TYPE_CHECKING, Any

from assay.flow.reach import methods, natives, world
from assay.flow.reach.binding import Keywords, Spread, bind, context_of, exact_elements
from assay.flow.reach.context import Context
from assay.flow.reach.elements import (
    MARKS,
    NOTHING,
    RUN,
    Applied,
    Closure,
    Doubt,
    Element,
    Known,
    Method,
    Obj,
    Seq,
    Thing,
    Value,
    joined,
    unmarked,
)
from assay.flow.reach.iterating import iterated
from assay.flow.reach.making import instantiated
from assay.flow.values import (
    MISSING,
    Bound,
    Class,
    Decorated,
    External,
    Function,
    Instance,
    Native,
    Partial,
    Unknown,
    Wrapped,
)

if TYPE_CHECKING:
    from assay.flow.reach.runner import Runner

MAX_WAYS = 8


def called(run: Runner, node: ast.Call) -> Value:
    """The value of a call."""
    special = _super(run, node)
    function = special if special is not None else run.evaluate(node.func)
    if not function:
        for each in node.args:
            run.evaluate(each)
        return NOTHING
    arguments: list[Value] = []
    spread: Spread | None = None
    for each in node.args:
        value = run.evaluate(each.value if isinstance(each, ast.Starred) else each)
        if not value:
            return NOTHING
        if isinstance(each, ast.Starred):
            exact = exact_elements(run, value)
            if exact is not None:
                arguments.extend(exact)
                continue
            spread = spread or Spread()
            spread.positional = joined(spread.positional, iterated(run, each, value)[0] or RUN)
        else:
            arguments.append(value)
    keywords: Keywords = {}
    for keyword in node.keywords:
        value = run.evaluate(keyword.value)
        if not value:
            return NOTHING
        if keyword.arg is None:
            spread = spread or Spread()
            spread.keywords.extend(value - MARKS)
        else:
            keywords[keyword.arg] = value
    found = NOTHING
    for element in function - MARKS:
        found = joined(found, call_element(run, node, element, arguments, keywords, spread))
    remarks = function & MARKS
    return found | remarks if found and remarks else found


def _super(run: Runner, node: ast.Call) -> Value | None:
    """`super().name`, if that is what is called."""
    func = node.func
    if not isinstance(func, ast.Attribute) or not isinstance(func.value, ast.Call):
        return None
    inner = func.value.func
    if not isinstance(inner, ast.Name) or inner.id != "super":
        return None
    context: Context | None = run.context
    while context is not None and context.owner is None:
        context = context.parent
    if context is None or context.receiver is None:
        return RUN
    receiver = context.receiver
    cls = (
        receiver.cls if isinstance(receiver, Obj) else getattr(getattr(receiver, "value", None), "cls", None)
    )
    if isinstance(receiver, Known) and isinstance(receiver.value, Class):
        cls = receiver.value
    if not isinstance(cls, Class):
        return RUN
    line = cls.line
    rest = line[line.index(context.owner) + 1 :] if context.owner in line else []
    for base in rest:
        if isinstance(base, Class) and func.attr in base.attributes:
            found = run.engine.force(base.attributes[func.attr])
            if isinstance(found, Wrapped) and found.kind in ("static",):
                return run.engine.lift(found.function)
            if isinstance(found, Wrapped) and found.kind == "property":
                return follow(run, node, run.engine.force(found.function), receiver, [], {})
            return run.engine.elements.method(found, receiver)
    return run.engine.elements.thing(f"super.{func.attr}")


def call_element(
    run: Runner,
    node: ast.AST,
    element: Element,
    arguments: list[Value],
    keywords: Keywords,
    spread: Spread | None = None,
) -> Value:
    """Call one thing."""
    if isinstance(element, Known):
        return _call_known(run, node, element, arguments, keywords, spread)
    if isinstance(element, Method):
        return _call_method(run, node, element, arguments, keywords, spread)
    if isinstance(element, Obj):
        return _call_object(run, node, element, arguments, keywords, spread)
    if isinstance(element, Closure):
        return follow(run, node, element, None, arguments, keywords, spread)
    if isinstance(element, Applied):
        found = NOTHING
        for each in element.function - MARKS:
            inner = [*element.arguments, *arguments]
            found = joined(found, call_element(run, node, each, inner, element.keywords | keywords, spread))
        return found
    if isinstance(element, Thing):
        return world.call(run, node, element.label, arguments, keywords, spread)
    if isinstance(element, Doubt):
        return frozenset({element})
    if isinstance(element, Seq) and element.kind == "modules":
        for each in run.read(run.engine.attribute_cell(element, "[]")) - MARKS:
            if not isinstance(each, Seq):
                call_element(run, node, each, arguments, keywords, spread)
    return RUN


def _call_known(
    run: Runner,
    node: ast.AST,
    element: Known,
    arguments: list[Value],
    keywords: Keywords,
    spread: Spread | None,
) -> Value:
    value = element.value
    if value is None:
        return NOTHING
    replaced = run.engine.replaced(run, node, value, arguments)
    if replaced is not None:
        return replaced
    if isinstance(value, External):
        return world.call(run, node, value.dotted, arguments, keywords, spread)
    if isinstance(value, Decorated):
        return _call_decorated(run, node, value, None, arguments, keywords, spread)
    if isinstance(value, Unknown):
        return world.call(run, node, value.reason[:40], arguments, keywords, spread)
    folded = strictly(run, element, value, arguments, keywords, spread)
    if folded is not None:
        return folded
    if isinstance(value, Class):
        return instantiated(run, node, value, arguments, keywords, spread)
    if isinstance(value, Function | Wrapped):
        return follow(run, node, value, None, arguments, keywords, spread)
    if isinstance(value, Partial):
        inner = [*(run.engine.lift(each) for each in value.arguments), *arguments]
        more = {name: run.engine.lift(each) for name, each in value.keywords.items()} | keywords
        found = NOTHING
        for each in run.engine.lift(value.function) - MARKS:
            found = joined(found, call_element(run, node, each, inner, more, spread))
        return found
    if isinstance(value, Bound):
        receiver = run.engine.lift(value.receiver)
        return follow(run, node, value.function, next(iter(receiver)), arguments, keywords, spread)
    if isinstance(value, Native | type) or callable(value):
        return natives.call(run, node, value, arguments, keywords, spread)
    if isinstance(value, Instance):
        method = (
            run.engine.class_attribute(value.cls, "__call__") if isinstance(value.cls, Class) else MISSING
        )
        if isinstance(method, Function):
            return follow(run, node, method, element, arguments, keywords, spread)
    return RUN


def _call_decorated(
    run: Runner,
    node: ast.AST,
    value: Decorated,
    receiver: Element | None,
    arguments: list[Value],
    keywords: Keywords,
    spread: Spread | None,
) -> Value:
    if value.label.startswith(("triton.", "tilelang.", "cutlass.", "cute.")):
        return world.call(
            run, node, f"kernel {getattr(value.function, 'name', '')}", arguments, keywords, spread
        )
    return follow(run, node, value.function, receiver, arguments, keywords, spread)


def _call_method(
    run: Runner,
    node: ast.AST,
    element: Method,
    arguments: list[Value],
    keywords: Keywords,
    spread: Spread | None,
) -> Value:
    function, receiver = element.function, element.receiver
    if isinstance(function, str):
        return methods.method(run, node, function, receiver, arguments, keywords)
    replaced = run.engine.replaced(run, node, function, arguments)
    if replaced is not None:
        return replaced
    if isinstance(receiver, Known):
        folded = strictly(
            run, element, Bound(function, receiver.value), arguments, keywords, spread, owner=receiver.value
        )
        if folded is not None:
            return folded
    if isinstance(function, Native):
        return methods.method(run, node, function.name, receiver, arguments, keywords)
    if isinstance(function, Decorated):
        return _call_decorated(run, node, function, receiver, arguments, keywords, spread)
    return follow(run, node, function, receiver, arguments, keywords, spread)


def _call_object(
    run: Runner,
    node: ast.AST,
    element: Obj,
    arguments: list[Value],
    keywords: Keywords,
    spread: Spread | None,
) -> Value:
    """An object is called; torch's modules hand this on to `forward`."""
    for name in ("__call__", "forward"):
        method = run.engine.class_attribute(element.cls, name) if isinstance(element.cls, Class) else MISSING
        replaced = run.engine.cells.get(("attribute", element, name))
        if replaced is not None and replaced.value:
            found = NOTHING
            for each in run.read(replaced) - MARKS:
                found = joined(found, call_element(run, node, each, arguments, keywords, spread))
            return found
        if method is not MISSING:
            bound = next(iter(run.engine.elements.method(method, element)))
            return call_element(run, node, bound, arguments, keywords, spread)
    return RUN


def strictly(
    run: Runner,
    element: Element,
    function: Any,
    arguments: list[Value],
    keywords: Keywords,
    spread: Spread | None,
    owner: Any = None,
) -> Value | None:
    """The result of a call of which everything is known, by the interpreter; None if it is not strict."""
    if spread is not None or (not arguments and not keywords and natives.is_collection(function)):
        return None  # what an empty collection comes to hold is seen where it is filled
    values = [*arguments, *keywords.values()]
    plain = [unmarked(value) for value in values]
    ways = 1
    for value in plain:
        ways *= len(value)
        if ways > MAX_WAYS or not all(isinstance(each, Known) for each in value):
            return None
    names = tuple(keywords)
    remarks = NOTHING
    for value in values:
        remarks = remarks | (value & MARKS)
    count = len(arguments)

    def evaluate(subject: Any, *operands: Any) -> Any:
        called = Bound(function.function, subject) if owner is not None else function
        return run.i.call(called, list(operands[:count]), dict(zip(names, operands[count:], strict=True)))

    found = NOTHING
    for choice in itertools.product(*plain):
        operands = (owner, *(each.value for each in choice))  # type: ignore[attr-defined]
        key = ("call", element, count, names, choice)
        result = run.engine.folding.fold(key, operands, evaluate, run.context)
        if result is None:
            return None
        found = joined(found, result)
    return found | remarks if remarks else found


# ---------------------------------------------------------------- functions that are followed


def follow(
    run: Runner,
    node: ast.AST,
    function: Any,
    receiver: Element | None,
    arguments: list[Value],
    keywords: Keywords,
    spread: Spread | None = None,
) -> Value:
    """Call a function of the tree that is not strict."""
    while isinstance(function, Wrapped | Bound | Decorated):
        if isinstance(function, Bound):
            receiver = receiver or next(iter(run.engine.lift(function.receiver)), None)
        if isinstance(function, Wrapped) and function.kind == "class" and isinstance(receiver, Obj):
            receiver = next(iter(run.engine.elements.known(receiver.cls)))
        function = run.engine.force(function.function)
    if isinstance(function, Function) and function.node in run.engine.topologies:
        topology = run.engine.topologies.pop(function.node)
        try:
            return topology(run, node, arguments, function) or NOTHING
        finally:
            run.engine.topologies[function.node] = topology
    if isinstance(function, Closure):
        made: Any = function
    elif isinstance(function, Function):
        made = function
    else:
        return call_element(run, node, next(iter(run.engine.lift(function))), arguments, keywords, spread)
    if receiver is not None:
        arguments = [frozenset({receiver}), *arguments]
    callee = context_of(run, made, receiver, arguments, keywords)
    bind(run, callee, made, arguments, keywords, spread)
    run.edge(node, callee)
    value = run.read(callee.returned)
    if not value:
        death = run.engine.outcome(callee).death
        if death is not None:
            run.dies(death)
    return value
