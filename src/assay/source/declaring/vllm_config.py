"""The idiom of vLLM from 0.20 on: in `add_argument("--x", **kwargs["x"])`, kwargs follow from config classes.

What the engine's own `get_kwargs` (`vllm/engine/arg_utils.py`) makes of a field's annotation and default is
made here: the rules of 0.20.0 to 0.32.0. Which names take numbers with a unit is read from that function.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from assay.source.declaring.annotations import LITERAL, NONE, Type, read_type
from assay.source.declaring.classes import FieldOf, Unclear
from assay.source.declaring.converter_shapes import Conversion, conversion_of
from assay.source.declaring.module import Defined, External
from assay.source.declaring.operations import NotKnown
from assay.source.declaring.values import Scope

if TYPE_CHECKING:
    from assay.source.declaring.fold import Folder

CONFIG_FIELD = "config field"
"""The key under which the arguments of an option name the field that they are made of: no Python name."""
_COLLECTIONS = ("builtins.tuple", "builtins.list", "builtins.set")
_NONE_AS_TEXT = ".append('None')"
"""Up to 0.30 the choice that stands for no value was the text `None`."""
_OPTIONAL_FLAG = "type_hints == {bool, str, type(None)}"


def makes_kwargs(function: Defined) -> bool:
    """Whether a function makes the arguments of options from the fields of a config class."""
    if not isinstance(function.node, ast.FunctionDef) or len(function.node.args.args) != 1:
        return False
    text = ast.unparse(function.node)
    return "argparse.BooleanOptionalAction" in text and "in fields(" in text


def kwargs_of(folder: Folder, function: Defined, owner: Defined) -> dict[str, dict[str, object]]:
    """For each field of a config class the arguments of its option; what is not known is `Unclear`."""
    special = dict(_special_types(folder, function))
    text = ast.unparse(function.node)
    none = "None" if _NONE_AS_TEXT in text else None
    flags = _OPTIONAL_FLAG in text
    return {
        field.name: _kwargs(folder, field, special, none, optional_flags=flags)
        for field in folder.classes.fields(owner)
    }


def _special_types(folder: Folder, function: Defined) -> Iterator[tuple[str, object]]:
    """Field names that have a converter of their own: `if name == "x": kwargs[name]["type"] = f`."""
    sets = {
        target.id: node.value
        for node in ast.walk(function.node)
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    scope = Scope(function.module)
    for node in ast.walk(function.node):
        if not isinstance(node, ast.If) or not isinstance(node.test, ast.Compare):
            continue
        tested = node.test.comparators[0]
        tested = sets.get(tested.id, tested) if isinstance(tested, ast.Name) else tested
        converter = _assigned_type(node.body)
        if ast.unparse(node.test.left) != "name" or converter is None:
            continue
        try:
            names, found = folder.value(tested, scope), folder.value(converter, scope)
        except NotKnown:
            continue
        for name in names if isinstance(names, set | list | tuple) else [names]:
            yield str(name), found


def _assigned_type(body: list[ast.stmt]) -> ast.expr | None:
    for statement in body:
        if isinstance(statement, ast.Assign) and ast.unparse(statement.targets[0]) == "kwargs[name]['type']":
            return statement.value
    return None


def _kwargs(
    folder: Folder, field: FieldOf, special: Mapping[str, object], none: str | None, *, optional_flags: bool
) -> dict[str, object]:
    given: dict[str, object] = {
        "default": _default(folder, field),
        "help": _docstring(field),
        CONFIG_FIELD: f"{field.owner.node.name}.{field.name}",
    }
    try:
        members = read_type(folder, field.node.annotation, Scope(field.owner.module)).members()
    except NotKnown:
        return {**given, "type": Unclear()}
    return {**given, **_typed(folder, field.name, members, special, none, optional_flags=optional_flags)}


def _typed(
    folder: Folder,
    name: str,
    members: tuple[Type, ...],
    special: Mapping[str, object],
    none: str | None,
    *,
    optional_flags: bool,
) -> dict[str, object]:
    """The arguments that follow from the types that a value may have."""
    found: dict[str | Defined, Type] = {member.origin: member for member in members}
    if optional_flags and found.keys() == {"builtins.bool", "builtins.str", NONE}:
        return {"type": Conversion("text", "str"), "nargs": "?", "const": True}
    given = _by_type(folder, name, found, special)
    inner = given.get("type")
    if isinstance(inner, Type) and inner.origin == LITERAL:
        given |= _literal({LITERAL: inner})
    elif isinstance(inner, Type):
        given["type"] = _scalar(inner)
    if NONE in found and "builtins.bool" not in found:
        given["type"] = optional(folder, given["type"])
        if isinstance(choices := given.get("choices"), list):
            choices.append(none)
    return given


def _by_type(
    folder: Folder, name: str, found: Mapping[str | Defined, Type], special: Mapping[str, object]
) -> dict[str, object]:
    config = next((each for each in found if _is_config(each)), None)
    if isinstance(config, Defined):
        keys = {field.name: None for field in folder.classes.fields(config)}
        return {"type": Conversion("json-config", config.node.name, keys=keys)}
    if "builtins.bool" in found:
        return {"action": External("argparse.BooleanOptionalAction")}
    if LITERAL in found:
        return _literal(found)
    for collection in _COLLECTIONS:
        if collection in found:
            return _collection(found[collection])
    if "builtins.int" in found:
        return {"type": special.get(name, Conversion("int", "int"))}
    if "builtins.float" in found:
        return {"type": Conversion("float", "float")}
    return {"type": _text_or_json(found)}


def _text_or_json(found: Mapping[str | Defined, Type]) -> Conversion:
    others = {each for each in found if each != NONE and not str(each).startswith("builtins.")}
    if any(each == "builtins.dict" or _is_dict(each) for each in found):
        is_either = "builtins.str" in found or any(not _is_dict(each) for each in others)
        return Conversion("json-or-text", "union_dict_and_str") if is_either else Conversion("json", "loads")
    return Conversion("text", "str")


def _literal(found: Mapping[str | Defined, Type]) -> dict[str, object]:
    values = list(found[LITERAL].values)
    kind = "int" if values and isinstance(values[0], int) else "text"
    given: dict[str, object] = {"type": Conversion("int" if kind == "int" else "text", kind)}
    return given if "builtins.str" in found else {**given, "choices": sorted(values, key=_order)}


def _order(value: object) -> tuple[str, object]:
    return type(value).__name__, value


def _collection(found: Type) -> dict[str, object]:
    elements = [each for each in found.arguments if each.origin != "..."]
    element = elements[0] if elements else Type("builtins.str")
    if len(element.members()) > 1:
        element = Type("builtins.str")
    is_fixed = found.origin == "builtins.tuple" and len(elements) == len(found.arguments)
    return {"type": element, "nargs": len(elements) if is_fixed else "+"}


def _scalar(found: Type) -> Conversion:
    if found.origin == "builtins.int":
        return Conversion("int", "int")
    if found.origin == "builtins.float":
        return Conversion("float", "float")
    if found.origin == "builtins.str":
        return Conversion("text", "str")
    return Conversion("opaque", found.origin if isinstance(found.origin, str) else found.origin.node.name)


def optional(folder: Folder, inner: object) -> object:
    """What `optional_type(inner)` is: `""` and `"None"` become None."""
    found = conversion_of(folder, inner)
    return Conversion(found.converter, found.text, nullable=True, keys=found.keys)


def _is_config(found: str | Defined) -> bool:
    """Whether a class is a dataclass, as a decorator says."""
    if not isinstance(found, Defined) or not isinstance(found.node, ast.ClassDef):
        return False
    decorators = [each.func if isinstance(each, ast.Call) else each for each in found.node.decorator_list]
    names = [ast.unparse(each).rpartition(".")[2] for each in decorators]
    return any(name in ("config", "dataclass") for name in names)


def _is_dict(found: str | Defined) -> bool:
    """Whether a class of the tree is a subclass of `dict`."""
    if not isinstance(found, Defined) or not isinstance(found.node, ast.ClassDef):
        return False
    bases = [base.value if isinstance(base, ast.Subscript) else base for base in found.node.bases]
    return any(ast.unparse(base) == "dict" for base in bases)


def _default(folder: Folder, field: FieldOf) -> object:
    if field.node.value is None:
        return Unclear()
    try:
        return folder.classes.default(field.owner, field.node.value)
    except NotKnown:
        return Unclear()


def _docstring(field: FieldOf) -> str:
    """The text that follows the field in the class's body."""
    body = field.owner.node.body
    at = body.index(field.node) + 1
    following = body[at] if at < len(body) else None
    if isinstance(following, ast.Expr) and isinstance(following.value, ast.Constant):
        text = following.value.value
        return inspect.cleandoc(text) if isinstance(text, str) else ""
    return ""
