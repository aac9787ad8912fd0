"""One SQLite file in which entries are only ever added."""

from __future__ import annotations

import contextlib
import os
import sqlite3
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import msgspec

from assay._masking import MASK, is_secret_name, mask, writable
from assay._value import Value
from assay.errors import JournalError

if TYPE_CHECKING:
    from types import TracebackType

_VERSION = 1
_APPLICATION = 0x61737379
"""`assy`, so that `file` can tell what it is."""
_WAIT_S = 30.0
"""For another writer. SQLite's locks are not fair: who writes without a pause keeps others out for long."""
_LONGEST = 4 << 20
"""Bytes of one entry; a plan has a few thousand."""

# REPLACE removes rows without firing the second trigger; the third one stops it
_SCHEMA = """
CREATE TABLE entries (
  number INTEGER PRIMARY KEY AUTOINCREMENT,
  at TEXT NOT NULL,
  who TEXT NOT NULL,
  subject TEXT NOT NULL,
  kind TEXT NOT NULL,
  body TEXT NOT NULL
);
CREATE INDEX by_subject ON entries (subject, number);
CREATE TRIGGER no_update BEFORE UPDATE ON entries
  BEGIN SELECT RAISE(ABORT, 'the journal is append-only'); END;
CREATE TRIGGER no_delete BEFORE DELETE ON entries
  BEGIN SELECT RAISE(ABORT, 'the journal is append-only'); END;
CREATE TRIGGER no_replace BEFORE INSERT ON entries
  WHEN EXISTS (SELECT 1 FROM entries WHERE number = NEW.number)
  BEGIN SELECT RAISE(ABORT, 'the journal is append-only'); END;
"""

_WHAT_IT_IS = """
SELECT (SELECT user_version FROM pragma_user_version), (SELECT application_id FROM pragma_application_id),
  (SELECT count(*) FROM sqlite_master)
"""

_T = TypeVar("_T")


class Entry(Value):
    """One entry as it was written."""

    number: int
    """Its place in the journal; later ones have larger numbers."""
    at: str
    """When, in UTC: `2026-12-01T02:10:47.123456+00:00`. By the clock of the machine that wrote it."""
    who: str
    """Who wrote it: `user@machine`."""
    subject: str
    """What it is about: `llm.service@gpu1`."""
    kind: str
    """What it says: `plan`, `step` and so on."""
    body: str
    """The value as JSON; names of secrets hold `***`."""

    def value(self, type_: type[_T]) -> _T:
        """The body as a value again.

        Raises:
            JournalError: it is not of that type.
        """
        try:
            return msgspec.json.decode(self.body, type=type_)
        except msgspec.DecodeError as error:
            raise JournalError(f"entry {self.number} is no {type_.__name__}: {error}") from error


