"""An engine's source tree, read and never imported: fetched, unpacked, digested, and its options declared."""

from assay.source.command_line import parse
from assay.source.config_file import ReadConfig
from assay.source.declarations import (
    Constant,
    Declarations,
    EnvironmentVariable,
    Field,
    Gap,
    Option,
    Site,
)
from assay.source.parsed_command import ArgumentWord, ConfigEntry, Given, Parsed, Problem, ProblemKind
from assay.source.reader import ReadRequest, read_declarations, read_declarations_job

__all__ = [
    "ArgumentWord",
    "ConfigEntry",
    "Constant",
    "Declarations",
    "EnvironmentVariable",
    "Field",
    "Gap",
    "Given",
    "Option",
    "Parsed",
    "Problem",
    "ProblemKind",
    "ReadConfig",
    "ReadRequest",
    "Site",
    "parse",
    "read_declarations",
    "read_declarations_job",
]
