"""A systemd unit as its manager sees it now: one command and one pure parser for each answer."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Literal

from assay._value import Value
from assay.errors import CommandFailed, InputError
from assay.hosts.command import Script, last_lines

if TYPE_CHECKING:
    from collections.abc import Sequence

    from assay.hosts.host import Host


class UnitState(Value):
    """What systemd says of a unit. A unit that it does not know has `load_state` `not-found`."""

    unit: str
    """Its full name."""
    load_state: str
    """`loaded`, `not-found`, `bad-setting`, `masked` or `error`."""
    load_error: str
    """Why it was not loaded, or empty."""
    active_state: str
    """`active`, `inactive`, `failed`, `activating`, `deactivating`. A crash loop is `active` for moments."""
    sub_state: str
    """Of that state: `running`, `auto-restart`, `start-pre` and so on."""
    result: str
    """How the last run ended: `success`, `exit-code`, `signal`, `timeout`, `oom-kill`, `resources`."""
    invocation_id: str
    """Of this start; another one after each start. Empty if it never ran."""
    main_pid: int | None
    """Its main process, if it runs."""
    restarts: int
    """How often systemd restarted it by itself."""
    exit_status: int | None
    """Of the main process that ended last: an exit status, or a signal's number."""
    exit_kind: Literal["none", "exited", "killed", "dumped"]
    """How that process ended; `none` if none has."""
    need_daemon_reload: bool
    """Whether its files changed since systemd read them: what runs is not what is written."""
    fragment_path: str
    """The unit's file; empty if there is none."""
    drop_in_paths: tuple[str, ...]
    """Its drop-ins in the order in which they were applied."""
    job: int | None
    """The job that waits or runs for it, such as a start that is not done yet."""


class StartCommand(Value):
    """One `ExecStart=` as systemd took it: `%` resolved, `$` not yet."""

    path: str
    """The program."""
    words: tuple[str, ...]
    """All its words, exactly; the first is its name, `argv[0]`."""
    failure_ignored: bool
    """Whether it was written with `-`."""
    flags: tuple[str, ...] = ()
    """All its prefixes, as systemd names them: `ignore-failure`, `no-env-expand`, `privileged` and so on."""


_PROPERTIES = (
    "Id,LoadState,LoadError,ActiveState,SubState,Result,InvocationID,MainPID,NRestarts,ExecMainStatus,"
    "ExecMainCode,NeedDaemonReload,FragmentPath,DropInPaths,Job"
)
_UNIT = re.compile(r"[\w:.@\\-]+\.[a-z]+", re.ASCII)
_ANSWER_S = 30.0


def unit_state(host: Host, unit: str, *, user: bool = False) -> UnitState:
    """The state of a unit, `llm.service`, of the machine's or the user's manager. Needs no rights.

    Raises:
        CommandFailed: no systemd runs there, or it does not answer.
        InputError: that is not the full name of a unit.
    """
    return parse_show(_ask(host, ["systemctl", "show", "-p", _PROPERTIES, "--", _checked(unit)], user=user))


def start_commands(host: Host, unit: str, *, user: bool = False) -> tuple[StartCommand, ...]:
    """The `ExecStart=` of a service; `systemctl show` joins their words by spaces, the bus does not.

    Raises:
        CommandFailed: no systemd runs there, it is older than 243, or does not answer.
        InputError: that is not the full name of a unit.
    """
    path = f"/org/freedesktop/systemd1/unit/{bus_label(_checked(unit))}"
    service = "org.freedesktop.systemd1"
    words = ["busctl", "--json=short", "get-property", service, path, f"{service}.Service", "ExecStartEx"]
    return parse_exec_start(_ask(host, words, user=user))


def unit_processes(host: Host, unit: str, *, user: bool = False) -> tuple[int, ...]:
    """Every process that systemd counts to a unit, its children too; none if it does not run.

    Raises:
        CommandFailed: no systemd runs there, or it does not answer.
        InputError: that is not the full name of a unit.
    """
    group = _ask(
        host, ["systemctl", "show", "-p", "ControlGroup", "--value", "--", _checked(unit)], user=user
    )
    path = group.decode("utf-8", "replace").strip()
    if not path.startswith("/") or path == "/":
        return ()
    script = Script(text=_PROCESSES, arguments=(path,), name="the list of a unit's processes")
    return parse_processes(host.run(script, timeout_s=_ANSWER_S).out)


