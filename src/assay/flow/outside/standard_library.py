"""The parts of the standard library and its like that engines use at their start."""

from __future__ import annotations

import importlib.metadata
import itertools
import json
import math
import re
import urllib.parse
from typing import Any

from packaging.version import InvalidVersion, Version

from assay.flow import attributes, operations
from assay.flow.interpreter import Interpreter
from assay.flow.machine import SETTING
from assay.flow.outside import decorators, files, structs
from assay.flow.outside.modelled import constant, pure
from assay.flow.values import (
    Choice,
    External,
    Instance,
    Library,
    ModuleValue,
    Native,
    Symbol,
    Unknown,
    VList,
    adopt_all,
)

PACKAGE_NOT_FOUND = importlib.metadata.PackageNotFoundError
MAX_PATTERN, MAX_SUBJECT = 200, 5_000


def _unknown(label: str, reason: str, kind: str = "") -> Native:
    return Native(label, lambda _i, *_arguments, **_keywords: Unknown(reason, kind=kind))


def _loads(text: Any) -> Any:
    return adopt_all(json.loads(text))


def _find_spec(i: Interpreter, name: Any, *_rest: Any) -> Any:
    name = i.force(name)
    if not isinstance(name, str):
        return i.machine.unknown("find_spec of a name that is not known")
    if i.modules.has(name):
        return Symbol(f"spec of {name}")
    present = i.outside.present(name)
    i.machine.reads.add(f"library {name.partition('.')[0]}")
    if isinstance(present, Unknown):
        return Choice(present, Symbol(f"spec of {name}"), None)
    return Symbol(f"spec of {name}") if present else None


def _entry_points(i: Interpreter, **keywords: Any) -> Any:
    if i.outside.facts.has_no_plugins:
        return VList()
    return Unknown("which plug-ins are installed", ("entry points", str(sorted(keywords.items()))))


def _import_module(i: Interpreter, name: Any, *_rest: Any) -> Any:
    name = i.force(name)
    if not isinstance(name, str):
        return i.machine.unknown("a module of a name that is not known")
    if i.modules.has(name):
        return ModuleValue(name)
    i.outside.importing(i, name)
    return External(name)


SETS_LOGS = ("setLevel", "addHandler", "addFilter", "removeHandler")
"""Methods of a logger that decide it."""


def _filled(said: str, *values: Any) -> Any:
    try:
        return said % values
    except (TypeError, ValueError):  # logging itself prints that, and goes on
        return Unknown("a message that does not fit its values", kind="str")


def _logged(level: str) -> Native:
    def run(i: Interpreter, _logger: Any, message: Any = "", *arguments: Any, **_keywords: Any) -> None:
        text = operations.text(i, message)
        if arguments:
            shown = [
                each
                if isinstance(i.force(each), int | float | str | list | dict | Choice)
                else operations.text(i, each)
                for each in arguments
            ]
            text = i.lift(_filled, text, *shown, label="message")
        i.log.append((level, text, i.site, tuple(i.machine.guards)))

    return Native(level, run)


def _configured(name: str) -> Native:
    """A change of what is logged, or where to."""

    def run(i: Interpreter, *arguments: Any, **keywords: Any) -> None:
        given = [i.force(each) for each in (*arguments, *keywords.values())]
        said = [operations.text(i, each) for each in given if not isinstance(each, Instance)]
        text = "; ".join(each if isinstance(each, str) else each.reason for each in said)
        i.log.append((SETTING, text, i.site, tuple(i.machine.guards)))

    return Native(name, run)


LOGGER = Library(
    "logging.Logger",
    {name: _logged(name) for name in ("debug", "info", "warning", "error", "exception", "critical", "log")}
    | {"warn": _logged("warning"), "warning_once": _logged("warning"), "info_once": _logged("info")}
    | {name: _configured(name) for name in SETS_LOGS}
    | {
        "__init__": constant(None),
        "isEnabledFor": constant(False),
        "name": "logger",
        "handlers": VList(),
        "propagate": True,
        "level": 20,
    },
)


