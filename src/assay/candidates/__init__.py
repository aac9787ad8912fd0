"""Which changes are worth a trial: the bound of each option beside its verdict."""

from assay.candidates.bounded import Asked, Bounded, Bounds, bounds

__all__ = ["Asked", "Bounded", "Bounds", "bounds"]
