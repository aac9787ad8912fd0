"""Before a stop: whether the engine's own parser, as it is installed there, takes the changed command."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Literal

from assay._masking import mask
from assay._value import Value
from assay.engines import ARGUMENT_CHECKS, server_of
from assay.errors import HostError
from assay.hosts import Script

if TYPE_CHECKING:
    from collections.abc import Sequence

    from assay.rollout.prepare import Prepared

LIMIT_S = 120
"""For one look; the import of an engine takes some seconds, on a busy machine many."""

# The process sees no device (no /dev/nvidia*), may write nowhere but in a /tmp of its own, is nice, and is
# ended when its time is over. Of the running server's variables it gets those that say where its Python
# looks for modules. The words come on stdin: no process list shows them.
_LOOK = r"""
set -eu
limit=$1 user=$2 python=$3 program=$4 pid=$5
set --
for name in PYTHONPATH LD_LIBRARY_PATH VIRTUAL_ENV SGLANG_USE_CPU_ENGINE; do
  value=$(tr '\0' '\n' <"/proc/$pid/environ" 2>/dev/null | sed -n "s/^$name=//p" | head -n 1)
  [ -z "$value" ] || set -- "$@" "--setenv=$name=$value"
done
exec systemd-run --pipe --wait --quiet --collect --service-type=exec \
  -p "User=$user" -p "RuntimeMaxSec=$limit" -p Nice=19 -p IOSchedulingClass=idle -p WorkingDirectory=/ \
  -p PrivateDevices=yes -p PrivateTmp=yes -p ProtectSystem=strict -p ProtectHome=read-only \
  -p NoNewPrivileges=yes -p TasksMax=256 -p KillMode=control-group "$@" \
  --setenv=HOME=/tmp --setenv=XDG_CACHE_HOME=/tmp --setenv=CUDA_VISIBLE_DEVICES= \
  --setenv=HIP_VISIBLE_DEVICES= --setenv=ROCR_VISIBLE_DEVICES= --setenv=PYTHONDONTWRITEBYTECODE=1 \
  --setenv=HF_HUB_OFFLINE=1 --setenv=VLLM_NO_USAGE_STATS=1 --setenv=DO_NOT_TRACK=1 \
  "$python" -c "$program"
"""


class Preflight(Value):
    """What the engine's own parser said."""

    status: Literal["takes", "refuses", "unknown"]
    """`unknown`: it could not be asked, or refuses the command that runs, too."""
    message: str = ""
    """Its words, or why it could not be asked. Masked."""


def preflight(prepared: Prepared, *, limit_s: int = LIMIT_S) -> Preflight:
    """Ask it, on the machine, beside the running server and without any GPU.

    What it takes may still be rejected by the start-up code behind it, which needs the GPU.
    """
    machine = prepared.machine
    if machine.layout.user:
        why = "a user's own manager cannot keep the GPUs from it"
        return Preflight(status="unknown", message=why)
    if machine.layout.compose:
        return Preflight(status="unknown", message="it runs in a container")
    state = machine.state()
    running = machine.words(state.main_pid) if state.main_pid else None
    server = server_of(running) if running else None
    if server is not None and server.launch.image is not None:
        return Preflight(status="unknown", message="it runs in a container")
    if server is None or server.interpreter is None:
        return Preflight(status="unknown", message="which Python runs the server is not known")
    program = ARGUMENT_CHECKS.get(server.engine.name)
    if program is None:
        return Preflight(status="unknown", message=f"how to ask {server.engine.name} is not known")
    look = _Look(prepared, server.interpreter, program, str(state.main_pid), limit_s)
    found = look.at(prepared.after)
    if found.status == "refuses" and look.at(prepared.before.words).status != "takes":
        return Preflight(status="unknown", message="its parser refuses the command that runs, too")
    return Preflight(status=found.status, message=mask(found.message, prepared.secrets))


class _Look:
    def __init__(self, prepared: Prepared, python: str, program: str, pid: str, limit_s: int) -> None:
        self._prepared, self._limit_s = prepared, limit_s
        self._arguments = (str(limit_s), self._user(), python, program, pid)

    def _user(self) -> str:
        machine = self._prepared.machine
        ask = ["systemctl", "show", "-p", "User", "--value", "--", machine.layout.unit]
        out = machine.patiently(lambda: machine.host.run(ask)).checked().out
        return out.decode("utf-8", "replace").strip() or "root"

    def at(self, words: Sequence[str]) -> Preflight:
        """One command line."""
        server = server_of(words)
        if server is None:
            return Preflight(status="unknown", message="it starts no server that assay knows")
        texts = [word.text for word in server.arguments]
        if "no-env-expand" not in self._prepared.before.flags:
            if any("$" in text.replace("$$", "") for text in texts):
                return Preflight(status="unknown", message="its words hold variables of systemd")
            texts = [text.replace("$$", "$") for text in texts]
        machine = self._prepared.machine
        script = Script(text=_LOOK, arguments=self._arguments, name="the look at its arguments")
        try:
            said = machine.host.run(
                script,
                stdin=json.dumps(texts).encode(),
                timeout_s=self._limit_s + 15.0,
                sudo=machine.sudo,
                limit_bytes=1 << 20,
            )
        except HostError as error:
            return Preflight(status="unknown", message=error.message)
        return parse_answer(said.out, said.status)


def parse_answer(out: bytes, status: int) -> Preflight:
    """Reads the last line that the program printed.

    >>> parse_answer(b'noise\\n{"status": "refuses", "message": "unrecognized arguments: --x"}\\n', 0)
    Preflight(status='refuses', message='unrecognized arguments: --x')
    """
    lines = out.decode("utf-8", "replace").strip().splitlines()
    try:
        said = json.loads(lines[-1])
        if said["status"] in ("takes", "refuses", "unknown"):
            return Preflight(status=said["status"], message=str(said["message"]))
    except (ValueError, KeyError, TypeError, IndexError):
        pass
    return Preflight(status="unknown", message=f"it gave no answer (exit status {status})")
