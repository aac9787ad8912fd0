"""The state of one interpretation: fuel, what is undone when a path ends, and how two paths are joined."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from assay.flow.declared import Declared
from assay.flow.values import (
    MISSING,
    OPENED,
    Choice,
    Frame,
    NotPure,
    Origin,
    OutOfFuel,
    Raised,
    Remembered,
    Signal,
    Strict,
    Touched,
    Unknown,
    VDict,
    VList,
    VSet,
)

_WHOLE: Any = object()
MAX_LEAVES = 16
Conditions = list[tuple[Unknown, bool]]


@dataclass(slots=True)
class Held:
    """A test that stands between the start and the present statement."""

    module: Any
    node: ast.expr
    taken: bool
    is_open: bool
    reads: frozenset[str]


@dataclass
class Path:
    """How one of two paths ended: with a value, a signal or an exception, and what it changed."""

    kind: str
    value: Any
    changes: dict[tuple[int, Any], tuple[Any, Any, Any]]


@dataclass(eq=False)
class Pending:
    """A path that has left early and waits for the rest to arrive where it went."""

    target: Any
    conditions: Conditions
    mark: int
    path: Path


@dataclass(eq=False)
class Handlers:
    """The handlers of a `try` that is being executed."""

    catches: Callable[[Raised], bool]
    guards: int = 0


@dataclass
class Loop:
    """A loop that is being executed."""

    breaks: object = field(default_factory=object)
    continues: object = field(default_factory=object)


SETTING, PRINTED = "setting", "printed"
"""Levels, in the log, of what decides which messages are shown, and of what is printed."""


class Machine:
    """Everything that changes while a program is interpreted."""

    def __init__(self, fuel: int) -> None:
        self.fuel = fuel
        self.depth = 0
        self.trail: list[tuple[Any, Any, Any]] = []
        self.recording = 0
        self.assumed: dict[Any, bool] = {}
        self.guards: list[Held] = []
        self.reads: set[str] = set()
        self.tries: list[Handlers] = []
        self.pendings: list[Pending] = []
        self.frame: Frame | None = None
        self.loop: Loop | None = None
        self.possible: list[tuple[Raised, Conditions]] = []
        self.strict: Strict | None = None
        self.gaps: dict[str, int] = {}

    def step(self, cost: int = 1) -> None:
        """Use fuel."""
        self.fuel -= cost
        if self.fuel < 0:
            raise OutOfFuel

    def gap(self, reason: str) -> None:
        """Note something that was not understood."""
        self.gaps[reason] = self.gaps.get(reason, 0) + 1

    def acting(self, reason: str) -> None:
        """Call before something is done to the world outside: no strict evaluation may hold it."""
        if self.strict is not None:
            raise NotPure(reason)

    def passed_over(self, reason: str) -> None:
        """Something that does what nobody knows is left out: a gap, and no strict evaluation may hold it."""
        self.acting(reason)
        self.gap(reason)

    def not_called(self, reason: str) -> Unknown:
        """What a call gives of which the body is not run: what it would have done is passed over."""
        self.passed_over(reason)
        return Unknown(reason)

    def unknown(self, reason: str, key: Any = None, kind: str = "") -> Unknown:
        """A value that cannot be told, noted as a gap."""
        self.gap(reason)
        return Unknown(reason, key, kind)

    # ------------------------------------------------------------ what can be undone

    def put(self, names: dict[Any, Any], key: Any, value: Any) -> None:
        """`names[key] = value`."""
        if self.recording:
            self.trail.append((names, key, names.get(key, MISSING)))
        if value is MISSING:
            names.pop(key, None)
        else:
            names[key] = value

    def changing(self, collection: Any) -> None:
        """Call before a collection is changed in place."""
        if self.strict is not None and not self.strict.has_made(collection):
            self.strict.touched[id(collection)] = collection
        if self.recording:
            self.trail.append((collection, _WHOLE, _snapshot(collection)))

    def rewind(self, mark: int, conditions: Conditions = (), since: int | None = None) -> None:  # type: ignore[assignment]
        """Undo everything after the mark; paths that wait are rewritten to begin there."""
        first = len(self.pendings) if since is None else since
        for at, pending in enumerate(self.pendings):
            if pending.mark > mark or at >= first:
                self._rebase(pending, mark)
            if at >= first:
                pending.conditions = [*conditions, *pending.conditions]
        while len(self.trail) > mark:
            _restore(*self.trail.pop())

    def changes(self, mark: int) -> dict[tuple[int, Any], tuple[Any, Any, Any]]:
        """The present values of everything that was changed after the mark."""
        found: dict[tuple[int, Any], tuple[Any, Any, Any]] = {}
        for holder, key, _old in self.trail[mark:]:
            cell = (id(holder), key)
            if cell not in found:
                found[cell] = (holder, key, _current(holder, key))
        return found

    def apply(self, changes: dict[tuple[int, Any], tuple[Any, Any, Any]]) -> None:
        """Make those changes again."""
        for holder, key, value in changes.values():
            self._set(holder, key, value)

    def _set(self, holder: Any, key: Any, value: Any) -> None:
        if key is _WHOLE:
            self.changing(holder)
            _restore(holder, key, value)
        else:
            self.put(holder, key, value)

    def _rebase(self, pending: Pending, mark: int) -> None:
        later: dict[tuple[int, Any], Any] = {}
        for holder, key, old in self.trail[pending.mark :]:
            later.setdefault((id(holder), key), old)
        changes: dict[tuple[int, Any], tuple[Any, Any, Any]] = {}
        for holder, key, _old in self.trail[mark : pending.mark]:
            cell = (id(holder), key)
            value = later[cell] if cell in later else _current(holder, key)
            changes[cell] = (holder, key, value)
        changes.update(pending.path.changes)
        pending.path.changes = changes
        pending.mark = min(mark, pending.mark)

    # ------------------------------------------------------------ two paths

    def fork(self, test: Unknown, then: Callable[[], Any], otherwise: Callable[[], Any]) -> Any:
        """Follow both outcomes of an undecided test and join what they lead to."""
        decided = self.assumed.get(test.key)
        if decided is not None:
            return then() if decided else otherwise()
        self.step(5)
        self.recording += 1
        mark = len(self.trail)
        first = self._follow(test, mark, then, outcome=True)
        second = self._follow(test, mark, otherwise, outcome=False)
        return self.join([(test, True)], mark, first, second)

    def _follow(self, test: Unknown, mark: int, run: Callable[[], Any], *, outcome: bool) -> Path:
        assumed, guards, since = dict(self.assumed), len(self.guards), len(self.pendings)
        self.assumed[test.key] = outcome
        path = self.ended(run)
        path.changes = self.changes(mark)
        self.rewind(mark, [(test, outcome)], since)
        self.assumed = assumed
        del self.guards[guards:]
        return path

    def ended(self, run: Callable[[], Any]) -> Path:
        """Run it and say how it ended."""
        try:
            value = run()
        except Raised as raised:
            return Path("raise", raised, {})
        if isinstance(value, Signal):
            return Path(value.kind, value.value, {})
        return Path("value", value, {})

    def join(self, conditions: Conditions, mark: int, first: Path, second: Path) -> Any:
        """Go on where two paths meet; the first one was taken under the conditions."""
        self.recording -= 1
        if first.kind == second.kind and first.kind != "raise":
            self.recording += 1
            self._merge(conditions, first.changes, second.changes)
            self.recording -= 1
            value = chosen(conditions, first.value, second.value)
            self._settled()
            return value if first.kind == "value" else Signal(first.kind, value)
        rank = ("value", "continue", "break", "return", "raise")
        if rank.index(first.kind) >= rank.index(second.kind):
            left, stays, under = first, second, conditions
        else:
            left, stays, under = second, first, _negated(conditions)
        self._leave(left, under, mark)
        self.recording += 1
        self.apply(stays.changes)
        self.recording -= 1
        for test, outcome in under if len(under) == 1 else ():
            self.assumed[test.key] = not outcome
        self._settled()
        return self.resume(stays)

    def resume(self, path: Path) -> Any:
        """Go on as that path ended."""
        if path.kind == "raise":
            raise path.value
        return path.value if path.kind == "value" else Signal(path.kind, path.value)

    def _settled(self) -> None:
        if not self.recording:
            self.trail.clear()

    def _leave(self, path: Path, conditions: Conditions, mark: int) -> None:
        """Let a path wait at the place that it goes to."""
        target: Any = self.frame
        if path.kind == "raise":
            target = next((each for each in reversed(self.tries) if each.catches(path.value)), None)
            if target is None:
                self.possible.append((path.value, list(conditions)))
                return
        elif path.kind in ("break", "continue") and self.loop is not None:
            target = self.loop.breaks if path.kind == "break" else self.loop.continues
        self.recording += 1
        self.pendings.append(Pending(target, list(conditions), mark, path))

    def may_raise(self, test: Unknown, raised: Raised) -> None:
        """Note that the program raises here if the test holds, and go on as if it did not."""

        def fail() -> None:
            raise raised

        self.fork(test, fail, lambda: None)

    def settle(self, target: Any, path: Path, handle: Callable[[Path], Path] | None = None) -> Path:
        """Join the path with all that wait at this place; `handle` says how a waiting one goes on."""
        while True:
            waiting = next((each for each in reversed(self.pendings) if each.target is target), None)
            if waiting is None:
                return path
            self.pendings.remove(waiting)
            mark = waiting.mark
            path.changes = self.changes(mark)
            self.rewind(mark)
            arrived = waiting.path
            if handle is not None:
                arrived = self._handled(waiting, handle)
            elif arrived.kind in ("break", "continue"):
                arrived = Path("value", None, arrived.changes)
            for test, _outcome in waiting.conditions:
                self.assumed.pop(test.key, None)  # from here on both paths are followed again
            path = self.ended(lambda: self.join(waiting.conditions, mark, arrived, path))  # noqa: B023

    def _handled(self, waiting: Pending, handle: Callable[[Path], Path]) -> Path:
        assumed, since = dict(self.assumed), len(self.pendings)
        self.assumed.update({test.key: outcome for test, outcome in waiting.conditions})
        self.apply(waiting.path.changes)
        path = handle(waiting.path)
        path.changes = self.changes(waiting.mark)
        self.rewind(waiting.mark, waiting.conditions, since)
        self.assumed = assumed
        return path

    def _merge(self, conditions: Conditions, first: Any, second: Any) -> None:
        for cell in {**first, **second}:
            holder, key, _ = first.get(cell) or second[cell]
            before = _current(holder, key)
            one = first[cell][2] if cell in first else before
            other = second[cell][2] if cell in second else before
            if key is _WHOLE:
                self._set(holder, key, _merged(conditions, one, other))
            elif isinstance(holder, Remembered):
                self._set(holder, key, one if same(one, other) else MISSING)
            else:
                self._set(holder, key, chosen(conditions, one, other))

    # ------------------------------------------------------------ the state of before the call

    def suspended(self, run: Callable[[], Any]) -> Any:
        """Run something that is outside the present path, as a module's own statements are."""
        # What may raise here is no finding: a module that cannot be imported would stop the engine always.
        kept = {name: getattr(self, name) for name in _OF_A_PATH}
        for name, empty in _OF_A_PATH.items():
            setattr(self, name, empty())
        try:
            return run()
        finally:
            for name, value in kept.items():
                setattr(self, name, value)


