"""Calls whatever may be called: strictly where everything is known, else by following the function."""

from __future__ import annotations

import ast
import itertools
from typing import TYPE_CHECKING, Any

from assay.flow.reach import natives, owners, world
from assay.flow.reach.context import Cell, Context
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
    is_plain,
    joined,
    unmarked,
)
from assay.flow.values import (
    MISSING,
    Bound,
    Class,
    Decorated,
    External,
    Function,
    Instance,
    Library,
    Native,
    Partial,
    Unknown,
    VDict,
    Wrapped,
)

if TYPE_CHECKING:
    from assay.flow.reach.runner import Runner

MAX_VARIANTS = 12
MAX_WAYS = 8
Keywords = dict[str, Value]


class Spread:
    """Arguments that are handed on by `*x` and `**x`."""

    __slots__ = ("keywords", "positional")

    def __init__(self) -> None:
        self.positional: Value = NOTHING
        self.keywords: list[Element] = []
        """Dictionaries whose items are handed on by name."""


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
            exact = _exact_elements(run, value)
            if exact is not None:
                arguments.extend(exact)
                continue
            from assay.flow.reach.expressions import iterated

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


def _exact_elements(run: Runner, value: Value) -> list[Value] | None:
    only = next(iter(unmarked(value))) if len(unmarked(value)) == 1 else None
    if isinstance(only, Known) and isinstance(only.value, list | tuple) and len(only.value) <= 16:
        return [run.engine.lift(each) for each in only.value]
    if isinstance(only, Seq) and only.kind == "tuple" and isinstance(only.node, ast.Tuple):
        engine = run.engine
        held = [run.read(engine.attribute_cell(only, f"[{at}]")) for at in range(len(only.node.elts))]
        return held if all(held) else None
    return None


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
        return natives.method(run, node, function, receiver, arguments, keywords)
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
        return natives.method(run, node, function.name, receiver, arguments, keywords)
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


def instantiated(
    run: Runner,
    node: ast.AST,
    cls: Class,
    arguments: list[Value],
    keywords: Keywords,
    spread: Spread | None,
) -> Value:
    """A new object of a class of the tree."""
    engine = run.engine
    if cls.is_enum:
        return RUN
    maker = engine.class_attribute(cls, "__new__")
    if isinstance(maker, Function):
        receiver = next(iter(engine.elements.known(cls)))
        made = follow(run, node, maker, receiver, arguments, keywords, spread)
        kept = frozenset(e for e in made if not isinstance(e, Thing))
        if kept - MARKS:
            return kept
    made = engine.elements.obj(cls)
    if f"{cls.module.name}.{cls.name}" in engine.separate:
        made = engine.elements.one(("obj", id(cls), node, run.context), lambda: Obj(cls, is_apart=True))
    element = next(iter(made))
    if cls.is_open and engine.class_attribute(cls, "forward") is not MISSING:
        run.write(engine.cell(("modules",)), made)
    begin = engine.class_attribute(cls, "__init__")
    if cls.fields is not None and "__init__" not in cls.attributes:
        _fill(run, node, cls, element, arguments, keywords, spread)
        after = engine.class_attribute(cls, "__post_init__")
        if isinstance(after, Function):
            if not follow(run, node, after, element, [], {}):
                return NOTHING
    elif isinstance(begin, Function | Decorated | Wrapped):
        inner = begin.function if isinstance(begin, Decorated) else begin
        if not follow(run, node, inner, element, arguments, keywords, spread):
            return NOTHING
    else:
        for name, value in keywords.items():
            run.write(engine.attribute_cell(element, name), value)
        if cls.is_open and arguments:
            run.write(engine.attribute_cell(element, "[]"), joined_all(arguments))
    return made


def joined_all(values: list[Value]) -> Value:
    """Any of the values, and what they may hold."""
    found = NOTHING
    for value in values:
        found = joined(found, value)
    return found


