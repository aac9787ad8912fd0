"""What is served, where and with which arguments; read from a file, a unit, a command or a compose file."""

from assay.deployment.compose import looks_like_compose, read_compose
from assay.deployment.engine import EngineReference, parse_engine
from assay.deployment.files import LIMIT_BYTES, read_user_file
from assay.deployment.kubernetes import looks_like_kubernetes, read_kubernetes
from assay.deployment.launch import Fault, FaultKind, Launch, LaunchKind, Variable
from assay.deployment.text import Edit, Place, Syntax, UserFile, Word, Written
from assay.deployment.yaml_text import (
    YamlEntry,
    YamlMapping,
    YamlNode,
    YamlScalar,
    YamlSequence,
    read_yaml,
)

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
    "YamlEntry",
    "YamlMapping",
    "YamlNode",
    "YamlScalar",
    "YamlSequence",
    "looks_like_compose",
    "looks_like_kubernetes",
    "parse_engine",
    "read_compose",
    "read_kubernetes",
    "read_user_file",
    "read_yaml",
]
