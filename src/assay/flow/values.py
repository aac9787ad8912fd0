"""What a name of the interpreted program can stand for, beside Python's own plain values."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Callable, Hashable, Iterable
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from assay.flow.modules import ModuleState

MISSING: Any = type("Missing", (), {"__repr__": lambda _self: "MISSING"})()
"""No such attribute, key or name."""


class Touched(Exception):
    """A native operation needed a value that is not known."""

    def __init__(self, value: Any) -> None:
        super().__init__()
        self.value = value


class Open:
    """A value that is not known, or not yet: every native operation on it raises `Touched`."""

    __slots__ = ()


def _touch(self: Any, *_arguments: Any) -> Any:
    raise Touched(self)


_TOUCHING = [
    "eq",
    "ne",
    "lt",
    "le",
    "gt",
    "ge",
    "hash",
    "bool",
    "str",
    "repr",
    "format",
    "len",
    "iter",
    "contains",
    "getitem",
    "int",
    "float",
    "index",
    "call",
    "add",
    "radd",
    "sub",
    "rsub",
    "mul",
    "rmul",
    "truediv",
    "rtruediv",
    "floordiv",
    "rfloordiv",
    "mod",
    "rmod",
    "pow",
    "rpow",
    "and",
    "rand",
    "or",
    "ror",
    "xor",
    "rxor",
    "lshift",
    "rlshift",
    "rshift",
    "rrshift",
    "neg",
    "pos",
    "invert",
    "abs",
    "round",
]
for _name in _TOUCHING:
    setattr(Open, f"__{_name}__", _touch)


class Unknown(Open):
    """A value that cannot be told; equal keys mean the same value."""

    __slots__ = ("key", "kind", "reason")

    def __init__(self, reason: str, key: Hashable = None, kind: str = "") -> None:
        self.reason = reason
        self.key = key if key is not None else ("at", id(self), reason)
        self.kind = kind


class External(Unknown):
    """A thing from outside the tree that is not modelled, by its dotted name."""

    __slots__ = ("dotted",)

    def __init__(self, dotted: str) -> None:
        super().__init__(f"{dotted} is not modelled", ("external", dotted))
        self.dotted = dotted


class Decorated(Unknown):
    """A function under a decorator from outside that is not modelled."""

    __slots__ = ("function", "label")

    def __init__(self, label: str, function: Any) -> None:
        super().__init__(f"a function under the decorator {label}", ("decorated", id(function)))
        self.label, self.function = label, function


class Choice(Open):
    """One of two values, depending on an undecided test."""

    __slots__ = ("no", "test", "yes")

    def __init__(self, test: Unknown, yes: Any, no: Any) -> None:
        self.test, self.yes, self.no = test, yes, no


class Deferred(Open):
    """A module-level name of the tree that nobody has needed yet."""

    __slots__ = ("module", "name")

    def __init__(self, module: str, name: str) -> None:
        self.module, self.name = module, name


_SERIALS = itertools.count()


class VList(list[Any]):
    """A list of the interpreted program."""

    __slots__ = ("serial",)

    def __init__(self, *contents: Any) -> None:
        super().__init__(*contents)
        self.serial = next(_SERIALS)


class VDict(dict[Any, Any]):
    """A dict of the interpreted program."""

    __slots__ = ("serial",)

    def __init__(self, *contents: Any) -> None:
        super().__init__(*contents)
        self.serial = next(_SERIALS)


class VSet(set[Any]):
    """A set of the interpreted program."""

    __slots__ = ("serial",)

    def __init__(self, *contents: Any) -> None:
        super().__init__(*contents)
        self.serial = next(_SERIALS)


class OpenList(VList):
    """A list whose elements are not known."""

    __slots__ = ()


class OpenDict(VDict):
    """A dict whose keys are not known."""

    __slots__ = ()


class OpenSet(VSet):
    """A set whose elements are not known."""

    __slots__ = ()


def _touch_contents(self: Any, *_arguments: Any) -> Any:
    raise Touched(Unknown("a collection that differs between paths", ("contents", id(self))))


for _class in (OpenList, OpenDict, OpenSet):
    for _name in ("eq", "ne", "bool", "len", "iter", "contains", "getitem", "repr", "lt", "or", "ror", "add"):
        setattr(_class, f"__{_name}__", _touch_contents)
    for _method in ("keys", "values", "items", "get", "copy", "index", "count", "union", "intersection"):
        setattr(_class, _method, _touch_contents)
OPENED: dict[type, type] = {VList: OpenList, VDict: OpenDict, VSet: OpenSet}
_ADOPTED: dict[type, type] = {list: VList, dict: VDict, set: VSet}


def may_be_missing(value: Any) -> bool:
    """Whether on some path there is nothing."""
    return value is MISSING or (
        isinstance(value, Choice) and (may_be_missing(value.yes) or may_be_missing(value.no))
    )


def adopt(value: Any) -> Any:
    """The value, where it is a native collection as one of the interpreted program."""
    owned = _ADOPTED.get(type(value))
    return owned(value) if owned else value


def adopt_all(value: Any) -> Any:
    """As `adopt`, also for what is inside of lists and dicts."""
    if isinstance(value, list | tuple):
        return VList(adopt_all(each) for each in value)
    if isinstance(value, dict):
        return VDict((key, adopt_all(each)) for key, each in value.items())
    return value


class Origin(frozenset[str]):
    """The facts, variables and options that a value was computed from."""

    __slots__ = ()


class Remembered(dict[Any, Any]):
    """What a cache holds: an entry that only one of two paths made is forgotten where they meet."""

    __slots__ = ()


class Symbol:
    """An opaque thing from outside that is only equal to itself, such as a dtype."""

    __slots__ = ("dotted",)

    def __init__(self, dotted: str) -> None:
        self.dotted = dotted

    def __repr__(self) -> str:
        return self.dotted


class Native:
    """A function that is modelled here: called with the machine, the arguments and the keywords."""

    __slots__ = ("name", "run")

    def __init__(self, name: str, run: Callable[..., Any]) -> None:
        self.name, self.run = name, run


class Frame:
    """The local names of one call, class body or module."""

    __slots__ = (
        "function",
        "globals",
        "guards",
        "is_class",
        "module",
        "names",
        "origins",
        "parent",
        "receiver",
        "yielded",
    )

    def __init__(self, module: ModuleState, parent: Frame | None = None) -> None:
        self.module = module
        self.parent = parent
        self.names: dict[str, Any] = {}
        self.origins: dict[str, Origin] = {}
        self.globals: dict[str, Frame | None] = {}
        """Names declared `global` (None) or `nonlocal` (the frame that binds them)."""
        self.is_class = False
        """True for a class body: functions inside of it do not see its names."""
        self.function: Function | None = None
        self.receiver: Any = None
        """The first argument, for `super()`."""
        self.yielded: Callable[[Any], Any] | None = None
        self.guards = 0
        """How many guards were there when the call began."""


class Function:
    """A function or lambda of the tree."""

    __slots__ = ("closure", "defaults", "generates", "kwdefaults", "module", "node", "owner")

    def __init__(
        self,
        node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda,
        module: ModuleState,
        closure: Frame | None,
    ) -> None:
        self.node = node
        self.module = module
        self.closure = closure
        self.defaults: list[Any] = []
        self.kwdefaults: dict[str, Any] = {}
        self.owner: Class | None = None
        self.generates = False

    @property
    def name(self) -> str:
        return getattr(self.node, "name", "<lambda>")


class Wrapped:
    """A function under a decorator that is modelled: `cache`, `property`, `static`, `class`, `context`."""

    __slots__ = ("function", "kind", "note", "origins", "store")

    def __init__(self, kind: str, function: Any) -> None:
        self.kind, self.function = kind, function
        self.note: Any = None  # what a library keeps of it
        self.store: dict[Any, Any] = Remembered()
        self.origins: dict[Any, Origin] = Remembered()


class Bound:
    """A function with its first argument."""

    __slots__ = ("function", "receiver")

    def __init__(self, function: Any, receiver: Any) -> None:
        self.function, self.receiver = function, receiver


class Partial:
    """`functools.partial(…)`."""

    __slots__ = ("arguments", "function", "keywords")

    def __init__(self, function: Any, arguments: list[Any], keywords: dict[str, Any]) -> None:
        self.function, self.arguments, self.keywords = function, arguments, keywords


class ModuleValue:
    """A module of the tree."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name


