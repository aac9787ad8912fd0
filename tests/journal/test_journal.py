"""The journal keeps what it was given, only grows, and survives kills, full disks and rivals."""

from __future__ import annotations

import os
import shutil
import signal
import sqlite3
import stat
import subprocess
import sys
import threading
from datetime import UTC, datetime
from pathlib import Path

import pytest

from assay._value import Value
from assay.errors import JournalError
from assay.hosts import Secret
from assay.journal import Journal, locked
from assay.journal.lock import lock_path


class Note(Value):
    """Something to write down."""

    text: str
    """Any text."""
    api_key: str = ""
    """A name that says what it holds."""
    more: tuple[Note, ...] = ()
    """Within."""


def opened(path: Path, who: str = "me@here") -> Journal:
    return Journal(path, who=who, clock=lambda: datetime(2026, 12, 1, 2, 3, 4, 5, tzinfo=UTC))


def test_values_in_values_out(tmp_path: Path) -> None:
    note = Note(text='a "quote", \n ü', more=(Note(text="b"),))
    with opened(tmp_path / "new" / "j.sqlite") as journal:
        first = journal.append("llm@gpu1", "plan", note)
        second = journal.append("other", "step", Note(text="c"))
    with opened(tmp_path / "new" / "j.sqlite", who="you@there") as journal:
        third = journal.append("llm@gpu1", "step", Note(text="d"))
        assert journal.entries() == (first, second, third)
        assert journal.entries("llm@gpu1") == (first, third)
        assert journal.entries(after=2) == (third,)
    assert first.value(Note) == note
    assert (first.at, first.who, third.who) == ("2026-12-01T02:03:04.000005+00:00", "me@here", "you@there")
    with pytest.raises(JournalError, match="entry 1 is no int"):
        first.value(int)


def test_only_its_user_may_read_it(tmp_path: Path) -> None:
    with opened(tmp_path / "new" / "j.sqlite") as journal:
        journal.append("s", "k", Note(text=""))
    assert stat.S_IMODE((tmp_path / "new" / "j.sqlite").stat().st_mode) == 0o600
    assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == 0o700


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE entries SET body = ''",
        "DELETE FROM entries",
        "INSERT OR REPLACE INTO entries VALUES (1, '', '', '', '', '')",
    ],
)
def test_nothing_is_changed_or_removed(tmp_path: Path, statement: str) -> None:
    path = tmp_path / "j.sqlite"
    with opened(path) as journal:
        written = journal.append("s", "k", Note(text="stays"))
        database = sqlite3.connect(path)
        with pytest.raises(sqlite3.IntegrityError, match="append-only"):
            database.execute(statement)
        database.close()
        assert journal.entries() == (written,)


def test_what_is_no_utf_8_is_written_all_the_same(tmp_path: Path) -> None:
    with opened(tmp_path / "j.sqlite") as journal:
        assert journal.append("s", "k", Note(text="a\udcff")).value(Note).text == "a?"


def test_secrets_are_never_inside(tmp_path: Path) -> None:
    path = tmp_path / "j.sqlite"
    with opened(path) as journal:
        journal.append("s", "k", Note(text="serve --api-key planted-s3cret", api_key="planted-s3cret"))
        journal.append("s", "k", Note(text="", more=(Note(text="http://me:planted-s3cret@host/"),)))
        with pytest.raises(TypeError):
            journal.append("s", "k", Note(text=Secret("planted-s3cret")))  # type: ignore[arg-type]  # on purpose
    assert b"s3cret" not in path.read_bytes()


_WRITER = """
import sys, time
from pathlib import Path
from tests.journal.test_journal import Note, opened
journal = opened(Path(sys.argv[1]))
while True:
    time.sleep(float(sys.argv[2]))
    print(journal.append("s", "k", Note(text="x" * 3000)).number, flush=True)
"""


def run_writer(path: Path, *, pause_s: float = 0) -> subprocess.Popen[str]:
    root = Path(__file__).parents[2]
    environment = {**os.environ, "PYTHONPATH": f"{root}{os.pathsep}{root / 'src'}"}
    command = [sys.executable, "-c", _WRITER, str(path), str(pause_s)]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True, env=environment)


def test_what_was_written_survives_kill_9(tmp_path: Path) -> None:
    path, seen = tmp_path / "j.sqlite", 0
    for wanted in (1, 3, 7, 20):
        with run_writer(path) as writer:
            assert writer.stdout
            for _ in range(wanted):
                seen = int(writer.stdout.readline())
            writer.send_signal(signal.SIGKILL)
            rest = writer.stdout.read().split()
            seen = int(rest[-1]) if rest else seen
        with opened(path) as journal:
            numbers = [entry.number for entry in journal.entries()]
            assert numbers == list(range(1, len(numbers) + 1))
            assert len(numbers) in (seen, seen + 1)
        database = sqlite3.connect(path)
        assert database.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        database.close()


