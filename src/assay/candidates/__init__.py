"""Which changes are worth a trial: the list of them, and the bound of each option beside its verdict."""

from assay.candidates.bounded import Asked, Bounded, Bounds, bounds, effect_bounds
from assay.candidates.candidate import Candidate, Candidates, LeftOut, Level, Own
from assay.candidates.listed import Ask, Wanted, candidates, flags_of

__all__ = [
    "Ask",
    "Asked",
    "Bounded",
    "Bounds",
    "Candidate",
    "Candidates",
    "LeftOut",
    "Level",
    "Own",
    "Wanted",
    "bounds",
    "candidates",
    "effect_bounds",
    "flags_of",
]
