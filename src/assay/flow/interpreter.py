"""The parts of the interpreter, joined: what each needs of the others."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from assay.flow.machine import Held, Machine
from assay.flow.modules import ModuleStates
from assay.flow.values import (
    MISSING,
    Choice,
    Deferred,
    External,
    Frame,
    Instance,
    ModuleValue,
    Raised,
    Touched,
    Unknown,
    adopt,
)
from assay.source import Modules, NotKnown

NATIVE_FAULTS = (
    TypeError,
    ValueError,
    ArithmeticError,
    LookupError,
    AttributeError,
    OSError,
    AssertionError,
)
MAX_DEPTH = 64
COMMAND_LINE = "what the parser gives"
"""Names that as something that is read."""
_NOT_FORCED = frozenset({Deferred, Choice, External})


class Interpreter:
    """Interprets programs of one tree; the parts are functions that get it as first argument."""

    evaluate: Callable[[ast.expr, Frame], Any]
    execute: Callable[[ast.stmt, Frame], Any]
    run_block: Callable[[list[ast.stmt], Frame], Any]
    run_assign: Callable[[ast.expr, Any, Frame], None]
    call: Callable[..., Any]
    """`call(function, arguments, keywords)`."""
    attribute: Callable[[Any, str], Any]
    """`attribute(owner, name)`: the value, `MISSING`, or an `Unknown`."""

    def __init__(self, modules: Modules, fuel: int, outside: Any) -> None:
        self.machine = Machine(fuel)
        self.modules = ModuleStates(
            self.machine,
            modules,
            lambda *each: self.execute(*each),  # noqa: PLW0108 (set later)
            lambda *each: self.call(*each),  # noqa: PLW0108
        )
        self.outside = outside
        self.record_class = ""
        self.writes: list[tuple[Any, ...]] = []
        self.log: list[tuple[Any, ...]] = []
        self.environment_writes: list[tuple[Any, ...]] = []
        self.site: tuple[Any, ast.AST] | None = None
        self.running: list[ast.AST] = []
        """The functions that are being executed."""
        self.ran: dict[ast.AST, str] = {}
        """The functions that start-up code and strict evaluations have run, with their modules."""
        self.built: set[str] = set()
        """Names of the classes of which an object was made, and of their bases."""
        self.early_frames: list[Frame] = []
        """Those of calls that began before the record was filled."""
        self.inputs_read: set[str] = set()
        """The options and variables that start-up code has read since it has its record: `option tp_size`,
        `environment PATH`; `*` where it took all of them, and `COMMAND_LINE`."""
        self.trace: list[tuple[str, int, str]] = []
        self.callers: list[tuple[Any, int, Any]] = []
        """Of each call that is being carried out: where it was called, how many tests were held there, and
        the function."""

    def begin(self, fuel: int) -> None:
        """Before a run: from here on everything can be undone."""
        machine = self.machine
        machine.fuel, machine.recording = fuel, 1
        machine.possible, machine.gaps = [], {}
        self.writes, self.log, self.environment_writes = [], [], []
        self.outside.record = None
        self.inputs_read, self.early_frames = set(), []

    def end(self) -> None:
        """After a run: undo what it did to anything that outlives it."""
        machine = self.machine
        machine.pendings.clear()
        machine.rewind(0)
        machine.recording = 0
        machine.trail.clear()
        machine.guards.clear()
        machine.assumed.clear()
        machine.tries.clear()
        machine.reads = set()
        machine.depth = 0
        machine.frame = machine.loop = self.site = None
        self.trace.clear()
        self.callers.clear()
        self.running.clear()

    # ------------------------------------------------------------ open values

    def force(self, value: Any) -> Any:
        """The value as far as the present path decides it."""
        if value.__class__ not in _NOT_FORCED:  # nearly all: this is the most frequent call of all
            return value
        passed: set[tuple[str, str]] = set()
        while True:
            if isinstance(value, Deferred):
                place = (value.module, value.name)
                if place in passed:
                    if self.modules.has(".".join(place)):
                        return ModuleValue(".".join(place))
                    return Unknown(f"{value.name} is imported in a circle", ("circle", *place))
                passed.add(place)
                value = self.modules.force(value)
            elif isinstance(value, Choice) and value.test.key in self.machine.assumed:
                value = value.yes if self.machine.assumed[value.test.key] else value.no
            elif isinstance(value, External):
                known = self.outside.known(self, value.dotted)
                if known is value or (isinstance(known, External) and known.dotted == value.dotted):
                    return value
                value = known
            else:
                return value

    def lift(self, function: Callable[..., Any], *arguments: Any, label: str = "") -> Any:
        """`function(*arguments)`, for each of the values that an argument may have."""
        values = [self.force(each) for each in arguments]
        for at, value in enumerate(values):
            if isinstance(value, Choice):
                return self.machine.fork(
                    value.test,
                    lambda v=value, i=at: self.lift(function, *_with(values, i, v.yes), label=label),  # type: ignore[misc]
                    lambda v=value, i=at: self.lift(function, *_with(values, i, v.no), label=label),  # type: ignore[misc]
                )
        for value in values:
            if isinstance(value, Unknown):
                return derived(label or getattr(function, "__name__", "operation"), values)
        return self.native(function, values, label)

    def native(self, function: Callable[..., Any], values: list[Any], label: str = "") -> Any:
        """Call a native function; its exceptions become the program's."""
        try:
            return adopt(function(*values))
        except Touched as touched:
            inner = self.force(touched.value)
            if isinstance(inner, Unknown):
                return Unknown(inner.reason, ("of", label, inner.key))
            return Unknown("a collection that holds an unknown value")
        except NotKnown as error:
            return self.machine.unknown(f"{label or function.__name__}: {error}")
        except NATIVE_FAULTS as error:
            raise self.error(type(error), *error.args) from error
        except (RecursionError, MemoryError) as error:
            return self.machine.unknown(f"{label}: {type(error).__name__}")

    def truth(self, value: Any) -> bool | Unknown:
        """Whether a value is true; if that is open, a test that decides something of it."""
        value = self.force(value)
        if isinstance(value, bool):
            return value
        if isinstance(value, Choice):
            yes, no = self.truth(value.yes), self.truth(value.no)
            return yes if isinstance(yes, bool) and yes is no else value.test
        if isinstance(value, Unknown):
            decided = self.machine.assumed.get(value.key)
            return value if decided is None else decided
        if isinstance(value, Instance):
            return self._instance_truth(value)
        try:
            return bool(value)
        except Touched as touched:
            inner = touched.value
            return inner if isinstance(inner, Unknown) else Unknown("truth of a collection")

    def _instance_truth(self, value: Instance) -> bool | Unknown:
        for name in ("__bool__", "__len__"):
            method = self.attribute(value, name)
            if isinstance(method, Unknown):
                return Unknown(f"truth of {method.reason}", ("truth", method.key))
            if method is not MISSING:
                return self.truth(self.call(method, [], {}))
        return True

    def branch(self, value: Any, then: Callable[[], Any], otherwise: Callable[[], Any]) -> Any:
        """Go on by whether the value is true."""
        truth = self.truth(value)
        if isinstance(truth, bool):
            return then() if truth else otherwise()
        if isinstance(self.force(value), Choice):
            again = lambda: self.branch(value, then, otherwise)  # noqa: E731
            return self.machine.fork(truth, again, again)
        return self.machine.fork(truth, then, otherwise)

    # ------------------------------------------------------------ exceptions and guards

    def error(self, cls: Any, *arguments: Any) -> Raised:
        """An exception of the program, raised at the present statement."""
        made = Instance(cls)
        made.attributes["args"] = arguments
        return self.raised(made)

    def raised(self, error: Any) -> Raised:
        """That exception, raised at the present statement."""
        raised = Raised(error, self.site)
        raised.guards = tuple(self.machine.guards)
        raised.trace = tuple(self.trace)
        return raised

    def hold(self, node: ast.expr, frame: Frame, reads: set[str], *, taken: bool, is_open: bool) -> None:
        """Note that the statements that follow stand under this test."""
        self.machine.guards.append(Held(frame.module.module, node, taken, is_open, frozenset(reads)))

    def held_reads(self, frame: Frame) -> set[str]:
        """What the tests of the present call depended on."""
        found: set[str] = set()
        for held in self.machine.guards[frame.guards :]:
            found |= held.reads
        return found


def _with(values: list[Any], at: int, value: Any) -> list[Any]:
    return [*values[:at], value, *values[at + 1 :]]


def derived(label: str, values: list[Any]) -> Unknown:
    """The unknown result of an operation on unknown values; the same operation gives the same value."""
    reasons = [value.reason for value in values if isinstance(value, Unknown)]
    keys = tuple(value.key if isinstance(value, Unknown) else _key(value) for value in values)
    return Unknown(reasons[0], (label, *keys), "bool" if label in ("==", "in", "is", "not") else "")


def _key(value: Any) -> Any:
    if isinstance(value, str | int | float | bool | type(None)):
        return (type(value).__name__, value)
    return ("id", id(value))
