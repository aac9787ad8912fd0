"""The version of assay, for whoever must not import all of it."""

__version__ = "0.1.0"