_OF_A_PATH: dict[str, Callable[[], Any]] = {
    "trail": list,
    "recording": int,
    "assumed": dict,
    "guards": list,
    "reads": set,
    "tries": list,
    "pendings": list,
    "possible": list,
    "loop": lambda: None,
    "strict": lambda: None,
}


def _current(holder: Any, key: Any) -> Any:
    return _snapshot(holder) if key is _WHOLE else holder.get(key, MISSING)


def _snapshot(collection: Any) -> tuple[type, Any]:
    cls = type(collection)
    if cls in (VList, VSet):
        return cls, list(collection)
    if cls in (VDict, Declared):
        return cls, dict(collection)
    if cls in (list, dict, set):
        return cls, cls(collection)
    return cls, None


def _restore(holder: Any, key: Any, value: Any) -> None:
    if key is not _WHOLE:
        if value is MISSING:
            holder.pop(key, None)
        else:
            holder[key] = value
        return
    cls, contents = value
    if type(holder) is not cls:
        holder.__class__ = cls
    if contents is None:
        return
    if isinstance(holder, list):
        holder[:] = contents
    else:
        holder.clear()
        holder.update(contents)


def _merged(conditions: Conditions, one: Any, other: Any) -> Any:
    """The contents of a collection that was changed on two paths."""
    cls, first = one
    _, second = other
    if first is None or second is None or cls is not other[0]:
        return OPENED.get(cls, cls), None
    if cls is Declared:
        return cls, {
            key: chosen(conditions, first.get(key, MISSING), second.get(key, MISSING))
            for key in first | second
        }
    try:
        if isinstance(first, dict) and list(first) == list(second):
            return cls, {key: chosen(conditions, first[key], second[key]) for key in first}
        if cls in (VSet, set):
            return (cls, first) if set(first) == set(second) else (OPENED.get(cls, cls), None)
    except Touched:
        return OPENED.get(cls, cls), None
    if isinstance(first, list) and len(first) == len(second):
        return cls, [chosen(conditions, a, b) for a, b in zip(first, second, strict=True)]
    return OPENED.get(cls, cls), None


