"""Abstract execution of an engine's start-up code under the facts: resolution with provenance. Pure."""

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

__all__ = [
    "Candidate",
    "EngineSource",
    "EnvironmentWrite",
    "FieldValue",
    "Gap",
    "Guard",
    "Logged",
    "Provenance",
    "Rejection",
    "Resolution",
    "Write",
    "resolve",
]
