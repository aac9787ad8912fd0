"""A unit whose command is `docker run …`: which container that is, and the processes in it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from assay._value import Value
from assay.engines import server_of, value_of
from assay.errors import Refused
from assay.facts import CONTAINER_RUNTIMES
from assay.hosts import Script

if TYPE_CHECKING:
    from collections.abc import Sequence

    from assay.rollout.manager import Asked

_DETACHED = re.compile(r"--detach(?:=true)?|-[itPq]*d[itPq]*")
# the container's first process is started by its runtime, not by the unit, so the unit's group lacks it
_PROCESSES = r"""
top=$("$1" inspect -f '{{.State.Pid}}' "$2") || exit 1
[ "$top" -gt 0 ] || exit 0
cat /proc/[0-9]*/stat 2>/dev/null | sed 's/ (.*) / /' | awk -v top="$top" '
  { pid[NR] = $1; parent[NR] = $3 }
  END {
    has[top] = 1
    do {
      more = 0
      for (i = 1; i <= NR; i++) if (!(pid[i] in has) && (parent[i] in has)) { has[pid[i]] = 1; more = 1 }
    } while (more)
    for (one in has) print one
  }'
"""


class Container(Value):
    """The container that a unit's command runs."""

    program: str
    """What runs it: `/usr/bin/docker`."""
    name: str
    """As that program knows it."""


def container_of(words: Sequence[str]) -> Container | None:
    """The container that these words run their server in; None if they use none.

    >>> container_of(["/usr/bin/docker", "run", "--name", "a", "i", "vllm", "serve", "m", "--port", "1"])
    Container(program='/usr/bin/docker', name='a')

    Raises:
        Refused: nobody could tell which one it is, or the unit does not end with it.
    """
    if not words or words[0].rsplit("/", 1)[-1] not in CONTAINER_RUNTIMES:
        return None
    server = server_of(words)
    around = words[: len(words) - len(server.arguments)] if server else words
    if server is None or server.launch.image is None:
        raise Refused(
            "the unit's command starts no server that assay knows by `docker run`",
            hint="`docker exec`, `start` and `compose` leave it outside the unit; change that by hand",
        )
    if any(_DETACHED.fullmatch(word) for word in around):
        raise Refused(
            "the container runs detached (-d), so the unit says nothing of it",
            hint="take -d away: systemd then sees the server, and so does assay",
        )
    name = value_of(around, "--name")
    if not name or not re.fullmatch(r"[A-Za-z0-9][\w.-]*", name, re.ASCII):
        raise Refused(
            "the container has no name of its own, so nobody could tell when the old one has ended",
            hint="give it one: --name",
        )
    return Container(program=words[0], name=name)


def container_processes(machine: Asked, words: Sequence[str]) -> tuple[int, ...]:
    """The processes in the container of a unit that runs, by their numbers outside of it.

    Raises:
        CommandFailed: its runtime does not know it.
    """
    container = container_of(words)
    if container is None:
        return ()
    return processes_in(machine, container.program, container.name)


def processes_in(machine: Asked, program: str, name: str) -> tuple[int, ...]:
    """The processes in a container that runs, by their numbers outside of it.

    Raises:
        CommandFailed: its runtime does not know it.
    """
    script = Script(text=_PROCESSES, arguments=(program, name), name="the look into the container")
    sudo = machine.sudo
    out = machine.patiently(lambda: machine.host.run(script, sudo=sudo)).checked().out
    return tuple(sorted(int(each) for each in out.split() if each.isdigit()))
