"""An engine's source tree, read and never imported: fetched, unpacked, digested, and its options declared."""

from assay.source.child.reading import read
from assay.source.command_line.config_file import ReadConfig
from assay.source.command_line.config_reader import ConfigReader
from assay.source.command_line.parsed_command import (
    ArgumentWord,
    ConfigEntry,
    Given,
    Parsed,
    Problem,
    ProblemKind,
)
from assay.source.command_line.parser import parse
from assay.source.declarations import Constant, Declarations, EnvironmentVariable, Field, Gap, Option, Site
from assay.source.declaring.bindings import collect_bindings
from assay.source.declaring.module import Module, Modules, absolute
from assay.source.declaring.operations import NotKnown, binary, formatted
from assay.source.fetching.cache import Omitted, default_cache
from assay.source.fetching.tree import Tree, open_tree
from assay.source.progress import Progress, no_progress
from assay.source.searching.conditions import Condition
from assay.source.searching.scope import Call, CallKind, Class, Mention, MentionKind, Scope
from assay.source.searching.sites import Sites

__all__ = [
    "ArgumentWord",
    "Call",
    "CallKind",
    "Class",
    "Condition",
    "ConfigEntry",
    "ConfigReader",
    "Constant",
    "Declarations",
    "EnvironmentVariable",
    "Field",
    "Gap",
    "Given",
    "Mention",
    "MentionKind",
    "Module",
    "Modules",
    "NotKnown",
    "Omitted",
    "Option",
    "Parsed",
    "Problem",
    "ProblemKind",
    "Progress",
    "ReadConfig",
    "Scope",
    "Site",
    "Sites",
    "Tree",
    "absolute",
    "binary",
    "collect_bindings",
    "default_cache",
    "formatted",
    "no_progress",
    "open_tree",
    "parse",
    "read",
]
