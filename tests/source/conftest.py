"""Small engines for the tests of this room: as files, as a wheel, as trees written for one test."""

from __future__ import annotations

import textwrap
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

FILES = {
    "sglang/__init__.py": b"",
    "sglang/version.py": b'__version__ = "0.5.10"\n',
    "sglang/launch_server.py": b"from sglang.srt.server_args import ServerArgs\n",
    "sglang/srt/server_args.py": b"class ServerArgs:\n    tp_size: int = 1\n",
    "sglang/srt/configs/a=1.json": b"{}",
}


@pytest.fixture
def files() -> dict[str, bytes]:
    """Path -> content of the small engine's package."""
    return dict(FILES)


class Wheels:
    """Makes wheels in one folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def make(
        self, files: dict[str, bytes] | None = None, version: str = "0.5.10", tag: str = "py3-none-any"
    ) -> Path:
        path = self.folder / f"sglang-{version}-{tag}.whl"
        info = f"sglang-{version}.dist-info"
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as wheel:
            for name, content in (files if files is not None else FILES).items():
                wheel.writestr(name, content)
            wheel.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: sglang\nVersion: {version}\n")
            wheel.writestr(f"{info}/WHEEL", f"Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: {tag}\n")
            wheel.writestr(f"{info}/RECORD", "")
        return path


@pytest.fixture
def wheels(tmp_path: Path) -> Wheels:
    """Makes wheels in `wheels.folder`."""
    folder = tmp_path / "wheels"
    folder.mkdir()
    return Wheels(folder)


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    """A folder for the cache, not yet there."""
    return tmp_path / "cache"


@pytest.fixture
def sglang_folder(tmp_path: Path) -> Path:
    """The small engine as a checkout."""
    root = tmp_path / "checkout"
    for name, content in FILES.items():
        path = root / "python" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return root


WriteTree = Callable[[dict[str, str]], Path]


@pytest.fixture
def write_tree(tmp_path: Path) -> WriteTree:
    """Writes files by their path from the root of a tree, packages included; returns the root."""

    def write(files: dict[str, str]) -> Path:
        for name, text in files.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            for folder in path.relative_to(tmp_path).parents:
                if folder != Path() and path.suffix == ".py":
                    (tmp_path / folder / "__init__.py").touch()
            path.write_text(textwrap.dedent(text))
        return tmp_path

    return write
