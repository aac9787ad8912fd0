"""Functions of Python's standard library through whose hands the program's own objects go."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from assay.flow.reach import natives, world
from assay.flow.reach.arguments import Arguments, Keywords
from assay.flow.reach.assigning import part
from assay.flow.reach.elements import MARKS, NOTHING, RUN, Seq, Value, joined, union
from assay.flow.reach.items import store_item
from assay.flow.reach.iterating import iterated
from assay.flow.reach.lifting import marks

if TYPE_CHECKING:
    from assay.flow.reach.runner import Runner

Handler = Callable[["Runner", ast.AST, list[Value], Keywords], Value]


def call(run: Runner, node: ast.AST, dotted: str, arguments: Arguments) -> Value | None:
    """What comes of a call of that function; None if it keeps no object, or is not modelled."""
    found = _HANDLERS.get(dotted)
    if found is None:
        module, _, name = dotted.rpartition(".")
        found = natives.HANDLERS.get(name) if module in _LIKE_BUILTINS else None
    if found is None:
        return None
    spread = arguments.spread
    more = [spread.positional] if spread is not None and spread.positional else []
    return found(run, node, [*arguments.positional, *more], arguments.keywords)


_LIKE_BUILTINS = frozenset({"collections", "itertools", "functools", "copy", "dataclasses", "typing"})
"""Modules of which some functions are modelled like built-in ones, under the same name."""


def _items(run: Runner, node: ast.AST, arguments: list[Value]) -> Value:
    """What several collections hold."""
    return union(iterated(run, node, each)[0] for each in arguments)


def _filled(run: Runner, node: ast.AST, kind: str, items: Value, *sources: Value) -> Value:
    """The collection that is made here, with these elements."""
    made = run.engine.elements.seq(node, kind)
    for element in made:
        run.write(run.engine.attribute_cell(element, "[]"), items)
    return made | (union(sources) & MARKS)


def _called(run: Runner, node: ast.AST, functions: Value, *arguments: Value) -> Value:
    """What functions of the tree give back for these."""
    from assay.flow.reach.calling import call_element  # calls lead here

    found = NOTHING
    for function in functions - MARKS:
        found = joined(found, call_element(run, node, function, Arguments(list(arguments))))
    return found


def _chained(run: Runner, node: ast.AST, arguments: list[Value], _keywords: Keywords) -> Value:
    return _filled(run, node, "list", _items(run, node, arguments), *arguments)


def _chained_inner(run: Runner, node: ast.AST, arguments: list[Value], _keywords: Keywords) -> Value:
    return _filled(run, node, "list", _items(run, node, [_items(run, node, arguments)]), *arguments)


def _first(run: Runner, node: ast.AST, arguments: list[Value], _keywords: Keywords) -> Value:
    """`islice(things, …)`, `cycle(things)`."""
    return _chained(run, node, arguments[:1], {})


def _repeated(run: Runner, node: ast.AST, arguments: list[Value], _keywords: Keywords) -> Value:
    return _filled(run, node, "list", arguments[0] if arguments else RUN)


def _filtered(run: Runner, node: ast.AST, arguments: list[Value], _keywords: Keywords) -> Value:
    """`takewhile(test, things)` and others that begin with a test."""
    items = _items(run, node, arguments[1:])
    outcome = _called(run, node, arguments[0], items) if items and arguments else NOTHING
    return _filled(run, node, "list", items, *arguments, outcome)


def _copies(run: Runner, node: ast.AST, arguments: list[Value], keywords: Keywords) -> Value:
    """`tee(things)`: collections that each hold the same."""
    held = _first(run, node, arguments, keywords)
    outer = run.engine.elements.one(("copies", node), lambda: Seq(node, "list"))
    for element in outer:
        run.write(run.engine.attribute_cell(element, "[]"), held)
    return outer


def _combined(run: Runner, node: ast.AST, arguments: list[Value], _keywords: Keywords) -> Value:
    """`combinations(things, n)`: each part of a result is any of the things."""
    return natives.pairs(run, node, arguments[:1] * 2, {}, counted=False)


def _paired(run: Runner, node: ast.AST, arguments: list[Value], _keywords: Keywords) -> Value:
    """`product(…)`, `zip_longest(…)`."""
    return natives.pairs(run, node, arguments, {}, counted=False)


def _grouped(run: Runner, node: ast.AST, arguments: list[Value], keywords: Keywords) -> Value:
    """`groupby(things, key)`: pairs of a key and some of the things."""
    items = _items(run, node, arguments[:1])
    functions = keywords.get("key", arguments[1] if len(arguments) > 1 else NOTHING)
    key = _called(run, node, functions, items or RUN) or items or RUN
    engine = run.engine
    keys = engine.elements.one(("keys", node), lambda: Seq(node, "list"))
    groups = engine.elements.one(("groups", node), lambda: Seq(node, "list"))
    group = engine.elements.one(("group of", node), lambda: Seq(node, "list"))
    for seq, value in ((keys, key), (groups, group), (group, items)):
        run.write(engine.attribute_cell(next(iter(seq)), "[]"), value)
    return natives.pairs(run, node, [keys, groups], {}, counted=False) | (union(arguments) & MARKS)


def _reduced(run: Runner, node: ast.AST, arguments: list[Value], _keywords: Keywords) -> Value:
    """`reduce(function, things, first)`: what any of the calls gives."""
    items = _items(run, node, arguments[1:2]) or RUN
    so_far = joined(items, arguments[2]) if len(arguments) > 2 else items
    functions = arguments[0] if arguments else NOTHING
    result = _called(run, node, functions, joined(so_far, RUN), items)
    return joined(result, so_far)


def _accumulated(run: Runner, node: ast.AST, arguments: list[Value], keywords: Keywords) -> Value:
    functions = keywords.get("func", arguments[1] if len(arguments) > 1 else NOTHING)
    items = _reduced(run, node, [functions, *arguments[:1]], {}) if functions else RUN
    return _filled(run, node, "list", joined(items, _items(run, node, arguments[:1])), *arguments)


def _spread(run: Runner, node: ast.AST, arguments: list[Value], _keywords: Keywords) -> Value:
    """`starmap(function, tuples)`."""
    tuples = _items(run, node, arguments[1:])
    functions = arguments[0] if arguments else NOTHING
    count = max((world.required(each) for each in functions), default=0)
    parts = [part(run, node, tuples, at) for at in range(count)]
    return _filled(run, node, "list", _called(run, node, functions, *parts), *arguments)


def _counted(run: Runner, node: ast.AST, arguments: list[Value], _keywords: Keywords) -> Value:
    """`Counter(things)`: a number for each of the things."""
    made = run.engine.elements.seq(node, "dict")
    items = _items(run, node, arguments[:1])
    for element in made if items else ():
        store_item(run, element, items, RUN)
    return made | (union(arguments) & MARKS)


def _layered(run: Runner, node: ast.AST, arguments: list[Value], _keywords: Keywords) -> Value:
    """`ChainMap(…)`: what any of the dicts holds."""
    made = run.engine.elements.seq(node, "dict")
    for argument in arguments:
        made = made | natives.HANDLERS["dict"](run, node, [argument], {})
    return made


def _put(run: Runner, _node: ast.AST, arguments: list[Value], _keywords: Keywords) -> Value:
    """`heappush(things, one)`."""
    if len(arguments) > 1:
        for each in arguments[0] - MARKS:
            run.write(run.engine.attribute_cell(each, "[]"), arguments[1])
    return run.engine.elements.known(None)


def _taken(run: Runner, node: ast.AST, arguments: list[Value], keywords: Keywords) -> Value:
    """`heappop(things)`, `heapreplace(things, one)`."""
    _put(run, node, arguments, keywords)
    return _items(run, node, arguments[:1]) or run.engine.stall(node, run.context)


def _some(run: Runner, node: ast.AST, arguments: list[Value], keywords: Keywords) -> Value:
    """`nlargest(n, things, key)`."""
    return natives.HANDLERS["sorted"](run, node, arguments[1:2], keywords)


def _queue(run: Runner, node: ast.AST, arguments: list[Value], keywords: Keywords) -> Value:
    return run.engine.elements.seq(node, "list") | marks(*arguments, *keywords.values())


def _at_the_end(run: Runner, node: ast.AST, arguments: list[Value], _keywords: Keywords) -> Value:
    """`atexit.register(function, …)`."""
    if arguments:
        _called(run, node, *arguments)
    return arguments[0] if arguments else RUN


_QUEUES = ("Queue", "LifoQueue", "PriorityQueue", "SimpleQueue", "JoinableQueue")
_HANDLERS: Mapping[str, Handler] = {
    "itertools.chain": _chained,
    "itertools.chain.from_iterable": _chained_inner,
    "itertools.islice": _first,
    "itertools.cycle": _first,
    "itertools.batched": _copies,
    "itertools.tee": _copies,
    "itertools.repeat": _repeated,
    "itertools.takewhile": _filtered,
    "itertools.dropwhile": _filtered,
    "itertools.filterfalse": _filtered,
    "itertools.product": _paired,
    "itertools.zip_longest": _paired,
    "itertools.combinations": _combined,
    "itertools.permutations": _combined,
    "itertools.pairwise": _combined,
    "itertools.groupby": _grouped,
    "itertools.accumulate": _accumulated,
    "itertools.starmap": _spread,
    "functools.reduce": _reduced,
    "collections.Counter": _counted,
    "collections.ChainMap": _layered,
    "heapq.heappush": _put,
    "heapq.heappop": _taken,
    "heapq.heapreplace": _taken,
    "heapq.heappushpop": _taken,
    "heapq.nlargest": _some,
    "heapq.nsmallest": _some,
    "heapq.merge": _chained,
    **{f"{module}.{name}": _queue for module in ("queue", "asyncio", "multiprocessing") for name in _QUEUES},
    "weakref.WeakSet": natives.HANDLERS["set"],
    "weakref.WeakValueDictionary": natives.HANDLERS["dict"],
    "weakref.WeakKeyDictionary": natives.HANDLERS["dict"],
    "weakref.proxy": natives.HANDLERS["copy"],
    "atexit.register": _at_the_end,
}
