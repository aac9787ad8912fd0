"""Methods of Python's own values, of collections and of torch's modules."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from assay.flow import attributes
from assay.flow.classes import collection
from assay.flow.outside.standard_library import SETS_LOGS
from assay.flow.reach import owners
from assay.flow.reach.arguments import Keywords
from assay.flow.reach.binding import spread_into
from assay.flow.reach.elements import (
    MARKS,
    NOTHING,
    RUN,
    Element,
    Known,
    Obj,
    Seq,
    Value,
    is_plain,
    joined,
    union,
    unmarked,
)
from assay.flow.reach.items import item, item_of_seq, store_item
from assay.flow.reach.iterating import iterated
from assay.flow.reach.lifting import marks
from assay.flow.reach.natives import ordered, pairs, vague
from assay.flow.values import (
    Instance,
)

if TYPE_CHECKING:
    from assay.flow.reach.runner import Runner


def method(
    run: Runner,
    node: ast.AST,
    name: str,
    receiver: Element,
    arguments: list[Value],
    keywords: Keywords,
) -> Value:
    """Call a method of a native value or of a collection."""
    own = receiver.cls if isinstance(receiver, Obj) else None
    if isinstance(receiver, Seq) or collection(own) is not None:
        return _of_collection(run, node, name, receiver, arguments, keywords)
    if isinstance(receiver, Obj):
        return _of_module(run, node, name, receiver, arguments)
    if isinstance(receiver, Known):
        return _of_known(run, node, name, receiver, arguments, keywords)
    return vague([frozenset({receiver}), *arguments, *keywords.values()])


def _of_known(
    run: Runner,
    node: ast.AST,
    name: str,
    receiver: Known,
    arguments: list[Value],
    keywords: Keywords,
) -> Value:
    """A method of a value of the interpreter."""
    values = [*arguments, *keywords.values()]
    if isinstance(receiver.value, Instance):
        return _of_modelled(run, node, name, values)
    if receiver.value is dict and name == "fromkeys":
        return _from_keys(run, node, arguments)
    if isinstance(receiver.value, list | dict | set) and name in _CHANGES:
        return _of_collection(run, node, name, receiver, arguments, keywords)
    found = _strict_method(run, receiver, name, arguments, keywords)
    if found is not None:
        return found
    if name in ("get", "items", "values", "keys", "pop") and isinstance(receiver.value, dict):
        return _of_known_dict(run, node, name, receiver, arguments)
    if isinstance(receiver.value, str) and name == "join":
        return RUN | (values[0] & MARKS if values else NOTHING)
    for value in values:
        run.engine.hand_out(value)
    return vague([frozenset({receiver}), *values])


def _of_modelled(run: Runner, node: ast.AST, name: str, values: list[Value]) -> Value:
    """A method of an object of a modelled class, such as a logger."""
    if name in _LOGS or name in SETS_LOGS:
        if name != "debug":  # which nobody sees as servers are run
            run.event(node, "log", "logs", changed=name in SETS_LOGS and bool(marks(*values)))
        return run.engine.elements.known(None)
    if marks(*values):
        run.event(node, "value", "is handed on", changed=True)
    return vague(values)


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


def _from_keys(run: Runner, node: ast.AST, arguments: list[Value]) -> Value:
    """`dict.fromkeys(keys, value)`."""
    made = run.engine.elements.seq(node, "dict")
    keys = iterated(run, node, arguments[0])[0] if arguments else NOTHING
    value = arguments[1] if len(arguments) > 1 else run.engine.elements.known(None)
    for each in made if keys else ():
        store_item(run, each, keys, value)
    return made | union(arguments) & MARKS


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
    values = (receiver.value, *(o.value for o in operands))  # type: ignore[attr-defined]  # all are known
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
            there = [e for e in plain if isinstance(e, Known) and e.value in receiver.value]
            found = item(run, node, frozenset({receiver}), frozenset(there)) if there else NOTHING
            return joined(found, default) if missing or not found else found
        return joined(item(run, node, frozenset({receiver}), key), default)
    made = engine.elements.one(("view", node), lambda: Seq(node, "list"))
    held = item(run, node, frozenset({receiver}), RUN)
    if name == "items":
        return pairs(
            run, node, [engine.elements.known(tuple(receiver.value)), held and made], {}, counted=False
        )
    run.write(engine.attribute_cell(next(iter(made)), "[]"), held if name == "values" else RUN)
    return made


def _of_collection(
    run: Runner, node: ast.AST, name: str, each: Element, arguments: list[Value], keywords: Keywords
) -> Value:
    """A method of a collection that is filled while the program is followed."""
    engine = run.engine
    none = engine.elements.known(None)
    cell = engine.attribute_cell(each, "[]")
    if name in ("append", "add", "appendleft", "push", "put", "put_nowait"):
        run.write(cell, arguments[0] if arguments else NOTHING)
        return none
    if name == "insert":
        run.write(cell, arguments[-1])
        return none
    if name in ("extend", "update", "extendleft"):
        _extend(run, node, each, arguments, keywords)
        return none
    if name in ("get", "pop", "setdefault", "popleft", "__getitem__", "popitem", "get_nowait"):
        return _taken(run, node, name, each, arguments)
    made_of = _OF_COLLECTIONS.get(name)
    if made_of is not None:
        return made_of(run, node, each, keywords)
    if name in ("values", "union", "intersection", "difference"):
        return _all_of(run, node, each, arguments if name == "union" else [])
    if name == "keys":
        made = engine.elements.one(("keys of", each), lambda: Seq(node, "list"))
        run.write(
            engine.attribute_cell(next(iter(made)), "[]"),
            run.read(engine.attribute_cell(each, "keys")) or RUN,
        )
        return made
    for value in arguments:
        engine.hand_out(value)
    return vague(arguments)


def _all_of(run: Runner, node: ast.AST, each: Element, others: list[Value]) -> Value:
    """A list of what a collection, and others, hold."""
    engine = run.engine
    made = engine.elements.one(("values", each), lambda: Seq(node, "list"))
    inner = engine.attribute_cell(next(iter(made)), "[]")
    run.write(inner, run.read(engine.attribute_cell(each, "[]")))
    for argument in others:
        run.write(inner, iterated(run, node, argument)[0])
    return made


def _copied(run: Runner, node: ast.AST, each: Element, keywords: Keywords) -> Value:
    """`things.copy()`, `pair._replace(name=value)`."""
    for key, value in keywords.items():
        owners.store_attribute(run, node, frozenset({each}), key, value)
    return frozenset({each})


def _extend(run: Runner, node: ast.AST, each: Element, arguments: list[Value], keywords: Keywords) -> None:
    """Put what other collections hold into this one."""
    engine = run.engine
    cell = engine.attribute_cell(each, "[]")
    for argument in arguments:
        items = iterated(run, node, argument)[0]
        run.write(cell, items)
        if isinstance(each, Seq) and each.kind == "dict":
            spread_into(run, each, argument)
    for key, value in keywords.items():
        store_item(run, each, engine.elements.known(key), value)


def _taken(run: Runner, node: ast.AST, name: str, each: Element, arguments: list[Value]) -> Value:
    """One element of a collection, by its key where it is a dict."""
    engine = run.engine
    cell = engine.attribute_cell(each, "[]")
    first = arguments[0] if arguments else NOTHING
    default = arguments[1] if len(arguments) > 1 else engine.elements.known(None)
    if name == "setdefault":
        store_item(run, each, first, default)
    if isinstance(each, Obj):
        found = joined(run.read(cell), default) if collection(each.cls) is dict else run.read(cell) or RUN
    elif isinstance(each, Seq) and each.kind == "dict":
        held = item_of_seq(run, each, first) if first else run.read(cell)
        found = joined(held, default)
    else:
        found = run.read(cell) or engine.stall(node, run.context)
    return found | (first & MARKS) if found else found


def _items_of(run: Runner, node: ast.AST, each: Element, _keywords: Keywords) -> Value:
    """The pairs of a dict's keys and values."""
    engine = run.engine
    keys = run.read(engine.attribute_cell(each, "keys")) or RUN
    inner = engine.elements.one(("items", each), lambda: Seq(node, "tuple"))
    pair = next(iter(inner))
    held = run.read(engine.attribute_cell(each, "[]"))
    run.write(engine.attribute_cell(pair, "[0]"), keys)
    run.write(engine.attribute_cell(pair, "[1]"), held)
    run.write(engine.attribute_cell(pair, "[]"), joined(keys, held))
    made = engine.elements.one(("items of", each), lambda: Seq(node, "list"))
    if held:
        run.write(engine.attribute_cell(next(iter(made)), "[]"), inner)
    return made


def _sorted(run: Runner, node: ast.AST, receiver: Element, keywords: Keywords) -> Value:
    """`things.sort(key=function)`."""
    cell = run.engine.attribute_cell(receiver, "[]")
    remarks = ordered(run, node, keywords.get("key", NOTHING), run.read(cell) or RUN)
    if remarks:
        run.write(cell, run.read(cell) | remarks)
    return run.engine.elements.known(None)


_OF_COLLECTIONS: dict[str, Callable[[Runner, ast.AST, Element, Keywords], Value]] = {
    "items": _items_of,
    "sort": _sorted,
    "copy": _copied,
    "_replace": _copied,
}
