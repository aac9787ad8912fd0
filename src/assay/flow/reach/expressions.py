"""Works out what expressions may stand for while a function is followed."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from assay.flow.expressions import compare as strict_compare
from assay.flow.reach import calling, owners
from assay.flow.reach.binding import spread_into
from assay.flow.reach.context import Path
from assay.flow.reach.elements import (
    CHANGED,
    FORKED,
    MARKS,
    NOTHING,
    PERHAPS,
    RUN,
    Closure,
    Doubt,
    Known,
    Obj,
    Seq,
    Thing,
    Value,
    is_plain,
    is_settled,
    joined,
    unmarked,
)
from assay.flow.reach.items import item, store_item
from assay.flow.reach.iterating import comprehension, iterated
from assay.flow.reach.lifting import known_truth, lifted, marks
from assay.flow.reach.narrowing import narrowed
from assay.flow.values import (
    Class,
    Touched,
    VList,
    VSet,
)
from assay.source import binary

if TYPE_CHECKING:
    from assay.flow.reach.runner import Runner


def compared(run: Runner, node: ast.expr, value: Value) -> Value:
    """In run B: the value of an expression, marked if it differs from run A's."""
    assert run.base is not None
    old = run.base.get(node)
    plain = unmarked(value)
    if old is None or plain != old:
        if old and plain and isinstance(node, ast.Call):
            assert run.engine.overlay is not None
            same = run.engine.overlay.in_place_of(old, plain)
            if same is not None:
                return same | (value & {FORKED})
        return value | {CHANGED} if value else value
    if FORKED in value or not is_settled(plain):
        return value
    return plain


def operated(run: Runner, op: ast.operator, left: Value, right: Value) -> Value:
    """`left op right`."""
    kind = type(op)
    if kind is ast.BitOr and any(isinstance(e, Known) and isinstance(e.value, type | Class) for e in right):
        kinds = [e.value for e in (*unmarked(left), *unmarked(right)) if isinstance(e, Known)]
        if len(kinds) == len(unmarked(left)) + len(unmarked(right)):  # `A | B` names either class
            flat = [k for each in kinds for k in (each if isinstance(each, tuple) else (each,))]
            return run.engine.elements.known(tuple(flat)) | marks(left, right)
    if any(isinstance(e, Seq) for e in (*left, *right)) and left and right:
        return joined(left, right)
    return lifted(run, ("op", kind), lambda a, b: binary(op, a, b), [left, right])


def loaded(target: ast.expr) -> ast.expr:
    """An assignment's target as an expression that is read."""
    found = _LOADED.get(target)
    if found is None:
        if isinstance(target, ast.Name):
            found = ast.copy_location(ast.Name(target.id, ast.Load()), target)
        elif isinstance(target, ast.Attribute):
            found = ast.copy_location(ast.Attribute(target.value, target.attr, ast.Load()), target)
        else:
            assert isinstance(target, ast.Subscript)
            found = ast.copy_location(ast.Subscript(target.value, target.slice, ast.Load()), target)
        _LOADED[target] = found
    return found


_LOADED: dict[ast.expr, ast.expr] = {}


def shown(run: Runner, node: ast.expr) -> str:
    """A text of the program, as far as it can be told; open parts as written."""
    if isinstance(node, ast.JoinedStr):
        return "".join(shown(run, part) for part in node.values)
    if isinstance(node, ast.FormattedValue):
        value = unmarked(run.evaluate(node.value))
        only = next(iter(value)) if len(value) == 1 else None
        if isinstance(only, Known) and (is_plain(only.value) or isinstance(only.value, list | dict | tuple)):
            try:
                return str(only.value)[:200]
            except Touched:
                return "…"
        return "{" + ast.unparse(node.value) + "}"
    if isinstance(node, ast.Constant):
        return str(node.value)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return shown(run, node.left) + shown(run, node.right)
    return ast.unparse(node)[:200]


def closure(run: Runner, node: Any) -> Value:
    """The function that a definition or lambda inside of a function makes."""
    context = run.context
    for name, value in run.env.items():
        run.share(name, value)
    for default in (*node.args.defaults, *(each for each in node.args.kw_defaults if each is not None)):
        run.write(run.engine.cell(("default", default)), run.evaluate(default))
    return run.engine.elements.one(("closure", node, context), lambda: Closure(node, context))


