"""Understands the functions that turn an option's text into its value from the shape of their source."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from assay.source.declarations import Converter
from assay.source.declaring.module import Defined, External
from assay.source.declaring.operations import NotKnown
from assay.source.declaring.values import Scope, without_docstring

if TYPE_CHECKING:
    from assay.source.declaring.fold import Folder

_OUTSIDE: dict[str, Converter] = {
    "builtins.str": "text",
    "builtins.int": "int",
    "builtins.float": "float",
    "builtins.bool": "bool",
    "json.loads": "json",
    "orjson.loads": "json-list",
}
_FOLDED = "{}.lower().replace('-', '_')"
_UNITS = "re.fullmatch('(\\\\d+(?:\\\\.\\\\d+)?)([kKmMgGtT])', value)"
SI = {"k": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
IEC = {"Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40}
SI_PATTERN = r"(\d+(?:\.\d+)?)(Ki|Mi|Gi|Ti|k|M|G|T)"


@dataclass(frozen=True)
class Conversion:
    """A converter that is known by other means than the shape of a function."""

    converter: Converter
    text: str
    """What it is called in the source."""
    nullable: bool = False
    """Whether `""` and `"None"` become None first."""
    keys: Mapping[str, list[str] | None] | None = None
    """The keys that a JSON object may have."""


@dataclass(frozen=True)
class Lambda:
    """A function without a name."""

    node: ast.Lambda


def conversion_of(folder: Folder, found: object) -> Conversion:
    """How a function, or what stands for one, turns text into a value."""
    if isinstance(found, Conversion):
        return found
    if isinstance(found, Lambda):
        is_folded = len(found.node.args.args) == 1 and ast.unparse(found.node.body) == _FOLDED.format(
            found.node.args.args[0].arg
        )
        return Conversion("folded-text" if is_folded else "opaque", "lambda")
    if isinstance(found, External):
        return Conversion(read_converter(folder, found), found.dotted.rpartition(".")[2])
    name = found.node.name if isinstance(found, Defined) else "?"
    if (keys := allowed_keys(folder, found)) is not None:
        return Conversion("json-object", name, keys=keys)
    return Conversion("text" if found is None else read_converter(folder, found), name)


def wrapped(folder: Folder, function: Defined, given: object) -> Conversion | None:
    """What a function makes of a converter that it is given: vLLM's `parse_type` and `optional_type`."""
    node = function.node
    if not isinstance(node, ast.FunctionDef) or len(node.args.args) != 1:
        return None
    body = without_docstring(node.body)
    if len(body) != 2 or not isinstance(body[0], ast.FunctionDef) or not body[0].args.args:
        return None
    if ast.unparse(body[1]) != f"return {body[0].name}":
        return None
    parameter, value = node.args.args[0].arg, body[0].args.args[0].arg
    inner = ast.unparse(body[0])
    found = conversion_of(folder, given)
    if f"if {value} == '' or {value} == 'None':\n        return None" in inner:
        return Conversion(found.converter, found.text, nullable=True, keys=found.keys)
    return found if f"return {parameter}({value})" in inner else None


def read_converter(folder: Folder, found: object) -> Converter:
    """Which of the known converters a function amounts to, or `opaque`."""
    if isinstance(found, External):
        return _OUTSIDE.get(found.dotted, "opaque")
    if not isinstance(found, Defined) or not isinstance(found.node, ast.FunctionDef):
        return "opaque"
    node = found.node
    if len(node.args.args) != 1 or node.decorator_list:
        return "opaque"
    if (units := _units(found)) is not None:
        return units
    parameter = node.args.args[0].arg
    body = without_docstring(node.body)
    if _is_nullable(body, parameter):
        return "nullable-text"
    if _is_si(folder, found, body, parameter):
        return "si-int"
    return _json(folder, found, body, parameter)


def refused_texts(found: object) -> frozenset[str]:
    """The texts that a function refuses, which gives back all others: `if x == "a": raise …`, `return x`."""
    if (
        not isinstance(found, Defined)
        or not isinstance(found.node, ast.FunctionDef)
        or not found.node.args.args
    ):
        return frozenset()
    parameter = found.node.args.args[0].arg
    *tests, last = without_docstring(found.node.body)
    refused = [_refused_by(test, parameter) for test in tests]
    if ast.unparse(last) != f"return {parameter}" or None in refused:
        return frozenset()
    return frozenset(text for text in refused if text is not None)


