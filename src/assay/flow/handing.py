"""How the values of a command line come into the record, before its own start-up code begins."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from assay.flow.interpreter import NATIVE_FAULTS, Interpreter
from assay.flow.machine import same
from assay.flow.outside.standard_library import NAMESPACE
from assay.flow.values import MISSING, Instance, OutOfFuel, Raised, Touched, Unknown, VDict, VList

_HANDED = "handed on"


@dataclass(frozen=True)
class Filled:
    """What stands when a run has filled its record and start-up code is about to begin."""

    inputs: Mapping[str, Any]
    """The options and variables: `option tp_size`, `environment PATH`."""
    gaps: Mapping[str, int]
    """What was not understood so far."""
    way: tuple[Any, ...]
    """The calls and tests on the way here, and what they depended on."""
    fuel: int
    """Steps that are left."""
    is_plain: bool
    """Whether nothing else has happened yet: no line logged, no test left open, nothing that may raise, and
    nothing changed but local names, the record and what the parser gave."""


def filled(i: Interpreter, record: Instance) -> Filled:
    """What stands now."""
    machine = i.machine
    happened = (machine.possible, machine.pendings, machine.assumed, machine.tries, i.log, i.writes)
    return Filled(
        inputs=inputs(record, i.outside.environment.written),
        gaps=dict(machine.gaps),
        way=(tuple(i.trace), tuple(machine.guards), frozenset(machine.reads)),
        fuel=machine.fuel,
        is_plain=not any(happened) and not i.environment_writes and _keeps_to_itself(i, record),
    )


def _keeps_to_itself(i: Interpreter, record: Instance) -> bool:
    """Whether the program has put nothing where its start-up code might find it but through the record."""
    own = {
        id(names) for holder in (record, i.outside.namespace) for names in (holder.attributes, holder.origins)
    }
    own |= {id(names) for frame in i.early_frames for names in (frame.names, frame.origins)}
    return all(id(holder) in own for holder, _key, _old in i.machine.trail)


def inputs(record: Instance, environment: Mapping[str, Any]) -> dict[str, Any]:
    """The options of a record and the variables, by name."""
    return {f"option {name}": value for name, value in record.attributes.items()} | variables(environment)


def variables(environment: Mapping[str, Any]) -> dict[str, Any]:
    """The variables, by name."""
    return {f"environment {name}": value for name, value in environment.items()}


@dataclass(frozen=True)
class Handing:
    """What a program does with any command line until its record is filled."""

    sources: Mapping[str, str]
    """By option (`option tp_size`): the name in the parser's namespace whose value it gets. What is not named
    has one value whatever the command line says."""
    words: frozenset[Any]
    """The words that it looks for among those of the command line."""
    variables: frozenset[str]
    """The variables that it reads: `environment PATH`."""


class _Reached(Exception):
    """The record is filled: the run is left there."""

    def __init__(self, now: Filled, read: frozenset[str]) -> None:
        super().__init__()
        self.now, self.read = now, read


class _Words(VList):
    """The words of a command line of which nothing is known but what it is asked for."""

    __slots__ = ("asked", "is_used")

    def __init__(self) -> None:
        super().__init__()
        self.asked: set[Any] = set()
        self.is_used = False

    def __contains__(self, word: Any) -> bool:
        self.asked.add(word)
        return False

    def _use(self, *_arguments: Any) -> Any:
        self.is_used = True
        return NotImplemented

    def __iter__(self) -> Any:
        self.is_used = True
        return iter(())

    def __len__(self) -> int:
        self.is_used = True
        return 0

    def __getitem__(self, at: Any) -> Any:
        self.is_used = True
        return "" if isinstance(at, int) else VList()

    __eq__ = __ne__ = __lt__ = __gt__ = __le__ = __ge__ = __add__ = __mul__ = _use


def handing(
    i: Interpreter, run: Callable[[VList], Any], names: Iterable[str], begun: Filled, fuel: int
) -> Handing | None:
    """How values come into the record; None if that depends on them.

    Follows the program once with a namespace of which no value is known. What is not known is joined, never
    guessed, so an option that then holds the very thing that the namespace holds does so for each value.

    Args:
        i: the interpreter, between two runs.
        run: follows the program with these words.
        names: the names in the namespace.
        begun: what stood in a run that came so far: this one must come the same way.
        fuel: the steps that such a run has.
    """
    words = _Words()
    i.begin(fuel)
    i.outside.namespace = made = Instance(NAMESPACE)
    made.attributes |= {name: Unknown("a value of the command line", (_HANDED, name)) for name in names}
    i.outside.when_filled = _leave
    try:
        run(words)
    except _Reached as reached:
        return None if words.is_used else _checked(begun, reached.now, reached.read, words)
    except (Raised, OutOfFuel, Touched, RecursionError, MemoryError, *NATIVE_FAULTS):
        return None
    finally:
        i.end()
    return None


def _leave(i: Interpreter, record: Instance) -> None:
    raise _Reached(filled(i, record), frozenset(i.inputs_read))


def _checked(begun: Filled, now: Filled, read: frozenset[str], words: _Words) -> Handing | None:
    """What is to be told of a run that has come so far; None if it came another way than the known one."""
    came = (now.is_plain, now.gaps, now.way, now.fuel)
    if came != (True, begun.gaps, begun.way, begun.fuel) or not begun.is_plain or "*" in read:
        return None
    sources: dict[str, str] = {}
    for name, held in now.inputs.items():
        if isinstance(held, Unknown) and isinstance(held.key, tuple) and held.key[0] == _HANDED:
            sources[name] = held.key[1]
        elif name.startswith("option ") and not is_same(held, begun.inputs.get(name, MISSING)):
            return None
    variables = frozenset(name for name in read if name.startswith("environment "))
    return Handing(sources, frozenset(words.asked), variables)


def is_same(one: Any, other: Any) -> bool:
    """Whether two values are the same, also in the types of what they hold: 1, 1.0 and True are not."""
    if one is other or type(one) is not type(other):
        return one is other
    if isinstance(one, tuple) or type(one) is VList:
        return len(one) == len(other) and all(is_same(a, b) for a, b in zip(one, other, strict=True))
    if type(one) is VDict:
        return list(one) == list(other) and all(is_same(each, other[key]) for key, each in one.items())
    return same(one, other)
