"""Abstract execution of an engine's start-up code under the facts: resolution with provenance. Pure."""

from assay.flow.compare import Alternative, Baseline, Mirrored, baseline
from assay.flow.comparison import Difference, Outcome, Read, ReadState, Step, WriteBack
from assay.flow.resolution import (
    Candidate,
    EnvironmentWrite,
    FieldValue,
    Gap,
    Guard,
    Logged,
    Provenance,
    Rejection,
    Resolution,
    Write,
)
from assay.flow.resolve import EngineSource, resolve
from assay.flow.uncollected import uncollected

__all__ = [
    "Alternative",
    "Baseline",
    "Candidate",
    "Difference",
    "EngineSource",
    "EnvironmentWrite",
    "FieldValue",
    "Gap",
    "Guard",
    "Logged",
    "Mirrored",
    "Outcome",
    "Provenance",
    "Read",
    "ReadState",
    "Rejection",
    "Resolution",
    "Step",
    "Write",
    "WriteBack",
    "baseline",
    "resolve",
    "uncollected",
]