class Journal:
    """An open journal. Used as a context, it is closed when the block is left.

    An entry is on the disk when `append` returns: it survives a kill and a power cut. Where it could not be
    written, `append` raises and nothing of it is there.
    """

    def __init__(self, path: Path, *, who: str, clock: Callable[[], datetime] | None = None) -> None:
        """Open it, or begin one that only its user can read.

        Raises:
            JournalError: it cannot be opened, is none, or was written by a newer assay.
        """
        self.path = path
        self._who = who
        self._clock = clock or (lambda: datetime.now(UTC))
        with self._failures("open"):
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            # before SQLite makes it with another mode
            os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
            # absolute: to SQLite `:memory:` is no file
            self._database = sqlite3.connect(path.absolute(), timeout=_WAIT_S, isolation_level=None)
            try:
                self._begin()
            except BaseException:
                self._database.close()
                raise

    def append(self, subject: str, kind: str, body: Value) -> Entry:
        """Add one entry, and give it as it was written.

        Texts are masked: what stands behind the name of a secret, or looks like one, is not written.

        Raises:
            JournalError: it could not be written, as on a full disk, or is far too long.
        """
        text = msgspec.json.encode(_masked(msgspec.to_builtins(body))).decode()
        if len(text) > _LONGEST:
            raise JournalError(f"an entry of {len(text):,} characters is not for the journal")
        at = self._clock().isoformat()
        row = (at, self._who, subject, kind, text)
        with self._failures("write to"):
            added = self._database.execute(
                "INSERT INTO entries (at, who, subject, kind, body) VALUES (?, ?, ?, ?, ?)", row
            )
        number = added.lastrowid
        assert number is not None
        return Entry(number=number, at=at, who=self._who, subject=subject, kind=kind, body=text)

    def entries(self, subject: str | None = None, *, after: int = 0) -> tuple[Entry, ...]:
        """Entries in their order: all, or those about one subject, with larger numbers than `after`.

        Raises:
            JournalError: it cannot be read.
        """
        query = (
            "SELECT number, at, who, subject, kind, body FROM entries"
            " WHERE number > ? AND (? IS NULL OR subject = ?) ORDER BY number"
        )
        with self._failures("read"):
            rows = self._database.execute(query, (after, subject, subject)).fetchall()
        return tuple(
            Entry(number=number, at=at, who=who, subject=about, kind=kind, body=body)
            for number, at, who, about, kind, body in rows
        )

    def close(self) -> None:
        """Let go of the file."""
        self._database.close()

    def __enter__(self) -> Journal:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _begin(self) -> None:
        database = self._database
        self._check()
        # one file at rest, and on the disk, folder too, before a statement returns
        database.execute("PRAGMA journal_mode = DELETE")
        database.execute("PRAGMA synchronous = EXTRA")
        if self._version() == 0:
            database.execute("BEGIN EXCLUSIVE")
            with self._transaction():
                if self._version() == 0:  # nobody else was quicker
                    self._create()
        self._check()

    def _check(self) -> None:
        """Whether it is a journal of ours, or empty; before anything of it is changed."""
        # one statement, so one state: another process may be making it just now
        version, application, tables = self._database.execute(_WHAT_IT_IS).fetchone()
        if tables and application != _APPLICATION:
            raise JournalError(f"{self.path} is another program's database", hint="name another file")
        if version > _VERSION:
            raise JournalError(
                f"{self.path} was written by a newer assay: its version is {version}, not {_VERSION}",
                hint="use that assay, or name another journal",
            )

    def _create(self) -> None:
        for statement in _statements(_SCHEMA):
            self._database.execute(statement)
        self._database.execute(f"PRAGMA application_id = {_APPLICATION}")
        self._database.execute(f"PRAGMA user_version = {_VERSION}")

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[None]:
        try:
            yield
        except BaseException:
            self._database.execute("ROLLBACK")
            raise
        self._database.execute("COMMIT")

    def _version(self) -> int:
        (version,) = self._database.execute("PRAGMA user_version").fetchone()
        return int(version)

    @contextlib.contextmanager
    def _failures(self, what: str) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            message = f"cannot {what} the journal {self.path}: {error}"
            raise JournalError(message, hint=_hint(str(error))) from error
        except OSError as error:
            raise JournalError(f"cannot {what} the journal {self.path}: {error.strerror}") from error


def _hint(said: str) -> str:
    if "full" in said:
        return "free space on that disk; nothing half-written is in the journal"
    if "locked" in said:
        return "another program holds it open; wait for that one"
    if "not a database" in said or "malformed" in said:
        return "name another file, or move this one away"
    return ""


def _statements(script: str) -> Iterator[str]:
    """Its statements; triggers have a `;` within."""
    text = ""
    for line in script.splitlines(keepends=True):
        text += line
        if sqlite3.complete_statement(text):
            yield text
            text = ""


def _masked(value: object, *, secret: bool = False) -> object:
    """The value without what is secret by its name or by its looks."""
    if isinstance(value, dict):
        return {
            writable(str(key)): _masked(each, secret=is_secret_name(str(key))) for key, each in value.items()
        }
    if isinstance(value, list | tuple):
        return [_masked(each, secret=secret) for each in value]
    if isinstance(value, str):
        return MASK if secret and value else writable(mask(value))
    return value