# ---------------------------------------------------------------- one kind of expression each


def _constant(run: Runner, node: ast.Constant) -> Value:
    return run.engine.elements.known(node.value)


def _name(run: Runner, node: ast.Name) -> Value:
    return run.lookup(node.id, node)


def _attribute(run: Runner, node: ast.Attribute) -> Value:
    owner = run.evaluate(node.value)
    return owners.attribute(run, node, owner, node.attr) if owner else NOTHING


def _call(run: Runner, node: ast.Call) -> Value:
    return calling.called(run, node)


def _bool_op(run: Runner, node: ast.BoolOp) -> Value:
    """`a and b` as a value: any part that may be where it stops."""
    stops_on_true = isinstance(node.op, ast.Or)
    found = remarks = NOTHING
    level, path, env = run.level, run.path, run.env
    for at, part in enumerate(node.values):
        value = run.evaluate(part)
        yes, no = run.truth(value)
        run.engine.came_out(part, (yes, no))
        stop, go = (yes, no) if stops_on_true else (no, yes)
        if at + 1 == len(node.values):
            found = joined(found, value)
        elif stop:
            kept = (
                value
                if not go
                else frozenset(
                    e for e in value if not isinstance(e, Known) or known_truth(e.value) is stops_on_true
                )
            )
            found = joined(found, kept)
        remarks = remarks | marks(value)
        if not value or not go:
            break
        run.level, run.path = min(run.level, go), run.path
        run.env = narrowed(run, part, outcome=not stops_on_true)
    run.level, run.path, run.env = level, path, env
    return found | remarks if found and remarks else found


def _compare(run: Runner, node: ast.Compare) -> Value:
    values = [run.evaluate(node.left)]
    values.extend(run.evaluate(each) for each in node.comparators)
    found = NOTHING
    for at, op in enumerate(node.ops):
        result = _one_comparison(run, op, values[at], values[at + 1])
        if not result:
            return NOTHING
        if at == 0:
            found = result
        else:
            found = found | result if run.truth(found)[0] else found
            if run.truth(found)[1] and run.truth(found)[0]:
                found = RUN | marks(found)
    return found


def _one_comparison(run: Runner, op: ast.cmpop, left: Value, right: Value) -> Value:
    kind = type(op)
    if kind in (ast.Is, ast.IsNot, ast.Eq, ast.NotEq):
        quick = _identity(run, op, left, right)
        if quick is not None:
            return quick
    if kind in (ast.In, ast.NotIn) and any(
        run.engine.made(("attribute", e, "[]"), run.context) for e in right if isinstance(e, Known)
    ):
        return RUN | marks(left, right)  # something was added to it
    return lifted(run, ("compare", kind), lambda a, b: strict_compare(run.i, op, a, b), [left, right])


def _identity(run: Runner, op: ast.cmpop, left: Value, right: Value) -> Value | None:
    """Comparison with None and of objects, which are told apart without being known."""
    if not left or not right:
        return NOTHING
    known = run.engine.elements.known
    none = [_is_only_none(left), _is_only_none(right)]
    if not any(none):
        return None
    other = right if none[0] else left
    negative = isinstance(op, ast.IsNot | ast.NotEq)
    found = NOTHING
    for each in other - MARKS:
        if isinstance(each, Known):
            is_none = each.value is None
            found = found | known(is_none != negative)
        elif isinstance(each, Thing):
            found = found | (known(negative) if each.label.endswith("()") else RUN)
        elif isinstance(each, Doubt):
            found = found | {each}
        else:
            found = found | known(negative)
    return found | marks(left, right)


def _is_only_none(value: Value) -> bool:
    plain = unmarked(value)
    return len(plain) == 1 and all(isinstance(e, Known) and e.value is None for e in plain)


def _bin_op(run: Runner, node: ast.BinOp) -> Value:
    return operated(run, node.op, run.evaluate(node.left), run.evaluate(node.right))


