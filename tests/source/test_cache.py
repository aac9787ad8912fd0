"""The cache: records, trees, digests of folders; crashes and concurrent processes."""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from assay.deployment import EngineReference
from assay.engines import ENGINES
from assay.errors import SourceError
from assay.source import Tree, no_progress, open_tree, read
from assay.source.fetching import names as names_module
from assay.source.fetching.cache import Cache
from assay.source.fetching.digest import digest_folder

SGLANG = ENGINES["sglang"]


def tree_of(path: Path, cache: Path) -> Tree:
    return open_tree(EngineReference(kind="folder", engine=None, value=str(path)), engine=SGLANG, cache=cache)


def listing(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*")}


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The files whose contents are digested from here on."""
    from assay.source.fetching import digest

    seen: list[str] = []
    original = digest._sha256

    def watched(path: str) -> str:
        seen.append(path)
        return original(path)

    monkeypatch.setattr(digest, "_sha256", watched)
    return seen


@pytest.fixture
def settled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Files count as old enough for their times to be believed."""
    monkeypatch.setattr("assay.source.fetching.digest._FRESH_NS", -(10**18))


def test_what_is_stored_comes_back_for_its_digest_name_and_schema_only(cache: Path) -> None:
    store = Cache(cache)
    assert store.cached("d" * 64, "declarations", "1") is None
    store.store("d" * 64, "declarations", "1", b"payload")
    assert store.cached("d" * 64, "declarations", "1") == b"payload"
    assert store.cached("d" * 64, "declarations", "2") is None
    assert store.cached("e" * 64, "declarations", "1") is None


@pytest.mark.parametrize("damage", [lambda data: data[:-1], lambda _: b"", lambda data: b"x" + data[1:]])
def test_a_damaged_record_counts_as_absent(cache: Path, damage: Callable[[bytes], bytes]) -> None:
    store = Cache(cache)
    store.store("d", "n", "1", b"payload")
    (record,) = (path for path in (cache / "v1/records/derived").iterdir())
    record.write_bytes(damage(record.read_bytes()))
    assert store.cached("d", "n", "1") is None


def test_a_cache_that_cannot_be_written_is_only_slower(sglang_folder: Path, tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("no folder")
    assert tree_of(sglang_folder, blocked / "cache").version == "0.5.10"


def test_a_wheel_needs_a_cache_that_can_be_written(wheels: Any, tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("no folder")
    with pytest.raises(SourceError, match="cannot write to the cache") as caught:
        tree_of(wheels.make(), blocked / "cache")
    assert "folder for the cache" in caught.value.hint


def test_a_full_disk_is_said_and_leaves_nothing(
    wheels: Any, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(out: object, data: bytes) -> None:
        del out, data
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(names_module, "_write_all", full)
    with pytest.raises(SourceError, match="No space left on device") as caught:
        tree_of(wheels.make(), cache)
    assert "make room" in caught.value.hint
    assert listing(cache / "v1") == {"scratch", "scratch/gate"}


def test_a_wheel_and_a_checkout_of_the_same_package_have_the_same_digest(
    wheels: Any, sglang_folder: Path, cache: Path
) -> None:
    (sglang_folder / "python/sglang/__pycache__").mkdir()
    (sglang_folder / "python/sglang/__pycache__/x.cpython-311.pyc").write_bytes(b"1")
    assert tree_of(wheels.make(), cache).digest == tree_of(sglang_folder, cache).digest


def test_a_patched_fork_has_another_digest(wheels: Any, files: dict[str, bytes], cache: Path) -> None:
    one = tree_of(wheels.make(), cache)
    files["sglang/srt/server_args.py"] += b"    # patched\n"
    other = tree_of(wheels.make(files), cache)
    assert one.version == other.version == "0.5.10"
    assert one.digest != other.digest
    assert Path(one.root) != Path(other.root)


def test_a_moved_file_changes_the_digest(sglang_folder: Path, cache: Path) -> None:
    before = tree_of(sglang_folder, cache).digest
    package = sglang_folder / "python/sglang"
    (package / "srt/server_args.py").rename(package / "srt/arguments.py")
    assert tree_of(sglang_folder, cache).digest != before


@pytest.mark.usefixtures("settled")
def test_a_warm_digest_reads_no_file(sglang_folder: Path, cache: Path, reads: list[str]) -> None:
    first = tree_of(sglang_folder, cache)
    assert len(reads) == 5
    reads.clear()
    assert tree_of(sglang_folder, cache) == first
    assert reads == []


@pytest.mark.usefixtures("settled")
def test_a_changed_file_is_noticed_and_only_it_is_read(
    sglang_folder: Path, cache: Path, reads: list[str]
) -> None:
    before = tree_of(sglang_folder, cache)
    reads.clear()
    changed = sglang_folder / "python/sglang/srt/server_args.py"
    status = changed.stat()
    changed.write_bytes(changed.read_bytes().replace(b"1", b"2"))
    os.utime(changed, ns=(status.st_atime_ns, status.st_mtime_ns))
    after = tree_of(sglang_folder, cache)
    assert after.digest != before.digest
    assert reads == [str(changed)]


def test_a_file_changed_right_after_it_was_read_is_read_again(
    sglang_folder: Path, cache: Path, reads: list[str]
) -> None:
    tree_of(sglang_folder, cache)
    reads.clear()
    tree_of(sglang_folder, cache)
    assert len(reads) == 5


def test_an_unpacked_tree_is_not_read_again(wheels: Any, cache: Path, reads: list[str]) -> None:
    wheel = wheels.make()
    first = tree_of(wheel, cache)
    assert tree_of(wheel, cache) == first
    assert reads == []


@pytest.mark.parametrize("damage", ["change", "remove", "add", "all"])
def test_a_damaged_tree_is_unpacked_again(wheels: Any, cache: Path, damage: str) -> None:
    wheel = wheels.make()
    tree = tree_of(wheel, cache)
    target = tree.folder / "version.py"
    if damage == "change":
        target.write_text('__version__ = "6.6.6"\n')
    elif damage == "remove":
        target.unlink()
    elif damage == "add":
        (tree.folder / "extra.py").write_text("")
    else:
        shutil.rmtree(tree.root)
    assert tree_of(wheel, cache) == tree
    assert target.read_text() == '__version__ = "0.5.10"\n'
    assert not (tree.folder / "extra.py").exists()


def test_records_of_another_form_are_made_again(wheels: Any, cache: Path) -> None:
    wheel = wheels.make()
    tree = tree_of(wheel, cache)
    store = Cache(cache)
    for record in (cache / "v1/records/sources").iterdir():
        store.save("sources", "x", b"\x81\xa1a\x01")
        record.write_bytes((cache / "v1/records/sources" / record.name).read_bytes()[:-3])
    assert tree_of(wheel, cache) == tree


def test_a_cache_that_was_moved_is_still_good(wheels: Any, cache: Path, tmp_path: Path) -> None:
    wheel = wheels.make()
    tree = tree_of(wheel, cache)
    cache.rename(tmp_path / "moved")
    moved = tree_of(wheel, tmp_path / "moved")
    assert moved.digest == tree.digest
    assert moved.folder.is_dir()
    assert str(tmp_path / "moved") in moved.root


def test_links_out_of_a_checkout_are_omitted(sglang_folder: Path, cache: Path, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("secret")
    package = sglang_folder / "python/sglang"
    (package / "out.py").symlink_to(tmp_path / "secret")
    (package / "in.py").symlink_to("version.py")
    os.mkfifo(package / "fifo")
    tree = tree_of(sglang_folder, cache)
    assert {each.file for each in tree.omitted} == {"sglang/out.py", "sglang/fifo"}


def test_pipes_and_names_that_are_no_text_keep_nobody(sglang_folder: Path, cache: Path) -> None:
    python = sglang_folder / "python"
    (python / "sglang/version.py").unlink()
    info = python / "sglang-1.dist-info"
    info.mkdir()
    for path in (
        python / "sglang/version.py",
        python / "x.pth",
        info / "METADATA",
        sglang_folder / ".git/HEAD",
    ):
        path.parent.mkdir(exist_ok=True)
        os.mkfifo(path)
    (python / "sglang/a\udcff.py").write_text("")
    tree = tree_of(sglang_folder, cache)
    assert tree.version is None
    reasons = {each.file: each.reason for each in tree.omitted}
    assert reasons["sglang/a\\xff.py"] == "its name is not UTF-8"
    assert tree_of(sglang_folder, cache).digest == tree.digest


def test_a_file_over_the_limit_counts_in_the_digest(
    sglang_folder: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("assay.source.fetching.digest.FILE_LIMIT_BYTES", 30)
    hashes, omitted = digest_folder(
        sglang_folder / "python", "sglang", cache=Cache(cache), progress=no_progress
    )
    assert {each.file for each in omitted} == {"sglang/launch_server.py", "sglang/srt/server_args.py"}
    assert all(each.sha256 for each in omitted)
    assert len(hashes) == 3


OPEN = """
import os, signal, sys
from pathlib import Path
from assay.deployment import EngineReference
from assay.engines import ENGINES
from assay.source import open_tree
def progress(stage, done, total):
    if stage == "unpack" and done == 128 and {kill}:
        os.kill(os.getpid(), signal.SIGKILL)
reference = EngineReference(kind="folder", engine=None, value=sys.argv[1])
print(open_tree(reference, engine=ENGINES["sglang"], cache=Path(sys.argv[2]), progress=progress).digest)
"""


def opener(wheel: Path, cache: Path, *, kill: bool) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", OPEN.format(kill=kill), str(wheel), str(cache)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def test_a_killed_run_leaves_only_scratch_which_the_next_one_removes(
    wheels: Any, files: dict[str, bytes], cache: Path
) -> None:
    files.update({f"sglang/m{number}.py": b"x = 1\n" for number in range(300)})
    wheel = wheels.make(files)
    with opener(wheel, cache, kill=True) as process:
        assert process.wait() == -signal.SIGKILL
    assert not (cache / "v1/trees").exists()
    assert (cache / "v1/scratch").is_dir()
    assert len(list((cache / "v1/scratch").rglob("*.py"))) == 127
    tree = tree_of(wheel, cache)
    assert len(list(tree.folder.rglob("*.py"))) == 304
    assert listing(cache / "v1/scratch") == {"gate"}


def test_two_processes_at_once_agree(wheels: Any, files: dict[str, bytes], cache: Path) -> None:
    files.update({f"sglang/m{number}.py": b"x = 1\n" * 500 for number in range(300)})
    wheel = wheels.make(files)
    processes = [opener(wheel, cache, kill=False) for _ in range(2)]
    answers = [process.communicate()[0] for process in processes]
    assert answers[0] == answers[1]
    assert [process.returncode for process in processes] == [0, 0]
    assert listing(cache / "v1/scratch") == {"gate"}
    assert len(list((cache / "v1/trees").iterdir())) == 1


def test_scratch_of_a_process_that_lives_is_left(cache: Path) -> None:
    store = Cache(cache)
    with store.scratch() as first:
        (first / "work").write_text("x")
        with store.scratch():
            assert (first / "work").exists()
    assert listing(cache / "v1/scratch") == {"gate"}


def test_declarations_are_read_once(
    sglang_folder: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from assay.source import Constant, Declarations, Field, Site

    site = Site(file="sglang/srt/server_args.py", line=1)
    field = Field(
        name="tp_size", type="int", default=Constant(known=True, value=1), required=False, declared_at=site
    )
    made = Declarations(
        idiom="x",
        arguments_class="ServerArgs",
        declared_at=site,
        options=(),
        fields=(field,),
        environment=(),
        environment_words=(),
    )
    calls: list[str] = []

    def run(job: str, request: bytes, **_: object) -> bytes:
        asked = msgspec.msgpack.decode(request)
        calls.append(f"{job} {asked['root'].decode()}")
        return msgspec.msgpack.encode(made)

    monkeypatch.setattr("assay.source.child.reading.run_limited", run)
    tree = tree_of(sglang_folder, cache)
    assert read(tree, cache=cache) == made
    assert read(tree, cache=cache) == made
    assert calls == [f"declarations {sglang_folder / 'python'}"]
    read(msgspec.structs.replace(tree, digest="0" * 64), cache=cache)
    assert len(calls) == 2


@pytest.mark.parametrize("link", ["v1", "v1/trees", "v1/scratch", "v1/records/sources", "v1/scratch/gate"])
def test_links_inside_the_cache_are_not_written_through(
    wheels: Any, cache: Path, tmp_path: Path, link: str
) -> None:
    wheel = wheels.make()
    victim = tmp_path / "victim"
    victim.mkdir()
    (cache / link).parent.mkdir(parents=True)
    (cache / link).symlink_to(victim / "new" if link.endswith("gate") else victim)
    (cache / "CACHEDIR.TAG").symlink_to(victim / "tag")
    with contextlib.suppress(SourceError):
        tree_of(wheel, cache)
    assert list(victim.iterdir()) == []


def test_records_that_are_pipes_or_devices_count_as_absent(wheels: Any, cache: Path) -> None:
    wheel = wheels.make()
    tree = tree_of(wheel, cache)
    for number, record in enumerate((cache / "v1/records").glob("*/*")):
        record.unlink()
        os.mkfifo(record) if number % 2 else record.symlink_to("/dev/zero")
    assert tree_of(wheel, cache) == tree


def test_a_tree_that_is_a_link_is_replaced(wheels: Any, cache: Path, tmp_path: Path) -> None:
    wheel = wheels.make()
    tree = tree_of(wheel, cache)
    Path(tree.root).rename(tmp_path / "kept")
    (tmp_path / "other").mkdir()
    Path(tree.root).symlink_to(tmp_path / "other")
    assert tree_of(wheel, cache) == tree
    assert not Path(tree.root).is_symlink()
    assert list((tmp_path / "other").iterdir()) == []


def test_a_cache_whose_name_is_no_text(wheels: Any, tmp_path: Path) -> None:
    wheel = wheels.make()
    cache = tmp_path / "a\udcff"
    tree = tree_of(wheel, cache)
    assert tree_of(wheel, cache) == tree
