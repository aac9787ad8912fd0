"""What loops, comprehensions and `with` get out of whatever they are given."""

from __future__ import annotations

import ast
import itertools
from typing import TYPE_CHECKING, Any

from assay.flow.classes import collection, members
from assay.flow.reach.arguments import Arguments
from assay.flow.reach.assigning import assign
from assay.flow.reach.elements import (
    ALWAYS,
    FORKED,
    MARKS,
    NEVER,
    NOTHING,
    PERHAPS,
    RUN,
    SOMETIMES,
    Doubt,
    Known,
    Obj,
    Seq,
    Value,
    joined,
    union,
)
from assay.flow.reach.items import named_parts
from assay.flow.reach.lifting import marks
from assay.flow.values import (
    MISSING,
    Class,
    Instance,
    Touched,
)

if TYPE_CHECKING:
    from assay.flow.reach.runner import Runner

MAX_ITERATED = 12


def iterated(run: Runner, node: ast.AST, source: Value) -> tuple[Value, int]:
    """What one element of a collection may be, and how surely there is one."""
    found, surely = NOTHING, NEVER
    for each in source - MARKS:
        items, level = _elements_of(run, node, each)
        found, surely = joined(found, items), max(surely, level)
    return (found | marks(source) if found else found), surely


def _elements_of(run: Runner, node: ast.AST, each: Any) -> tuple[Value, int]:
    from assay.flow.reach import calling  # calls iterate and iterating calls

    engine = run.engine
    if isinstance(each, Known) and not isinstance(each.value, Instance):
        return _elements_of_known(run, each)
    if isinstance(each, Seq):
        found = run.read(engine.attribute_cell(each, "[]"))
        if each.kind == "dict":
            keys = run.read(engine.attribute_cell(each, "keys"))
            return (keys or (found and RUN)), (SOMETIMES if keys or found else NEVER)
        return found, (SOMETIMES if found else NEVER)
    parts = named_parts(run, node, each)
    if parts:
        return union(parts), ALWAYS
    if isinstance(each, Obj) and collection(each.cls) is not None:
        kind = "keys" if collection(each.cls) is dict else "[]"
        held = run.read(engine.attribute_cell(each, "[]"))
        return (run.read(engine.attribute_cell(each, kind)) or (held and RUN)), (SOMETIMES if held else NEVER)
    if isinstance(each, Obj):
        methods = (engine.class_attribute(each.cls, name) for name in ("__iter__", "__aiter__"))
        method = next((found for found in methods if found is not MISSING), MISSING)
        if method is not MISSING:
            value = calling.call_element(
                run, node, next(iter(engine.elements.method(method, each))), Arguments()
            )
            if value - MARKS == frozenset({each}):
                return stepped(run, node, each), SOMETIMES
            return (iterated(run, node, value)[0] if value else RUN), SOMETIMES
    if isinstance(each, Doubt):
        return frozenset({each}), PERHAPS
    return RUN, SOMETIMES


def stepped(run: Runner, node: ast.AST, each: Obj) -> Value:
    """What an object that is its own iterator gives next."""
    from assay.flow.reach import calling  # calls iterate and iterating calls

    for name in ("__next__", "__anext__"):
        method = run.engine.class_attribute(each.cls, name)
        if method is not MISSING:
            bound = next(iter(run.engine.elements.method(method, each)))
            return calling.call_element(run, node, bound, Arguments())
    return RUN


def _elements_of_known(run: Runner, each: Known) -> tuple[Value, int]:
    """The elements of a collection of the interpreter, and of what is added to it later."""
    engine, value = run.engine, each.value
    if isinstance(value, list | tuple | set | frozenset | dict | range):
        try:
            values = list(itertools.islice(iter(value), 64))
        except Touched:
            return RUN, SOMETIMES
        if isinstance(value, range) and len(values) > MAX_ITERATED:
            return RUN, ALWAYS
        found = union(engine.lift(v) for v in values)
        if engine.made(("attribute", each, "[]"), run.context) is not None:
            return joined(found, run.read(engine.attribute_cell(each, "[]"))), SOMETIMES
        return found, (ALWAYS if values else NEVER)
    if isinstance(value, Class) and value.is_enum:
        return union(engine.lift(m) for m in members(value)), ALWAYS
    return RUN, SOMETIMES


def entered(run: Runner, node: ast.AST, manager: Value) -> Value:
    """What `with manager as x` binds."""
    from assay.flow.reach import calling  # calls iterate and iterating calls

    found = NOTHING
    for each in manager - MARKS:
        if isinstance(each, Seq) and each.kind == "generator":
            found = joined(found, run.read(run.engine.attribute_cell(each, "[]")))
        elif isinstance(each, Obj):
            for name in ("__enter__", "__aenter__", "__exit__", "__aexit__"):
                method = run.engine.class_attribute(each.cls, name)
                if method is not MISSING:
                    element = next(iter(run.engine.elements.method(method, each)))
                    arguments = [RUN] * 3 if "exit" in name else []
                    value = calling.call_element(run, node, element, Arguments(arguments))
                    if "enter" in name:
                        found = joined(found, value)
        else:
            found = joined(found, RUN)
    return (found or RUN) | marks(manager)


def comprehension(run: Runner, node: Any) -> Value:
    """The collection that a comprehension makes."""
    env, level, path = run.env, run.level, run.path
    run.env = dict(env)
    remarks = NOTHING
    reached = True
    run.loops.append([])
    for generator in node.generators:
        source = run.evaluate(generator.iter)
        if not source:
            reached = False
            break
        items, surely = iterated(run, generator.iter, source)
        remarks = remarks | marks(items)
        if not items or not surely:
            reached = False
            break
        assign(run, generator.target, items)
        run.level = min(run.level, surely)
        for test in generator.ifs:
            yes, _no = run.test(test)
            if run.is_forked(test):  # the same elements, but not as many
                remarks = remarks | {FORKED}
            if not yes:
                reached = False
                break
            run.level = min(run.level, yes)
        if not reached:
            break
    kind = {ast.DictComp: "dict", ast.SetComp: "set"}.get(type(node), "list")
    made = run.engine.elements.seq(node, kind)
    element = next(iter(made))
    if reached:
        if isinstance(node, ast.DictComp):
            run.evaluate(node.key)
            value = run.evaluate(node.value)
        else:
            value = run.evaluate(node.elt)
        run.write(run.engine.attribute_cell(element, "[]"), value)
        remarks = remarks | marks(value)
    run.loops.pop()
    run.env, run.level, run.path = env, level, path
    return made | remarks
