"""The idiom of SGLang from 0.5.14 on: options that follow from annotated fields, `n: A[int, "help"] = 1`.

What the engine's own `add_cli_args_from_dataclass` (`srt/arg_groups/arg_utils.py`) does with a field is done
here: the same rules have held from 0.5.14 to 0.5.23. `rules_of` gives the digest of that function, by which a
release with other rules is noticed.
"""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from assay.source.declaring.add_argument import Call
from assay.source.declaring.annotations import ANNOTATED, LITERAL, NONE, UNION, Type, read_type
from assay.source.declaring.classes import FieldOf, Unclear
from assay.source.declaring.module import Defined, External
from assay.source.declaring.operations import NotKnown
from assay.source.declaring.values import Scope, without_docstring

if TYPE_CHECKING:
    from assay.source.declaring.fold import Folder

_SCALARS = frozenset({"builtins.str", "builtins.int", "builtins.float"})
_KNOWN_RULES = frozenset({"5ab2a7d5", "b12db026"})


def is_derivation(function: Defined) -> bool:
    """Whether a function adds an option to a parser for each field of a class, by the field's annotation."""
    if not isinstance(function.node, ast.FunctionDef):
        return False
    calls = [ast.unparse(n.func) for n in ast.walk(function.node) if isinstance(n, ast.Call)]
    parameters = [argument.arg for argument in function.node.args.args]
    return any(call.endswith("get_type_hints") for call in calls) and any(
        f"{parameter}.add_argument" in calls for parameter in parameters
    )


def has_known_rules(function: Defined) -> bool:
    """Whether that function is, statement by statement, one whose rules are those of this module."""
    return rules_of(function) in _KNOWN_RULES


def rules_of(function: Defined) -> str:
    """A digest of the function's statements, comments and docstring left out."""
    text = "\n".join(ast.unparse(statement) for statement in without_docstring(function.node.body))
    return hashlib.sha256(text.encode()).hexdigest()[:8]


@dataclass(frozen=True)
class _Annotated:
    """A field with the metadata of its option."""

    field: FieldOf
    type: Type
    """The type without the metadata."""
    meta: Mapping[str, ast.expr]
    """The arguments of `Arg(…)`; of a bare text, that text as `help`."""
    scope: Scope

    def folded(self, folder: Folder, name: str) -> object:
        """The value of one of them; None where it is not given."""
        return folder.value(self.meta[name], self.scope) if name in self.meta else None


def derived_calls(folder: Folder, owner: Defined) -> Iterator[Call]:
    """The `add_argument` calls that the class's annotated fields amount to, in the order of the fields."""
    for field in folder.classes.fields(owner):
        annotated = _annotated(folder, field)
        if annotated is not None and annotated.folded(folder, "no_cli") is not True:
            yield _call(folder, annotated)


def plain_type(folder: Folder, field: FieldOf) -> str:
    """The type of a field as written, of `A[T, …]` only `T`."""
    node = field.node.annotation
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Tuple):
        try:
            if read_type(folder, node, Scope(field.owner.module)).origin == ANNOTATED:
                return ast.unparse(node.slice.elts[0])
        except NotKnown:
            pass
    return ast.unparse(node)


def _annotated(folder: Folder, field: FieldOf) -> _Annotated | None:
    scope = Scope(field.owner.module)
    try:
        found = read_type(folder, field.node.annotation, scope)
    except NotKnown:
        return None
    for expr in found.metadata if found.origin == ANNOTATED else ():
        meta = _metadata(folder, expr, scope)
        if meta is not None:
            return _Annotated(field, found.arguments[0], meta, Scope(scope.module))
    return None


def _metadata(folder: Folder, expr: ast.expr, scope: Scope) -> dict[str, ast.expr] | None:
    """The arguments of `Arg(…)` by name, or a text as `help`; None for other metadata."""
    if not isinstance(expr, ast.Call):
        try:
            return {"help": expr} if isinstance(folder.value(expr, scope), str) else None
        except NotKnown:
            return None
    try:
        found = folder.value(expr.func, scope)
    except NotKnown:
        return None
    if not isinstance(found, Defined) or found.node.name != "Arg":
        return None
    names = [field.name for field in folder.classes.fields(found)]
    given = dict(zip(names, expr.args, strict=False))
    return given | {keyword.arg: keyword.value for keyword in expr.keywords if keyword.arg}


