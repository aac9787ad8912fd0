"""What is served, where and with which arguments; read from a file, a unit, a command or a compose file."""

from assay.deployment.containers.compose import looks_like_compose, read_compose
from assay.deployment.containers.kubernetes import looks_like_kubernetes, read_kubernetes
from assay.deployment.containers.yaml_text import (
    YamlEntry,
    YamlMapping,
    YamlNode,
    YamlScalar,
    YamlSequence,
    read_yaml,
)
from assay.deployment.deployment import (
    CommandKind,
    CommandSource,
    Deployment,
    Hooks,
    Library,
    Live,
    OwnCandidate,
    Trials,
    compose_service,
)
from assay.deployment.edits import apply_edits, flag_replacement, removal
from assay.deployment.engine import EngineReference, not_run, parse_engine
from assay.deployment.files import read_user_file
from assay.deployment.hardware import Accelerator, Hardware, accelerators, find_accelerator, parse_hardware
from assay.deployment.launch import Fault, FaultKind, Launch, LaunchKind, Variable, launch_of_words
from assay.deployment.model import Json, Model, find_model, parse_config, read_model_folder, read_preset
from assay.deployment.presets import Preset, presets
from assay.deployment.rewording import compose_words, reword_service, reword_unit, states_command
from assay.deployment.shell.script import (
    Command,
    command_line,
    parse_command,
    quote_shell,
    read_script,
    split_script,
)
from assay.deployment.systemd.environment_file import quote_environment_file
from assay.deployment.systemd.unit import read_unit
from assay.deployment.systemd.words import quote_systemd
from assay.deployment.target import Target, read_command, read_target, start_command
from assay.deployment.text import Edit, Place, Syntax, UserFile, Word, Written
from assay.deployment.toml_file.keys import KEYS, Key
from assay.deployment.toml_file.load import load_deployment
from assay.deployment.wrappers.unwrap import unwrap

__all__ = [
    "KEYS",
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
    "Hooks",
    "Json",
    "Key",
    "Launch",
    "LaunchKind",
    "Library",
    "Live",
    "Model",
    "OwnCandidate",
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
    "apply_edits",
    "command_line",
    "compose_service",
    "compose_words",
    "find_accelerator",
    "find_model",
    "flag_replacement",
    "launch_of_words",
    "load_deployment",
    "looks_like_compose",
    "looks_like_kubernetes",
    "not_run",
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
    "removal",
    "reword_service",
    "reword_unit",
    "split_script",
    "start_command",
    "states_command",
    "unwrap",
]