def _warn(i: Interpreter, message: Any, *_rest: Any, **_keywords: Any) -> None:
    i.log.append(("warning", operations.text(i, message), i.site, tuple(i.machine.guards)))


def _register(i: Interpreter, function: Any, *_arguments: Any, **_keywords: Any) -> Any:
    i.machine.passed_over("what happens at the end")
    return function


def _namedtuple(i: Interpreter, name: Any, _names: Any, **_keywords: Any) -> Any:
    return i.machine.unknown(f"named tuple {name}")


PARSER = Library("argparse.ArgumentParser", {})
NAMESPACE = Library("argparse.Namespace", {})
PARSER.attributes |= {
    "__init__": constant(None),
    "parse_args": Native("parse_args", lambda i, *_a, **_k: i.outside.namespace),
    "parse_known_args": Native("parse_known_args", lambda i, *_a, **_k: (i.outside.namespace, VList())),
    "add_argument": constant(None),
    "_actions": VList(),
}
_ACTION = Library("argparse.Action", {"__init__": constant(None)})


def _compiled(i: Interpreter, pattern: Any, *flags: Any) -> Any:
    return i.lift(lambda text, *rest: re.compile(_short(text), *rest), pattern, *flags, label="re.compile")


def _short(pattern: Any) -> Any:
    if isinstance(pattern, str) and len(pattern) > MAX_PATTERN:
        raise re.error("a very long pattern")
    return pattern


def _matching(name: str) -> Native:
    function = getattr(re, name)

    def run(pattern: Any, *arguments: Any) -> Any:
        if any(isinstance(each, str) and len(each) > MAX_SUBJECT for each in arguments):
            raise re.error("a very long text")
        return function(_short(pattern), *arguments)

    return pure(f"re.{name}", run)


def _random(name: str) -> Native:
    kind = {"randint": "int", "random": "float", "getrandbits": "int"}.get(name, "")
    return Native(name, lambda _i, *_a, **_k: Unknown("random", kind=kind))


def _item_of(name: str) -> Native:
    del name
    return Native(
        "itemgetter", lambda _i, key: Native("item", lambda i, owner: operations.get_item(i, owner, key))
    )


def _attribute_of(i: Interpreter, name: Any) -> Any:
    return Native("attrgetter", lambda inner, owner: attributes.get(inner, owner, i.force(name)))


def _chain(i: Interpreter, *collections: Any) -> Any:
    found = [operations.elements(i, each) for each in collections]
    unknown = next((each for each in found if isinstance(each, Unknown)), None)
    return unknown if unknown is not None else VList(itertools.chain(*found))


_UUID = Library(
    "uuid.UUID", {name: Unknown("random", kind=kind) for name, kind in (("hex", "str"), ("int", "int"))}
)


def _version(i: Interpreter, text: Any) -> Any:
    return i.lift(Version, text, label="Version")


