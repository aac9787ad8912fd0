"""Attributes and methods of Python's own values, as far as the interpreted program may use them."""

from __future__ import annotations

import re
import urllib.parse
from pathlib import PurePosixPath
from typing import Any

from packaging.version import Version

from assay.engines import probes
from assay.flow import log, operations
from assay.flow.declared import Declared, Log
from assay.flow.interpreter import Interpreter
from assay.flow.outside import structs
from assay.flow.values import MISSING, OPENED, Choice, Native, Symbol, Touched, Unknown, VDict

MAX_TEXT = 100_000
_TEXT = [
    "upper",
    "lower",
    "title",
    "capitalize",
    "casefold",
    "swapcase",
    "strip",
    "lstrip",
    "rstrip",
    "split",
    "rsplit",
    "startswith",
    "endswith",
    "removeprefix",
    "removesuffix",
    "partition",
    "rpartition",
    "splitlines",
    "count",
    "find",
    "rfind",
    "index",
    "rindex",
    "isdigit",
    "isalpha",
    "isalnum",
    "isnumeric",
    "isidentifier",
    "isupper",
    "islower",
    "isspace",
    "isdecimal",
    "encode",
    "replace",
    "zfill",
    "ljust",
    "rjust",
    "center",
    "expandtabs",
]
_SETS = [
    "union",
    "intersection",
    "difference",
    "symmetric_difference",
    "issubset",
    "issuperset",
    "isdisjoint",
    "copy",
]
READERS: dict[type, frozenset[str]] = {
    str: frozenset(_TEXT),
    bytes: frozenset({"decode", "hex", "startswith", "endswith"}),
    list: frozenset({"copy", "index", "count"}),
    tuple: frozenset({"index", "count"}),
    dict: frozenset({"keys", "values", "items", "copy"}),
    set: frozenset(_SETS),
    frozenset: frozenset(_SETS),
    int: frozenset({"bit_length", "conjugate", "is_integer"}),
    float: frozenset({"is_integer", "hex"}),
    re.Pattern: frozenset({"match", "search", "fullmatch", "findall", "sub", "split"}),
    re.Match: frozenset({"group", "groups", "groupdict", "start", "end", "span"}),
    PurePosixPath: frozenset(
        {"joinpath", "as_posix", "with_suffix", "with_name", "is_absolute", "relative_to"}
    ),
    Version: frozenset(),
}
_CHANGERS: dict[type, frozenset[str]] = {
    list: frozenset({"append", "insert", "remove", "reverse", "pop", "clear"}),
    dict: frozenset({"setdefault", "pop", "clear", "popitem", "move_to_end"}),
    set: frozenset({"add", "discard", "remove", "clear", "pop"}),
}
_PROPERTIES: dict[type, frozenset[str]] = {
    int: frozenset({"real", "imag", "numerator", "denominator"}),
    float: frozenset({"real", "imag"}),
    re.Pattern: frozenset({"pattern", "flags"}),
    PurePosixPath: frozenset({"name", "suffix", "stem", "parent", "parts", "suffixes"}),
    Version: frozenset(
        {"release", "major", "minor", "micro", "public", "base_version", "local", "is_prerelease"}
    ),
    urllib.parse.ParseResult: frozenset(
        {"scheme", "netloc", "path", "hostname", "port", "query", "fragment"}
    ),
    range: frozenset({"start", "stop", "step"}),
}


def attribute(i: Interpreter, owner: Any, name: str) -> Any:
    """The attribute of a native value; `MISSING` if it has none."""
    for base in type(owner).__mro__:
        if name in _PROPERTIES.get(base, ()):
            return i.native(lambda: getattr(owner, name), [])
        if name in READERS.get(base, ()):
            return Native(name, lambda i, *a, **k: _read(i, owner, name, a, k))
        if name in _CHANGERS.get(base, ()):
            return Native(name, lambda i, *a, **k: _change(i, owner, name, a, k))
    special = _SPECIAL.get(name)
    if special is not None and isinstance(owner, special[0]):
        return Native(name, lambda i, *a, **k: special[1](i, owner, *a, **k))
    if isinstance(owner, type):
        return _of_type(owner, name)
    if name == "__class__":
        return i.call(i.outside.builtin("type"), [owner], {})
    if isinstance(owner, PurePosixPath):
        return i.outside.path_method(owner, name)
    if not hasattr(type(owner), name):
        return _size(owner) if name == "itemsize" else MISSING
    return Unknown(f"attribute {name} of a {type(owner).__name__}", ("attribute", id(owner), name))


def _size(owner: Any) -> Any:
    """The bytes of one number of a type of torch's."""
    return probes.BYTES.get(owner.dotted, MISSING) if isinstance(owner, Symbol) else MISSING


def _of_type(owner: type, name: str) -> Any:
    if name in ("__name__", "__qualname__"):
        return owner.__name__
    if name == "fromkeys" and owner is dict:
        return Native(name, _fromkeys)
    if owner is object and name in ("__setattr__", "__getattribute__"):
        return Native(name, structs.set_plainly if name == "__setattr__" else operations.get_attribute)
    if owner is dict and name == "__init__":
        return Native(name, lambda _i, *_a, **_k: None)
    if name in READERS.get(owner, frozenset()) | _CHANGERS.get(owner, frozenset()):
        return Native(
            name, lambda i, receiver, *a, **k: i.call(attribute(i, i.force(receiver), name), list(a), k)
        )
    return Unknown(f"attribute {name} of {owner.__name__}") if hasattr(owner, name) else MISSING