class Library:
    """A class from outside that is modelled here: methods by name."""

    __slots__ = ("attributes", "dotted")

    def __init__(self, dotted: str, attributes: dict[str, Any]) -> None:
        self.dotted, self.attributes = dotted, attributes


class Class:
    """A class of the tree."""

    __slots__ = (
        "attributes",
        "fields",
        "init_only",
        *("is_data", "is_enum", "is_open", "is_record"),
        "line",
        "module",
        "name",
        "open_bases",
        "origins",
    )

    def __init__(self, name: str, module: ModuleState) -> None:
        self.name, self.module = name, module
        self.open_bases: frozenset[str] = frozenset()  # those that are not known; "" for one without a name
        self.attributes: dict[str, Any] = {}
        self.origins: dict[str, Origin] = {}
        self.line: list[Any] = [self]
        """The class and its bases, nearest first: classes, native types, libraries."""
        self.fields: list[tuple[str, Any]] | None = None
        """Name and default of each field, if it is a dataclass."""
        self.init_only: list[tuple[str, Any]] = []
        """Likewise what is only handed to `__post_init__`."""
        self.is_open = False
        """True if some base is not known, so that it may have any attribute."""
        self.is_data = False
        """True if a library makes its fields, as pydantic does: its objects are what they hold."""
        self.is_enum = False
        self.is_record = False
        """True for the class whose fields are the engine's options."""


