"""Calls whatever may be called: strictly where everything is known, else by following the function."""

from __future__ import annotations

import ast
import itertools
from typing import TYPE_CHECKING, Any

from assay.flow.reach import methods, natives, standard_library, world
from assay.flow.reach.arguments import Arguments, Keywords, Spread, exact_elements
from assay.flow.reach.binding import bind, context_of
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
from assay.flow.reach.lifting import marks
from assay.flow.reach.making import instantiated
from assay.flow.reach.within import all_marks
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
    run.engine.asked.add(node.func)
    arguments = _arguments(run, node)
    if arguments is None:
        return NOTHING
    found = _call_each(run, node, function, arguments)
    remarks = function & MARKS
    if remarks and node in run.outcome.events:  # `tensor.copy_(x)` of another tensor
        run.outcome.events[node].changed = True
    return found | remarks if found and remarks else found


def _arguments(run: Runner, node: ast.Call) -> Arguments | None:
    """The arguments of a call; None if one of them never gives a value."""
    positional: list[Value] = []
    spread: Spread | None = None
    for each in node.args:
        value = run.evaluate(each.value if isinstance(each, ast.Starred) else each)
        if not value:
            return None
        if isinstance(each, ast.Starred):
            exact = exact_elements(run, value)
            if exact is not None:
                positional.extend(exact)
                continue
            spread = spread or Spread()
            spread.positional = joined(spread.positional, iterated(run, each, value)[0] or RUN)
        else:
            positional.append(value)
    keywords: Keywords = {}
    for keyword in node.keywords:
        value = run.evaluate(keyword.value)
        if not value:
            return None
        if keyword.arg is None:
            spread = spread or Spread()
            spread.keywords.extend(value - MARKS)
        else:
            keywords[keyword.arg] = value
    return Arguments(positional, keywords, spread)


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
    cls = _class_of(context.receiver)
    if not isinstance(cls, Class):
        return RUN
    line = cls.line
    rest = line[line.index(context.owner) + 1 :] if context.owner in line else []
    for base in rest:
        if isinstance(base, Class) and func.attr in base.attributes:
            return _from_base(run, node, base.attributes[func.attr], context.receiver)
    return run.engine.elements.thing(f"super.{func.attr}")


def _class_of(receiver: Any) -> Any:
    """The class whose bases `super()` goes through, for the object or class that a method has."""
    if isinstance(receiver, Known) and isinstance(receiver.value, Class):
        return receiver.value
    if isinstance(receiver, Obj):
        return receiver.cls
    return getattr(getattr(receiver, "value", None), "cls", None)


def _from_base(run: Runner, node: ast.AST, attribute: Any, receiver: Element) -> Value:
    """What an attribute that a base has gives when it is read from an object."""
    found = run.engine.force(attribute)
    if isinstance(found, Wrapped) and found.kind == "static":
        return run.engine.lift(found.function)
    if isinstance(found, Wrapped) and found.kind == "property":
        return follow(run, node, run.engine.force(found.function), receiver, Arguments())
    return run.engine.elements.method(found, receiver)


def call_element(run: Runner, node: ast.AST, element: Element, arguments: Arguments) -> Value:
    """Call one thing."""
    if isinstance(element, Known):
        return _call_known(run, node, element, arguments)
    if isinstance(element, Method):
        return _call_method(run, node, element, arguments)
    if isinstance(element, Obj):
        return _call_object(run, node, element, arguments)
    if isinstance(element, Closure):
        return follow(run, node, element, None, arguments)
    if isinstance(element, Applied):
        return _call_applied(run, node, element, arguments)
    if isinstance(element, Thing):
        return world.call(run, node, element.label, arguments)
    if isinstance(element, Doubt):
        run.engine.ask_outside(node)
        values = arguments.values()
        remarks = all_marks(run, values)
        if remarks:
            run.event(node, "value", "is handed on", changed=True)
        return frozenset({element}) | remarks | world.escape(run, node, values)
    if isinstance(element, Seq) and element.kind == "modules":
        _call_modules(run, node, element, arguments)
    return RUN


