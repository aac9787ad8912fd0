"""Built-in functions and methods of Python's own values, where not everything is known."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from assay.engines import probes
from assay.flow import attributes
from assay.flow.builtin_names import BUILTINS
from assay.flow.classes import is_instance
from assay.flow.reach import owners, world
from assay.flow.reach.elements import (
    MARKS,
    NOTHING,
    RUN,
    SOMETIMES,
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
from assay.flow.values import Class, External, Instance, Native, Touched, Unknown

if TYPE_CHECKING:
    from assay.flow.reach.calling import Keywords, Spread
    from assay.flow.reach.runner import Runner

_NAMES = {id(value): name for name, value in BUILTINS.items()}


def call(
    run: Runner,
    node: ast.AST,
    function: Any,
    arguments: list[Value],
    keywords: Keywords,
    spread: Spread | None,
) -> Value:
    """Call a built-in or modelled function."""
    name = _NAMES.get(id(function)) or getattr(function, "name", None) or getattr(function, "__name__", "")
    handler = _HANDLERS.get(name.rpartition(".")[2])
    if handler is not None:
        return handler(run, node, arguments, keywords)
    values = [*arguments, *keywords.values()]
    if isinstance(function, type) and issubclass(function, BaseException):
        return RUN
    if name in _SILENT or name.rpartition(".")[2] in _SILENT:
        return run.engine.elements.known(None)
    if isinstance(function, Native) and (name in probes.CALLED_FACTS or name in probes.CALLED_CONSTANTS):
        return run.engine.lift(function.run(run.i))  # whatever it is called with
    world.escape(run, node, values)
    return vague(values)


def is_collection(function: Any) -> bool:
    """Whether a function makes a collection."""
    return _NAMES.get(id(function)) in ("list", "dict", "set") or (
        getattr(function, "name", "").rpartition(".")[2] in ("deque", "defaultdict", "OrderedDict")
    )


def vague(values: list[Value]) -> Value:
    """The result of something on values that are not all known."""
    remarks = NOTHING
    for value in values:
        remarks = remarks | (value & MARKS)
    plain = [e for value in values for e in value - MARKS]
    doubts = [e for e in plain if isinstance(e, Doubt)]
    if doubts and not any(isinstance(e, Thing | Seq | Obj) for e in plain):
        return frozenset(doubts[:4]) | remarks
    return RUN | remarks


_SILENT = frozenset(
    {"print", "warn", "setLevel", "addHandler", "basicConfig", "simplefilter", "filterwarnings"}
)


def _isinstance(run: Runner, _node: ast.AST, arguments: list[Value], _keywords: Keywords) -> Value:
    value, kinds = arguments[0], arguments[1]
    found = NOTHING
    known = run.engine.elements.known
    for each in value - MARKS:
        for kind in kinds - MARKS:
            result = _is_instance(run, each, kind)
            found = joined(found, RUN if result is None else known(result))
    return found | (value & MARKS)


def _is_instance(run: Runner, each: Element, kind: Element) -> bool | None:
    if not isinstance(kind, Known) or isinstance(each, Thing | Doubt):
        return None
    wanted = kind.value if isinstance(kind.value, tuple) else (kind.value,)
    if isinstance(each, Seq) and any(isinstance(run.engine.force(w), External | Unknown) for w in wanted):
        return None
    if isinstance(each, Obj):
        line = each.cls.line if isinstance(each.cls, Class) else []
        if any(run.engine.force(w) is base for w in wanted for base in line):
            return True
        is_open = isinstance(each.cls, Class) and each.cls.is_open
        outside = any(isinstance(w, External | Unknown) for w in map(run.engine.force, wanted))
        return None if outside and is_open else False
    if isinstance(each, Seq):
        names = {"list": list, "tuple": tuple, "dict": dict, "set": set}
        own = names.get(each.kind)
        return any(each_wanted is own for each_wanted in wanted) if own is not None else None
    if isinstance(each, Known):
        try:
            results = [is_instance(run.i, each.value, w) for w in wanted]
        except Touched:
            return None
        if True in results:
            return True
        return None if any(not isinstance(r, bool) for r in results) else False
    if isinstance(each, Method | Closure):
        return False
    return None


def _hasattr(run: Runner, _node: ast.AST, arguments: list[Value], _keywords: Keywords) -> Value:
    known = run.engine.elements.known
    found = NOTHING
    for name in arguments[1] - MARKS:
        for each in arguments[0] - MARKS:
            text = name.value if isinstance(name, Known) else None
            result = owners.has(run, each, text) if isinstance(text, str) else None
            if result is None:
                doubt = isinstance(each, Known | Doubt)
                label = f"whether {getattr(getattr(each, 'value', None), 'dotted', 'something')} has {text}"
                found = joined(found, run.engine.elements.doubt(label) if doubt else RUN)
            else:
                found = joined(found, known(result))
    return found | (arguments[0] & MARKS)


def _getattr(run: Runner, node: ast.AST, arguments: list[Value], _keywords: Keywords) -> Value:
    default = arguments[2] if len(arguments) > 2 else None
    found = NOTHING
    for name in arguments[1] - MARKS:
        if isinstance(name, Known) and isinstance(name.value, str):
            found = joined(found, owners.attribute(run, node, arguments[0], name.value, default))
        else:
            if any(isinstance(e, Known) and e.value is run.engine.record for e in arguments[0]):
                run.engine.wild_reads[node] = run.context
            found = joined(found, RUN)
    return found


def _setattr(run: Runner, node: ast.AST, arguments: list[Value], _keywords: Keywords) -> Value:
    for name in arguments[1] - MARKS:
        if isinstance(name, Known) and isinstance(name.value, str):
            owners.store_attribute(run, node, arguments[0], name.value, arguments[2])
    return run.engine.elements.known(None)


def _collected(kind: str) -> Callable[..., Value]:
    def collect(run: Runner, node: ast.AST, arguments: list[Value], keywords: Keywords) -> Value:
        from assay.flow.reach.expressions import iterated

        engine = run.engine
        made = engine.elements.seq(node, kind)
        element = next(iter(made))
        remarks = NOTHING
        for argument in arguments[:1]:
            items, _ = iterated(run, node, argument)
            remarks = remarks | (argument & MARKS)
            run.write(engine.attribute_cell(element, "[]"), items)
            if kind == "dict":
                from assay.flow.reach.calling import spread

                spread(run, element, argument)
                _take_pairs(run, element, items)
        if kind == "dict":
            for name, value in keywords.items():
                owners.store_item(run, element, engine.elements.known(name), value)
        return made | remarks

    return collect


def _take_pairs(run: Runner, element: Element, items: Value) -> None:
    """What `dict(pairs)` holds."""
    from assay.flow.reach.assigning import part

    pairs = frozenset(
        e
        for e in items
        if (isinstance(e, Seq) and e.kind == "tuple") or (isinstance(e, Known) and isinstance(e.value, tuple))
    )
    for pair in pairs:
        one = frozenset({pair})
        owners.store_item(run, element, part(run, one, 0), part(run, one, 1))


def _pairs(
    run: Runner, node: ast.AST, arguments: list[Value], _keywords: Keywords, *, counted: bool
) -> Value:
    from assay.flow.reach.expressions import iterated

    engine = run.engine
    made = engine.elements.seq(node, "list")
    inner = engine.elements.one(("pair", node), lambda: Seq(node, "tuple"))
    pair = next(iter(inner))
    parts = [iterated(run, node, argument)[0] for argument in arguments]
    if counted:
        parts = [RUN, *parts[:1]]
    if not all(parts):
        return made
    for at, value in enumerate(parts):
        run.write(engine.attribute_cell(pair, f"[{at}]"), value)
        run.write(engine.attribute_cell(pair, "[]"), value)
    run.write(engine.attribute_cell(next(iter(made)), "[]"), inner)
    remarks = NOTHING
    for argument in arguments:
        remarks = remarks | (argument & MARKS)
    return made | remarks


def _next(run: Runner, node: ast.AST, arguments: list[Value], _keywords: Keywords) -> Value:
    from assay.flow.reach.expressions import iterated

    items = iterated(run, node, arguments[0])[0]
    rest = arguments[1] if len(arguments) > 1 else NOTHING
    return joined(items, rest) or RUN


def _given_back(_run: Runner, _node: ast.AST, arguments: list[Value], _keywords: Keywords) -> Value:
    return arguments[0] if arguments else RUN


def _cast(_run: Runner, _node: ast.AST, arguments: list[Value], _keywords: Keywords) -> Value:
    return arguments[1] if len(arguments) > 1 else RUN


def _replaced(run: Runner, node: ast.AST, arguments: list[Value], keywords: Keywords) -> Value:
    for name, value in keywords.items():
        owners.store_attribute(run, node, arguments[0], name, value)
    return arguments[0]


def _partial(run: Runner, node: ast.AST, arguments: list[Value], keywords: Keywords) -> Value:
    made = run.engine.applied.get((node, run.context))
    if made is None or made.function != arguments[0]:
        made = Applied(arguments[0], arguments[1:], keywords)
        run.engine.applied[(node, run.context)] = made
    made.arguments, made.keywords = arguments[1:], keywords
    return frozenset({made})


def _dumped(_run: Runner, _node: ast.AST, _arguments: list[Value], _keywords: Keywords) -> Value:
    return RUN


def _type(run: Runner, _node: ast.AST, arguments: list[Value], _keywords: Keywords) -> Value:
    found = NOTHING
    for each in arguments[0] - MARKS:
        if isinstance(each, Obj):
            found = joined(found, run.engine.elements.known(each.cls))
        elif isinstance(each, Known) and isinstance(each.value, Instance):
            found = joined(found, run.engine.elements.known(each.value.cls))
        else:
            found = joined(found, RUN)
    return found


def _mapped(run: Runner, node: ast.AST, arguments: list[Value], _keywords: Keywords) -> Value:
    from assay.flow.reach.calling import call_element
    from assay.flow.reach.expressions import iterated

    made = run.engine.elements.seq(node, "list")
    items = [iterated(run, node, each)[0] or RUN for each in arguments[1:]]
    for function in arguments[0] - MARKS:
        value = call_element(run, node, function, items, {})
        run.write(run.engine.attribute_cell(next(iter(made)), "[]"), value)
    return made


def _largest(run: Runner, node: ast.AST, arguments: list[Value], keywords: Keywords) -> Value:
    del node, keywords
    return vague(arguments)


_HANDLERS: Mapping[str, Callable[..., Value]] = {
    "isinstance": _isinstance,
    "hasattr": _hasattr,
    "getattr": _getattr,
    "setattr": _setattr,
    "list": _collected("list"),
    "tuple": _collected("list"),
    "sorted": _collected("list"),
    "reversed": _collected("list"),
    "iter": _collected("list"),
    "deque": _collected("list"),
    "chain": _collected("list"),
    "set": _collected("set"),
    "frozenset": _collected("set"),
    "dict": _collected("dict"),
    "defaultdict": lambda run, node, _a, kw: _collected("dict")(run, node, [], kw),
    "OrderedDict": _collected("dict"),
    "enumerate": lambda run, node, a, kw: _pairs(run, node, a, kw, counted=True),
    "zip": lambda run, node, a, kw: _pairs(run, node, a, kw, counted=False),
    "next": _next,
    "copy": _given_back,
    "deepcopy": _given_back,
    "cast": _cast,
    "replace": _replaced,
    "partial": _partial,
    "wraps": _given_back,
    "asdict": _dumped,
    "vars": _dumped,
    "repr": _dumped,
    "id": _dumped,
    "type": _type,
    "map": _mapped,
    "filter": lambda run, node, a, kw: _collected("list")(run, node, a[1:], kw),
    "min": _largest,
    "max": _largest,
}


# ---------------------------------------------------------------- methods


def method(
    run: Runner,
    node: ast.AST,
    name: str,
    receiver: Element,
    arguments: list[Value],
    keywords: Keywords,
) -> Value:
    """Call a method of a native value or of a collection."""
    if isinstance(receiver, Seq):
        return _of_collection(run, node, name, receiver, arguments, keywords)
    if isinstance(receiver, Obj):
        return _of_module(run, node, name, receiver, arguments)
    values = [*arguments, *keywords.values()]
    if isinstance(receiver, Known):
        if isinstance(receiver.value, Instance):  # a modelled object, such as a logger
            if name in _LOGS:
                run.event(node, "log", "logs", changed=any(v & MARKS for v in values) and False)
                return run.engine.elements.known(None)
            return vague(values)
        if isinstance(receiver.value, list | dict | set) and name in _CHANGES:
            return _of_collection(run, node, name, receiver, arguments, keywords)
        found = _strict_method(run, receiver, name, arguments, keywords)
        if found is not None:
            return found
        if name in ("get", "items", "values", "keys", "pop") and isinstance(receiver.value, dict):
            return _of_known_dict(run, node, name, receiver, arguments)
        if isinstance(receiver.value, str) and name == "join":
            return RUN | (values[0] & MARKS if values else NOTHING)
    return vague([frozenset({receiver}), *values])


_SAME_MODULE = frozenset(
    {"eval", "train", "to", "cuda", "half", "float", "bfloat16", "requires_grad_", "apply"}
)


def _of_module(run: Runner, node: ast.AST, name: str, receiver: Obj, arguments: list[Value]) -> Value:
    """A method that torch gives to every module."""
    engine = run.engine
    if name in _SAME_MODULE:
        return frozenset({receiver})
    if name in ("modules", "children", "named_modules", "named_children"):
        made = engine.elements.seq(node, "list")
        held = run.read(engine.cell(("modules",)))
        if name.startswith("named"):
            inner = engine.elements.one(("pair", node), lambda: Seq(node, "tuple"))
            pair = next(iter(inner))
            for at, value in enumerate((RUN, held)):
                run.write(engine.attribute_cell(pair, f"[{at}]"), value)
            run.write(engine.attribute_cell(pair, "[]"), joined(RUN, held))
            held = inner
        run.write(engine.attribute_cell(next(iter(made)), "[]"), held)
        return made
    if name in ("get_submodule",):
        return run.read(engine.cell(("modules",))) or RUN
    if name in ("append", "extend"):
        for argument in arguments:
            run.write(engine.attribute_cell(receiver, "[]"), argument)
    return vague(arguments)


_LOGS = frozenset(
    {"debug", "info", "warning", "error", "exception", "critical", "log", "warn", "warning_once", "info_once"}
)
_CHANGES = frozenset(
    {"append", "extend", "add", "insert", "update", "setdefault", "appendleft", "push", "put"}
)


def _strict_method(
    run: Runner, receiver: Known, name: str, arguments: list[Value], keywords: Keywords
) -> Value | None:
    if keywords or not all(len(unmarked(a)) == 1 for a in arguments):
        return None
    operands = [next(iter(unmarked(a))) for a in arguments]
    if not all(isinstance(o, Known) for o in operands):
        return None
    i = run.i

    def evaluate(owner: Any, *rest: Any) -> Any:
        return i.call(attributes.get(i, owner, name), list(rest), {})

    key = ("method", receiver, name, tuple(operands))
    values = (receiver.value, *(o.value for o in operands))  # type: ignore[attr-defined]
    found = run.engine.folding.fold(key, values, evaluate, run.context)
    if found is None:
        return None
    for argument in arguments:
        found = found | (argument & MARKS)
    return found


def _of_known_dict(run: Runner, node: ast.AST, name: str, receiver: Known, arguments: list[Value]) -> Value:
    engine = run.engine
    if name in ("get", "pop"):
        key = arguments[0] if arguments else RUN
        default = arguments[1] if len(arguments) > 1 else engine.elements.known(None)
        plain = key - MARKS
        if all(isinstance(e, Known) and is_plain(e.value) for e in plain):
            missing = any(isinstance(e, Known) and e.value not in receiver.value for e in plain)
            held = [e for e in plain if isinstance(e, Known) and e.value in receiver.value]
            found = owners.item(run, node, frozenset({receiver}), frozenset(held)) if held else NOTHING
            return joined(found, default) if missing or not found else found
        return joined(owners.item(run, node, frozenset({receiver}), key), default)
    made = engine.elements.one(("view", node), lambda: Seq(node, "list"))
    held = owners.item(run, node, frozenset({receiver}), RUN)
    if name == "items":
        return _pairs(
            run, node, [engine.elements.known(tuple(receiver.value)), held and made], {}, counted=False
        )
    run.write(engine.attribute_cell(next(iter(made)), "[]"), held if name == "values" else RUN)
    return made


def _of_collection(
    run: Runner, node: ast.AST, name: str, each: Element, arguments: list[Value], keywords: Keywords
) -> Value:
    from assay.flow.reach.expressions import iterated

    engine = run.engine
    none = engine.elements.known(None)
    cell = engine.attribute_cell(each, "[]")
    first = arguments[0] if arguments else NOTHING
    if name in ("append", "add", "appendleft", "push", "put", "put_nowait"):
        run.write(cell, first)
        return none
    if name == "insert":
        run.write(cell, arguments[-1])
        return none
    if name in ("extend", "update", "extendleft"):
        for argument in arguments:
            items = iterated(run, node, argument)[0]
            run.write(cell, items)
            from assay.flow.reach.calling import spread

            if isinstance(each, Seq) and each.kind == "dict":
                spread(run, each, argument)
        for key, value in keywords.items():
            owners.store_item(run, each, engine.elements.known(key), value)
        return none
    if name in ("get", "pop", "setdefault", "popleft", "__getitem__", "popitem"):
        default = arguments[1] if len(arguments) > 1 else none
        if name == "setdefault":
            owners.store_item(run, each, first, default)
        is_dict = isinstance(each, Seq) and each.kind == "dict"
        held = owners._item_of_seq(run, each, first) if is_dict and first else run.read(cell)  # type: ignore[arg-type]
        found = joined(held, default) if is_dict else held or RUN
        return found | (first & MARKS)
    if name == "items":
        keys = run.read(engine.attribute_cell(each, "keys")) or RUN
        inner = engine.elements.one(("items", each), lambda: Seq(node, "tuple"))
        pair = next(iter(inner))
        held = run.read(cell)
        run.write(engine.attribute_cell(pair, "[0]"), keys)
        run.write(engine.attribute_cell(pair, "[1]"), held)
        run.write(engine.attribute_cell(pair, "[]"), joined(keys, held))
        made = engine.elements.one(("items of", each), lambda: Seq(node, "list"))
        if held:
            run.write(engine.attribute_cell(next(iter(made)), "[]"), inner)
        return made
    if name in ("values", "copy", "union", "intersection", "difference"):
        if name == "copy":
            return frozenset({each})
        made = engine.elements.one(("values", each), lambda: Seq(node, "list"))
        run.write(engine.attribute_cell(next(iter(made)), "[]"), run.read(cell))
        return made
    if name == "keys":
        made = engine.elements.one(("keys of", each), lambda: Seq(node, "list"))
        run.write(
            engine.attribute_cell(next(iter(made)), "[]"),
            run.read(engine.attribute_cell(each, "keys")) or RUN,
        )
        return made
    return vague(arguments)


__all__ = ["SOMETIMES", "Native"]