def _refused_by(test: ast.stmt, parameter: str) -> str | None:
    if (
        not isinstance(test, ast.If)
        or not isinstance(test.body[-1], ast.Raise)
        or test.orelse
        or not isinstance(test.test, ast.Compare)
        or not isinstance(test.test.ops[0], ast.Eq)
        or ast.unparse(test.test.left) != parameter
    ):
        return None
    value = test.test.comparators[0]
    return value.value if isinstance(value, ast.Constant) and isinstance(value.value, str) else None


def allowed_keys(folder: Folder, found: object) -> dict[str, list[str] | None] | None:
    """The keys that a function allows in a JSON object of objects, and in each of these, else None.

    Its shape: `json.loads`, a test `key not in KEYS` for the outer keys, `TABLE[key]` for the inner ones.
    """
    if not isinstance(found, Defined) or not isinstance(found.node, ast.FunctionDef):
        return None
    nodes = list(ast.walk(found.node))
    if not any(isinstance(n, ast.Call) and ast.unparse(n.func) == "json.loads" for n in nodes):
        return None
    scope = Scope(found.module)
    outer: list[object] = []
    inner: list[object] = []
    for node in nodes:
        try:
            if isinstance(node, ast.Compare) and isinstance(node.ops[0], ast.NotIn):
                outer.append(folder.value(node.comparators[0], scope))
            elif isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load):
                inner.append(folder.value(node.value, scope))
        except NotKnown:
            continue
    keys = next((each for each in outer if isinstance(each, list | tuple)), None)
    table = next((each for each in inner if isinstance(each, dict)), None)
    if keys is None or table is None or set(keys) != set(table):
        return None
    return {str(key): [str(name) for name in table[key]] for key in keys}


def _units(found: Defined) -> Converter | None:
    """vLLM's numbers with a unit, `k` for thousands and `K` for 1,024, with or without `auto` for -1."""
    text = ast.unparse(ast.Module(body=without_docstring(found.node.body), type_ignores=[]))
    if "== 'auto':\n    return -1" in text.replace(".lower()", "") and "return human_readable_int(" in text:
        return "unit-int-or-auto"
    factors = ("'k': 10 ** 3", "'t': 10 ** 12", "'K': 2 ** 10", "'T': 2 ** 40", _UNITS)
    if all(part in text for part in factors) and text.endswith("return int(value)"):
        return "unit-int"
    if "re.match(" in text and "return optional_type(json.loads)(" in text and "{.*}" in text:
        return "json-or-text"
    return None


def _is_nullable(body: list[ast.stmt], parameter: str) -> bool:
    """`if not x or x == "None": return None` and then `return x`."""
    return [ast.unparse(statement) for statement in body] == [
        f"if not {parameter} or {parameter} == 'None':\n    return None",
        f"return {parameter}",
    ]


def _json(folder: Folder, found: Defined, body: list[ast.stmt], parameter: str) -> Converter:
    """`return loads(x)`, alone or in a `try` whose handlers raise."""
    if len(body) == 1 and isinstance(body[0], ast.Try):
        if not all(isinstance(handler.body[-1], ast.Raise) for handler in body[0].handlers):
            return "opaque"
        body = body[0].body
    if len(body) != 1 or not isinstance(body[0], ast.Return) or not isinstance(body[0].value, ast.Call):
        return "opaque"
    call = body[0].value
    if [ast.unparse(argument) for argument in call.args] != [parameter] or call.keywords:
        return "opaque"
    try:
        function = folder.value(call.func, Scope(found.module))
    except NotKnown:
        return "opaque"
    dotted = function.dotted if isinstance(function, External) else ""
    return _OUTSIDE[dotted] if dotted in ("json.loads", "orjson.loads") else "opaque"


def _is_si(folder: Folder, found: Defined, body: list[ast.stmt], parameter: str) -> bool:
    """A match of digits and suffix, tables of both kinds of suffix with the usual factors, else `int(x)`."""
    nodes = [node for statement in body for node in ast.walk(statement)]
    scope = Scope(found.module)
    tables: list[object] = []
    for node in nodes:
        if isinstance(node, ast.Dict):
            try:
                tables.append(folder.value(node, scope))
            except NotKnown:
                return False
    texts = {ast.unparse(node) for node in nodes if isinstance(node, ast.Call | ast.Return)}
    return (
        tables == [SI, IEC]
        and f"re.fullmatch({SI_PATTERN!r}, {parameter})" in texts
        and {
            f"return int({parameter})",
            "return int(number) * iec_multiplier[suffix]",
            "return int(Decimal(number) * si_multiplier[suffix])",
        }
        <= texts
    )
