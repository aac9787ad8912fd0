"""Built-in functions and methods of Python's own values, where not everything is known."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from assay.engines import probes
from assay.flow.builtin_names import BUILTINS
from assay.flow.classes import is_instance
from assay.flow.reach import owners, world
from assay.flow.reach.arguments import Arguments, Keywords
from assay.flow.reach.assigning import part
from assay.flow.reach.binding import spread_into
from assay.flow.reach.elements import (
    ALWAYS,
    FORKED,
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
    is_object,
    joined,
    union,
)
from assay.flow.reach.items import store_item
from assay.flow.reach.iterating import iterated, stepped
from assay.flow.reach.lifting import marks
from assay.flow.reach.within import all_marks
from assay.flow.values import Class, External, Instance, Native, Touched, Unknown

if TYPE_CHECKING:
    from assay.flow.reach.runner import Runner

_NAMES = {id(value): name for name, value in BUILTINS.items()}


def call(run: Runner, node: ast.AST, function: Any, arguments: Arguments) -> Value:
    """Call a built-in or modelled function."""
    own: Any = getattr(function, "name", None) or getattr(function, "__name__", "")
    name: str = _NAMES.get(id(function)) or own
    handler = HANDLERS.get(name.rpartition(".")[2])
    if handler is not None:
        return handler(run, node, arguments.positional, arguments.keywords)
    values = arguments.values()
    if isinstance(function, type) and issubclass(function, BaseException):
        return RUN
    if name.rpartition(".")[2] in _TO_THE_LOG:
        run.event(node, "log", "logs", changed=bool(marks(*values)))
        return run.engine.elements.known(None)
    if isinstance(function, Native) and (name in probes.CALLED_FACTS or name in probes.CALLED_CONSTANTS):
        return run.engine.lift(function.run(run.i))  # whatever it is called with
    if name in _ACTING:
        run.event(node, "effect", f"calls {name}", changed=bool(all_marks(run, values)))
    world.escape(run, node, values)
    return vague(values)


def is_collection(function: Any) -> bool:
    """Whether a function makes a collection."""
    return _NAMES.get(id(function)) in ("list", "dict", "set") or (
        getattr(function, "name", "").rpartition(".")[2] in ("deque", "defaultdict", "OrderedDict")
    )


def vague(values: list[Value]) -> Value:
    """The result of something on values that are not all known."""
    remarks = marks(*values)
    plain = [e for value in values for e in value - MARKS]
    doubts = [e for e in plain if isinstance(e, Doubt)]
    if doubts and not any(isinstance(e, Thing | Seq | Obj) for e in plain):
        return frozenset(doubts[:4]) | remarks
    return RUN | remarks


_ACTING = frozenset({"run", "makedirs", "write", "writelines", "json.dump"})
"""Modelled functions that do something outside: start a program, make a folder, write a file."""
_TO_THE_LOG = frozenset({"print", "warn", "basicConfig", "simplefilter", "filterwarnings"})


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
        if any(result is True for result in results):
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
        engine = run.engine
        made = engine.elements.seq(node, kind)
        element = next(iter(made))
        items = remarks = NOTHING
        for argument in arguments[:1]:
            items, _ = iterated(run, node, argument)
            remarks = remarks | (argument & MARKS)
            run.write(engine.attribute_cell(element, "[]"), items)
            if kind == "dict":
                spread_into(run, element, argument)
                _take_pairs(run, node, element, items)
        if kind == "dict":
            for name, value in keywords.items():
                store_item(run, element, engine.elements.known(name), value)
        elif "maxlen" in keywords:
            remarks = remarks | marks(keywords["maxlen"])
        elif "key" in keywords:  # sorted(things, key=function)
            remarks = remarks | ordered(run, node, keywords["key"], items or RUN)
        return made | remarks

    return collect


def with_default(run: Runner, node: ast.AST, arguments: list[Value], keywords: Keywords) -> Value:
    """`defaultdict(factory, pairs)`: what the factory makes may stand under any key."""
    from assay.flow.reach.calling import call_element

    made = _collected("dict")(run, node, arguments[1:], keywords)
    for element in made - MARKS:
        for factory in arguments[0] - MARKS if arguments else ():
            store_item(run, element, RUN, call_element(run, node, factory, Arguments()))
    return made


def _take_pairs(run: Runner, node: ast.AST, element: Element, items: Value) -> None:
    """What `dict(pairs)` holds."""
    pairs = frozenset(
        e
        for e in items
        if (isinstance(e, Seq) and e.kind == "tuple") or (isinstance(e, Known) and isinstance(e.value, tuple))
    )
    for pair in pairs:
        one = frozenset({pair})
        store_item(run, element, part(run, node, one, 0), part(run, node, one, 1))


def pairs(run: Runner, node: ast.AST, arguments: list[Value], _keywords: Keywords, *, counted: bool) -> Value:
    """The list of pairs that `zip` and `enumerate` make."""
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
    return made | marks(*arguments)


def _next(run: Runner, node: ast.AST, arguments: list[Value], _keywords: Keywords) -> Value:
    """`next(iterator, rest)`."""
    own = [stepped(run, node, each) for each in arguments[0] if isinstance(each, Obj)]
    items = joined(
        iterated(run, node, frozenset(e for e in arguments[0] if not isinstance(e, Obj)))[0], union(own)
    )
    rest = arguments[1] if len(arguments) > 1 else NOTHING
    return joined(items, rest) or run.engine.stall(node, run.context)


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


def _iterator(run: Runner, node: ast.AST, arguments: list[Value], keywords: Keywords) -> Value:
    """`iter(things)`, `iter(function, last)`."""
    if len(arguments) > 1:
        return _mapped(run, node, arguments[:1], keywords)
    return _collected("list")(run, node, arguments, keywords)


def _opened(run: Runner, node: ast.AST, arguments: list[Value], _keywords: Keywords) -> Value:
    """`open(path)`: there surely is no file called None."""
    if arguments and all(isinstance(e, Known) and e.value is None for e in arguments[0] - MARKS):
        run.die(node, "TypeError", "expected str, bytes or os.PathLike object, not NoneType")
        return NOTHING
    return RUN | marks(*arguments)


def _filtered(run: Runner, node: ast.AST, arguments: list[Value], keywords: Keywords) -> Value:
    kept = run.read(run.engine.attribute_cell(next(iter(_mapped(run, node, arguments, keywords))), "[]"))
    return _collected("list")(run, node, arguments[1:], keywords) | (kept & MARKS)


def _mapped(run: Runner, node: ast.AST, arguments: list[Value], _keywords: Keywords) -> Value:
    from assay.flow.reach.calling import call_element

    made = run.engine.elements.one(("mapped", node), lambda: Seq(node, "list"))
    items = [iterated(run, node, each)[0] or RUN for each in arguments[1:]]
    for function in arguments[0] - MARKS:
        value = call_element(run, node, function, Arguments(items))
        run.write(run.engine.attribute_cell(next(iter(made)), "[]"), value)
    return made


def ordered(run: Runner, node: ast.AST, functions: Value, items: Value) -> Value:
    """The function by whose results things are ordered is called; a remark if those differ in run B."""
    from assay.flow.reach.calling import call_element

    found, level = NOTHING, run.level
    run.level = min(level, SOMETIMES)  # there may be nothing to order
    for function in functions - MARKS:
        if not (isinstance(function, Known) and function.value is None):
            found = joined(found, call_element(run, node, function, Arguments([items])))
    run.level = level
    return frozenset({FORKED}) if all_marks(run, [found]) else NOTHING


def _largest(run: Runner, node: ast.AST, arguments: list[Value], keywords: Keywords) -> Value:
    remarks = NOTHING
    items = iterated(run, node, arguments[0])[0] if len(arguments) == 1 else union(arguments)
    if "key" in keywords:
        remarks = ordered(run, node, keywords["key"], items or RUN)
    objects = frozenset(each for each in items if is_object(each))
    return (objects or vague(arguments)) | marks(*arguments) | remarks


def _any_or_all(*, outcome: bool) -> Callable[..., Value]:
    """`any` (looks for True) and `all` (for False) of a comprehension that stands in the call."""

    def handler(run: Runner, node: Any, arguments: list[Value], _keywords: Keywords) -> Value:
        own = None
        only = arguments[0] - MARKS
        for each in only if len(only) == 1 else ():
            if isinstance(each, Seq) and each.node is node.args[0]:
                own = run.outcome.writes.get(run.engine.attribute_cell(each, "[]"))
        if own is None:
            return vague(arguments)
        value, level, _ = own
        yes, no = run.truth(value)
        hit, miss = (yes, no) if outcome else (no, yes)
        known = run.engine.elements.known
        if not hit:  # also where there is no element at all
            return known(not outcome) | (arguments[0] & MARKS)
        if hit == ALWAYS and not miss and level >= run.level:
            return known(outcome) | (arguments[0] & MARKS)
        return vague([*arguments, value])

    return handler


HANDLERS: Mapping[str, Callable[..., Value]] = {
    "isinstance": _isinstance,
    "hasattr": _hasattr,
    "getattr": _getattr,
    "setattr": _setattr,
    "list": _collected("list"),
    "tuple": _collected("list"),
    "sorted": _collected("list"),
    "reversed": _collected("list"),
    "iter": _iterator,
    "deque": _collected("list"),
    "set": _collected("set"),
    "frozenset": _collected("set"),
    "dict": _collected("dict"),
    "defaultdict": with_default,
    "OrderedDict": _collected("dict"),
    "enumerate": lambda run, node, a, kw: pairs(run, node, a, kw, counted=True),
    "zip": lambda run, node, a, kw: pairs(run, node, a, kw, counted=False),
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
    "filter": _filtered,
    "open": _opened,
    "any": _any_or_all(outcome=True),
    "all": _any_or_all(outcome=False),
    "min": _largest,
    "max": _largest,
}
