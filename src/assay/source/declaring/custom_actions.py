"""Understands the engine's own argparse actions from the shape of their source."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field

from assay.source.declarations import Action, Converter
from assay.source.declaring.fold import Folder
from assay.source.declaring.module import Defined, External
from assay.source.declaring.operations import NotKnown
from assay.source.declaring.parameters import defaults_of, parameters_of
from assay.source.declaring.values import Scope

_SLOTS = ("option_strings", "dest", "nargs", "const", "default", "type", "choices", "required", "help")
_OUTSIDE: dict[str, Action] = {
    "argparse._StoreAction": "store",
    "argparse._StoreConstAction": "store_const",
    "argparse._StoreTrueAction": "store_const",
    "argparse._StoreFalseAction": "store_const",
    "argparse._AppendAction": "append",
    "argparse._HelpAction": "help",
    "argparse.BooleanOptionalAction": "boolean",
}


@dataclass(frozen=True)
class ActionShape:
    """What a class of actions does, as far as its source shows."""

    action: Action
    converter: Converter | None = None
    """The converter that its own code amounts to, if it has one."""
    const: ast.expr | None = None
    """The constant that it stores, where that is written in its code."""
    const_argument: str = ""
    """The argument of the call that gives what it stores, where that is not `const`."""
    refuses_with: str = ""
    """The argument of the call that makes it stop the engine with that text; without it, it does nothing."""
    defaults: dict[str, object] = field(default_factory=dict)
    """What its constructor takes for `nargs`, `const`, `default` and so on where the call gives none."""
    forced: dict[str, object] = field(default_factory=dict)
    """What its constructor sets them to, whatever the call gives."""
    message: ast.expr | None = None
    """The text in which it says that the option is deprecated."""


@dataclass(frozen=True)
class _Call:
    """The parts of an action's `__call__`."""

    body: list[ast.stmt]
    namespace: str
    values: str
    option_string: str


def read_action(folder: Folder, found: Defined | External) -> ActionShape:
    """What that class of actions does; `opaque` where its code has no shape that is known."""
    line: list[Defined | External] = [found]
    if isinstance(found, Defined):
        line = folder.classes.line(found)
    method = _method(line, "__call__")
    action, converter, const, message = _outside(line), None, None, None
    const_argument = refuses_with = ""
    constructor = _method(line, "__init__")
    if method is not None:
        call = _parts(method)
        action, converter, const = _effect(call) if call else ("opaque", None, None)
        message = _message(method.node)
        kept = _kept(constructor)
        if isinstance(const, ast.Attribute):
            const_argument, const = kept.get(const.attr, ""), None
            action = "store_const" if const_argument else "opaque"
        elif call and action == "opaque":
            refuses_with = kept.get(_refuses_with(call), "")
            action = "refused" if refuses_with else action
    defaults, forced = _constructor(folder, constructor)
    return ActionShape(action, converter, const, const_argument, refuses_with, defaults, forced, message)


def _outside(line: list[Defined | External]) -> Action:
    """What the nearest base from outside the tree does."""
    names = [base.dotted for base in line if isinstance(base, External)]
    return _OUTSIDE.get(names[0], "opaque") if names else "opaque"


def _method(line: list[Defined | External], name: str) -> Defined | None:
    for base in line:
        if isinstance(base, Defined):
            for node in base.node.body:
                if isinstance(node, ast.FunctionDef) and node.name == name:
                    return Defined(base.module, node)
    return None


def _parts(method: Defined) -> _Call | None:
    if isinstance(method.node, ast.ClassDef):
        return None
    names = [argument.arg for argument in (*method.node.args.posonlyargs, *method.node.args.args)]
    return _Call(method.node.body, *names[2:5]) if len(names) >= 5 else None


def _effect(call: _Call) -> tuple[Action, Converter | None, ast.expr | None]:
    """What the body of `__call__` does to the namespace."""
    uses = [n for s in call.body for n in ast.walk(s) if isinstance(n, ast.Name) and n.id == call.namespace]
    raises = [n for s in call.body for n in ast.walk(s) if isinstance(n, ast.Raise)]
    if not uses:
        return _without_namespace(call, raises=bool(raises)), None, None
    stored = [value for statement in call.body for value in _stored(statement, call)]
    if len(stored) == 1 and isinstance(stored[0], ast.Name) and _reads_lora_modules(call, stored[0].id):
        return "store", "lora-modules", None
    if len(stored) != 1 or len(uses) != 1 or raises:
        return "opaque", None, None
    value = stored[0]
    if isinstance(value, ast.Name) and value.id == call.values:
        return ("opaque" if _assigns(call, call.values) else "store"), None, None
    if isinstance(value, ast.Constant):
        return "store_const", None, value
    if isinstance(value, ast.Attribute) and ast.unparse(value) == "self.const":
        return "store_const", None, None
    if isinstance(value, ast.Attribute) and ast.unparse(value.value) == "self":
        return "store_const", None, value
    if isinstance(value, ast.Name) and _reads_lora_paths(call, value.id):
        return "store", "lora-paths", None
    return "opaque", None, None


