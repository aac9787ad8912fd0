"""Commands that change the shell that runs them: `export`, `set`, `read`, `cd`, `source`, `exit` and more."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, TypeAlias

from assay.deployment.shell.state import DIRECTORY
from assay.deployment.shell.syntax import Simple
from assay.deployment.shell.values import Part, Var, as_value
from assay.deployment.text import Word

if TYPE_CHECKING:
    from collections.abc import Callable

    from assay.deployment.shell.state import State

Fields: TypeAlias = "list[list[Part]]"

_ENVIRONMENT_ONLY = ("activate", "bashrc", "profile", "conda.sh", "setvars.sh", "modules.sh")
_LOCAL = frozenset({"local", "declare", "typeset"})
_ELEMENT = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)\[")


def declare(state: State, node: Simple, words: tuple[Word, ...], declared: list[Var]) -> None:
    """`export`, `local`, `declare`, `readonly`; `declared` are the variables with values."""
    command = words[0].text
    if command == "local" and not state.locals:
        return
    flags = {letter for word in words[1:] if word.text.startswith("-") for letter in word.text[1:]}
    exports = command == "export" or "x" in flags
    bare = [word.text for word in words[1:] if word.known and word.text.isidentifier()]
    if state.locals and command in _LOCAL and "g" not in flags:
        for name in [var.name for var in declared] + bare:
            state.locals[-1].setdefault(name, state.variables.get(name))
    for var in declared:
        elements = None if flags & set("Ailun") and command != "export" else var.elements
        state.assign(replace(var, exported=exports, elements=elements))
    for name in bare:
        old = state.variables.get(name)
        if exports:
            if old is not None:
                state.store(name, replace(old, exported=not flags & {"n", "f"}))
        elif command in _LOCAL and (state.locals or old is None):
            state.store(name, Var(name, (), state.source, node.start, node.end))


def _unset(state: State, node: Simple, words: tuple[Word, ...], _: Fields) -> None:
    if any(word.text == "-f" for word in words):
        return
    for word in words[1:]:
        if match := _ELEMENT.match(word.text):
            state.forget([match[1]])
        elif word.known and word.text.isidentifier():
            state.store(word.text, Var(word.text, (), state.source, node.start, node.end))


def _set(state: State, _: Simple, words: tuple[Word, ...], fields: Fields) -> None:
    at = 1
    while at < len(words) and words[at].text[:1] in ("-", "+") and words[at].text not in ("-", "--"):
        flag = words[at].text
        named = flag[1:].endswith("o")
        option = words[at + 1].text if named and at + 1 < len(words) else ""
        if "a" in flag or option == "allexport":
            state.exports_all = flag.startswith("-")
        at += 2 if named else 1
    ends = at < len(words) and words[at].text == "--"
    if at < len(words):
        state.positional = tuple(as_value(parts) for parts in fields[at + ends :])


def _shift(state: State, _: Simple, words: tuple[Word, ...], __: Fields) -> None:
    count = words[1].text if len(words) > 1 else "1"
    if count.isdecimal() and len(count) < 6:
        if state.positional is None or int(count) <= len(state.positional):
            state.shift(int(count))
    else:
        state.positional = None


def _read(state: State, _: Simple, words: tuple[Word, ...], __: Fields) -> None:
    state.forget(word.text for word in words[1:] if word.text.isidentifier())


def _printf(state: State, node: Simple, words: tuple[Word, ...], fields: Fields) -> None:
    if len(words) > 2 and words[1].text == "-v":
        _read(state, node, words[:3], fields)


def _let(state: State, _: Simple, words: tuple[Word, ...], __: Fields) -> None:
    for word in words[1:]:
        state.compute(word.text)


def _source(state: State, _: Simple, words: tuple[Word, ...], __: Fields) -> None:
    """Another file's commands run in this shell: what was set before may be something else after."""
    if len(words) < 2 or not words[1].text.endswith(_ENVIRONMENT_ONLY):
        state.forget(list(state.variables))


def _exit(state: State, _: Simple, words: tuple[Word, ...], __: Fields) -> None:
    state.ended |= words[0].text != "exec" or len(words) > 1


def _return(state: State, _: Simple, __: tuple[Word, ...], ___: Fields) -> None:
    state.ended |= bool(state.locals)


def _cd(state: State, node: Simple, words: tuple[Word, ...], fields: Fields) -> None:
    known = len(words) == 2 and words[1].known and words[1].text.startswith("/")
    elements = (tuple(part.run for part in fields[1]),) if known else None
    state.store(DIRECTORY, Var(DIRECTORY, elements, state.source, node.start, node.end))


EFFECTS: dict[str, Callable[[State, Simple, tuple[Word, ...], Fields], None]] = {
    "unset": _unset,
    "set": _set,
    "shift": _shift,
    "read": _read,
    "mapfile": _read,
    "readarray": _read,
    "getopts": _read,
    "printf": _printf,
    "let": _let,
    "source": _source,
    ".": _source,
    "exit": _exit,
    "exec": _exit,
    "return": _return,
    "cd": _cd,
}