def _unary_op(run: Runner, node: ast.UnaryOp) -> Value:
    value = run.evaluate(node.operand)
    if not value:
        return NOTHING
    if isinstance(node.op, ast.Not):
        yes, no = run.truth(value)
        doubts = frozenset(e for e in value if isinstance(e, Doubt))
        if yes and no and doubts:
            return doubts | marks(value)
        if yes and no and any(not isinstance(e, Known) for e in value - MARKS):
            return RUN | marks(value)
        known = run.engine.elements.known
        found = (known(False) if yes else NOTHING) | (known(True) if no else NOTHING)
        return found | marks(value)
    kind = type(node.op)
    operation = {ast.USub: lambda a: -a, ast.UAdd: lambda a: +a, ast.Invert: lambda a: ~a}[kind]
    return lifted(run, ("unary", kind), operation, [value])


def _if_exp(run: Runner, node: ast.IfExp) -> Value:
    yes, no = run.test(node.test)
    forked = run.is_forked(node.test)
    level, path, env = run.level, run.path, run.env
    found = NOTHING
    run.forked += forked
    for outcome, surely, part in ((True, yes, node.body), (False, no, node.orelse)):
        if surely:
            run.level, run.path = min(level, surely), Path(path, node.test, outcome, surely)
            run.env = narrowed(run, node.test, outcome=outcome)
            found = joined(found, run.evaluate(part))
            run.level, run.path, run.env = level, path, env
    run.forked -= forked
    if yes == PERHAPS or no == PERHAPS:
        found = joined(found, run.engine.elements.doubt(run.state.module.text(node.test)))
    if not forked and run.turned_out_otherwise(node.test):  # what is one object here may be another one
        forked = any(isinstance(each, Obj) and not each.is_apart for each in found)
    return found | {FORKED} if forked and found else found


def _display(run: Runner, node: ast.List | ast.Tuple | ast.Set) -> Value:
    values: list[Value] = []
    for each in node.elts:
        value = run.evaluate(each.value if isinstance(each, ast.Starred) else each)
        if not value:
            return NOTHING
        if isinstance(each, ast.Starred):
            value = iterated(run, each.value, value)[0]
        values.append(value)
    starred = any(isinstance(each, ast.Starred) for each in node.elts)
    if isinstance(node, ast.Tuple) and not starred:
        if all(len(v) == 1 and all(isinstance(e, Known) for e in v) for v in values):
            return run.engine.elements.known(tuple(next(iter(v)).value for v in values))  # type: ignore[attr-defined]  # all are known
    elif isinstance(getattr(node, "ctx", None), ast.Load) and _stays_constant(run, node, values):
        return lifted(run, ("display", node), lambda *each: _collection(node, each), values)
    kind = {ast.List: "list", ast.Tuple: "tuple", ast.Set: "set"}[type(node)]
    made = run.engine.elements.seq(node, kind)
    element = next(iter(made))
    for at, value in enumerate(values):
        run.write(run.engine.attribute_cell(element, "[]"), value)
        if kind == "tuple" and not starred:
            run.write(run.engine.attribute_cell(element, f"[{at}]"), value)
    return made | marks(*values) if values else made


def _collection(node: ast.AST, each: tuple[Any, ...]) -> Any:
    return VSet(each) if isinstance(node, ast.Set) else VList(each)


def _stays_constant(run: Runner, node: ast.expr, values: list[Value]) -> bool:
    """Whether a list display is of constants and used where it stands, as in `x in [1, 2]`."""
    return node in run.engine.constant_displays(run.context) and all(
        len(unmarked(v)) == 1 and all(isinstance(e, Known) for e in unmarked(v)) for v in values
    )


def _dict(run: Runner, node: ast.Dict) -> Value:
    made = run.engine.elements.seq(node, "dict")
    element = next(iter(made))
    remarks = NOTHING
    for key, each in zip(node.keys, node.values, strict=True):
        value = run.evaluate(each)
        if not value:
            return NOTHING
        remarks = remarks | marks(value)
        if key is None:
            spread_into(run, element, value)
            continue
        named = run.evaluate(key)
        store_item(run, element, named, value)
    return made | remarks