def _without_namespace(call: _Call, *, raises: bool) -> Action:
    if any(isinstance(statement, ast.Raise) for statement in call.body):
        return "refused"
    ends = any(
        isinstance(n, ast.Attribute) and n.attr in ("error", "exit", "_exit")
        for s in call.body
        for n in ast.walk(s)
    )
    return "opaque" if raises or ends else "ignored"


def _refuses_with(call: _Call) -> str:
    """The `x` of `if self.x is not None: parser.error(self.x)`, where the rest does nothing."""
    found = [s for s in call.body if isinstance(s, ast.If)]
    if len(found) != 1 or not isinstance(found[0].test, ast.Compare):
        return ""
    tested = found[0].test.left
    if (
        not isinstance(tested, ast.Attribute)
        or ast.unparse(found[0].test) != f"self.{tested.attr} is not None"
    ):
        return ""
    ends = [ast.unparse(s) for s in found[0].body]
    return tested.attr if len(ends) == 1 and ends[0].endswith(f".error(self.{tested.attr})") else ""


def _kept(constructor: Defined | None) -> dict[str, str]:
    """Attribute to parameter, of each `self.x = x` of the constructor."""
    kept: dict[str, str] = {}
    for node in ast.walk(constructor.node) if constructor else ():
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Name):
            for target in node.targets:
                if isinstance(target, ast.Attribute) and ast.unparse(target.value) == "self":
                    kept[target.attr] = node.value.id
    return kept


def _stored(statement: ast.stmt, call: _Call) -> Iterator[ast.expr]:
    """The value of a statement `setattr(namespace, self.dest, value)`."""
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
        node = statement.value
        if ast.unparse(node.func) == "setattr" and len(node.args) == 3:
            owner, name, value = node.args
            if ast.unparse(owner) == call.namespace and ast.unparse(name) == "self.dest":
                yield value


def _assigns(call: _Call, name: str) -> bool:
    nodes = [node for statement in call.body for node in ast.walk(statement)]
    return any(isinstance(n, ast.Name) and n.id == name and isinstance(n.ctx, ast.Store) for n in nodes)


def _reads_lora_paths(call: _Call, result: str) -> bool:
    """Whether the body makes a dict with a name and a path of each value in braces, and keeps the others."""
    nodes = [node for statement in call.body for node in ast.walk(statement)]
    loops = [n for n in nodes if isinstance(n, ast.For) and ast.unparse(n.iter) == call.values]
    if len(loops) != 1 or not isinstance(loops[0].target, ast.Name):
        return False
    item = loops[0].target.id
    calls = sorted(ast.unparse(n) for n in nodes if isinstance(n, ast.Call))
    parsed = [
        n.targets[0].id
        for n in nodes
        if isinstance(n, ast.Assign)
        and isinstance(n.targets[0], ast.Name)
        and ast.unparse(n.value) == f"json.loads({item})"
    ]
    keys = {
        n.left.value
        for n in nodes
        if isinstance(n, ast.Compare) and isinstance(n.left, ast.Constant) and isinstance(n.ops[0], ast.In)
    }
    appended = [text for text in calls if ".append(" in text]
    return (
        len(parsed) == 1
        and appended == sorted([f"{result}.append({parsed[0]})", f"{result}.append({item})"])
        and {f"{item}.startswith('{{')", f"{item}.endswith('}}')", f"{item}.strip()"} <= set(calls)
        and keys == {"lora_path", "lora_name"}
    )


def _reads_lora_modules(call: _Call, result: str) -> bool:
    """Whether the body makes a module of each `name=path`, and of each JSON object with these keys."""
    text = "\n".join(ast.unparse(statement) for statement in call.body)
    parts = (
        "'=' in item and ',' not in item",
        "item.split('='",
        "json.loads(item)",
        f"{result}.append(lora)",
    )
    return all(part in text for part in parts)


def _message(node: ast.AST) -> ast.expr | None:
    for part in ast.walk(node):
        if isinstance(part, ast.JoinedStr | ast.Constant) and "deprecat" in ast.unparse(part).lower():
            return part
    return None


def _constructor(folder: Folder, found: Defined | None) -> tuple[dict[str, object], dict[str, object]]:
    """Defaults and fixed values that a constructor hands to argparse's own."""
    if found is None or not isinstance(found.node, ast.FunctionDef):
        return {}, {}
    scope = Scope(found.module)
    parameters = {parameter.arg for parameter in parameters_of(found.node)}
    given = dict(defaults_of(found.node))
    defaults: dict[str, object] = {}
    forced: dict[str, object] = {}
    for slot, expr in _handed_on(found.node):
        try:
            if not isinstance(expr, ast.Name) or expr.id not in parameters:
                forced[slot] = folder.value(expr, scope)
            elif expr.id in given:
                defaults[slot] = folder.value(given[expr.id], scope)
        except NotKnown:
            continue
    return defaults, forced


def _handed_on(node: ast.FunctionDef) -> Iterator[tuple[str, ast.expr]]:
    """Argument and value of the call of the base class's constructor."""
    for call in ast.walk(node):
        if isinstance(call, ast.Call) and ast.unparse(call.func).endswith(".__init__"):
            given = call.args if ast.unparse(call.func).startswith("super(") else call.args[1:]
            for slot, expr in (*zip(_SLOTS, given, strict=False), *((k.arg, k.value) for k in call.keywords)):
                if slot in _SLOTS[2:]:
                    yield slot, expr
