"""What is served, where and with which arguments; read from a file, a unit, a command or a compose file."""

from assay.deployment.engine import EngineReference, parse_engine
from assay.deployment.environment_file import quote_environment_file
from assay.deployment.files import LIMIT_BYTES, read_user_file
from assay.deployment.launch import Fault, FaultKind, Launch, LaunchKind, Variable
from assay.deployment.systemd import read_unit
from assay.deployment.systemd_words import quote_systemd
from assay.deployment.text import Edit, Place, Syntax, UserFile, Word, Written

__all__ = [
    "LIMIT_BYTES",
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
    "parse_engine",
    "quote_environment_file",
    "quote_systemd",
    "read_unit",
    "read_user_file",
]