class Instance:
    """An object of a class of the tree, or of a modelled one."""

    __slots__ = ("attributes", "cls", "origins", "serial")

    def __init__(self, cls: Any) -> None:
        self.serial = next(_SERIALS)
        """Objects that were made later have a higher one."""
        self.cls = cls
        self.attributes: dict[str, Any] = {}
        self.origins: dict[str, Origin] = {}


class Member:
    """A member of an enumeration; equal to its value where the enumeration also is a text or a number."""

    __slots__ = ("cls", "name", "value")

    def __init__(self, cls: Class, name: str, value: Any) -> None:
        self.cls, self.name, self.value = cls, name, value

    @property
    def is_plain(self) -> bool:
        return any(base in (str, int) for base in self.cls.line)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Member):
            return self is other
        return self.is_plain and self.value == other

    def __hash__(self) -> int:
        return hash(self.value) if self.is_plain else id(self) >> 4

    def __lt__(self, other: Any) -> bool:
        return bool(self.value < (other.value if isinstance(other, Member) else other))

    def __str__(self) -> str:
        return f"{self.cls.name}.{self.name}"

    __repr__ = __str__


class Signal:
    """How a statement left its block: `return`, `break` or `continue`."""

    __slots__ = ("kind", "value")

    def __init__(self, kind: str, value: Any = None) -> None:
        self.kind, self.value = kind, value


class Raised(Exception):
    """The interpreted program raises."""

    def __init__(self, error: Any, site: tuple[Any, ast.AST] | None = None) -> None:
        super().__init__()
        self.error = error
        """An `Instance` whose class is a native exception type or a class of the tree."""
        self.site = site
        self.guards: tuple[Any, ...] = ()
        self.trace: tuple[tuple[str, int, str], ...] = ()


class NotPure(Exception):
    """A strict evaluation met something undecided, something from outside, or a change of older objects."""


class Kept(Protocol):
    """Attributes that something other than the objects themselves keeps."""

    def get(self, key: tuple[int, str]) -> tuple[Any] | None:
        """By identity of the owner and name: what it holds, or `MISSING`; None if it is not kept."""
        ...

    def counterpart(self, owner: Instance) -> Instance:
        """The object that is asked in place of that one."""
        ...


class Strict:
    """What a strict evaluation has read and made: it must depend on nothing else, and change nothing."""

    __slots__ = ("began", "functions", "kept", "reads", "touched")

    def __init__(self, kept: Kept) -> None:
        self.kept = kept
        self.reads: set[tuple[int, str]] = set()
        self.began = next(_SERIALS)
        self.functions: dict[ast.AST, str] = {}
        """The functions that were run, with their modules."""
        self.touched: dict[int, Any] = {}
        """Older objects that were changed: all of that is undone, and counts if the result holds them."""

    def note(self, origins: Iterable[str]) -> None:
        """Note the environment variables among what something was computed from."""
        self.reads.update((0, name) for name in origins if name.startswith("environment "))

    def has_made(self, owner: Any) -> bool:
        """Whether the evaluation itself has made that object."""
        return bool(getattr(owner, "serial", -1) > self.began)


class OutOfFuel(Exception):
    """The program takes more steps than are allowed."""