def _call_applied(run: Runner, node: ast.AST, element: Applied, arguments: Arguments) -> Value:
    """Call a `functools.partial`: its own arguments come first."""
    found = NOTHING
    for each in element.function - MARKS:
        keywords = element.keywords | arguments.keywords
        inner = Arguments([*element.arguments, *arguments.positional], keywords, arguments.spread)
        found = joined(found, call_element(run, node, each, inner))
    return found


def _call_modules(run: Runner, node: ast.AST, element: Seq, arguments: Arguments) -> None:
    """Call each of torch's modules that a container of them holds."""
    for each in run.read(run.engine.attribute_cell(element, "[]")) - MARKS:
        if not isinstance(each, Seq):
            call_element(run, node, each, arguments)


def _call_each(run: Runner, node: ast.AST, functions: Value, arguments: Arguments) -> Value:
    """The value of a call of any of these."""
    found = NOTHING
    for each in functions - MARKS:
        found = joined(found, call_element(run, node, each, arguments))
    return found


def _call_known(run: Runner, node: ast.AST, element: Known, arguments: Arguments) -> Value:
    """Call a value of the interpreter: by other means, outside the tree, strictly, or by following it."""
    value = element.value
    if value is None:
        return NOTHING
    replaced = run.engine.replaced(run, node, value, arguments.positional)
    if replaced is not None:
        return replaced
    if isinstance(value, External):
        modelled = standard_library.call(run, node, value.dotted, arguments)
        return world.call(run, node, value.dotted, arguments) if modelled is None else modelled
    if isinstance(value, Decorated):
        return _call_decorated(run, node, value, None, arguments)
    if isinstance(value, Unknown):
        return world.call(run, node, value.reason[:40], arguments)
    folded = strictly(run, node, element, value, arguments)
    return folded if folded is not None else _call_open(run, node, element, arguments)


def _call_open(run: Runner, node: ast.AST, element: Known, arguments: Arguments) -> Value:
    """Call a value of the interpreter with arguments of which not everything is known."""
    value = element.value
    if isinstance(value, Class):
        return instantiated(run, node, value, arguments)
    if isinstance(value, Function | Wrapped):
        return follow(run, node, value, None, arguments)
    if isinstance(value, Partial):
        inner = [*(run.engine.lift(each) for each in value.arguments), *arguments.positional]
        more = {name: run.engine.lift(each) for name, each in value.keywords.items()} | arguments.keywords
        return _call_each(
            run, node, run.engine.lift(value.function), Arguments(inner, more, arguments.spread)
        )
    if isinstance(value, Bound):
        receiver = run.engine.lift(value.receiver)
        return follow(run, node, value.function, next(iter(receiver)), arguments)
    if isinstance(value, Native | type) or callable(value):
        name = value.name if isinstance(value, Native) else ""
        modelled = standard_library.call(run, node, name, arguments)
        return natives.call(run, node, value, arguments) if modelled is None else modelled
    if isinstance(value, Instance):
        method = (
            run.engine.class_attribute(value.cls, "__call__") if isinstance(value.cls, Class) else MISSING
        )
        if isinstance(method, Function):
            return follow(run, node, method, element, arguments)
    return RUN


def _call_decorated(
    run: Runner, node: ast.AST, value: Decorated, receiver: Element | None, arguments: Arguments
) -> Value:
    """Call a function that something outside the tree has wrapped: a kernel, or taken as it is written."""
    if value.label.startswith(("triton.", "tilelang.", "cutlass.", "cute.")):
        return world.call(run, node, f"kernel {getattr(value.function, 'name', '')}", arguments)
    return follow(run, node, value.function, receiver, arguments)