def _negated(conditions: Conditions) -> Conditions:
    return [(test, not outcome) for test, outcome in conditions[:1]]


def chosen(conditions: Conditions, one: Any, other: Any) -> Any:
    """`one` under the conditions, else `other`."""
    value = one
    for test, outcome in reversed(conditions):
        value = choice(test, value, other) if outcome else choice(test, other, value)
    return value


def choice(test: Unknown, yes: Any, no: Any) -> Any:
    """Either of two values; one value if they are the same, an unknown one if there are too many."""
    if isinstance(yes, Origin) or isinstance(no, Origin):
        return Origin([name for each in (yes, no) if isinstance(each, Origin) for name in each])
    yes, no = _under(test, yes, outcome=True), _under(test, no, outcome=False)
    if same(yes, no):
        return yes
    if leaves(yes) + leaves(no) > MAX_LEAVES:
        return Unknown(f"one of many values, by {test.reason}")
    return Choice(test, yes, no)


def _under(test: Unknown, value: Any, *, outcome: bool) -> Any:
    while isinstance(value, Choice) and value.test.key == test.key:
        value = value.yes if outcome else value.no
    return value


def leaves(value: Any) -> int:
    """How many values it may be."""
    return leaves(value.yes) + leaves(value.no) if isinstance(value, Choice) else 1


def same(one: Any, other: Any) -> bool:
    """Whether two values are surely the same."""
    if one is other:
        return True
    if isinstance(one, Unknown) and isinstance(other, Unknown):
        return bool(one.key == other.key)
    if isinstance(one, Choice) and isinstance(other, Choice):
        return one.test.key == other.test.key and same(one.yes, other.yes) and same(one.no, other.no)
    if type(one) is not type(other) or not isinstance(one, _COMPARED):
        return False
    try:
        return bool(one == other)
    except Touched:
        return False


_COMPARED = (bool, int, float, str, bytes, tuple, list, dict, set, frozenset, type(None))
