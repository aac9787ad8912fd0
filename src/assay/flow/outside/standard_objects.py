"""Smaller parts of the standard library: methods made of functions, digests, texts, the platform."""

from __future__ import annotations

import ast
import fnmatch
import posixpath
import string
from collections.abc import Iterator
from typing import Any

from assay.flow.interpreter import Interpreter
from assay.flow.outside.modelled import constant, partly, pure
from assay.flow.values import (
    Bound,
    External,
    Function,
    Instance,
    Library,
    ModuleValue,
    Native,
    Symbol,
    Unknown,
    VDict,
    VList,
    Wrapped,
)

MAX_PATTERN = 1_000


class Tally(VDict):
    """`collections.Counter`."""

    def __missing__(self, _key: Any) -> int:
        return 0


class OneOf(External):
    """`typing.Literal[…]`."""

    __slots__ = ("values",)

    def __init__(self, values: tuple[Any, ...]) -> None:
        super().__init__("typing.Literal")
        self.values = values
        self.key = ("literal", *(str(each) if isinstance(each, str | int) else id(each) for each in values))


def one_of(i: Interpreter, written: tuple[Any, ...]) -> Any:
    """`Literal[…]`, in which the values of another one may stand."""
    found: list[Any] = []
    for each in map(i.force, written):
        if isinstance(each, Unknown) and not isinstance(each, OneOf):
            return Unknown("a Literal of values that are not known")
        found.extend(each.values if isinstance(each, OneOf) else [each])
    return OneOf(tuple(found))


def backends(i: Interpreter) -> VDict:
    """Triton's back ends: one is active where there is an accelerator, and none elsewhere."""
    there = i.outside.fact(i, "cuda.available")
    driver = Instance(partly("triton.Driver", {"is_active": Native("is_active", lambda _i, *_a: there)}))
    made = Instance(partly("triton.Backend", {}))
    made.attributes["driver"] = driver
    return VDict({"nvidia": made})


_SOCKET = partly(
    "socket.socket",
    {name: constant(None) for name in ("__init__", "bind", "listen", "close", "setsockopt")}
    | {"getsockname": Native("getsockname", lambda _i, _made: ("", Unknown("a free port", kind="int")))},
)
_DIGEST = partly(
    "hashlib.Hash",
    {
        "update": constant(None),
        "hexdigest": Native("hexdigest", lambda _i, _made: Unknown("a digest", kind="str")),
        "digest": Native("digest", lambda _i, _made: Unknown("a digest")),
    },
)


def _matches(name: str, pattern: str) -> Any:
    if len(name) + len(pattern) > MAX_PATTERN:
        return Unknown("whether a very long name matches", kind="bool")
    return fnmatch.fnmatchcase(name, pattern)


def _is_asynchronous(i: Interpreter, function: Any) -> bool | Unknown:
    function = i.force(function)
    while isinstance(function, Bound | Wrapped):
        function = i.force(function.function)
    if isinstance(function, Function):
        return isinstance(function.node, ast.AsyncFunctionDef)
    return Unknown("whether a function is asynchronous", kind="bool")


def _uname(i: Interpreter) -> Instance:
    made = Instance(partly("platform.uname_result", {}))
    made.attributes |= {
        "system": i.outside.fact(i, "host.system"),
        "machine": i.outside.fact(i, "host.machine"),
        "release": Unknown("the release of the kernel", ("kernel release",), "str"),
    }
    return made


def _expanded(i: Interpreter, path: Any) -> Any:
    return i.lift(
        lambda each: Unknown("a home folder", kind="str") if str(each).startswith("~") else each, path
    )


def _module(i: Interpreter, _made: Any, name: Any) -> Any:
    name = i.force(name)
    if isinstance(name, str) and i.modules.has(name):
        return ModuleValue(name)
    return Unknown("an entry of sys.modules")


_MODULES = Instance(
    partly(
        "sys.modules",
        {
            "__getitem__": Native("__getitem__", _module),
            "__setitem__": constant(None),
            "__contains__": constant(Unknown("what is loaded", kind="bool")),
        },
    )
)
_PARAMETER = partly("inspect.Parameter", {})
_SIGNATURE = partly("inspect.Signature", {})
_KINDS = {
    kind: Symbol(f"inspect.Parameter.{kind}")
    for kind in ("POSITIONAL_ONLY", "POSITIONAL_OR_KEYWORD", "VAR_POSITIONAL", "KEYWORD_ONLY", "VAR_KEYWORD")
}
_EMPTY = Symbol("inspect.Parameter.empty")


