"""What the tests of several rooms share: source trees of real engine releases, fetched once and kept."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import platformdirs
import pytest
from hypothesis import settings

EngineTree = Callable[[str], Path]

settings.register_profile("fixed", derandomize=True)
settings.register_profile("random")
settings.load_profile(os.environ.get("ASSAY_HYPOTHESIS") or "fixed")


@pytest.fixture(scope="session")
def engine_tree() -> EngineTree:
    """`engine_tree("0.5.10")` is the folder of that unpacked SGLang wheel.

    It lies below the folder that ASSAY_TEST_CACHE names, or the user's own cache.
    """
    cache = Path(os.environ.get("ASSAY_TEST_CACHE") or platformdirs.user_cache_path("assay-tests"))

    def tree(version: str) -> Path:
        folder = cache / f"sglang-{version}"
        if not folder.is_dir():
            _fetch(version, folder)
        return folder

    return tree


def _fetch(version: str, folder: Path) -> None:
    wheels = folder.with_name(f"{folder.name}.wheel")
    wheels.mkdir(parents=True, exist_ok=True)
    platforms = (
        "--platform",
        "manylinux_2_34_x86_64",
        "--platform",
        "manylinux2014_x86_64",
        "--platform",
        "any",
    )
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary", ":all:"]
    command += ["--python-version", "3.11", *platforms, "--dest", str(wheels), f"sglang=={version}"]
    subprocess.run(command, check=True, timeout=600)
    unpacked = folder.with_name(f"{folder.name}.part")
    with zipfile.ZipFile(next(wheels.glob("*.whl"))) as wheel:
        wheel.extractall(unpacked)
    unpacked.rename(folder)
