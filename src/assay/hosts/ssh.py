"""A machine behind the user's own ssh: what works as `ssh NAME` works here, and nothing is made weaker."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import socket
import subprocess
import tempfile
import threading
import time
import weakref
from pathlib import Path
from typing import TYPE_CHECKING

from assay.errors import HostError, InputError, Unreachable
from assay.hosts.host import Host, NeverStarted
from assay.hosts.ssh_failure import unreachable
from assay.hosts.tunnel import tunnel

if TYPE_CHECKING:
    from collections.abc import Sequence

    from assay.hosts.command import CommandResult
    from assay.hosts.sudo import AskPassword
    from assay.hosts.talk import Request

_NAME = re.compile(r"(?!-)(?:[\w.+-]+@(?!-))?[\w.:%\[\]+-]+", re.ASCII)
_LONGEST_SOCKET = 80
"""Systems allow 104 or 108 bytes, of which ssh wants 17 for itself."""
_PERSIST_S = 60
"""How long a connection outlives its last use where assay was killed."""


class SshHost(Host):
    """A machine by its name for ssh: `gpu1`, `deploy@gpu1`, or a `Host` of `~/.ssh/config`.

    One connection is made when first needed, kept, and made again when it was lost. ssh asks nothing: keys
    come from an agent or from files without a passphrase, and an unknown host key is refused.
    """

    def __init__(
        self,
        name: str,
        *,
        config: Path | None = None,
        password: AskPassword | None = None,
        connect_timeout_s: int = 10,
        keepalive_s: int = 5,
    ) -> None:
        """`config` is used in the place of `~/.ssh/config`; `password` is for sudo.

        A dead link is noticed after three times `keepalive_s`.

        Raises:
            InputError: the name is none, or one that ssh or a shell would take for something else.
        """
        super().__init__(password)
        if not _NAME.fullmatch(name):
            raise InputError(f"{name!r} is not the name of a machine, such as gpu1 or user@gpu1.example")
        self.name = name
        self._lock = threading.Lock()
        self._folder = _short_folder()
        self._socket = self._folder / "ssh"
        self._connect_timeout_s = connect_timeout_s
        self._options = _options(self._socket, config, connect_timeout_s, keepalive_s)
        self._finish = weakref.finalize(
            self, _disconnect, self._folder, (*self._options, "-O", "exit", "--", name)
        )

    def close(self) -> None:
        """End the connection and leave nothing behind."""
        self._finish()

    def reach(self, address: str, port: int) -> contextlib.AbstractContextManager[tuple[str, int]]:
        """A port of this machine's loopback, by a tunnel over a connection of its own."""
        return tunnel(self._options, self.name, (address, port), limit_s=3.0 * self._connect_timeout_s)

    def _shell(self, nonce: str) -> Sequence[str]:
        return (*self._options, "-o", "ControlMaster=no", "-T", "--", self.name, f"exec sh -s {nonce}")

    def _link_is_up(self) -> bool:
        return _answers(self._socket)

    def _lost_hint(self) -> str:
        return f"when `ssh {self.name}` works again, look at the machine's state before anything is repeated"

    def _converse(self, request: Request) -> CommandResult:
        kept = self._connect()
        try:
            return super()._converse(request)
        except NeverStarted:
            if not kept:
                raise
        # the kept connection was dead, as after a reboot there; nothing was run
        self._connect(anew=True)
        return super()._converse(request)

    def _connect(self, *, anew: bool = False) -> bool:
        """Make the connection that all commands share; whether there was one."""
        if not self._finish.alive:
            raise HostError(f"{self.name}: the connection was closed by assay")
        with self._lock:
            if not anew and _answers(self._socket):
                return True
            self._socket.unlink(missing_ok=True)
            self._start()
            return False

    def _start(self) -> None:
        master = ("-o", "ControlMaster=yes", "-o", f"ControlPersist={_PERSIST_S}", "-N", "-T")
        # a file and no pipe: a proxy's command may hold it open for as long as the connection lives
        with tempfile.TemporaryFile(dir=self._folder) as said:
            status = self._wait_for((*self._options, *master, "--", self.name), said.fileno())
            said.seek(0)
            text = said.read(65536).decode("utf-8", "replace")
        if status:
            raise unreachable(self.name, text)

    def _wait_for(self, command: Sequence[str], said: int) -> int:
        """ssh goes to the background by itself once it is connected."""
        null = subprocess.DEVNULL
        try:
            process = subprocess.Popen(command, stdin=null, stdout=null, stderr=said, start_new_session=True)
        except OSError as error:
            raise HostError(
                f"cannot start ssh: {error.strerror}", hint="install the OpenSSH client"
            ) from error
        limit_s = 3 * self._connect_timeout_s
        try:
            return process.wait(limit_s)
        except subprocess.TimeoutExpired:
            raise Unreachable(
                f"{self.name}: not connected after {limit_s} s; nothing was run",
                hint=f"see what `ssh {self.name}` does: the machine may hang",
            ) from None
        finally:
            if process.returncode is None:
                process.kill()
                process.wait()


def _options(socket: Path, config: Path | None, connect_timeout_s: int, keepalive_s: int) -> tuple[str, ...]:
    settings = {
        "ControlPath": str(socket),
        "BatchMode": "yes",
        "ConnectTimeout": str(connect_timeout_s),
        "ServerAliveInterval": str(keepalive_s),
        "ServerAliveCountMax": "3",
        "LogLevel": "ERROR",
        # what people set for their own sessions
        "ClearAllForwardings": "yes",
        "ForwardX11": "no",
        "RemoteCommand": "none",
        "RequestTTY": "no",
    }
    chosen = ("-F", str(config)) if config else ()
    return ("ssh", *chosen, *(word for key, value in settings.items() for word in ("-o", f"{key}={value}")))


def _short_folder() -> Path:
    """A folder of our own for the socket, whose path may not be long."""
    for parent in (os.environ.get("XDG_RUNTIME_DIR"), tempfile.gettempdir(), "/tmp"):  # noqa: S108 -- mkdtemp
        if parent and len(os.fsencode(parent)) < _LONGEST_SOCKET - 20:
            with contextlib.suppress(OSError):
                return Path(tempfile.mkdtemp(prefix="assay-", dir=parent))
    raise HostError("no folder for the socket of ssh", hint="make /tmp writable")


def _answers(path: Path) -> bool:
    """Whether somebody listens at a socket: one whose ssh was killed stays behind."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        try:
            probe.connect(str(path))
        except OSError:
            return False
    return True


def _disconnect(folder: Path, command: Sequence[str]) -> None:
    path = folder / "ssh"
    if _answers(path):
        null = subprocess.DEVNULL
        with contextlib.suppress(OSError, subprocess.TimeoutExpired):
            subprocess.run(command, stdin=null, stdout=null, stderr=null, check=False, timeout=10)
        deadline = time.monotonic() + 5
        while _answers(path) and time.monotonic() < deadline:
            time.sleep(0.01)
    shutil.rmtree(folder, ignore_errors=True)
