"""Reading a table of a TOML file key by key, with every fault collected."""

from __future__ import annotations

import difflib
import json
import re
from typing import TYPE_CHECKING

from assay.deployment.toml_file.keys import NOT_YET, names_of

if TYPE_CHECKING:
    from assay.deployment.toml_file.toml import Document, KeyPath

LIMIT = 100
"""More faults than this are counted, not listed."""


class Faults:
    """The faults of one file, in the order in which they stand in it."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self.found: list[tuple[int, str]] = []
        self.count = 0

    def add(self, path: KeyPath, message: str) -> None:
        """Note a fault of the key at `path`."""
        self.count += 1
        if not self.full:
            line = self.document.line(path)
            where = self.document.file.path if line is None else f"{self.document.file.path}:{line}"
            self.found.append((line or 0, f"{where}: {spell(path)}: {message}"))

    @property
    def full(self) -> bool:
        """Whether further faults are only counted."""
        return len(self.found) == LIMIT

    def lines(self) -> tuple[str, ...]:
        """One line for each fault, sorted by place."""
        lines = [line for _, line in sorted(self.found, key=lambda each: each[0])]
        if more := self.count - len(self.found):
            lines.append(f"{self.document.file.path}: and {more} more")
        return tuple(lines)


def spell(path: KeyPath) -> str:
    """A key path as TOML writes it.

    >>> spell(("libraries", "a b", 2))
    'libraries."a b"[2]'
    """
    text = ""
    for part in path:
        if isinstance(part, int):
            text += f"[{part}]"
        else:
            plain = part if re.fullmatch(r"[A-Za-z0-9_-]{1,80}", part) else json.dumps(part[:80])
            text += f".{plain}" if text else plain
    return text


def got(value: object) -> str:
    """A value as error messages show it: short, on one line."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        value = re.sub(r"//[^/@\s]*@", "//…@", value)  # what stands before a host can be a password
        return json.dumps(value if len(value) <= 60 else value[:57] + "...", ensure_ascii=False)
    if isinstance(value, int):
        return str(value) if abs(value) < 10**18 else "a very large number"
    if isinstance(value, float):
        return repr(value)
    return kind(value)


def kind(value: object) -> str:
    """What a value is, without saying it."""
    names = {bool: "true or false", str: "a text", int: "a number", float: "a number", list: "a list"}
    return "a table" if isinstance(value, dict) else names.get(type(value), "a date or time")


class Section:
    """One table of the file. Each reader gives None for a key that is missing or faulty."""

    def __init__(self, faults: Faults, path: KeyPath, data: dict[str, object]) -> None:
        self.faults = faults
        self.path = path
        self.data = data

    def fault(self, key: str, message: str) -> None:
        """Note a fault of one of the table's keys."""
        self.faults.add((*self.path, key), message)

    def has(self, key: str) -> bool:
        """Whether the key is there, faulty or not."""
        return key in self.data

    def text(self, key: str) -> str | None:
        """A text with something in it and nothing that does not belong on a line."""
        value = self.data.get(key)
        if value is None:
            return None
        if not isinstance(value, str):
            self.fault(key, f"expected a text in quotes, got {got(value)}")
        elif not value.strip():
            self.fault(key, "expected a text in quotes, got an empty one")
        elif not value.isprintable():
            self.fault(key, "expected a text on one line, got one with a control character or a line end")
        else:
            return value
        return None

    def whole(self, key: str, *, least: int, most: int) -> int | None:
        """A whole number within bounds."""
        value = self.data.get(key)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
            self.fault(key, f"expected a whole number from {least} to {most}, got {got(value)}")
            return None
        return value

    def positive(self, key: str) -> float | None:
        """A number above zero."""
        value = self.data.get(key)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < 1e9:
            self.fault(key, f"expected a number above 0, got {got(value)}")
            return None
        return float(value)

    def flag(self, key: str) -> bool | None:
        """True or false."""
        value = self.data.get(key)
        if value is None or isinstance(value, bool):
            return value
        self.fault(key, f"expected true or false, got {got(value)}")
        return None

    def texts(self, key: str) -> tuple[str, ...] | None:
        """A list of texts; each may be anything, also empty."""
        value = self.data.get(key)
        if value is None:
            return None
        if not isinstance(value, list):
            self.fault(key, f"expected a list of texts, got {kind(value)}")
            return None
        for index, item in enumerate(value):
            if not isinstance(item, str):
                self.faults.add((*self.path, key, index), f"expected a text in quotes, got {kind(item)}")
        return tuple(value) if all(isinstance(item, str) for item in value) else None

    def table(self, key: str) -> Section | None:
        """A table inside this one."""
        value = self.data.get(key)
        if value is None:
            return None
        if not isinstance(value, dict):
            self.fault(key, f"expected a table, [{key}], got {kind(value)}")
            return None
        return Section(self.faults, (*self.path, key), value)

    def tables(self, key: str) -> tuple[Section, ...]:
        """The tables of an array of tables inside this one."""
        value = self.data.get(key)
        if value is None:
            return ()
        if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
            self.fault(key, f"expected tables, each under its own [[{key}]], got {kind(value)}")
            return ()
        return tuple(Section(self.faults, (*self.path, key, at), item) for at, item in enumerate(value))

    def one_of(self, keys: tuple[str, ...], what: str) -> str | None:
        """The one of `keys` that is there; a fault if there is none, or more than one."""
        present = [key for key in keys if key in self.data]
        if len(present) == 1:
            return present[0]
        if present:
            self.fault(present[1], f"expected only one of {_listed(keys)}, got {_listed(present, 'and')}")
        else:
            self.faults.add((*self.path, keys[0]), f"expected {what}: one of {_listed(keys)}; it is missing")
        return None

    def refuse_unknown(self) -> None:
        """Note every key that this table does not have."""
        allowed = names_of(".".join(part for part in self.path if isinstance(part, str)))
        for key in self.data:
            if key not in allowed:
                self.fault(key, "" if self.faults.full else _unknown(key, allowed, at_top=not self.path))


def _unknown(key: str, allowed: tuple[str, ...], *, at_top: bool) -> str:
    if at_top and key in NOT_YET:
        return "not yet supported; leave it out"
    if not at_top and key in names_of(""):
        return f"no such key here; `{key}` belongs at the top of the file, before the first [table]"
    near = difflib.get_close_matches(key[:80].lower(), allowed, n=1)
    return f"no such key; did you mean `{near[0]}`?" if near else f"no such key; expected {_listed(allowed)}"


def _listed(keys: tuple[str, ...] | list[str], joint: str = "or") -> str:
    quoted = [f"`{key}`" for key in keys]
    return quoted[0] if len(quoted) == 1 else f"{', '.join(quoted[:-1])} {joint} {quoted[-1]}"
