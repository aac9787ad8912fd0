"""Real machines that tests may break: a rig of systemd hosts with sshd, cables and disks of their own."""

from __future__ import annotations

import io
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from assay.hosts import Secret, SshHost

PASSWORD = "assay-rig"  # noqa: S105 -- that of the rig's users


class Rig:
    """Two machines, rig1 and rig2."""

    def __init__(
        self, folder: Path, *, count: int = 2, binds: Sequence[Path] = (), packages: str = ""
    ) -> None:
        self._rig = folder
        self.folder = Path(tempfile.mkdtemp(prefix="assay-rig-", dir="/tmp"))
        self._environment = {**os.environ, "RIG_STATE": str(self.folder / "state")}
        if packages:  # other hosts, built once
            self._environment["RIG_EXTRA_PACKAGES"] = packages
            self.call("prepare", timeout_s=600)
        shown = [word for path in binds for word in ("--bind", str(path))]
        self.call("up", "-n", str(count), *shown)
        self.config = self.folder / "state" / "ssh_config"

    def call(self, *arguments: str, data: bytes = b"", timeout_s: float = 120.0) -> str:
        """One command of the rig, with `data` on its stdin."""
        command = ["bash", str(self._rig / "rig"), *arguments]
        done = subprocess.run(
            command, input=data, capture_output=True, check=False, env=self._environment, timeout=timeout_s
        )
        assert done.returncode == 0, done.stderr.decode()
        return done.stdout.decode()

    def host(self, name: str = "rig1", *, password: Callable[[], Secret] | None = None) -> SshHost:
        """Impatient, so that tests need not wait long."""
        return SshHost(name, config=self.config, password=password, connect_timeout_s=3, keepalive_s=1)

    def inside(self, *command: str, host: str = "rig1") -> str:
        """What a command says there, without the network."""
        return self.call("exec", host, *command)

    def processes(self, host: str = "rig1") -> str:
        """Command lines there that are not of the machine itself."""
        lines = self.inside("ps", "-A", "-o", "args=", host=host).splitlines()
        return "\n".join(line for line in lines if re.search(r"sh -s|sleep|sudo|dd of|sshd: .*notty", line))

    def put(self, files: dict[str, bytes], *, host: str = "rig1") -> None:
        """Write files, by absolute path; all can be run."""
        packed = io.BytesIO()
        with tarfile.open(fileobj=packed, mode="w") as archive:
            for name, data in files.items():
                member = tarfile.TarInfo(name.lstrip("/"))
                member.size, member.mode, member.mtime = len(data), 0o755, time.time()
                archive.addfile(member, io.BytesIO(data))
        self.call("exec", host, "tar", "-xC", "/", data=packed.getvalue())

    def down(self) -> None:
        """Leave nothing behind."""
        self.call("down")
        shutil.rmtree(self.folder, ignore_errors=True)


def wait_until(condition: Callable[[], object], timeout_s: float = 30.0) -> None:
    deadline = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < deadline, "it did not come true in time"
        time.sleep(0.02)


def begun(words: Sequence[str], *, stdout: int = subprocess.DEVNULL) -> subprocess.Popen[str]:
    """`assay` with these words as a process of its own, which tests may stop or kill; stderr tells."""
    source = Path(__file__).parents[2] / "src"
    return subprocess.Popen(
        [sys.executable, "-m", "assay", *words],
        stderr=subprocess.PIPE,
        stdout=stdout,
        text=True,
        env={**os.environ, "PYTHONPATH": str(source)},
    )


@contextmanager
def a_rig(*, count: int = 2, packages: str = "") -> Iterator[Rig]:
    """A rig of so many machines; where there is none to be had, the tests are skipped and say so."""
    folder = os.environ.get("ASSAY_RIG")
    if not folder:
        pytest.skip("NOT TRIED ON REAL MACHINES: set ASSAY_RIG to the folder of the rig, and be root")
    started = Rig(Path(folder), count=count, packages=packages)
    try:
        yield started
    finally:
        started.down()