# where both versions of control groups are mounted, systemd keeps its own in one of the latter two
_PROCESSES = r"""
for root in /sys/fs/cgroup /sys/fs/cgroup/unified /sys/fs/cgroup/systemd; do
  [ -d "$root$1" ] || continue
  find "$root$1" -name cgroup.procs -exec cat {} +
  break
done
"""


def parse_processes(out: bytes) -> tuple[int, ...]:
    """Reads the lines of `cgroup.procs` files.

    >>> parse_processes(b"12\\n7\\n12\\n")
    (7, 12)
    """
    return tuple(sorted({int(line) for line in out.split() if line.isdigit()}))


def _ask(host: Host, words: Sequence[str], *, user: bool) -> bytes:
    command = [words[0], "--user", *words[1:]] if user else list(words)
    result = host.run(command, timeout_s=_ANSWER_S)
    if user and not result.ok:
        raise CommandFailed(
            f"{host.name}: the user's own manager does not answer {words[0]}",
            details=last_lines(result.err, 2),
            hint="`systemctl --user` and `busctl --user` must work for the user who logs in there: see "
            "pam_systemd and the package dbus-user-session",
        )
    return result.checked().out


def _checked(unit: str) -> str:
    if not _UNIT.fullmatch(unit) or unit.startswith("-"):
        raise InputError(f"{unit!r} is not the full name of a unit, such as llm.service")
    return unit


def bus_label(text: str) -> str:
    """A unit's name as part of its path on the bus.

    >>> bus_label("llm-1@a.service"), bus_label("9.x")
    ('llm_2d1_40a_2eservice', '_39_2ex')
    """
    return re.sub(r"[^A-Za-z0-9]|^[0-9]", lambda match: f"_{ord(match[0]):02x}", text)


_ExitKind = Literal["none", "exited", "killed", "dumped"]
_EXIT_KINDS: dict[str, _ExitKind] = {"1": "exited", "2": "killed", "3": "dumped"}


def parse_show(out: bytes) -> UnitState:
    """Reads what `systemctl show` printed for one unit.

    Raises:
        CommandFailed: that is no answer.
    """
    values: dict[str, str] = {}
    for line in out.decode("utf-8", "replace").splitlines():
        key, equals, value = line.partition("=")
        if equals:
            values.setdefault(key, value)
    if "Id" not in values or "LoadState" not in values:
        raise CommandFailed("systemctl show did not say what was asked")
    kind: _ExitKind = _EXIT_KINDS.get(values.get("ExecMainCode", ""), "none")
    return UnitState(
        unit=values["Id"],
        load_state=values["LoadState"],
        load_error=values.get("LoadError", "").strip(),
        active_state=values.get("ActiveState", ""),
        sub_state=values.get("SubState", ""),
        result=values.get("Result", ""),
        invocation_id=values.get("InvocationID", ""),
        main_pid=_number(values.get("MainPID", "")) or None,
        restarts=_number(values.get("NRestarts", "")),
        exit_status=None if kind == "none" else _number(values.get("ExecMainStatus", "")),
        exit_kind=kind,
        need_daemon_reload=values.get("NeedDaemonReload") == "yes",
        fragment_path=values.get("FragmentPath", ""),
        drop_in_paths=tuple(values.get("DropInPaths", "").split()),
        job=_number(values.get("Job", "")) or None,
    )


def _number(text: str) -> int:
    return int(text) if text.isdecimal() else 0


def parse_exec_start(out: bytes) -> tuple[StartCommand, ...]:
    """Reads what `busctl --json=short` printed for `ExecStartEx`, of type `a(sasasttttuii)`.

    Raises:
        CommandFailed: that is no answer.
    """
    try:
        entries = json.loads(out)["data"]
        return tuple(
            StartCommand(
                path=path,
                words=tuple(words),
                failure_ignored="ignore-failure" in flags,
                flags=tuple(flags),
            )
            for path, words, flags, *_ in entries
        )
    except (ValueError, KeyError, TypeError) as error:
        raise CommandFailed("busctl did not say what was asked") from error