def _call_method(run: Runner, node: ast.AST, element: Method, arguments: Arguments) -> Value:
    function, receiver = element.function, element.receiver
    positional, keywords = arguments.positional, arguments.keywords
    if isinstance(function, str):
        return methods.method(run, node, function, receiver, positional, keywords)
    replaced = run.engine.replaced(run, node, function, positional)
    if replaced is not None:
        return replaced
    if isinstance(receiver, Known):
        bound = Bound(function, receiver.value)
        folded = strictly(run, node, element, bound, arguments, owner=receiver.value)
        if folded is not None:
            return folded
    if isinstance(function, Native):
        return methods.method(run, node, function.name, receiver, positional, keywords)
    if isinstance(function, Decorated):
        return _call_decorated(run, node, function, receiver, arguments)
    return follow(run, node, function, receiver, arguments)


def _call_object(run: Runner, node: ast.AST, element: Obj, arguments: Arguments) -> Value:
    """An object is called; torch's modules hand this on to `forward`."""
    for name in ("__call__", "forward"):
        method = run.engine.class_attribute(element.cls, name) if isinstance(element.cls, Class) else MISSING
        replaced = run.engine.made(("attribute", element, name), run.context)
        found = NOTHING
        if replaced is not None:  # in some of the objects that it stands for
            found = _call_each(run, node, run.read(replaced), arguments)
        if method is not MISSING:
            bound = next(iter(run.engine.elements.method(method, element)))
            found = joined(found, call_element(run, node, bound, arguments))
        if found or method is not MISSING:
            return found
    return RUN


def strictly(
    run: Runner, node: ast.AST, element: Element, function: Any, arguments: Arguments, owner: Any = None
) -> Value | None:
    """The result of a call of which everything is known, by the interpreter; None if it is not strict."""
    values = arguments.values()
    if arguments.spread is not None or (not values and natives.is_collection(function)):
        return None  # what an empty collection comes to hold is seen where it is filled
    if isinstance(function, Wrapped) and function.kind == "context":
        return None  # the call does nothing, entering what it makes does
    plain = [unmarked(value) for value in values]
    ways = 1
    for value in plain:
        ways *= len(value)
        if ways > MAX_WAYS or not all(isinstance(each, Known) for each in value):
            return None
    names = tuple(arguments.keywords)
    remarks = marks(*values)
    count = len(arguments.positional)

    def evaluate(subject: Any, *operands: Any) -> Any:
        called = Bound(function.function, subject) if owner is not None else function
        return run.i.call(called, list(operands[:count]), dict(zip(names, operands[count:], strict=True)))

    found = NOTHING
    for choice in itertools.product(*plain):
        operands = (owner, *(each.value for each in choice))  # type: ignore[attr-defined]  # all are known
        key = ("call", element, count, names, choice)
        fold = run.engine.folding.folded(key, operands, evaluate, run.context)
        if fold.value is None:
            return None
        if fold.logged:
            differs = bool(remarks) and any(fold.logged)
            differs = differs or run.engine.folding.logs_otherwise(key, fold, run.context)
            run.event(node, "log", "logs", changed=differs)
        found = joined(found, fold.value)
    return found | remarks if remarks else found


def follow(
    run: Runner, node: ast.AST, function: Any, receiver: Element | None, arguments: Arguments
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
            return topology(run, node, arguments.positional, function) or NOTHING
        finally:
            run.engine.topologies[function.node] = topology
    if not isinstance(function, Closure | Function):
        return call_element(run, node, next(iter(run.engine.lift(function))), arguments)
    if receiver is not None:
        arguments = arguments.after(frozenset({receiver}))
    return _entered(run, node, function, receiver, arguments)


def _entered(
    run: Runner, node: ast.AST, function: Any, receiver: Element | None, arguments: Arguments
) -> Value:
    callee = context_of(run, function, receiver, arguments)
    if run.engine.overlay is not None:
        run.engine.overlay.meet(run.context, node, callee)
    bind(run, callee, function, arguments)
    run.edge(node, callee)
    value = run.read(callee.returned)
    if not value:
        death = run.engine.outcome(callee).death
        if death is not None:
            run.dies(death)
    return value
