"""Reads and writes attributes and elements of whatever an expression may stand for."""

from __future__ import annotations

import ast
from collections import Counter, OrderedDict, deque
from queue import Queue
from typing import TYPE_CHECKING, Any

from assay.flow import attributes
from assay.flow.classes import collection
from assay.flow.reach.arguments import Arguments
from assay.flow.reach.elements import (
    ALWAYS,
    CHANGED,
    MARKS,
    NOTHING,
    RUN,
    RUNTIME,
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
    is_plain,
    joined,
)
from assay.flow.reach.importing import imported
from assay.flow.reach.within import inner_marks
from assay.flow.values import (
    MISSING,
    Bound,
    Class,
    Decorated,
    External,
    Function,
    Instance,
    Member,
    ModuleValue,
    Native,
    Partial,
    Unknown,
    Wrapped,
)

if TYPE_CHECKING:
    from assay.flow.reach.runner import Runner


def attribute(run: Runner, node: ast.AST, owner: Value, name: str, default: Value | None = None) -> Value:
    """`owner.name`; with a default, that where there is no such attribute."""
    found, plain = NOTHING, owner - MARKS
    for each in plain:
        part = _attribute(run, node, each, name, has_default=default is not None)
        if not part and default is not None:
            part = default
        found = joined(found, part)
    if not found:
        surely = plain and not _was_asked(run, node, plain) and all(_lacks(run, e, name) for e in plain)
        if run.engine.overlay is not None and surely:
            names = " or ".join(sorted({_class_name(each) for each in plain}))
            run.die(node, "AttributeError", f"{names} has no attribute {name!r}")
            return NOTHING
        return run.engine.stall(node, run.context) | inner_marks(run, [plain])
    remarks = owner & MARKS
    return found | remarks if remarks else found


def _was_asked(run: Runner, node: ast.AST, plain: Value) -> bool:
    """Whether run A asks the same things there: what it lives with is no error in run B."""
    old = run.base.get(node.value) if run.base is not None and isinstance(node, ast.Attribute) else None
    return old is not None and plain <= old


def _lacks(run: Runner, each: Element, name: str) -> bool:
    """Whether there surely is no such attribute. Only asked of run B: what nobody seems to write in run A is
    written by something that was not understood, since A serves.
    """
    if isinstance(each, Obj):
        cls, held = each.cls, run.read(run.engine.attribute_cell(each, name))
    elif isinstance(each, Known) and isinstance(each.value, Instance):
        cls, cell = each.value.cls, run.engine.made(("attribute", each, name), run.context)
        held = run.read(cell) if cell is not None else NOTHING
    else:
        return isinstance(each, Known) and is_plain(each.value) and each.value is not None
    closed = isinstance(cls, Class) and not cls.is_open
    dynamic = closed and any(
        run.engine.class_attribute(cls, hook) is not MISSING for hook in ("__getattr__", "__getattribute__")
    )
    return closed and not dynamic and not held and run.engine.class_attribute(cls, name) is MISSING


def _class_name(each: Element) -> str:
    if isinstance(each, Obj):
        return str(each.cls.name)
    value = each.value if isinstance(each, Known) else None
    return str(value.cls.name) if isinstance(value, Instance) else type(value).__name__


def _attribute(run: Runner, node: ast.AST, each: Element, name: str, *, has_default: bool) -> Value:
    engine = run.engine
    if isinstance(each, Known):
        return of_known(run, node, each, name)
    if isinstance(each, Obj):
        return of_object(run, node, each, name, has_default=has_default)
    if isinstance(each, Thing):
        return _of_thing(run, node, each, name, has_default=has_default)
    if isinstance(each, Doubt):
        return frozenset({each})
    if isinstance(each, Seq):
        known = name.startswith("__") or any(hasattr(kind, name) for kind in _COLLECTIONS)
        return engine.elements.method(name, each) if known else NOTHING
    if isinstance(each, Method | Closure) and name == "__name__":
        return RUN
    return RUN


def _of_thing(run: Runner, node: ast.AST, each: Thing, name: str, *, has_default: bool) -> Value:
    """An attribute of something from outside. What the tree itself put there under a name is all that there
    is, where the tree asks whether it is there, or put objects of its own there: no library does.
    """
    engine = run.engine
    own = engine.made(("thing", name, each.label), run.context) if each.label else None
    held = run.read(own) if own is not None else NOTHING
    plain = held - MARKS
    if plain and (has_default or all(is_object(e) for e in plain)):
        return held
    if each is RUNTIME and engine.overlay is None and name in engine.fields:
        engine.unbound.setdefault(name, {})[node] = run.context
    made = engine.elements.thing(f"?.{name}")
    cell = engine.made(("thing", name), run.context)
    return joined(made, run.read(cell)) if cell is not None else made


_COLLECTIONS = (list, dict, set, tuple, deque, OrderedDict, Counter, Queue)


