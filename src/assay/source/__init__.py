"""An engine's source tree, read and never imported: fetched, unpacked, digested, and its options declared."""

from assay.source.declarations import (
    Constant,
    Declarations,
    EnvironmentVariable,
    Field,
    Gap,
    Option,
    Site,
)

__all__ = ["Constant", "Declarations", "EnvironmentVariable", "Field", "Gap", "Option", "Site"]