def _fill(
    run: Runner,
    node: ast.AST,
    cls: Class,
    element: Element,
    arguments: list[Value],
    keywords: Keywords,
    spread: Spread | None,
) -> None:
    engine = run.engine
    names = [name for name, _ in cls.fields or ()]
    given = dict(zip(names, arguments, strict=False)) | keywords
    for name, default in cls.fields or ():
        value = given.get(name)
        if value is None and spread is not None:
            value = _spread_value(run, spread, name)
        if value is None:
            value = _default_of_field(run, node, default)
        run.write(engine.attribute_cell(element, name), value)


def _default_of_field(run: Runner, node: ast.AST, default: Any) -> Value:
    from assay.flow.classes import FieldSpec

    if isinstance(default, FieldSpec):
        if default.factory is not MISSING:
            found = NOTHING
            for each in run.engine.lift(default.factory) - MARKS:
                found = joined(found, call_element(run, node, each, [], {}))
            return found or RUN
        default = default.default
    return RUN if default is MISSING else run.engine.lift(default)


def _spread_value(run: Runner, spread: Spread, name: str) -> Value | None:
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


def spread(run: Runner, target: Element, value: Value) -> None:
    """`{**value}` into a dict."""
    engine = run.engine
    for each in value - MARKS:
        if isinstance(each, Seq):
            for name in engine.keys.get(each, ()):
                held = run.read(engine.attribute_cell(each, f"[{name}]"))
                owners.store_item(run, target, engine.elements.known(name), held)
            rest = run.read(engine.attribute_cell(each, "[?]"))
            if rest:
                owners.store_item(run, target, RUN, rest)
        elif isinstance(each, Known) and isinstance(each.value, dict):
            for name, inner in list(each.value.items())[:200]:
                owners.store_item(run, target, engine.elements.known(name), engine.lift(inner))
        else:
            owners.store_item(run, target, RUN, RUN)


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
    callee = _context(run, made, receiver, arguments, keywords)
    _bind(run, callee, made, arguments, keywords, spread)
    run.edge(node, callee)
    value = run.read(callee.returned)
    if not value:
        death = run.engine.outcome(callee).death
        if death is not None:
            run.dies(death)
    return value


def _context(
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
        for name in _names(node):
            context.parameters[name] = Cell(("parameter", context.name, name))

    closure = getattr(function, "closure", None)
    key = (receiver, constants, parent, id(closure) if closure is not None else 0)
    return engine.context(node, state, key, make)


def _constants(arguments: list[Value], keywords: Keywords) -> Any:
    found: list[Any] = []
    for name, value in [*enumerate(arguments), *keywords.items()]:
        plain = unmarked(value)
        only = next(iter(plain)) if len(plain) == 1 else None
        if (isinstance(only, Known) and (is_plain(only.value) or isinstance(only.value, Class))) or (isinstance(only, Obj) and only.is_apart):
            found.append((name, only))
    return tuple(found) or None


def _names(node: Any) -> list[str]:
    spec = node.args
    found = [each.arg for each in (*spec.posonlyargs, *spec.args, *spec.kwonlyargs)]
    found += [each.arg for each in (spec.vararg, spec.kwarg) if each is not None]
    return found


def _bind(
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
            value = _spread_value(run, spread, name)
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
        owners.store_item(run, element, run.engine.elements.known(name), value)
    for each in spread.keywords if spread is not None else ():
        if isinstance(each, Seq):
            for name in list(run.engine.keys.get(each, ())):
                if name not in named:
                    held = run.read(run.engine.attribute_cell(each, f"[{name}]"))
                    owners.store_item(run, element, run.engine.elements.known(name), held)
        elif isinstance(each, Known) and isinstance(each.value, VDict):
            for name, inner in each.value.items():
                if name not in named:
                    value = run.engine.lift(inner)
                    owners.store_item(run, element, run.engine.elements.known(name), value)
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


__all__ = ["Library"]
