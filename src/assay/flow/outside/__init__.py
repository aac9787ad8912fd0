"""What lies outside the engine's tree, as modelled: standard library, torch, transformers, environment."""

from assay.flow.outside.world import Outside

__all__ = ["Outside"]
