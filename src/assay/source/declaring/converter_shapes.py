"""Understands the functions that turn an option's text into its value from the shape of their source."""

from __future__ import annotations

import ast

from assay.source.declarations import Converter
from assay.source.declaring.fold import Folder
from assay.source.declaring.module import Defined, External
from assay.source.declaring.operations import NotKnown
from assay.source.declaring.values import Scope, without_docstring

_OUTSIDE: dict[str, Converter] = {
    "builtins.str": "text",
    "builtins.int": "int",
    "builtins.float": "float",
    "builtins.bool": "bool",
    "json.loads": "json",
    "orjson.loads": "json-list",
}
SI = {"k": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
IEC = {"Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40}
SI_PATTERN = r"(\d+(?:\.\d+)?)(Ki|Mi|Gi|Ti|k|M|G|T)"


def read_converter(folder: Folder, found: object) -> Converter:
    """Which of the known converters a function amounts to, or `opaque`."""
    if isinstance(found, External):
        return _OUTSIDE.get(found.dotted, "opaque")
    if not isinstance(found, Defined) or not isinstance(found.node, ast.FunctionDef):
        return "opaque"
    node = found.node
    if len(node.args.args) != 1 or node.decorator_list:
        return "opaque"
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


def allowed_keys(folder: Folder, found: object) -> dict[str, list[str]] | None:
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
