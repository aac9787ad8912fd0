"""Files are read whole and written whole or not at all, here and over a real ssh."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from assay.errors import CommandFailed, InputError
from assay.hosts import Host

ROOT = os.getuid() == 0


def test_bytes_come_back(host: Host, tmp_path: Path) -> None:
    path = f"{tmp_path}/a 'b' \"c\" $d\n"
    for data in (b"", b"\n", bytes(range(256)) * 3, os.urandom(20 << 20)):
        host.write(path, data)
        assert host.read(path) == data
        assert Path(path).read_bytes() == data
    assert [each.name for each in tmp_path.iterdir()] == [path.rpartition("/")[2]]


def test_a_new_file_has_the_mode_that_is_asked_for(host: Host, tmp_path: Path) -> None:
    host.write(f"{tmp_path}/plain", b"x")
    host.write(f"{tmp_path}/secret", b"x", mode=0o600)
    modes = {each.name: stat.S_IMODE(each.stat().st_mode) for each in tmp_path.iterdir()}
    assert modes == {"plain": 0o644, "secret": 0o600}


@pytest.mark.skipif(not ROOT, reason="only root may give files away")
def test_an_existing_file_keeps_its_mode_and_owner(host: Host, tmp_path: Path) -> None:
    path = tmp_path / "unit"
    path.write_bytes(b"old")
    path.chmod(0o4750)
    os.chown(path, 12, 34)
    path.chmod(0o4750)
    host.write(str(path), b"new")
    seen = path.stat()
    assert (stat.S_IMODE(seen.st_mode), seen.st_uid, seen.st_gid) == (0o4750, 12, 34)
    host.write(str(path), b"newer", mode=0o640, owner="1:2")
    seen = path.stat()
    assert (stat.S_IMODE(seen.st_mode), seen.st_uid, seen.st_gid) == (0o640, 1, 2)


def test_a_link_stays_and_its_file_is_written(host: Host, tmp_path: Path) -> None:
    (tmp_path / "real").write_bytes(b"old")
    (tmp_path / "link").symlink_to("real")
    host.write(f"{tmp_path}/link", b"new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_bytes() == b"new"


def test_a_reader_never_sees_half_a_file(host: Host, tmp_path: Path) -> None:
    path = tmp_path / "f"
    path.write_bytes(b"old")
    with path.open("rb") as reader:
        host.write(str(path), b"new")
        assert reader.read() == b"old"


def test_what_cannot_be_written_leaves_what_was_there(host: Host, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    with pytest.raises(CommandFailed, match="as it was"):
        host.write(f"{tmp_path}/folder", b"x")
    with pytest.raises(CommandFailed, match="as it was"):
        host.write(f"{tmp_path}/no/such/folder", b"x")
    (tmp_path / "file").write_bytes(b"old")
    with pytest.raises(CommandFailed, match="as it was") as caught:
        host.write(f"{tmp_path}/file", b"planted-s3cret", owner="no-such-user-at-all")
    assert "s3cret" not in repr(caught.value.__dict__)
    assert (tmp_path / "file").read_bytes() == b"old"
    assert sorted(each.name for each in tmp_path.iterdir()) == ["file", "folder"]


def test_reading_is_bounded_and_says_why_it_failed(host: Host, tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(bytes(101))
    assert len(host.read(f"{tmp_path}/f", limit_bytes=101)) == 101
    with pytest.raises(CommandFailed, match="more than 100 bytes"):
        host.read(f"{tmp_path}/f", limit_bytes=100)
    with pytest.raises(CommandFailed, match="cannot read") as caught:
        host.read(f"{tmp_path}/none")
    assert "No such file" in caught.value.details[0]
    assert host.read("/proc/self/cmdline").startswith(b"head\0")


def test_there_or_not_there(host: Host, tmp_path: Path) -> None:
    (tmp_path / "dangling").symlink_to("nowhere")
    (tmp_path / "f").touch()
    names = ["f", "dangling", ".", "none", "f/x", "none/none"]
    assert [host.exists(f"{tmp_path}/{name}") for name in names] == [True, True, True, False, False, False]


def test_removed_is_removed_and_twice_is_fine(host: Host, tmp_path: Path) -> None:
    (tmp_path / "-f").touch()
    host.remove(f"{tmp_path}/-f")
    host.remove(f"{tmp_path}/-f")
    assert not host.exists(f"{tmp_path}/-f")
    with pytest.raises(CommandFailed, match="cannot remove"):
        host.remove(str(tmp_path))


@pytest.mark.parametrize("path", ["", "relative", "-x", "~/x", "/a\0b"])
def test_paths_are_absolute(host: Host, path: str) -> None:
    with pytest.raises(InputError):
        host.read(path)
