"""Works out expressions of the interpreted program."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping
from typing import Any

from assay.flow import operations
from assay.flow.builtin_names import BUILTINS
from assay.flow.calls import make_function
from assay.flow.interpreter import Interpreter
from assay.flow.values import (
    MISSING,
    Choice,
    Deferred,
    Frame,
    NotPure,
    Unknown,
    VDict,
    VList,
    VSet,
    may_be_missing,
)
from assay.source import binary

_UNARY: Mapping[type[ast.unaryop], Callable[[Any], Any]] = {
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
    ast.Invert: operator.invert,
}
_ORDER: Mapping[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}


def evaluate(i: Interpreter, node: ast.expr, frame: Frame) -> Any:
    """The value of an expression."""
    handler = _EXPRESSIONS.get(type(node))
    if handler is None:
        i.machine.passed_over(f"expression {type(node).__name__} is not followed")
        return Unknown(f"expression {type(node).__name__} is not followed")
    return handler(i, node, frame)


def _constant(_i: Interpreter, node: ast.Constant, _frame: Frame) -> Any:
    return node.value


def _name(i: Interpreter, node: ast.Name, frame: Frame) -> Any:
    return i.force(lookup(i, node.id, frame))


def lookup(i: Interpreter, name: str, frame: Frame) -> Any:
    """What a name stands for, perhaps deferred."""
    at: Frame | None = frame
    inside = False
    while at is not None:
        if name in at.names and not (at.is_class and inside):  # a function does not see its class's names
            if name in at.origins:
                i.machine.reads |= at.origins[name]
            value = at.names[name]
            return _bound(i, name, value) if isinstance(value, Choice) else value
        inside = inside or at.function is not None
        at = at.parent
    state = frame.module
    if i.machine.strict is not None and name in state.rebound:
        raise NotPure(name)
    value = i.modules.lookup(state, name)
    if value is MISSING:
        value = BUILTINS.get(name, MISSING)
        if value is MISSING:
            return i.machine.unknown(f"name {name} of {state.name}")
        return value
    if name in state.frame.origins:
        i.machine.reads |= state.frame.origins[name]
        if i.machine.strict is not None:
            i.machine.strict.note(state.frame.origins[name])
    return value


def _bound(i: Interpreter, name: str, value: Choice) -> Any:
    """The value of a name that is perhaps not bound on every path."""
    known = i.force(value)
    return Unknown(f"{name} is not bound on every path") if may_be_missing(known) else known


def _attribute(i: Interpreter, node: ast.Attribute, frame: Frame) -> Any:
    owner = evaluate(i, node.value, frame)
    return operations.get_attribute(i, owner, node.attr)


def _call(i: Interpreter, node: ast.Call, frame: Frame) -> Any:
    function = _super(i, node, frame) or evaluate(i, node.func, frame)
    arguments: list[Any] = []
    for each in node.args:
        if isinstance(each, ast.Starred):
            spread = operations.elements(i, evaluate(i, each.value, frame))
            if isinstance(spread, Unknown):
                return Unknown(spread.reason)
            arguments.extend(spread)
        else:
            arguments.append(evaluate(i, each, frame))
    keywords: dict[str, Any] = {}
    for keyword in node.keywords:
        value = evaluate(i, keyword.value, frame)
        if keyword.arg is not None:
            keywords[keyword.arg] = value
            continue
        mapping = operations.mapping(i, value)
        if mapping is None:
            return Unknown("keywords that are not known")
        keywords.update(mapping)
    kept, i.machine.frame = i.machine.frame, frame
    site, i.site = i.site, (frame.module.module, node)
    try:
        return i.call(function, arguments, keywords)
    finally:
        i.machine.frame, i.site = kept, site


def _super(i: Interpreter, node: ast.Call, frame: Frame) -> Any:
    """`super().name` and `super(C, self).name`, if that is what is called."""
    func = node.func
    if not isinstance(func, ast.Attribute) or not isinstance(func.value, ast.Call):
        return None
    if not isinstance(func.value.func, ast.Name) or func.value.func.id != "super":
        return None
    at: Frame | None = frame
    while at is not None:
        if at.function is not None and at.function.owner is not None:
            return operations.above(i, at.function.owner, at.receiver, func.attr)
        at = at.parent
    return None


def _bool_op(i: Interpreter, node: ast.BoolOp, frame: Frame) -> Any:
    decides = isinstance(node.op, ast.Or)
    return _bool_rest(i, node.values, 0, decides, frame)


def _bool_rest(i: Interpreter, parts: list[ast.expr], at: int, decides: bool, frame: Frame) -> Any:  # noqa: FBT001
    while True:
        value = evaluate(i, parts[at], frame)
        at += 1
        if at == len(parts):
            return value
        truth = i.truth(value)
        if isinstance(truth, bool):
            if truth is decides:
                return value
            continue
        stop = lambda v=value: _known_truth(i, v, decides=decides)  # noqa: E731
        rest = lambda n=at: _bool_rest(i, parts, n, decides, frame)  # noqa: E731
        return i.branch(value, stop, rest) if decides else i.branch(value, rest, stop)


def _known_truth(i: Interpreter, value: Any, *, decides: bool) -> Any:
    """The value of a test where the path has decided it."""
    value = i.force(value)
    return decides if isinstance(value, Unknown) and value.kind == "bool" else value


def _compare(i: Interpreter, node: ast.Compare, frame: Frame) -> Any:
    left = evaluate(i, node.left, frame)
    if len(node.ops) == 1:
        return compare(i, node.ops[0], left, evaluate(i, node.comparators[0], frame))
    return _compare_rest(i, node, 0, left, frame)


def _compare_rest(i: Interpreter, node: ast.Compare, at: int, left: Any, frame: Frame) -> Any:
    right = evaluate(i, node.comparators[at], frame)
    result = compare(i, node.ops[at], left, right)
    if at + 1 == len(node.ops):
        return result
    return i.branch(result, lambda: _compare_rest(i, node, at + 1, right, frame), lambda: False)


def compare(i: Interpreter, op: ast.cmpop, left: Any, right: Any) -> Any:
    """`left op right`."""
    if isinstance(op, ast.Eq | ast.NotEq):
        result = i.lift(lambda a, b: operations.equal(i, a, b), left, right, label="==")
        return operations.negated(i, result) if isinstance(op, ast.NotEq) else result
    if isinstance(op, ast.Is | ast.IsNot):
        result = operations.identical(i, left, right)
        return operations.negated(i, result) if isinstance(op, ast.IsNot) else result
    if isinstance(op, ast.In | ast.NotIn):
        result = operations.contained(i, left, right)
        return operations.negated(i, result) if isinstance(op, ast.NotIn) else result
    return i.lift(_ORDER[type(op)], left, right, label=type(op).__name__)


def _bin_op(i: Interpreter, node: ast.BinOp, frame: Frame) -> Any:
    left, right = evaluate(i, node.left, frame), evaluate(i, node.right, frame)
    op = node.op
    special = operations.binary_method(i, op, left, right)
    if special is not MISSING:
        return special
    return i.lift(lambda a, b: binary(op, a, b), left, right, label=type(op).__name__)


def _unary_op(i: Interpreter, node: ast.UnaryOp, frame: Frame) -> Any:
    value = evaluate(i, node.operand, frame)
    if isinstance(node.op, ast.Not):
        return operations.negated(i, value)
    return i.lift(_UNARY[type(node.op)], value, label=type(node.op).__name__)


def _if_exp(i: Interpreter, node: ast.IfExp, frame: Frame) -> Any:
    value = evaluate(i, node.test, frame)
    return i.branch(value, lambda: evaluate(i, node.body, frame), lambda: evaluate(i, node.orelse, frame))


def _elements(i: Interpreter, nodes: list[ast.expr], frame: Frame) -> Any:
    found: list[Any] = []
    for node in nodes:
        if isinstance(node, ast.Starred):
            spread = operations.elements(i, evaluate(i, node.value, frame))
            if isinstance(spread, Unknown):
                return spread
            found.extend(spread)
        else:
            found.append(_lazily(i, node, frame))
    return found


def _lazily(i: Interpreter, node: ast.expr, frame: Frame) -> Any:
    """As `evaluate`, but an imported name stays deferred: tables of classes are mostly read by key."""
    if isinstance(node, ast.Name):
        value = lookup(i, node.id, frame)
        return value if isinstance(value, Deferred) else i.force(value)
    return evaluate(i, node, frame)


def _list(i: Interpreter, node: ast.List, frame: Frame) -> Any:
    found = _elements(i, node.elts, frame)
    return found if isinstance(found, Unknown) else VList(found)


def _tuple(i: Interpreter, node: ast.Tuple, frame: Frame) -> Any:
    found = _elements(i, node.elts, frame)
    return found if isinstance(found, Unknown) else tuple(found)


def _set(i: Interpreter, node: ast.Set, frame: Frame) -> Any:
    found = _elements(i, node.elts, frame)
    if isinstance(found, Unknown):
        return found
    return i.lift(lambda *values: VSet(values), *found, label="set")


def _dict(i: Interpreter, node: ast.Dict, frame: Frame) -> Any:
    made = VDict()
    for key, value in zip(node.keys, node.values, strict=True):
        if key is None:
            spread = operations.mapping(i, evaluate(i, value, frame))
            if spread is None:
                return Unknown("a dict with keys that are not known")
            made.update(spread)
            continue
        name = i.force(evaluate(i, key, frame))
        if isinstance(name, Unknown | Choice):
            return Unknown("a dict with keys that are not known")
        found = _lazily(i, value, frame)
        i.outside.notes(i, name, found, key)
        i.native(made.__setitem__, [name, found])
    return made


def _subscript(i: Interpreter, node: ast.Subscript, frame: Frame) -> Any:
    owner = evaluate(i, node.value, frame)
    if isinstance(node.slice, ast.Slice):
        parts = [node.slice.lower, node.slice.upper, node.slice.step]
        limits = [None if part is None else evaluate(i, part, frame) for part in parts]
        return i.lift(lambda value, *ends: value[slice(*ends)], owner, *limits, label="slice")
    return operations.get_item(i, owner, evaluate(i, node.slice, frame))


def _joined(i: Interpreter, node: ast.JoinedStr, frame: Frame) -> Any:
    parts: list[Any] = []
    for part in node.values:
        if isinstance(part, ast.FormattedValue):
            value = evaluate(i, part.value, frame)
            spec = evaluate(i, part.format_spec, frame) if part.format_spec is not None else ""
            parts.append(operations.formatted_text(i, value, part.conversion, spec))
        else:
            parts.append(evaluate(i, part, frame))
    return i.lift(lambda *texts: "".join(texts), *parts, label="text")


def _comprehension(i: Interpreter, node: Any, frame: Frame) -> Any:
    inner = Frame(frame.module, frame)
    if i.outside.record is None:
        i.early_frames.append(inner)
    inner.function, inner.receiver = frame.function, frame.receiver
    inner.guards = frame.guards
    found: list[Any] = []
    failure = _loops(i, node.generators, inner, lambda: found.append(_made(i, node, inner)))
    if failure is not None:
        return Unknown(failure.reason, ("comprehension", id(node), failure.key))
    if any(isinstance(each, _Uncertain) for each in found):
        return Unknown("a collection of which only some elements are certain")
    if isinstance(node, ast.DictComp):
        return i.native(lambda: VDict(found), [])
    if isinstance(node, ast.SetComp):
        return i.native(lambda: VSet(found), [])
    return VList(found)


class _Uncertain:
    """Stands for an element that is there on one of two paths."""


def _made(i: Interpreter, node: Any, frame: Frame) -> Any:
    if isinstance(node, ast.DictComp):
        return i.force(evaluate(i, node.key, frame)), evaluate(i, node.value, frame)
    return evaluate(i, node.elt, frame)


def _loops(
    i: Interpreter, generators: list[ast.comprehension], frame: Frame, body: Callable[[], None]
) -> Unknown | None:
    if not generators:
        body()
        return None
    first = generators[0]
    values = operations.elements(i, evaluate(i, first.iter, frame))
    if isinstance(values, Unknown):
        return values
    for each in values:
        i.machine.step()
        i.run_assign(first.target, each, frame)
        passes = _all_pass(i, first.ifs, frame)
        if isinstance(passes, Unknown):
            return passes
        if passes:
            failure = _loops(i, generators[1:], frame, body)
            if failure is not None:
                return failure
    return None


def _all_pass(i: Interpreter, tests: list[ast.expr], frame: Frame) -> bool | Unknown:
    for test in tests:
        truth = i.truth(evaluate(i, test, frame))
        if truth is not True:
            return truth
    return True


def _named(i: Interpreter, node: ast.NamedExpr, frame: Frame) -> Any:
    value = evaluate(i, node.value, frame)
    i.run_assign(node.target, value, frame)
    return value


def _lambda(i: Interpreter, node: ast.Lambda, frame: Frame) -> Any:
    return make_function(i, node, frame)


def _starred(i: Interpreter, node: ast.Starred, frame: Frame) -> Any:
    return evaluate(i, node.value, frame)


_EXPRESSIONS: Mapping[type[ast.expr], Callable[[Interpreter, Any, Frame], Any]] = {
    ast.Constant: _constant,
    ast.Name: _name,
    ast.Attribute: _attribute,
    ast.Call: _call,
    ast.BoolOp: _bool_op,
    ast.Compare: _compare,
    ast.BinOp: _bin_op,
    ast.UnaryOp: _unary_op,
    ast.IfExp: _if_exp,
    ast.List: _list,
    ast.Tuple: _tuple,
    ast.Set: _set,
    ast.Dict: _dict,
    ast.Subscript: _subscript,
    ast.JoinedStr: _joined,
    ast.ListComp: _comprehension,
    ast.SetComp: _comprehension,
    ast.DictComp: _comprehension,
    ast.GeneratorExp: _comprehension,
    ast.NamedExpr: _named,
    ast.Lambda: _lambda,
    ast.Starred: _starred,
}
