"""What is served, where and with which arguments; read from a file, a unit, a command or a compose file."""

from assay.deployment.compose import looks_like_compose, read_compose
from assay.deployment.deployment import CommandKind, CommandSource, Deployment, Library, Trials
from assay.deployment.engine import EngineReference, parse_engine
from assay.deployment.environment_file import quote_environment_file
from assay.deployment.file import load_deployment
from assay.deployment.files import LIMIT_BYTES, read_user_file
from assay.deployment.hardware import Accelerator, Hardware, accelerators, find_accelerator, parse_hardware
from assay.deployment.keys import KEYS, Key
from assay.deployment.kubernetes import looks_like_kubernetes, read_kubernetes
from assay.deployment.launch import Fault, FaultKind, Launch, LaunchKind, Variable
from assay.deployment.model import Json, Model, find_model, parse_config, read_model_folder, read_preset
from assay.deployment.presets import Preset, presets
from assay.deployment.shell import (
    Command,
    command_line,
    parse_command,
    quote_shell,
    read_script,
    split_script,
)
from assay.deployment.systemd import read_unit
from assay.deployment.systemd_words import quote_systemd
from assay.deployment.target import Target, read_command, read_target
from assay.deployment.text import Edit, Place, Syntax, UserFile, Word, Written
from assay.deployment.unwrap import unwrap
from assay.deployment.yaml_text import YamlEntry, YamlMapping, YamlNode, YamlScalar, YamlSequence, read_yaml

__all__ = [
    "KEYS",
    "LIMIT_BYTES",
    "Accelerator",
    "Command",
    "CommandKind",
    "CommandSource",
    "Deployment",
    "Edit",
    "EngineReference",
    "Fault",
    "FaultKind",
    "Hardware",
    "Json",
    "Key",
    "Launch",
    "LaunchKind",
    "Library",
    "Model",
    "Place",
    "Preset",
    "Syntax",
    "Target",
    "Trials",
    "UserFile",
    "Variable",
    "Word",
    "Written",
    "YamlEntry",
    "YamlMapping",
    "YamlNode",
    "YamlScalar",
    "YamlSequence",
    "accelerators",
    "command_line",
    "find_accelerator",
    "find_model",
    "load_deployment",
    "looks_like_compose",
    "looks_like_kubernetes",
    "parse_command",
    "parse_config",
    "parse_engine",
    "parse_hardware",
    "presets",
    "quote_environment_file",
    "quote_shell",
    "quote_systemd",
    "read_command",
    "read_compose",
    "read_kubernetes",
    "read_model_folder",
    "read_preset",
    "read_script",
    "read_target",
    "read_unit",
    "read_user_file",
    "read_yaml",
    "split_script",
    "unwrap",
]
