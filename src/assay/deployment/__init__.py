"""What is served, where and with which arguments; read from a file, a unit, a command or a compose file."""

from assay.deployment.engine import EngineReference, parse_engine
from assay.deployment.files import LIMIT_BYTES, read_user_file
from assay.deployment.launch import Fault, FaultKind, Launch, LaunchKind, Variable
from assay.deployment.shell import (
    Command,
    command_line,
    parse_command,
    quote_shell,
    read_script,
    split_script,
)
from assay.deployment.text import Edit, Place, Syntax, UserFile, Word, Written
from assay.deployment.unwrap import unwrap

__all__ = [
    "LIMIT_BYTES",
    "Command",
    "Edit",
    "EngineReference",
    "Fault",
    "FaultKind",
    "Launch",
    "LaunchKind",
    "Place",
    "Syntax",
    "UserFile",
    "Variable",
    "Word",
    "Written",
    "command_line",
    "parse_command",
    "parse_engine",
    "quote_shell",
    "read_script",
    "read_user_file",
    "split_script",
    "unwrap",
]
