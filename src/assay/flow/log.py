"""What start-up code declares of options without assigning them: a log, of which the last entry counts.

Such a log is kept as one dict, in which each option has what was declared of it last. Where two paths meet,
each option is joined by itself, so that one open test does not make the whole log unknown.
"""

from __future__ import annotations

from typing import Any

from assay.flow import attributes
from assay.flow.declared import Declared, Log
from assay.flow.interpreter import Interpreter
from assay.flow.machine import choice
from assay.flow.values import (
    MISSING,
    Choice,
    Instance,
    Library,
    Native,
    VDict,
    VList,
    may_be_missing,
)


def begin(i: Interpreter, record: Instance, name: str) -> None:
    """Give a record its log, under that name."""
    i.machine.put(record.attributes, name, Log())


_ASKED = Library(
    "what was asked for",
    {
        "__contains__": Native("in", lambda i, made, key: i.force(key) in _record(made).attributes),
        "__getitem__": Native("[]", lambda i, made, key: attributes.get(i, _record(made), i.force(key))),
        "get": Native(
            "get", lambda i, made, key, default=None: _get(i, _record(made), i.force(key), default)
        ),
    },
)
"""A dict of what a record's options were before start-up code began. As the record itself stays what it is,
it is asked; so no more counts as read than is."""


def snapshot(record: Instance) -> Instance:
    """Such a dict."""
    made = Instance(_ASKED)
    made.attributes["record"] = record
    return made


def _record(made: Instance) -> Instance:
    record: Instance = made.attributes["record"]
    return record


def _get(i: Interpreter, record: Instance, name: str, default: Any) -> Any:
    return attributes.get(i, record, name) if name in record.attributes else default


def put(i: Interpreter, record: Instance, name: str, value: Any) -> None:
    """The program gives the record another log: the same list, a copy, or one of its own making."""
    log = record.attributes.get(name)
    if value is log:
        return
    if not isinstance(log, Log) or type(value) not in (VList, Log):
        i.machine.put(record.attributes, name, value)
        return
    entries = [each for each in value if not (isinstance(each, tuple) and each[-1] is log.declared)]
    if len(entries) == len(value):
        for key in list(log.declared):
            i.machine.put(log.declared, key, MISSING)
    extend(i, log, entries)


def extend(i: Interpreter, log: Log, entries: Any) -> None:
    """Further declarations, `(who, {option: value})` each."""
    for each in entries:
        entry = i.force(each)
        found = i.force(entry[1]) if isinstance(entry, tuple) and len(entry) == 2 else None
        if isinstance(found, Choice):
            i.machine.fork(
                found.test,
                lambda each=found: extend(i, log, [("", each.yes)]),  # type: ignore[misc]
                lambda each=found: extend(i, log, [("", each.no)]),  # type: ignore[misc]
            )
        elif isinstance(found, dict) and type(found) in (VDict, Declared, dict):
            for key, value in list(found.items()):
                declare(i, log, key, value)
        else:
            i.machine.gap("a declaration that is not known")
            i.outside.open_up(log)
            return


def declare(i: Interpreter, log: Log, name: str, value: Any) -> None:
    """One option is declared to have that value, or keeps what it has where the value is missing."""
    i.outside.declared(i, name, value)
    i.machine.put(log.declared, name, filled(value, log.declared.get(name, MISSING)))


def filled(value: Any, rest: Any) -> Any:
    """The value, and where it is missing, that other one."""
    if value is MISSING:
        return rest
    if isinstance(value, Choice) and may_be_missing(value):
        return choice(value.test, filled(value.yes, rest), filled(value.no, rest))
    return value


def held(i: Interpreter, record: Instance, name: str) -> Any:
    """What a record holds for an option: what was declared last, else its own value, else the fallback."""
    own = record.attributes.get(name, MISSING)
    found = record.attributes.get(i.outside.start.log)
    if not isinstance(found, Log):
        return own
    return _or_fallback(filled(found.declared.get(name, MISSING), own), i.outside.fallbacks.get(name))


def _or_fallback(value: Any, fallback: Any) -> Any:
    if value is None:
        return fallback
    if isinstance(value, Choice) and fallback is not None:
        yes, no = (_or_fallback(each, fallback) for each in (value.yes, value.no))
        return choice(value.test, yes, no)
    return value


def contains(i: Interpreter, owner: Declared, key: Any) -> Any:
    """`key in owner`."""
    return i.lift(lambda each: _contains(i, owner, each), key, label="in")


def _contains(i: Interpreter, owner: Declared, key: Any) -> Any:
    value = i.force(owner.get(key, MISSING))
    if isinstance(value, Choice) and may_be_missing(value):
        again = lambda: _contains(i, owner, key)  # noqa: E731
        return i.machine.fork(value.test, again, again)
    return value is not MISSING


def item(i: Interpreter, owner: Declared, key: Any, default: Any = MISSING) -> Any:
    """`owner[key]` or `owner.get(key, default)`."""
    return i.force(i.lift(lambda each: _item(i, owner, each, default), key, label="[]"))


def _item(i: Interpreter, owner: Declared, key: Any, default: Any) -> Any:
    value = i.force(owner.get(key, MISSING))
    if isinstance(value, Choice) and may_be_missing(value):
        again = lambda: _item(i, owner, key, default)  # noqa: E731
        return i.machine.fork(value.test, again, again)
    if value is MISSING and default is MISSING:
        raise i.error(KeyError, key)
    return default if value is MISSING else value


def put_item(i: Interpreter, owner: Any, key: Any, value: Any) -> bool:
    """`owner[key] = value` for an option, which another path need not set; False for other collections."""
    if type(owner) is VDict:
        owner.__class__ = Declared
    if type(owner) is not Declared:
        return False
    i.machine.put(owner, key, value)
    return True


def update(i: Interpreter, owner: VDict, other: Declared) -> None:
    """`owner.update(other)`: from here on `owner` too may hold keys on some paths only."""
    owner.__class__ = Declared  # which it may stay: with all keys there, it is a dict like any other
    for key, value in other.items():
        i.machine.put(owner, key, filled(value, owner.get(key, MISSING)))
