"""Unpacking wheels: what is taken, what is refused, and that nothing is written elsewhere."""

from __future__ import annotations

import contextlib
import hashlib
import io
import stat
import struct
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from assay.errors import EngineNotFound, SourceError
from assay.source.fetching.image import untar
from assay.source.fetching.names import Unpacked, UnpackLimits
from assay.source.fetching.unpack import unpack_wheel
from assay.source.progress import no_progress


def unpack(wheel: Path, into: Path, limits: UnpackLimits | None = None) -> Unpacked:
    into.mkdir(exist_ok=True)
    return unpack_wheel(wheel, into, packages=("sglang",), progress=no_progress, limits=limits)


def listing(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*")}


def test_the_package_and_its_metadata_are_taken_and_nothing_else(
    wheels: Any, files: dict[str, bytes], tmp_path: Path
) -> None:
    wheel = wheels.make({**files, "tools/x.py": b"x", "sglang/__pycache__/a.pyc": b"1"})
    unpacked = unpack(wheel, tmp_path / "tree")
    assert unpacked.hashes == {name: hashlib.sha256(data).hexdigest() for name, data in files.items()}
    assert (tmp_path / "tree/sglang/srt/configs/a=1.json").read_bytes() == b"{}"
    assert (tmp_path / "tree/sglang-0.5.10.dist-info/METADATA").is_file()
    assert not (tmp_path / "tree/tools").exists()
    assert not any(path.stat().st_mode & 0o111 for path in (tmp_path / "tree").rglob("*") if path.is_file())


def test_files_of_the_data_folder_land_in_the_package(wheels: Any, tmp_path: Path) -> None:
    wheel = wheels.make({"sglang-0.5.10.data/purelib/sglang/__init__.py": b"x = 1"})
    assert "sglang/__init__.py" in unpack(wheel, tmp_path / "tree").hashes


def test_a_large_file_is_digested_and_not_kept(wheels: Any, files: dict[str, bytes], tmp_path: Path) -> None:
    wheel = wheels.make({**files, "sglang/kernel.so": b"\x7fELF" + bytes(2000)})
    unpacked = unpack(wheel, tmp_path / "tree", UnpackLimits(file_bytes=1000))
    (omitted,) = unpacked.omitted
    assert omitted.file == "sglang/kernel.so"
    assert omitted.sha256 == hashlib.sha256(b"\x7fELF" + bytes(2000)).hexdigest()
    assert not (tmp_path / "tree/sglang/kernel.so").exists()


def test_another_package_is_not_found(wheels: Any, tmp_path: Path) -> None:
    with pytest.raises(EngineNotFound, match="has no package sglang"):
        unpack(wheels.make({"other/__init__.py": b""}), tmp_path / "tree")


Hostile = Callable[[zipfile.ZipFile], object]


def entry(name: str, mode: int = stat.S_IFREG | 0o644) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(name)
    info.external_attr = mode << 16
    return info


HOSTILE: dict[str, tuple[Hostile, str]] = {
    "parent": (lambda z: z.writestr("sglang/../../evil.py", "x"), "leads out"),
    "parent elsewhere": (lambda z: z.writestr("../evil.py", "x"), "leads out"),
    "absolute": (lambda z: z.writestr(entry("/tmp/assay-evil.py"), "x"), "absolute"),
    "drive": (lambda z: z.writestr("C:/evil.py", "x"), "absolute"),
    "drive without slash": (lambda z: z.writestr("c:evil.py", "x"), "absolute"),
    "backslash": (lambda z: z.writestr("sglang\\..\\evil.py", "x"), "backslash"),
    "line break": (lambda z: z.writestr("sglang/a\nb.py", "x"), "control"),
    "empty part": (lambda z: z.writestr("sglang//a.py", "x"), "empty part"),
    "dot": (lambda z: z.writestr("sglang/./a.py", "x"), "empty part"),
    "long": (lambda z: z.writestr("sglang/" + "a" * 300, "x"), "too long"),
    "link": (lambda z: z.writestr(entry("sglang/link", stat.S_IFLNK | 0o777), "/etc/passwd"), "symbolic"),
    "fifo": (lambda z: z.writestr(entry("sglang/fifo", stat.S_IFIFO | 0o644), ""), "special"),
    "device": (lambda z: z.writestr(entry("sglang/dev", stat.S_IFCHR | 0o644), ""), "special"),
    "folder as file": (lambda z: z.writestr(entry("sglang/dir", stat.S_IFDIR | 0o755), ""), "special"),
    "case": (lambda z: z.writestr("sglang/VERSION.py", "x"), "case"),
    "case of folders": (lambda z: z.writestr("sglang/SRT/a.py", "x"), "case"),
    "unicode forms": (
        lambda z: [z.writestr(f"sglang/{form}.py", "x") for form in ("e\u0301", "\xe9")],  # type: ignore[func-returns-value]
        "case",
    ),
    "file and folder": (lambda z: z.writestr("sglang/srt", "x"), "file and folder"),
    "file below file": (lambda z: z.writestr("sglang/version.py/a.py", "x"), "file and folder"),
    "packed oddly": (
        lambda z: z.writestr("sglang/b.py", b"x" * 99, compress_type=zipfile.ZIP_BZIP2),
        "method 12",
    ),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_entries_are_refused_before_anything_is_written(
    wheels: Any, tmp_path: Path, name: str
) -> None:
    add, reason = HOSTILE[name]
    wheel = wheels.make()
    with zipfile.ZipFile(wheel, "a") as archive:
        add(archive)
    (tmp_path / "tree").mkdir()
    before = listing(tmp_path)
    with pytest.raises(SourceError, match=reason) as caught:
        unpack(wheel, tmp_path / "tree")
    assert "\n" not in str(caught.value)
    assert listing(tmp_path) == before
    assert not Path("/tmp/assay-evil.py").exists()


def test_the_same_name_twice_is_refused(wheels: Any, tmp_path: Path) -> None:
    wheel = wheels.make()
    with zipfile.ZipFile(wheel, "a") as archive, pytest.warns(UserWarning, match="Duplicate"):
        archive.writestr("sglang/version.py", "other")
    with pytest.raises(SourceError, match="in it twice"):
        unpack(wheel, tmp_path / "tree")


def test_the_same_name_by_way_of_the_data_folder_is_refused(
    wheels: Any, files: dict[str, bytes], tmp_path: Path
) -> None:
    wheel = wheels.make({**files, "sglang-0.5.10.data/purelib/sglang/version.py": b"other"})
    with pytest.raises(SourceError, match="in it twice"):
        unpack(wheel, tmp_path / "tree")


def central(wheel: Path, name: bytes) -> int:
    """Offset of an entry in the list of files."""
    data = wheel.read_bytes()
    return data.rindex(name, 0, data.rindex(b"PK\5\6")) - 46


def patch(wheel: Path, offset: int, value: bytes) -> None:
    data = bytearray(wheel.read_bytes())
    data[offset : offset + len(value)] = value
    wheel.write_bytes(data)


def test_an_encrypted_file_is_refused(wheels: Any, tmp_path: Path) -> None:
    wheel = wheels.make()
    patch(wheel, central(wheel, b"sglang/version.py") + 8, b"\x01\x00")
    with pytest.raises(SourceError, match="encrypted"):
        unpack(wheel, tmp_path / "tree")


def test_files_that_share_bytes_are_refused(wheels: Any, tmp_path: Path) -> None:
    wheel = wheels.make()
    one, other = central(wheel, b"sglang/version.py"), central(wheel, b"sglang/launch_server.py")
    patch(wheel, other + 42, wheel.read_bytes()[one + 42 : one + 46])
    with pytest.raises(SourceError, match="share the same bytes"):
        unpack(wheel, tmp_path / "tree")


def test_a_wheel_that_announces_ten_gigabytes_is_refused_at_once(wheels: Any, tmp_path: Path) -> None:
    wheel = wheels.make({"sglang/__init__.py": b"", **{f"sglang/{n}.bin": bytes(64) for n in range(3)}})
    for number in range(3):
        patch(wheel, central(wheel, b"sglang/%d.bin" % number) + 24, struct.pack("<L", 0xD0000000))
    with pytest.raises(SourceError, match=r"unpacks to 10,468,\d+,\d+ bytes"):
        unpack(wheel, tmp_path / "tree")
    assert listing(tmp_path / "tree") == set()


def test_a_wheel_of_zeros_is_refused_by_its_ratio(wheels: Any, tmp_path: Path) -> None:
    wheel = wheels.make({"sglang/__init__.py": b"", "sglang/zeros.bin": bytes(65 << 20)})
    with pytest.raises(SourceError, match="bytes unpack to"):
        unpack(wheel, tmp_path / "tree")


def test_a_file_that_inflates_to_more_than_announced_is_refused(wheels: Any, tmp_path: Path) -> None:
    wheel = wheels.make({"sglang/__init__.py": b"", "sglang/zeros.bin": bytes(5 << 20)})
    patch(wheel, central(wheel, b"sglang/zeros.bin") + 24, struct.pack("<L", 1000))
    with pytest.raises(SourceError, match=r"broken|where 1,000 are announced"):
        unpack(wheel, tmp_path / "tree")
    assert sum(path.stat().st_size for path in (tmp_path / "tree").rglob("*") if path.is_file()) < 2000


def test_a_file_that_inflates_to_less_than_announced_is_refused(wheels: Any, tmp_path: Path) -> None:
    wheel = wheels.make({"sglang/__init__.py": b"", "sglang/a.bin": bytes(100)})
    patch(wheel, central(wheel, b"sglang/a.bin") + 24, struct.pack("<L", 200))
    with pytest.raises(SourceError, match="100 bytes where 200 are announced"):
        unpack(wheel, tmp_path / "tree")


def test_all_files_together_are_bounded_while_they_inflate(
    wheels: Any, files: dict[str, bytes], tmp_path: Path
) -> None:
    wheel = wheels.make({**files, "sglang/a.bin": bytes(3000)})
    with pytest.raises(SourceError, match="more than 2,000"):
        unpack(wheel, tmp_path / "tree", UnpackLimits(total_bytes=2000))


def test_too_many_entries_are_refused(wheels: Any, tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="more than 3 entries"):
        unpack(wheels.make(), tmp_path / "tree", UnpackLimits(entries=3))


def test_a_list_of_files_that_claims_to_be_huge_is_refused(wheels: Any, tmp_path: Path) -> None:
    wheel = wheels.make()
    patch(wheel, wheel.stat().st_size - 22 + 12, struct.pack("<L", 0x7FFFFFFF))
    with pytest.raises(SourceError, match="list of files has"):
        unpack(wheel, tmp_path / "tree")


@pytest.mark.parametrize("keep", [0.0, 0.3, 0.9, 0.99])
def test_a_cut_off_wheel_is_broken(wheels: Any, tmp_path: Path, keep: float) -> None:
    wheel = wheels.make()
    data = wheel.read_bytes()
    wheel.write_bytes(data[: int(len(data) * keep)])
    with pytest.raises(SourceError, match="is broken: no list of files"):
        unpack(wheel, tmp_path / "tree")


def test_wrong_contents_are_broken(wheels: Any, tmp_path: Path) -> None:
    wheel = wheels.make()
    at = wheel.read_bytes().index(b"sglang/srt/server_args.py") + 30
    patch(wheel, at, b"\xff\xff\xff")
    with pytest.raises(SourceError, match="is broken"):
        unpack(wheel, tmp_path / "tree")


def test_no_single_changed_byte_is_more_than_an_error(wheels: Any, tmp_path: Path) -> None:
    wheel = wheels.make({"sglang/__init__.py": b"x" * 40})
    original = wheel.read_bytes()
    good = unpack(wheel, tmp_path / "good").hashes
    for at in range(0, len(original), 7):
        wheel.write_bytes(original[:at] + bytes([original[at] ^ 0x5A]) + original[at + 1 :])
        before = listing(tmp_path)
        into = tmp_path / f"tree{at}"
        with contextlib.suppress(SourceError):
            assert unpack(wheel, into).hashes == good
        assert {name for name in listing(tmp_path) - before if not name.startswith(into.name)} == set()


def tar_of(*members: tarfile.TarInfo) -> io.BytesIO:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w") as tar:
        for member in members:
            tar.addfile(member, io.BytesIO(b"x" * member.size) if member.isreg() else None)
    stream.seek(0)
    return stream


def member(name: str, kind: bytes = tarfile.REGTYPE, target: str = "") -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.linkname, info.size = kind, target, 5 if kind == tarfile.REGTYPE else 0
    return info


def test_links_and_special_files_of_an_image_are_left_out(tmp_path: Path) -> None:
    stream = tar_of(
        member("sglang", tarfile.DIRTYPE),
        member("sglang/__init__.py"),
        member("sglang/link", tarfile.SYMTYPE, "/etc/passwd"),
        member("sglang/hard", tarfile.LNKTYPE, "sglang/__init__.py"),
        member("sglang/fifo", tarfile.FIFOTYPE),
    )
    unpacked = untar(stream, "image", "sglang", tmp_path)
    assert unpacked is not None
    assert list(unpacked.hashes) == ["sglang/__init__.py"]
    assert {each.file for each in unpacked.omitted} == {"sglang/link", "sglang/hard", "sglang/fifo"}
    assert listing(tmp_path) == {"sglang", "sglang/__init__.py"}


@pytest.mark.parametrize("name", ["../evil", "sglang/../../evil", "sglang/a/./b"])
def test_paths_that_lead_out_of_an_image_are_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(SourceError, match="not safe to unpack"):
        untar(tar_of(member(name)), "image", "sglang", tmp_path)
    assert listing(tmp_path) == set()