def of_known(run: Runner, node: ast.AST, each: Known, name: str) -> Value:
    """An attribute of a value of the interpreter."""
    value = each.value
    engine = run.engine
    if is_plain(value) and not hasattr(value, name):
        return NOTHING
    if isinstance(value, Instance):
        return _of_instance(run, node, each, value, name)
    if isinstance(value, ModuleValue):
        return imported(run, value.name, name)
    if isinstance(value, External):
        found = engine.i.outside.member(engine.i, value, name)
        return NOTHING if found is MISSING else engine.lift(found)
    if isinstance(value, Class):
        return _of_class(run, each, value, name)
    if isinstance(value, Member):
        return _strict(run, each, name) or _bound(run, node, value.cls, each, name)
    if isinstance(value, Decorated):
        return RUN
    if isinstance(value, Unknown | Function | Wrapped | Native | Partial | Bound):
        return _strict(run, each, name) or RUN
    return engine.elements.method(name, each)


def _of_instance(run: Runner, node: ast.AST, each: Known, value: Instance, name: str) -> Value:
    engine = run.engine
    engine.key_readers.setdefault((id(value), name), {})[run.context] = None
    if value is engine.record and name in engine.fields:
        engine.record_read(name, node, run.context)
    cell = engine.made(("attribute", each, name), run.context)
    if cell is not None:
        return run.read(cell)
    overlay = engine.overlay
    if overlay is not None and (id(value), name) in overlay.changed:
        other = overlay.counterpart(value)
        found = overlay.attribute(other, name)
        if found is not None:
            old = engine.lift(value.attributes.get(name, MISSING))
            return found | {CHANGED} if found != old else found
    found = _strict(run, each, name)
    if found:
        of_library = isinstance(value.cls, Class) and value.cls.is_data and name not in value.attributes
        if of_library and engine.class_attribute(value.cls, name) is MISSING:
            return found | inner_marks(run, [frozenset({each})])
        return found
    return _bound(run, node, value.cls, each, name)


def _strict(run: Runner, each: Known, name: str) -> Value:
    i = run.i

    def evaluate(owner: Any) -> Any:
        return i.force(attributes.find(i, owner, name))

    return run.engine.folding.fold(("attribute", each, name), (each.value,), evaluate, run.context) or NOTHING


def _of_class(run: Runner, each: Known, cls: Class, name: str) -> Value:
    cell = run.engine.made(("attribute", each, name), run.context)
    if cell is not None:
        return run.read(cell)
    strict = _strict(run, each, name)
    if strict:
        return strict
    found = run.engine.class_attribute(cls, name)
    if isinstance(found, Wrapped) and found.kind == "class":
        return run.engine.elements.method(found.function, each)
    return NOTHING if found is MISSING else run.engine.lift(found)


def _bound(run: Runner, node: ast.AST, cls: Any, each: Element, name: str) -> Value:
    """What a class attribute gives when read from an object."""
    from assay.flow.reach import calling

    engine = run.engine
    found = engine.class_attribute(cls, name) if isinstance(cls, Class) else MISSING
    if found is MISSING:
        return RUN if isinstance(cls, Class) and cls.is_open else NOTHING
    if isinstance(found, Wrapped):
        if found.kind == "property":
            inner = engine.force(found.function)
            return calling.follow(run, node, inner, each, Arguments())
        if found.kind == "static":
            return engine.lift(found.function)
        if found.kind == "class":
            return engine.elements.method(found.function, next(iter(engine.elements.known(cls))))
        return engine.elements.method(found, each)
    if isinstance(found, Function | Decorated):
        if isinstance(found, Decorated) and "property" in found.label:
            return calling.follow(run, node, found.function, each, Arguments())
        return engine.elements.method(found, each)
    return engine.lift(found)


def of_object(run: Runner, node: ast.AST, each: Obj, name: str, *, has_default: bool = False) -> Value:
    """An attribute of an object that was made while the program is followed."""
    engine = run.engine
    if name == "__class__":
        return engine.elements.known(each.cls)
    if name == "__dict__":
        return RUN
    found = run.read(engine.attribute_cell(each, name))
    cls = each.cls
    declared = engine.class_attribute(cls, name) if isinstance(cls, Class) else MISSING
    if declared is not MISSING and (not found or isinstance(declared, Function | Wrapped | Decorated)):
        found = joined(found, _bound(run, node, cls, each, name))
    if found or has_default:
        return found
    if isinstance(cls, Class) and engine.class_attribute(cls, "__getattr__") is not MISSING:
        return RUN
    plain = collection(cls)
    if plain is not None and (hasattr(plain, name) or name == "_replace"):
        return engine.elements.method(name, each)
    if isinstance(cls, Class) and cls.is_open and name in _OF_MODULES:
        return engine.elements.method(name, each)
    return NOTHING