def _call(folder: Folder, annotated: _Annotated) -> Call:
    """The call; what the engine works out itself stands in it as names that no source can have."""
    field, scope = annotated.field, annotated.scope
    flags = _flags(folder, annotated)
    keywords: dict[str, ast.expr] = {}

    def put(name: str, value: object, at: ast.AST) -> None:
        scope.names[f"**{name}"] = value
        keywords[name] = ast.copy_location(ast.Name(f"**{name}", ast.Load()), at)

    if "help" in annotated.meta:
        keywords["help"] = annotated.meta["help"]
    flag = ast.unparse(flags[0]).strip("'")
    if flag.lstrip("-").replace("-", "_") != field.name:
        put("dest", field.name, field.node)
    if folder.classes.has_default(field.owner, field.node.value):
        assert field.node.value is not None
        put("default", _default(folder, field), field.node.value)
    for name, value in _typed(folder, annotated, has_default="default" in keywords).items():
        if isinstance(value, ast.expr):
            keywords[name] = value
        else:
            put(name, value, annotated.field.node.annotation)
    node = ast.Call(ast.Name("add_argument", ast.Load()), list(flags), [])
    return Call(ast.copy_location(node, field.node), scope, keywords)


def _flags(folder: Folder, annotated: _Annotated) -> list[ast.expr]:
    """The flags as constants, each where it is written; the first follows from the field's name."""
    node, named = annotated.field.node, annotated.meta.get("cli_name")
    name = str(annotated.folded(folder, "cli_name") or "--" + annotated.field.name.replace("_", "-"))
    flags: list[ast.expr] = [ast.copy_location(ast.Constant(name), named or node)]
    aliases = annotated.folded(folder, "aliases")
    written = annotated.meta.get("aliases")
    places = written.elts if isinstance(written, ast.List | ast.Tuple) else []
    for at, alias in enumerate(aliases if isinstance(aliases, list | tuple) else ()):
        place = places[at] if at < len(places) else (written or node)
        flags.append(ast.copy_location(ast.Constant(alias), place))
    return flags


def _default(folder: Folder, field: FieldOf) -> object:
    try:
        return folder.classes.default(field.owner, field.node.value or field.node.annotation)
    except NotKnown:
        return Unclear()


def _typed(folder: Folder, annotated: _Annotated, *, has_default: bool) -> dict[str, object]:
    """The arguments that follow from the type, as values, or as the source's own expressions."""
    meta = annotated.meta
    if "action" in meta and annotated.folded(folder, "action") is not None:
        more = annotated.folded(folder, "action_kwargs")
        return {"action": meta["action"], **(more if isinstance(more, dict) else {})}
    inner = _without_none(annotated.type)
    given: dict[str, object] = {}
    if "const" in meta and annotated.folded(folder, "const") is not None:
        given["const"] = meta["const"]
    if "choices" in meta:
        given["choices"] = meta["choices"]
    if inner.origin == LITERAL:
        kind = External(f"builtins.{type(inner.values[0]).__name__}" if inner.values else "builtins.str")
        given.setdefault("choices", list(inner.values))
        return {**given, "type": meta.get("type_parser") or _scalar(kind)}
    if inner.origin == "builtins.list" and "type_parser" not in meta:
        element = inner.arguments[0].origin if inner.arguments else "builtins.str"
        return {
            **given,
            "type": _scalar(External(str(element))),
            "nargs": meta.get("nargs") or "+",
        }
    if inner.origin == "builtins.bool":
        return {"action": "store_true"}
    given["type"] = meta.get("type_parser") or _scalar(External(str(inner.origin)))
    if "nargs" in meta:
        given["nargs"] = meta["nargs"]
    required = annotated.folded(folder, "required")
    if required is True or (required is None and not has_default):
        given["required"] = True
    return given


def _without_none(found: Type) -> Type:
    """Of `T | None` the `T`; every other type as it is."""
    if found.origin == UNION:
        others = [each for each in found.arguments if each.origin != NONE]
        if len(others) == 1:
            return others[0]
    return found


def _scalar(found: External) -> External:
    """The converter for a type: `str` for all but numbers."""
    return found if found.dotted in _SCALARS else External("builtins.str")
