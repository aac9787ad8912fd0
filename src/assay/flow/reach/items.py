"""Reads and writes elements of collections."""

from __future__ import annotations

import ast
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from assay.flow import operations
from assay.flow.classes import collection
from assay.flow.reach import owners
from assay.flow.reach.arguments import Arguments
from assay.flow.reach.elements import (
    MARKS,
    NOTHING,
    RUN,
    Doubt,
    Element,
    Known,
    Obj,
    Seq,
    Thing,
    Value,
    is_plain,
    joined,
    union,
)
from assay.flow.values import (
    MISSING,
    Class,
    Decorated,
    Instance,
    Member,
    Touched,
    Unknown,
)

if TYPE_CHECKING:
    from assay.flow.reach.runner import Runner


def named_parts(run: Runner, node: ast.AST, each: Element) -> list[Value] | None:
    """The elements of an object of a named tuple; None for all others."""
    owner = each.value if isinstance(each, Known) else each
    cls = owner.cls if isinstance(owner, Obj | Instance) else None
    if not isinstance(cls, Class) or collection(cls) is not tuple:
        return None
    return [owners.attribute(run, node, frozenset({each}), name) for name, _ in cls.fields or ()]


def item(run: Runner, node: ast.AST, owner: Value, key: Value) -> Value:
    """`owner[key]`."""
    found = NOTHING
    dead = False
    for each in owner - MARKS:
        part = _item(run, node, each, key)
        if part is None:
            dead = True
            continue
        found = joined(found, part)
    if found:
        return found | ((owner | key) & MARKS)
    if dead:
        names = ", ".join(repr(e.value) for e in key if isinstance(e, Known))
        run.die(node, "KeyError", names)
        return NOTHING
    return run.engine.stall(node, run.context)


def _item(run: Runner, node: ast.AST, each: Element, key: Value) -> Value | None:
    """One element; None if there surely is no such key."""
    engine = run.engine
    if isinstance(each, Seq):
        return item_of_seq(run, each, key)
    parts = named_parts(run, node, each)
    if parts:
        places = [e.value if isinstance(e, Known) else None for e in key - MARKS]
        exact = [p for p in places if isinstance(p, int) and -len(parts) <= p < len(parts)]
        return union(parts[p] for p in exact) if len(exact) == len(places) else union(parts)
    if isinstance(each, Known):
        return _item_of_known(run, node, each, key)
    if isinstance(each, Obj):
        method = engine.class_attribute(each.cls, "__getitem__") if isinstance(each.cls, Class) else MISSING
        if method is MISSING:
            held = run.read(engine.attribute_cell(each, "[]"))
            return held or RUN
        from assay.flow.reach import calling

        return calling.call_element(
            run, node, next(iter(engine.elements.method(method, each))), Arguments([key])
        )
    if isinstance(each, Thing):
        return RUN
    if isinstance(each, Doubt):
        return frozenset({each})
    return RUN


def item_of_seq(run: Runner, each: Seq, key: Value) -> Value:
    """An element of a collection that was made while the program is followed."""
    engine = run.engine
    plain = list(key - MARKS)
    found = NOTHING
    names = [key_name(e) for e in plain]
    if plain and None not in names and each.kind in ("dict", "tuple"):
        for name in names:
            found = joined(found, run.read(engine.attribute_cell(each, f"[{name}]")))
        found = joined(found, run.read(engine.attribute_cell(each, "[?]")))
        if found or each.kind == "dict":
            return found
    return run.read(engine.attribute_cell(each, "[]"))


def _item_of_known(run: Runner, node: ast.AST, each: Known, key: Value) -> Value | None:
    engine, value = run.engine, each.value
    if isinstance(value, Decorated):
        return engine.elements.thing(f"{getattr(value.function, 'name', 'kernel')}[]")
    if isinstance(value, Unknown):
        return engine.elements.thing(f"{getattr(value, 'dotted', '')}[]")
    added = engine.made(("attribute", each, "[]"), run.context)
    extra = run.read(added) if added is not None else NOTHING
    plain = key - MARKS
    if not all(isinstance(e, Known) for e in plain):
        return _any_item(run, value) | extra
    found, missing = _looked_up(run, each, plain)
    if not found and missing and not extra:
        return None
    if not found and isinstance(value, Instance):
        method = engine.class_attribute(value.cls, "__getitem__")
        if method is not MISSING:
            from assay.flow.reach import calling

            bound = next(iter(engine.elements.method(method, each)))
            return calling.call_element(run, node, bound, Arguments([key]))
    return (found or RUN) | extra


def _looked_up(run: Runner, each: Known, keys: Value) -> tuple[Value, bool]:
    """What a collection of the interpreter holds under known keys, and whether one of them is missing."""
    value = each.value
    found = NOTHING
    missing = False
    for e in keys:
        assert isinstance(e, Known)
        if isinstance(value, dict) and is_plain(e.value):
            with suppress(Touched):
                missing = missing or e.value not in value
        result = run.engine.folding.fold(
            ("item", each, e), (value, e.value), lambda o, k: operations.get_item(run.i, o, k), run.context
        )
        if result:
            found = joined(found, result)
    return found, missing


def _any_item(run: Runner, value: Any) -> Value:
    try:
        if isinstance(value, dict):
            return union(run.engine.lift(e) for e in list(value.values())[:24]) or RUN
        if isinstance(value, list | tuple):
            return union(run.engine.lift(e) for e in value[:24]) or RUN
    except Touched:
        pass
    return RUN


def key_name(each: Element) -> str | None:
    """What a key of a dict is called, if it is always the same one."""
    if isinstance(each, Known) and (is_plain(each.value) or isinstance(each.value, Member)):
        return str(each.value)
    return None


def store_item(run: Runner, each: Element, key: Value, value: Value, node: ast.AST | None = None) -> None:
    """`each[key] = value`."""
    engine = run.engine
    if isinstance(each, Seq | Known) or (isinstance(each, Obj) and not _has_setitem(run, each)):
        if isinstance(each, Known) and not isinstance(each.value, list | dict):
            if value & MARKS and node is not None:
                run.event(node, "value", "is handed on", changed=True)
            return
        run.write(engine.attribute_cell(each, "[]"), value)
        if isinstance(each, Seq) and each.kind == "dict":
            _store_named(run, each, key, value)
    elif isinstance(each, Obj):
        from assay.flow.reach import calling

        method = engine.class_attribute(each.cls, "__setitem__")
        bound = next(iter(engine.elements.method(method, each)))
        calling.call_element(run, node or run.context.node, bound, Arguments([key, value]))
    elif isinstance(each, Thing) and node is not None and each.label != "?.buf":
        engine.hand_out(value)
        changed = bool((value | key) & MARKS)
        run.event(node, "value", "is written into something of run time", changed=changed)


def _store_named(run: Runner, each: Seq, key: Value, value: Value) -> None:
    """Keep what is put into a dict under the names of its keys as well."""
    engine = run.engine
    run.write(engine.attribute_cell(each, "keys"), key)
    names = [key_name(e) for e in key - MARKS]
    for e, name in zip(key - MARKS, names, strict=True):
        if name is None:
            continue
        if isinstance(e, Known) and is_plain(e.value):
            engine.add_key(each, e.value)
        run.write(engine.attribute_cell(each, f"[{name}]"), value)
    if None in names:
        run.write(engine.attribute_cell(each, "[?]"), value)


def _has_setitem(run: Runner, each: Obj) -> bool:
    return isinstance(each.cls, Class) and run.engine.class_attribute(each.cls, "__setitem__") is not MISSING
