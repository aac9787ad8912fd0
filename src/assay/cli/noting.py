"""Who does what, when: the journal and lock of a unit, names of rollouts, and steps on stderr."""

from __future__ import annotations

import contextlib
import getpass
import os
import re
import secrets
import signal
import socket
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from assay.journal import Journal, locked

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import FrameType

    from assay._value import Value
    from assay.deployment import Live
    from assay.journal import Entry


@contextlib.contextmanager
def noting(live: Live, journal: Path | None) -> Iterator[Callable[[str, Value], None]]:
    """The lock of the unit, and what writes into the journal about it."""
    subject = subject_of(live)
    with opened(subject, journal) as book:

        def note(kind: str, body: Value) -> None:
            book.append(subject, kind, body)

        yield note


def subject_of(live: Live) -> str:
    """What the journal calls a unit."""
    whose = "user " if live.user else ""
    return f"{whose}{live.unit}@{live.host or socket.gethostname()}"


@contextlib.contextmanager
def opened(subject: str, journal: Path | None) -> Iterator[Journal]:
    """The journal, with the lock of that subject held."""
    path, user = journal or journal_path(), who()
    with locked(path, subject, who=user), Journal(path, who=user) as book:
        yield book


def read_journal(journal: Path | None, subject: str | None = None) -> tuple[Entry, ...]:
    """What the journal holds, of one subject or of all, without its lock; nothing where there is none yet."""
    path = journal or journal_path()
    if not path.exists():
        return ()
    with Journal(path, who=who()) as book:
        return book.entries(subject)


def nothing(_kind: str, _body: Value) -> None:
    """A dry run leaves no trace."""


def journal_path() -> Path:
    """Where it lies unless an option says otherwise."""
    named = os.environ.get("ASSAY_JOURNAL")
    if named:
        return Path(named)
    import platformdirs

    return Path(platformdirs.user_state_dir("assay", appauthor=False)) / "journal.sqlite"


def say(step: str) -> None:
    """A step begins."""
    tell(f"assay: {step} ...")


def tell(text: str) -> None:
    """Print it to stderr; a terminal that is gone ends nothing that is half done."""
    with contextlib.suppress(OSError):
        print(text, file=sys.stderr, flush=True)


def who() -> str:
    """`user@machine`, fit for a file's name."""
    try:
        user = getpass.getuser()
    except (KeyError, OSError):  # a container whose user has no name
        user = str(os.getuid())
    return re.sub(r"[^\w.@-]", "_", f"{user}@{socket.gethostname()}", flags=re.ASCII)


def new_id() -> str:
    """A name for a rollout."""
    return f"{datetime.now(UTC):%Y%m%d-%H%M%S}-{secrets.token_hex(3)}"


@contextlib.contextmanager
def interrupted_by(*signals: signal.Signals) -> Iterator[None]:
    """These end what is under way as Ctrl-C does: what was measured is kept, what was changed goes back."""

    def stop(_number: int, _frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    heard = [each for each in signals if signal.getsignal(each) is not signal.SIG_IGN]  # as under nohup
    before = {each: signal.signal(each, stop) for each in heard}
    try:
        yield
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)