def test_a_full_disk_leaves_whole_entries(tmp_path: Path) -> None:
    if os.getuid() or not shutil.which("unshare"):
        pytest.skip("NOT TRIED ON A FULL DISK: needs root and unshare")
    # a disk of its own in a mount namespace of its own; the journal is copied out when it is full
    script = (
        'mount -t tmpfs -o size=100k none "$1" && { "$3" -c "$4" "$1/j.sqlite" 0; cp "$1/j.sqlite" "$2"; }'
    )
    disk = tmp_path / "disk"
    disk.mkdir()
    root = Path(__file__).parents[2]
    environment = {**os.environ, "PYTHONPATH": f"{root}{os.pathsep}{root / 'src'}"}
    command = [
        "unshare",
        "-m",
        "sh",
        "-c",
        script,
        "sh",
        str(disk),
        str(tmp_path / "copy"),
        sys.executable,
        _WRITER,
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    if "permission denied" in done.stderr.lower() or "not permitted" in done.stderr.lower():
        pytest.skip("NOT TRIED ON A FULL DISK: may not mount")
    assert "JournalError: cannot write to the journal" in done.stderr
    assert "full" in done.stderr
    with opened(tmp_path / "copy") as journal:
        assert [str(entry.number) for entry in journal.entries()] == done.stdout.split()


def test_many_that_begin_at_once(tmp_path: Path) -> None:
    for each in range(5):
        path = tmp_path / f"{each}.sqlite"
        failures: list[Exception] = []

        def begin(path: Path = path, failures: list[Exception] = failures) -> None:
            try:
                with opened(path) as journal:
                    journal.append("s", "k", Note(text=""))
            except JournalError as error:
                failures.append(error)

        threads = [threading.Thread(target=begin) for _ in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not failures
        with opened(path) as journal:
            assert len(journal.entries()) == 6


def test_two_at_once(tmp_path: Path) -> None:
    path = tmp_path / "j.sqlite"
    # writers without a pause starve each other
    with run_writer(path, pause_s=0.05) as one, run_writer(path, pause_s=0.05) as two:
        assert one.stdout
        assert two.stdout
        numbers = [int(writer.stdout.readline()) for _ in range(10) for writer in (one, two) if writer.stdout]
        one.kill()
        two.kill()
    assert len(set(numbers)) == 20


@pytest.mark.parametrize(
    ("version", "text"), [(2, "newer assay"), (None, "not a database")], ids=["newer", "another file"]
)
def test_what_is_no_journal_of_ours(tmp_path: Path, version: int | None, text: str) -> None:
    path = tmp_path / "j.sqlite"
    if version is None:
        path.write_text("something else " * 1000)
    else:
        opened(path).close()
        database = sqlite3.connect(path)
        database.execute(f"PRAGMA user_version = {version}")
        database.close()
    before = path.read_bytes()
    with pytest.raises(JournalError, match=text):
        opened(path)
    assert path.read_bytes() == before


def test_another_programs_database_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "j.sqlite"
    database = sqlite3.connect(path)
    database.execute("CREATE TABLE mine (x)")
    database.close()
    before = path.read_bytes()
    with pytest.raises(JournalError, match="another program's database"):
        opened(path)
    assert path.read_bytes() == before


def test_a_folder_that_is_none(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for path in (tmp_path / "file" / "j.sqlite", tmp_path):
        with pytest.raises(JournalError, match="cannot open the journal"):
            opened(path)


def test_a_lock_has_an_owner_and_an_age(tmp_path: Path) -> None:
    path = tmp_path / "j.sqlite"
    with locked(path, "llm@gpu1", who="me@here"):
        with pytest.raises(JournalError, match=rf"by me@here, process {os.getpid()}, for 0 s"):
            locked(path, "llm@gpu1", who="you@there").__enter__()
        with locked(path, "llm@gpu2", who="you@there"):
            pass
        lock_path(path, "llm@gpu1").write_text("{")
        with pytest.raises(JournalError, match="another assay"):
            locked(path, "llm@gpu1", who="you@there").__enter__()
    with locked(path, "llm@gpu1", who="you@there"):
        pass


def test_a_lock_ends_with_its_owner(tmp_path: Path) -> None:
    text = (
        "import sys, time; from pathlib import Path; from assay.journal import locked\n"
        "with locked(Path(sys.argv[1]), 's', who='gone'): print(flush=True); time.sleep(60)"
    )
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2] / "src")}
    command = [sys.executable, "-c", text, str(tmp_path / "j")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=environment) as holder:
        assert holder.stdout
        holder.stdout.readline()
        with pytest.raises(JournalError, match="by gone"):
            locked(tmp_path / "j", "s", who="me").__enter__()
        holder.kill()
    with locked(tmp_path / "j", "s", who="me"):
        pass


def test_threads_wait_for_each_other(tmp_path: Path) -> None:
    path = tmp_path / "j.sqlite"

    def write() -> None:
        with opened(path) as journal:
            for _ in range(5):
                journal.append("s", "k", Note(text=""))

    threads = [threading.Thread(target=write) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with opened(path) as journal:
        assert len(journal.entries()) == 20


def test_a_name_that_sqlite_would_take_for_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for count in (1, 2):
        with opened(Path(":memory:")) as journal:
            journal.append("s", "k", Note(text="x"))
            assert len(journal.entries()) == count


def test_a_disk_without_locks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise OSError(37, "No locks available")

    monkeypatch.setattr("fcntl.flock", refuse)
    with pytest.raises(JournalError, match="No locks"), locked(tmp_path / "j", "a", who="me"):
        pass