def _subscript(run: Runner, node: ast.Subscript) -> Value:
    owner = run.evaluate(node.value)
    if isinstance(node.slice, ast.Slice):
        parts = [run.evaluate(p) for p in (node.slice.lower, node.slice.upper, node.slice.step) if p]
        if any(isinstance(e, Seq) for e in owner):
            return owner | marks(*parts)
        none = run.engine.elements.known(None)
        ends = [run.evaluate(p) if p else none for p in (node.slice.lower, node.slice.upper, node.slice.step)]
        return lifted(run, "slice", lambda value, *e: value[slice(*e)], [owner, *ends])
    key = run.evaluate(node.slice)
    return item(run, node, owner, key) if owner and key else NOTHING


def _joined_str(run: Runner, node: ast.JoinedStr) -> Value:
    values = [run.evaluate(part.value) for part in node.values if isinstance(part, ast.FormattedValue)]
    if not all(values):
        return NOTHING
    if all(len(unmarked(v)) == 1 and isinstance(next(iter(unmarked(v))), Known) for v in values):
        operands = [e.value for v in values for e in unmarked(v)]  # type: ignore[attr-defined]  # all are known
        if all(is_plain(each) for each in operands) and len(operands) <= 4:
            return lifted(run, ("text", node), lambda *each: _text(node, each), values)
    return RUN | marks(*values)


def _text(node: ast.JoinedStr, operands: tuple[Any, ...]) -> str:
    waiting = iter(operands)
    parts = []
    for part in node.values:
        if isinstance(part, ast.FormattedValue):
            parts.append(str(next(waiting)))
        else:
            assert isinstance(part, ast.Constant)
            parts.append(str(part.value))
    return "".join(parts)


def _named(run: Runner, node: ast.NamedExpr) -> Value:
    value = run.evaluate(node.value)
    if value:
        run.bind(node.target.id, value)
    return value


def _lambda(run: Runner, node: ast.Lambda) -> Value:
    return closure(run, node)


def _await(run: Runner, node: ast.Await) -> Value:
    return run.evaluate(node.value)


def _yield(run: Runner, node: ast.Yield) -> Value:
    value = run.evaluate(node.value) if node.value is not None else run.engine.elements.known(None)
    made = run.engine.elements.seq(run.context.node, "generator")
    run.write(run.engine.attribute_cell(next(iter(made)), "[]"), value)
    run.outcome.returns = joined(run.outcome.returns, made)
    return RUN if value else NOTHING


def _yield_from(run: Runner, node: ast.YieldFrom) -> Value:
    value = run.evaluate(node.value)
    if not value:
        return NOTHING
    made = run.engine.elements.seq(run.context.node, "generator")
    run.write(run.engine.attribute_cell(next(iter(made)), "[]"), iterated(run, node.value, value)[0])
    run.outcome.returns = joined(run.outcome.returns, made)
    return RUN


def _slice(run: Runner, node: ast.Slice) -> Value:
    parts = [run.evaluate(p) for p in (node.lower, node.upper, node.step) if p is not None]
    return RUN | marks(*parts) if all(parts) else NOTHING


def _starred(run: Runner, node: ast.Starred) -> Value:
    return run.evaluate(node.value)


def _formatted(run: Runner, node: ast.FormattedValue) -> Value:
    return run.evaluate(node.value)


TABLE: Mapping[type[ast.expr], Callable[[Runner, Any], Value]] = {
    ast.Constant: _constant,
    ast.Name: _name,
    ast.Attribute: _attribute,
    ast.Call: _call,
    ast.BoolOp: _bool_op,
    ast.Compare: _compare,
    ast.BinOp: _bin_op,
    ast.UnaryOp: _unary_op,
    ast.IfExp: _if_exp,
    ast.List: _display,
    ast.Tuple: _display,
    ast.Set: _display,
    ast.Dict: _dict,
    ast.Subscript: _subscript,
    ast.JoinedStr: _joined_str,
    ast.FormattedValue: _formatted,
    ast.ListComp: comprehension,
    ast.SetComp: comprehension,
    ast.DictComp: comprehension,
    ast.GeneratorExp: comprehension,
    ast.NamedExpr: _named,
    ast.Lambda: _lambda,
    ast.Starred: _starred,
    ast.Await: _await,
    ast.Yield: _yield,
    ast.YieldFrom: _yield_from,
    ast.Slice: _slice,
}
