"""A real sshd on loopback, and a look at the processes of this machine."""

from __future__ import annotations

import getpass
import os
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import pytest

SSHD = shutil.which("sshd", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/local/sbin")


def nap(seconds: int) -> str:
    """Words for a `sleep` that no other run of the tests on this machine has."""
    return f"sleep {seconds}.{os.getpid():07d}"


class LoopbackSshd:
    """A real sshd with keys of its own; ssh finds it by the name `loop` in `config`."""

    def __init__(self, folder: Path, *settings: str) -> None:
        self.folder = folder
        self._settings = settings
        for key in ("host", "other", "user"):
            command = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(folder / key)]
            subprocess.run(command, check=True, stdin=subprocess.DEVNULL)
        shutil.copy(folder / "user.pub", folder / "authorized")
        (folder / "authorized").chmod(0o600)
        if os.getuid() == 0:
            Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)
        self.port = 0
        self._start()
        self.config = self.write_config("config")

    def _start(self) -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        lines = (
            f"Port {self.port}",
            "ListenAddress 127.0.0.1",
            f"HostKey {self.folder}/host",
            f"AuthorizedKeysFile {self.folder}/authorized",
            "PidFile none",
            "StrictModes no",
            "PasswordAuthentication no",
            "KbdInteractiveAuthentication no",
            "UsePAM no",
            *self._settings,
        )
        (self.folder / "sshd_config").write_text("\n".join(lines) + "\n")
        assert SSHD
        with (self.folder / "log").open("ab") as log:
            command = [SSHD, "-D", "-e", "-f", str(self.folder / "sshd_config")]
            self._process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        wait_until(self._answers)

    def _answers(self) -> bool:
        assert self._process.poll() is None, (self.folder / "log").read_text()
        with socket.socket() as probe:
            probe.settimeout(1)
            return probe.connect_ex(("127.0.0.1", self.port)) == 0

    def write_config(self, name: str, *, key: str = "host", extra: str = "") -> Path:
        """A configuration for ssh that knows the host by the key of that name, or by none."""
        known = self.folder / f"{name}.known"
        text = (self.folder / f"{key}.pub").read_text() if key else ""
        known.write_text(f"loop {text}" if text else "")
        path = self.folder / name
        path.write_text(
            f"Host loop\n  HostName 127.0.0.1\n  Port {self.port}\n  User {getpass.getuser()}\n"
            f"  HostKeyAlias loop\n  IdentityFile {self.folder}/user\n  IdentitiesOnly yes\n"
            f"  UserKnownHostsFile {known}\n  GlobalKnownHostsFile /dev/null\n{extra}"
        )
        return path

    def sessions(self) -> list[int]:
        """Process numbers of what serves connections."""
        return sorted(set(descendants(self._process.pid)) - {self._process.pid})

    def stop(self) -> None:
        """End it and every session."""
        for process in self.sessions():
            kill(process)
        self._process.kill()
        self._process.wait()


def kill(process: int, number: int = 9) -> None:
    """Signal a process that may be gone."""
    subprocess.run(["kill", f"-{number}", str(process)], check=False, stderr=subprocess.DEVNULL)


def processes() -> dict[int, tuple[int, str]]:
    """Parent and command line of every process that has not ended."""
    found = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            state = (folder / "stat").read_text().rpartition(")")[2].split()
            words = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        if state[0] != "Z":
            found[int(folder.name)] = (int(state[1]), words)
    return found


def descendants(top: int) -> list[int]:
    """A process and all below it."""
    found, table = [top], processes()
    for parent in found:
        found += [process for process, (above, _) in table.items() if above == parent]
    return found


def running(words: str) -> list[int]:
    """Processes with these words in their command line."""
    return [process for process, (_, line) in processes().items() if words in line]


def wait_until(condition: Callable[[], object], timeout_s: float = 20.0) -> None:
    """Return when the condition holds."""
    deadline = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < deadline, "it did not come true in time"
        time.sleep(0.01)


def loopback(*settings: str) -> LoopbackSshd:
    """A running one; the test is skipped where there is no sshd."""
    if SSHD is None:
        pytest.skip("SSH NOT TESTED: install OpenSSH's server (Debian: apt-get install openssh-server)")
    return LoopbackSshd(Path(tempfile.mkdtemp(prefix="assay-sshd-", dir="/tmp")), *settings)