NAMES: dict[str, Any] = (
    decorators.NAMES
    | files.NAMES
    | structs.NAMES
    | {
        "json.loads": pure("json.loads", _loads),
        "json.JSONDecodeError": json.JSONDecodeError,
        "json.decoder.JSONDecodeError": json.JSONDecodeError,
        "json.load": Native(
            "json.load",
            lambda i, opened, *_r: i.lift(
                _loads,
                getattr(i.force(opened), "attributes", {}).get("text", Unknown("a file")),
                label="json.load",
            ),
        ),
        "json.dumps": pure(
            "json.dumps",
            lambda value, **k: json.dumps(
                value, **{n: v for n, v in k.items() if n in ("sort_keys", "indent", "separators")}
            ),
        ),
        "orjson.loads": pure("orjson.loads", _loads),
        "orjson.JSONDecodeError": json.JSONDecodeError,
        "re.compile": Native("re.compile", _compiled),
        "re.IGNORECASE": re.IGNORECASE,
        "re.MULTILINE": re.MULTILINE,
        "re.DOTALL": re.DOTALL,
        "re.escape": pure("re.escape", re.escape),
        "re.error": re.error,
        "os.getenv": Native(
            "getenv", lambda i, name, default=None: i.outside.environment.get(i, name, default)
        ),
        "importlib.util.find_spec": Native("find_spec", _find_spec),
        "importlib.import_module": Native("import_module", _import_module),
        "importlib.metadata.version": Native("version", lambda i, name: i.outside.version(i, name)),
        "importlib.metadata.PackageNotFoundError": PACKAGE_NOT_FOUND,
        "importlib.metadata.entry_points": Native("entry_points", _entry_points),
        "packaging.version.parse": Native("parse", _version),
        "packaging.version.Version": Native("Version", _version),
        "packaging.version.InvalidVersion": InvalidVersion,
        "logging.getLogger": Native("getLogger", lambda _i, *_a: Instance(LOGGER)),
        "logging.Logger": LOGGER,
        "logging.basicConfig": _configured("basicConfig"),
        "warnings.simplefilter": _configured("simplefilter"),
        "warnings.filterwarnings": _configured("filterwarnings"),
        "logging.Filter": Library("logging.Filter", {}),
        "logging.DEBUG": 10,
        "logging.INFO": 20,
        "logging.WARNING": 30,
        "logging.ERROR": 40,
        "logging.CRITICAL": 50,
        "warnings.warn": Native("warn", _warn),
        "collections.OrderedDict": dict,
        "collections.namedtuple": Native("namedtuple", _namedtuple),
        "itertools.chain": Native("itertools.chain", _chain),
        "operator.itemgetter": _item_of(""),
        "operator.attrgetter": Native("attrgetter", _attribute_of),
        "argparse.ArgumentParser": PARSER,
        "argparse.Namespace": NAMESPACE,
        "argparse.Action": _ACTION,
        "argparse.SUPPRESS": "==SUPPRESS==",
        "argparse.ArgumentTypeError": ValueError,
        "urllib.parse.urlparse": pure("urlparse", urllib.parse.urlparse),
        "urllib.parse.unquote": pure("unquote", urllib.parse.unquote),
        "time.time": _unknown("time", "the time of day", "float"),
        "time.perf_counter": _unknown("time", "the time of day", "float"),
        "time.monotonic": _unknown("time", "the time of day", "float"),
        "uuid.uuid4": Native("uuid4", lambda _i: Instance(_UUID)),
        "uuid.uuid5": Native("uuid5", lambda _i, *_a: Instance(_UUID)),
        "uuid.NAMESPACE_DNS": Symbol("uuid.NAMESPACE_DNS"),
        "math.inf": math.inf,
        "math.pi": math.pi,
        "math.nan": math.nan,
        "sys.maxsize": 2**63 - 1,
        "sys.version_info": (3, 12, 0, "final", 0),
        "types.SimpleNamespace": Library(
            "types.SimpleNamespace",
            {"__init__": Native("SimpleNamespace", lambda _i, made, **k: made.attributes.update(k))},
        ),
        "threading.Lock": Native("Lock", lambda _i: Instance(Library("threading.Lock", {}))),
        "atexit.register": Native("atexit.register", _register),
        "threading.RLock": Native("RLock", lambda _i: Instance(Library("threading.Lock", {}))),
        "torch.compile": Native("compile", decorators.identity),
    }
)
NAMES |= {
    f"math.{name}": pure(f"math.{name}", getattr(math, name))
    for name in [
        "sqrt",
        "ceil",
        "floor",
        "log",
        "log2",
        "log10",
        "gcd",
        "exp",
        "isnan",
        "isinf",
        "prod",
        "lcm",
        "fabs",
        "trunc",
        "isclose",
    ]
}
NAMES |= {
    f"re.{name}": _matching(name) for name in ["match", "search", "fullmatch", "sub", "split", "findall"]
}
# the package `regex` is a superset of `re`
NAMES |= {
    f"regex.{name}": NAMES[f"re.{name}"]
    for name in ["match", "search", "fullmatch", "sub", "split", "findall", "compile"]
}
NAMES |= {
    f"random.{name}": _random(name)
    for name in ["randint", "random", "choice", "uniform", "getrandbits", "sample", "shuffle"]
}
