"""The only door to a machine: run, read, write; this one, or one behind the user's own ssh."""

from assay._secret import Secret
from assay.hosts.child import (
    Child,
    end,
    environment_of,
    folder_of,
    listens,
    marked,
    running,
    session_of,
    start_child,
)
from assay.hosts.command import Command, CommandResult, Script
from assay.hosts.host import Host
from assay.hosts.http import HttpAnswer, ask_http, reach_url
from assay.hosts.local import LocalHost
from assay.hosts.ssh import SshHost
from assay.hosts.sudo import AskPassword, askpass
from assay.hosts.systemd import (
    StartCommand,
    UnitState,
    start_commands,
    unit_processes,
    unit_state,
)

__all__ = [
    "AskPassword",
    "Child",
    "Command",
    "CommandResult",
    "Host",
    "HttpAnswer",
    "LocalHost",
    "Script",
    "Secret",
    "SshHost",
    "StartCommand",
    "UnitState",
    "ask_http",
    "askpass",
    "end",
    "environment_of",
    "folder_of",
    "listens",
    "marked",
    "reach_url",
    "running",
    "session_of",
    "start_child",
    "start_commands",
    "unit_processes",
    "unit_state",
]