_OF_MODULES = frozenset(
    {
        "register_buffer",
        "register_parameter",
        "add_module",
        "parameters",
        "named_parameters",
        "named_modules",
        "modules",
        "named_buffers",
        "buffers",
        "children",
        "named_children",
        "half",
        "float",
        "bfloat16",
        "state_dict",
        "load_state_dict",
        "eval",
        "train",
        "to",
        "cuda",
        "training",
        "apply",
        "requires_grad_",
        "get_parameter",
        "get_submodule",
        "append",
        "extend",
        "args",
    }
)


def has(run: Runner, each: Element, name: str) -> bool | None:
    """Whether there is such an attribute; None if only a run would tell."""
    engine = run.engine
    if isinstance(each, Obj):
        if run.read(engine.attribute_cell(each, name)):
            return True
        cls = each.cls
        return isinstance(cls, Class) and (
            engine.class_attribute(cls, name) is not MISSING or (cls.is_open and name in _OF_MODULES)
        )
    if isinstance(each, Known):
        value = each.value
        if isinstance(value, Instance) and engine.made(("attribute", each, name), run.context) is not None:
            return True
        if isinstance(value, External | Unknown):
            found = engine.i.outside.exists(engine.i, f"{getattr(value, 'dotted', '')}.{name}")
            return True if found else None
        if isinstance(value, Instance | Class | Member | ModuleValue) or is_plain(value):
            i = run.i
            key = ("has", each, name)
            result = engine.folding.fold(
                key, (value,), lambda v: i.force(attributes.find(i, v, name)) is not MISSING, run.context
            )
            if result:
                only = next(iter(result))
                return bool(only.value) if isinstance(only, Known) else None
            if isinstance(value, Instance):
                return bool(_bound_name(value.cls, name))
            return hasattr(value, name) if is_plain(value) else None
        return None
    if isinstance(each, Method | Closure):
        return None
    return None


def _bound_name(cls: Any, name: str) -> bool:
    return isinstance(cls, Class) and any(
        name in base.attributes for base in cls.line if isinstance(base, Class)
    )


def store_attribute(run: Runner, node: ast.AST, owner: Value, name: str, value: Value) -> None:
    """`owner.name = value`."""
    engine = run.engine
    stands_in = getattr(run.context.node, "name", "") in ("__init__", "__post_init__")
    for each in owner - MARKS:
        if isinstance(each, Obj):
            setter = _setter(run, each, name)
            if setter is not None:
                from assay.flow.reach import calling

                calling.follow(run, node, setter, each, Arguments([value]))
                continue
            run.write(engine.attribute_cell(each, name), value, stands_in=stands_in)
        elif isinstance(each, Known):
            _store_known(run, each, name, value)
        elif isinstance(each, Thing):
            engine.hand_out(value)
            run.write(engine.cell(("thing", name)), value)
            if each.label:
                run.write(engine.cell(("thing", name, each.label)), value)


def _setter(run: Runner, each: Obj, name: str) -> Any:
    """The function of a property's setter, if the attribute is one."""
    if not isinstance(each.cls, Class):
        return None
    found = run.engine.class_attribute(each.cls, name)
    if isinstance(found, Wrapped) and found.kind == "property":
        for base in each.cls.line:
            if isinstance(base, Class):
                node = _setter_node(base, name)
                if node is not None:
                    inner = run.engine.force(found.function)
                    if isinstance(inner, Function):
                        made = _SETTERS.get(node)
                        if made is None:
                            made = _SETTERS[node] = Function(node, inner.module, inner.closure)
                            made.owner = base
                        return made
    return None


_SETTERS: dict[ast.AST, Function] = {}


def _setter_node(cls: Class, name: str) -> Any:
    for statement in cls.module.module.tree.body:
        if isinstance(statement, ast.ClassDef) and statement.name == cls.name:
            for each in statement.body:
                if isinstance(each, ast.FunctionDef) and each.name == name:
                    for decorator in each.decorator_list:
                        if isinstance(decorator, ast.Attribute) and decorator.attr == "setter":
                            return each
    return None


def _store_known(run: Runner, each: Known, name: str, value: Value) -> None:
    engine = run.engine
    owner = each.value
    if isinstance(owner, Instance | Class):
        label = ("attribute", each, name)
        cell = engine.cells.get(label)
        if cell is None:
            before = owner.attributes.get(name, MISSING)
            initial = engine.lift(before) if before is not MISSING else NOTHING
            cell = engine.cell(label, lambda: initial)
        if isinstance(owner, Instance) and min(run.level, engine.level(run.context)) == ALWAYS:
            engine.folding.outgrow(owner, name, cell)  # what only a request may change, no start sees
        if engine.overlay is None:
            engine.folding.writers.add(run.context)
        run.write(cell, value)
    elif isinstance(owner, ModuleValue):
        state = run.i.modules.state(owner.name)
        if state is not None and name in state.rebound:
            run.write(engine.module_cell(state, name), value)