def _signature(i: Interpreter, function: Any) -> Any:
    """`inspect.signature(function)` of a function of the tree."""
    function, bound = i.force(function), False
    while isinstance(function, Bound | Wrapped):
        bound = bound or isinstance(function, Bound)
        function = i.force(function.function)
    if not isinstance(function, Function):
        return i.machine.unknown("the signature of something that is no function of the tree")
    made = Instance(_SIGNATURE)
    parameters = list(_parameters(i, function))[1 if bound else 0 :]
    made.attributes["parameters"] = VDict({each.attributes["name"]: each for each in parameters})
    return made


def _parameters(i: Interpreter, function: Function) -> Iterator[Instance]:
    spec = function.node.args
    plain = [*spec.posonlyargs, *spec.args]
    first = len(plain) - len(function.defaults)
    for at, each in enumerate(plain):
        kind = "POSITIONAL_ONLY" if at < len(spec.posonlyargs) else "POSITIONAL_OR_KEYWORD"
        made = _parameter(each.arg, kind, function.defaults[at - first] if at >= first else _EMPTY)
        made.attributes["annotation"] = _annotation(i, each, function)
        yield made
    if spec.vararg is not None:
        yield _parameter(spec.vararg.arg, "VAR_POSITIONAL", _EMPTY)
    for each in spec.kwonlyargs:
        yield _parameter(each.arg, "KEYWORD_ONLY", function.kwdefaults.get(each.arg, _EMPTY))
    if spec.kwarg is not None:
        yield _parameter(spec.kwarg.arg, "VAR_KEYWORD", _EMPTY)


def _annotation(i: Interpreter, parameter: ast.arg, function: Function) -> Any:
    """The type of a parameter, where it is no text."""
    node = parameter.annotation
    if node is None:
        return _EMPTY
    if isinstance(node, ast.Constant):
        return node.value
    return i.evaluate(node, function.module.frame)


def _parameter(name: str, kind: str, default: Any) -> Instance:
    made = Instance(_PARAMETER)
    made.attributes |= {"name": name, "kind": _KINDS[kind], "default": default}
    return made


NAMES: dict[str, Any] = {
    "collections.Counter": Native("Counter", lambda _i: Tally()),
    "socket.socket": _SOCKET,
    "sys.modules": _MODULES,
    "inspect.signature": Native("signature", _signature),
    "inspect.Parameter.empty": _EMPTY,
    "types.ModuleType": Library(
        "types.ModuleType",
        {
            "__init__": Native(
                "__init__", lambda i, made, name, *_a: i.machine.put(made.attributes, "__name__", name)
            )
        },
    ),
    "types.MethodType": Native("MethodType", lambda _i, function, owner: Bound(function, owner)),
    "hashlib.sha256": Native("sha256", lambda _i, *_a, **_k: Instance(_DIGEST)),
    "hashlib.md5": Native("md5", lambda _i, *_a, **_k: Instance(_DIGEST)),
    "fnmatch.fnmatch": pure("fnmatch", _matches),
    "string.capwords": pure("capwords", string.capwords),
    "traceback.format_stack": Native("format_stack", lambda _i, *_a: VList()),
    "platform.uname": Native("uname", _uname),
    "os.path.expanduser": Native("expanduser", _expanded),
    "os.path.abspath": pure("abspath", lambda path: path if posixpath.isabs(path) else Unknown("a folder")),
    "time.sleep": constant(None),
    "time.time_ns": Native("time_ns", lambda _i: Unknown("the time of day", kind="int")),
    "inspect.iscoroutinefunction": Native("iscoroutinefunction", _is_asynchronous),
    "traceback.format_exc": Native("format_exc", lambda _i: Unknown("a traceback", kind="str")),
    "typing.TypeVar": Native("TypeVar", lambda _i, name, *_a, **_k: Symbol(f"type {name}")),
    "typing_extensions.TypeVar": Native("TypeVar", lambda _i, name, *_a, **_k: Symbol(f"type {name}")),
    "sys.stdout.isatty": constant(False),
    "logging.config.dictConfig": constant(None),
    "logging.setLogRecordFactory": constant(None),
    "logging.getLogRecordFactory": Native("getLogRecordFactory", lambda _i: Unknown("a factory of records")),
    "multiprocessing.current_process": Native(
        "current_process", lambda _i: Instance(partly("multiprocessing.Process", {"name": "MainProcess"}))
    ),
} | {f"inspect.Parameter.{kind}": symbol for kind, symbol in _KINDS.items()}