def _fromkeys(i: Interpreter, keys: Any, value: Any = None) -> Any:
    found = operations.elements(i, keys)
    return found if isinstance(found, Unknown) else i.lift(lambda *each: VDict.fromkeys(each, value), *found)


def _read(i: Interpreter, owner: Any, name: str, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    def run(*values: Any) -> Any:
        value = getattr(owner, name)(*values, **{key: i.force(each) for key, each in keywords.items()})
        if isinstance(value, str) and len(value) > MAX_TEXT:
            raise Touched(Unknown("a very long text"))
        return list(value) if name in ("keys", "values", "items") else value

    return i.lift(run, *arguments, label=name)


def _change(
    i: Interpreter, owner: Any, name: str, arguments: tuple[Any, ...], keywords: dict[str, Any]
) -> Any:
    i.machine.step()
    if name == "move_to_end" and i.machine.strict is not None:
        return None  # the order of a cache is no content
    if type(owner) is Log and name == "append":
        log.extend(i, owner, list(arguments))
        return None
    i.machine.changing(owner)
    values = [i.force(each) for each in arguments]
    if name in ("append", "insert") or (name == "setdefault" and not isinstance(values[0], Unknown | Choice)):
        if len(owner) > MAX_TEXT:
            open_up(owner)
            return None
        return i.native(lambda: getattr(owner, name)(*values), [])
    if any(isinstance(value, Unknown | Choice) for value in values[:1]):
        open_up(owner)
        return Unknown(f"{name}() with something unknown")
    if name == "move_to_end":
        return i.native(lambda: owner.__setitem__(values[0], owner.pop(values[0])), [])
    if name == "popitem" and keywords:
        return i.native(lambda: (lambda key: (key, owner.pop(key)))(next(iter(owner))), [])
    return i.native(lambda: getattr(owner, name)(*values), [], name)


def open_up(owner: Any) -> None:
    """From here on nobody knows what the collection holds."""
    if type(owner) in OPENED:
        owner.__class__ = OPENED[type(owner)]


def _extend(i: Interpreter, owner: Any, value: Any) -> None:
    if type(owner) is Log:
        found = operations.elements(i, value)
        log.extend(i, owner, [None] if isinstance(found, Unknown) else found)
        return
    operations.extend(i, owner, value)


def _update(i: Interpreter, owner: Any, *others: Any, **keywords: Any) -> None:
    i.machine.changing(owner)
    for other in others:
        if isinstance(owner, set):
            found = operations.elements(i, other)
            if isinstance(found, Unknown):
                open_up(owner)
            else:
                i.native(lambda: owner.update(found), [])  # noqa: B023
            continue
        if type(i.force(other)) is Declared:
            log.update(i, owner, i.force(other))
            continue
        mapping = operations.mapping(i, other)
        if mapping is None:
            pairs = operations.elements(i, other)
            mapping = None if isinstance(pairs, Unknown) else dict(pairs)
        if mapping is None:
            open_up(owner)
        else:
            owner.update(mapping)
    owner.update(keywords)


def _get(i: Interpreter, owner: Any, key: Any, default: Any = None) -> Any:
    if type(owner) is Declared:
        return log.item(i, owner, key, default)
    return i.force(i.lift(lambda each: owner.get(each, default), key, label="get"))


def _sort(i: Interpreter, owner: Any, key: Any = None, reverse: Any = None) -> None:
    found = i.call(i.outside.builtin("sorted"), [owner], {"key": key, "reverse": reverse})
    i.machine.changing(owner)
    if isinstance(found, Unknown):
        open_up(owner)
    else:
        owner[:] = found


def _join(i: Interpreter, owner: str, parts: Any) -> Any:
    found = operations.elements(i, parts)
    return (
        found if isinstance(found, Unknown) else i.lift(lambda *each: owner.join(each), *found, label="join")
    )


def _format(i: Interpreter, owner: str, *arguments: Any, **keywords: Any) -> Any:
    if re.search(r"\{[^}]*[.\[]|\d{5,}", owner):
        return Unknown("a format that looks into its arguments")
    texts = [
        value if isinstance(i.force(value), int | float | str) else operations.text(i, value)
        for value in arguments
    ]
    named = {key: operations.text(i, value) for key, value in keywords.items()}
    return i.lift(lambda *each: owner.format(*each, **named), *texts, label="format")


_SPECIAL: dict[str, tuple[type, Any]] = {
    "__contains__": (dict, lambda i, owner, key: operations.contained(i, key, owner)),
    "__getitem__": (dict, operations.get_item),
    "__setitem__": (dict, operations.set_item),
    "__iter__": (dict, operations.elements),
    "__len__": (dict, lambda _i, owner: len(owner)),
    "extend": (list, _extend),
    "update": ((dict, set), _update),  # type: ignore[dict-item]
    "get": (dict, _get),
    "sort": (list, _sort),
    "join": (str, _join),
    "format": (str, _format),
}
