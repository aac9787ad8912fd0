"""An engine's source tree, read and never imported: fetched, unpacked, digested, and its options declared."""

from assay.source.cache import Cache, Omitted
from assay.source.declarations import (
    Constant,
    Declarations,
    EnvironmentVariable,
    Field,
    Gap,
    Option,
    Site,
)
from assay.source.limits import Limits, run_limited
from assay.source.progress import Progress, no_progress
from assay.source.reading import ReadRequest, read
from assay.source.tree import Tree, open_tree

__all__ = [
    "Cache",
    "Constant",
    "Declarations",
    "EnvironmentVariable",
    "Field",
    "Gap",
    "Limits",
    "Omitted",
    "Option",
    "Progress",
    "ReadRequest",
    "Site",
    "Tree",
    "no_progress",
    "open_tree",
    "read",
    "run_limited",
]
